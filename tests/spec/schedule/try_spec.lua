--- Tests s:try and random legal steps. The answer of s:try must agree with the step itself.
local nw = require "nestwright"
local support = require "support"

local function product()
  local A, B = nw.placeholder({24, 16}, "f32", "A"), nw.placeholder({16, 20}, "f32", "B")
  local k = nw.reduce_axis(16, "k")
  return nw.schedule(nw.compute({24, 20}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C"))
end

local function blur()
  local A = nw.placeholder({34, 32}, "f32", "A")
  local H = nw.compute({34, 30}, function(y, x) return A(y, x) + A(y, x + 1) + A(y, x + 2) end, "H")
  return nw.schedule(nw.compute({32, 30}, function(y, x) return H(y, x) + H(y + 1, x) + H(y + 2, x) end, "V"))
end

local function symbolic()
  local n = nw.size "n"
  local A = nw.placeholder({n, 8}, "i32", "A")
  return nw.schedule(nw.compute({n, 8}, function(i, j) return 3 * A(i, 7 - j) end, "T"))
end

-- Returns steps that are legal at some loops. At other loops, they are refused.
local function simple_steps(s)
  local list, names = {}, {}
  for n, loop in ipairs(s:loops()) do names[n] = loop.name end
  for n, name in ipairs(names) do
    for _, primitive in ipairs {"parallel", "vectorize", "unroll", "fission", "unmark"} do
      list[#list + 1] = {primitive = primitive, arguments = {name}}
    end
    list[#list + 1] = {primitive = "shift", arguments = {name, 3}}
    list[#list + 1] = {primitive = "cut", arguments = {name, {5}}}
    list[#list + 1] = {primitive = "reorder", arguments = {{name, names[n % #names + 1]}}}
    list[#list + 1] = {primitive = "fuse", arguments = {names[n % #names + 1], name}}
  end
  return list
end

-- Returns the reason of a refusal in the form that s:try gives: without names of elements, iterations and sizes.
local function brief(err)
  if not err.refusal then return err.message:gsub("^apply: ", ""):match "^[^\n]*" end
  local why = err.refusal.why:match "^[^\n]*"
  if not err.refusal.element then return why end
  why = why:gsub("%b[]", "[..]"):gsub("%([^()]*=[^()]*%)", "<it>"):gsub("%(%-?%d[%d, -]*%)", "<it>")
  return (why:gsub(" when [%w_]+ = %d+$", ""))
end

-- Returns how many steps were legal, and how many were refused. s:try and the step itself must agree.
local function compare(s, steps)
  local legal, refused = 0, 0
  for _, step in ipairs(steps) do
    local before = s:version()
    local would, why = s:try(step.primitive, step.arguments)
    assert.equal(before, s:version())
    local does, err = pcall(s.apply, s, step.primitive, step.arguments)
    assert.equal(does, would, step.primitive .. ": " .. tostring(why or err))
    if does then
      s:undo()
      legal = legal + 1
    else
      assert.equal(brief(err), (why:gsub("an iteration of [%w_./]*[%w_]", "<it>")))
      refused = refused + 1
    end
  end
  return legal, refused
end

describe("try", function()
  for name, make in pairs {product = product, blur = blur, symbolic = symbolic} do
    it("gives the same answer as the step itself, on the program " .. name, function()
      local s, legal, refused = make(), 0, 0
      for seed = 1, 8 do
        local more, less = compare(s, simple_steps(s))
        legal, refused = legal + more, refused + less
        local step = s:random_step(seed)
        s:apply(step.primitive, step.arguments)
      end
      assert.is_true(legal > 50 and refused > 50, ("%d legal, %d refused"):format(legal, refused))
    end)
  end

  it("leaves versions, results and the last refusal unchanged", function()
    local s = product()
    s:split("i", 8)
    support.fails("cannot", "refused", s.parallel, s, "k")
    local loops, trace = s:show "loops", s:trace()
    assert.is_false((s:try("vectorize", {"k"})))
    assert.is_true((s:try("parallel", {"j"})))
    assert.same({loops, trace}, {s:show "loops", s:trace()})
    assert.equal(loops, s:undo():redo():show "loops")
  end)

  it("raises an error for an invalid step", function()
    local s = product()
    support.fails("there is no primitive named 'splat'", "invalid", s.try, s, "splat", {"i"})
    support.fails("factor: expected a whole number", "invalid", s.try, s, "split", {"i", {}})
  end)
end)

describe("random_step", function()
  it("draws a legal step that changes the program; the same seed gives the same step", function()
    for name, make in pairs {product = product, blur = blur, symbolic = symbolic} do
      local s, kinds = make(), {}
      for seed = 1, 40 do
        local step, again = s:random_step(seed), s:random_step(seed)
        assert.equal(step.text, again.text)
        assert.is_true((s:try(step.primitive, step.arguments)), step.text)
        assert.is_true(step.draws > step.refused)
        kinds[step.primitive] = true
        if seed % 4 == 0 then
          local before = s:show "full"
          s:apply(step.primitive, step.arguments)
          assert.not_equal(before, s:show "full", name .. ": " .. step.text)
          assert.equal(step.text, s:trace():match "([^\n]*)\n*$")
          assert.is_true(s:reparses())
        end
      end
      local n = 0
      for _ in pairs(kinds) do n = n + 1 end
      assert.is_true(n >= 8, ("only %d kinds of steps on a %s"):format(n, name))
    end
  end)

  it("draws steps that do not change the results", function()
    local s = product()
    local a, b = nw.random({24, 16}, "f32", {seed = 1}), nw.random({16, 20}, "f32", {seed = 2})
    local before = nw.interpret(s, {a, b})
    for seed = 1, 12 do
      local step = s:random_step(seed)
      s:apply(step.primitive, step.arguments)
    end
    assert.is_true(nw.allclose(before[1], nw.interpret(s, {a, b})[1], {rtol = 1e-4}))
  end)
end)
