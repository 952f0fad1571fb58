--- Where stages are computed and how long what they compute is kept: positions, consumers moved, sliding windows.
local nw = require "nestwright"
local support = require "support"
local fails = support.fails

-- The definition, the interpreter on both forms and the JIT give the same numbers.
local function agrees(s, outputs, seed)
  local data = {}
  for n, t in ipairs(s:inputs()) do
    data[n] = nw.zeros(t:shape(), t.dtype)
    for i = 1, data[n]:count() do data[n]:setflat(i, (i * 7 + (seed or 3) * n) % 11) end
  end
  local want = nw.evaluate(outputs, data)
  local ways = {nw.interpret(s, data), nw.interpret(s, data, {lowered = true}), {s:build()(table.unpack(data))}}
  for _, got in ipairs(ways) do
    for n, array in ipairs(want) do
      for i = 1, array:count() do assert.equal(array:getflat(i), got[n]:getflat(i)) end
    end
  end
  assert.is_true(s:reparses())
end

-- A step that is refused leaves the schedule as it was.
local function refuses(s, pattern, code, f, ...)
  local before = s:text()
  local err = fails(pattern, code, f, ...)
  assert.equal(before, s:text())
  return err
end

-- A -> P -> Q, both read by R.
local function diamond()
  local A = nw.placeholder({12, 8}, "i32", "A")
  local P = nw.compute({12, 8}, function(i, j) return A(i, j) + 1 end, "P")
  local Q = nw.compute({12, 8}, function(i, j) return A(i, j) * 2 end, "Q")
  local R = nw.compute({12, 8}, function(i, j) return P(i, j) + Q(i, j) end, "R")
  return nw.schedule(R), P, Q, R
end

local function order(s)
  local out = {}
  for n, stage in ipairs(s:stages()) do out[n] = stage.name end
  return table.concat(out, " ")
end

describe("compute_at takes a position", function()
  it("among the statements of the loop", function()
    local s, P, Q, R = diamond()
    local i = s:loops(R)[1]
    s:compute_at(Q, i)
    s:compute_at(P, i)
    assert.equal("Q P R", order(s))
    s:compute_at(P, i, {index = 1})
    assert.equal("P Q R", order(s))
    s:compute_at(P, i, {index = 2})
    assert.equal("Q P R", order(s))
    s:compute_at(P, i, {index = -2})
    assert.equal("P Q R", order(s))
    s:compute_at(P, i, {index = -1})
    assert.equal("Q P R", order(s))
    assert.truthy(s:trace():find('s:compute_at("P", "i_2", {index = -1})', 1, true), s:trace())
    agrees(s, {R})
  end)

  it("behind what it reads at the earliest", function()
    local A = nw.placeholder({12}, "i32", "A")
    local P = nw.compute({12}, function(i) return A(i) + 1 end, "P")
    local Q = nw.compute({12}, function(i) return P(i) * 2 end, "Q")
    local R = nw.compute({12}, function(i) return Q(i) + P(i) end, "R")
    local s = nw.schedule(R)
    local i = s:loops(R)[1]
    s:compute_at(Q, i)
    s:compute_at(P, i)
    s:compute_at(Q, i, {index = -2})
    assert.equal("P Q R", order(s))
    agrees(s, {R})
    local err = refuses(s, "cannot compute Q", "refused", s.compute_at, s, Q, i, {index = 1})
    assert.equal("raw", err.refusal.kind)
    assert.equal("P[0] is read at (i_2=0, i_1=0), before it is written at (i_2=0, i=0)", err.refusal.why)
  end)

  it("and not behind what reads it", function()
    local s, P, Q, R = diamond()
    local i = s:loops(R)[1]
    s:compute_at(Q, i)
    local err = refuses(s, "cannot compute P", "refused", s.compute_at, s, P, i, {index = 3})
    assert.equal("raw", err.refusal.kind)
    assert.equal("P", err.refusal.tensor)
    for _, step in ipairs(err.refusal.alternatives) do
      assert(load("local s = ... " .. step))(s)
      s:undo()
    end
  end)

  it("that exists", function()
    local s, P, Q, R = diamond()
    local i = s:loops(R)[1]
    for _, index in ipairs {0, 3, -3, 1 << 40, math.mininteger} do
      refuses(s, "index must be 1 to 2, %-1 or %-2", "range", s.compute_at, s, P, i, {index = index})
    end
    refuses(s, "index: expected a whole number", "invalid", s.compute_at, s, P, i, {index = "first"})
    refuses(s, "another schedule", "invalid", s.compute_at, s, P, (diamond()):loops()[1], {index = 1})
    assert.equal("Q", Q.name)
  end)
end)
