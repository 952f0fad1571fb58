--- Tests errors as users see them. An error is a table with fields, and its text shows the loops.
local nw = require "nestwright"
local support = require "support"

local function refusal()
  local s = support.gemm(512)
  local k_o = s:split("k", 32)
  return support.error_of(function() s:parallel(k_o) end)
end

describe("an error", function()
  it("has fields", function()
    local err = support.error_of(function() local _ = nw.zeros({1}, "f23") end)
    assert.equal("nestwright.error", getmetatable(err).__name)
    assert.equal("invalid", err.code)
    assert.equal("zeros: dtype: there is no dtype 'f23'", err.message)
    assert.equal("did you mean 'f32'?", err.hint)
    assert.truthy(err.source:find "errors_spec.lua$")
    assert.equal(13, err.line)
  end)

  it("prints the place, the message, the line and a hint", function()
    local err = support.error_of(function() local _ = nw.zeros({1}, "f23") end)
    assert.equal(err.source .. [[
:23: zeros: dtype: there is no dtype 'f23'
    local err = support.error_of(function() local _ = nw.zeros({1}, "f23") end)
  hint: did you mean 'f32'?]], tostring(err))
    assert.truthy(("" .. err):find "f23")
  end)

  it("shows the line of a chunk that is not a file", function()
    package.loaded["nestwright.sources"]["cell[7]"] = "local nw = ...\nlocal t = nw.zeros({1}, 'f23')\nreturn t"
    local f = assert(load(package.loaded["nestwright.sources"]["cell[7]"], "=cell[7]"))
    local err = support.error_of(f, nw)
    assert.truthy(tostring(err):find("cell[7]:2: zeros: dtype: there is no dtype 'f23'\n    local t = nw.zeros", 1, true))
  end)
end)

local fails = support.fails

describe("a common mistake", function()
  it("is explained if Lua's == is used in place of nw.eq", function()
    local hint = "nw.eq"
    fails(hint, "type", nw.compute, {4}, function(i) return i == 2 end)
    fails(hint, "type", nw.compute, {4}, function(i) return nw.select(i == 2, 1, 0) end)
    fails(hint, "type", nw.fact, nw.size "M", nw.size "M" % 16 == 0)
  end)

  it("is explained if a dtype has the name that other systems use", function()
    for theirs, ours in pairs {float32 = "f32", double = "f64", uint8 = "u8", int64 = "i64", bfloat16 = "bf16"} do
      fails(("did you mean '%s'"):format(ours), "invalid", nw.zeros, {1}, theirs)
    end
  end)

  it("is explained if an index is out of range or the number of values is wrong", function()
    local t = nw.zeros {2, 3}
    fails("index 2 is 3; it must be at least 0 and less than 3", "range", t.get, t, 0, 3)
    fails("values: there are 2 values for 6 elements", "invalid", t.fill_list, t, {1, 2})
  end)

  it("is explained by the name of the wrong argument", function()
    local s, C, A = support.gemm(16)
    fails("layout: expected a function, got a number", "invalid", s.cache_read, s, A, "global", {C}, {layout = 3})
    fails("layout: the function returns nothing", "invalid", s.cache_read, s, A, "global", {C},
      {layout = function(_) end})
    fails("unknown option 'tail'.*there are no options", "invalid", s.parallel, s, "j", {tail = "cut"})
    fails("size: multiple: expected at least 1, got 0", "range", nw.size, "M", {multiple = 0})
    fails("schedule: argument 1: expected a tensor, a list or a table of options, got a number", "invalid", nw.schedule, 3)
  end)

  it("is explained by the valid range if there is no such version or line", function()
    local s = support.gemm(16)
    s:split("i", 4)
    s:split("j", 4)
    fails("steps: 100 is more than the available 2", "range", s.undo, s, 100)
    assert.equal(2, s:version())
    fails("there is no such line; lines are 1 to 6", "range", s.why, s, -1)
    fails("there is no such line; lines are 1 to 6", "range", s.why, s, 7)
  end)
end)

describe("a refusal", function()
  it("names the two iterations, the element and an alternative", function()
    local err = refusal()
    assert.equal("refused", err.code)
    local r = err.refusal
    assert.equal("parallel", r.primitive)
    assert.equal("C[0, 0]", r.element)
    assert.truthy(r.source and r.sink)
    assert.equal("k_o", r.loops[1])
    assert.truthy(#r.alternatives >= 1)
    assert.equal('s:parallel "k_o"', r.step)
    assert.equal("string", type(r.kind))
  end)

  it("shows the loops with the conflict", function()
    local text = tostring(refusal())
    assert.truthy(text:find ":%d+: cannot run k_o in parallel\n    s:parallel \"k_o\"\n  C%[0, 0%] is ")
    assert.truthy(text:find "\n  for i in 0..512:\n")
    assert.truthy(text:find "<%- carries the dependence")
    assert.truthy(text:find "\n  you can: s:")
  end)

  it("uses the name of the variable that holds the schedule, if there is one", function()
    local function text_of(f, ...) return tostring(support.error_of(f, ...)) end
    local function says(text, step, way)
      assert.truthy(text:find("\n    " .. step, 1, true), text)
      assert.truthy(text:find("\n  you can: " .. way, 1, true), text)
    end
    local mine = support.gemm(8, 8, 8)
    says(text_of(mine.parallel, mine, "k"), 'mine:parallel "k"', 'mine:parallel "i" · mine:')
    says(text_of(function() mine:parallel "k" end), 'mine:parallel "k"', 'mine:parallel "i"')
    says(text_of(function(given) given:parallel "k" end, support.gemm(8, 8, 8)), 'given:parallel "k"', 'given:parallel "i"')
    says(text_of(function() support.gemm(8, 8, 8):parallel "k" end), 's:parallel "k"', 's:parallel "i" · s:')
    local function in_tail_call(given) return given:parallel "k" end
    says(text_of(in_tail_call, support.gemm(8, 8, 8)), 's:parallel "k"', 's:parallel "i"')
    local cell = load("t = ...; u = t; t:parallel 'k'", "=cell", "t", {support = support})
    says(text_of(function() cell((support.gemm(8, 8, 8))) end), 't:parallel "k"', 't:parallel "i"')
    assert.equal('s:parallel "k"', support.error_of(mine.parallel, mine, "k").refusal.step)
  end)

  it("suggests only steps that work", function()
    local s = support.gemm(512)
    local k_o = s:split("k", 32)
    local err = support.error_of(function() s:parallel(k_o) end)
    for _, step in ipairs(err.refusal.alternatives) do
      local f = load("local s = ... " .. step:gsub(" first$", ""))
      assert.truthy(f, step)
      f(s)
      s:undo()
    end
  end)

  it("leaves the schedule unchanged", function()
    local s = support.gemm(64)
    local before = s:text()
    pcall(s.parallel, s, "k")
    assert.equal(before, s:text())
    assert.equal(0, s:version())
    s:split("i", 8)
  end)
end)

describe("the text of a refusal", function()
  local function soft()
    local A = nw.placeholder({16, 32}, "f32", "A")
    local k = nw.reduce_axis(32, "k")
    local sums = nw.compute({16}, function(i) return nw.sum(A(i, k), k) end, "sums")
    local out = nw.compute({16, 32}, function(i, j) return A(i, j) / sums(i) end, "out")
    return nw.schedule(out), sums, out
  end

  it("says what is wrong in the program, not which check failed", function()
    local s, C = support.gemm(16)
    assert.equal("cannot read C through a copy in local: nothing reads C",
      fails("nothing reads C", "refused", s.cache_read, s, C, "local").message)
    assert.equal("give two different loops", fails("not adjacent", "refused", s.fuse, s, "i", "i").refusal.why)
    s:bind("i", "blockIdx.x")
    fails("i is bound to blockIdx.x, which C does not have.*lowered", nil, s.show, s, "c")
  end)

  it("says that a stage is already computed at the requested loop", function()
    local s, sums, out = soft()
    local loop = s:loops(out)[1]
    s:compute_at(sums, loop)
    fails("it is already computed there", "refused", s.reverse_compute_at, s, out, loop)
  end)

  it("names the blocks that write the stage if there are several", function()
    local s, sums, out = soft()
    s:decompose_reduction(sums, "i")
    local err = fails("2 blocks write it: sums_init, sums", "refused", s.compute_at, s, sums, s:loops(out)[1])
    assert.equal("the stage must be a single block: use this step before the step that splits the block", err.refusal.why)
  end)

  it("says that the allocation of a stage is at a place that the step does not allow", function()
    local s, sums, out = soft()
    s:bind(s:loops(sums)[1], "blockIdx.x")
    s:bind(s:loops(out)[1], "blockIdx.x")
    local err = fails("cannot move sums to shared: sums is allocated outside the blocks that use it", "refused", s.set_scope, s,
      sums, "shared")
    assert.equal("its scope is shared: each block has its own", err.refusal.why)
  end)
end)
