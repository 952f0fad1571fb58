--- How failures read: tables with fields, whose text is a picture.
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
    assert.equal("dtype: there is no dtype 'f23'", err.message)
    assert.equal("did you mean 'f32'?", err.hint)
    assert.truthy(err.source:find "errors_spec.lua$")
    assert.equal(13, err.line)
  end)

  it("prints where, what, the line and what to try", function()
    local err = support.error_of(function() local _ = nw.zeros({1}, "f23") end)
    assert.equal(err.source .. [[
:23: dtype: there is no dtype 'f23'
    local err = support.error_of(function() local _ = nw.zeros({1}, "f23") end)
  hint: did you mean 'f32'?]], tostring(err))
    assert.truthy(("" .. err):find "f23")
  end)

  it("shows the line of a chunk that is no file", function()
    package.loaded["nestwright.sources"]["cell[7]"] = "local nw = ...\nlocal t = nw.zeros({1}, 'f23')\nreturn t"
    local f = assert(load(package.loaded["nestwright.sources"]["cell[7]"], "=cell[7]"))
    local err = support.error_of(f, nw)
    assert.truthy(tostring(err):find("cell[7]:2: dtype: there is no dtype 'f23'\n    local t = nw.zeros", 1, true))
  end)
end)

describe("a slip", function()
  local fails = support.fails

  it("with Lua's own == is told", function()
    local hint = "write nw.eq"
    fails(hint, "type", nw.compute, {4}, function(i) return i == 2 end)
    fails(hint, "type", nw.compute, {4}, function(i) return nw.select(i == 2, 1, 0) end)
    fails(hint, "type", nw.fact, nw.size "M", nw.size "M" % 16 == 0)
  end)

  it("in the name of a dtype that others have is told", function()
    for theirs, ours in pairs {float32 = "f32", double = "f64", uint8 = "u8", int64 = "i64", bfloat16 = "bf16"} do
      fails(("did you mean '%s'"):format(ours), "invalid", nw.zeros, {1}, theirs)
    end
  end)

  it("in indices and counts is told", function()
    local t = nw.zeros {2, 3}
    fails("index 2 is 3; it must be at least 0 and below 3", "range", t.get, t, 0, 3)
    fails("values: 2 for 6 elements", "invalid", t.fill_list, t, {1, 2})
  end)
end)

describe("a refusal", function()
  it("names the two iterations, the element and a way on", function()
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

  it("is a picture that teaches", function()
    local text = tostring(refusal())
    assert.truthy(text:find ":%d+: cannot run k_o in parallel\n    s:parallel \"k_o\"\n  C%[0, 0%] is ")
    assert.truthy(text:find "\n  for i in 0..512:\n")
    assert.truthy(text:find "<%- carries the dependence")
    assert.truthy(text:find "\n  you can: s:")
  end)

  it("offers what works", function()
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

  it("leaves the schedule as it was", function()
    local s = support.gemm(64)
    local before = s:text()
    pcall(s.parallel, s, "k")
    assert.equal(before, s:text())
    assert.equal(0, s:version())
    s:split("i", 8)
  end)
end)
