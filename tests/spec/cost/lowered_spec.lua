--- Tests programs as data: lowered programs with their statements and strides, scheduled programs, inputs and outputs, and handles
--- of loops after steps.
local nw = require "nestwright"
local core = require "nestwright.core"
local lowered = require "nestwright.cost.lowered"
local support = require "support"

local function of_one(f)
  local X = nw.placeholder({64}, "f32", "X")
  return nw.schedule(nw.compute({64}, function(i) return f(X(i)) end, "Y"))
end

local function names(loops)
  local out = {}
  for n, loop in ipairs(loops) do out[n] = loop.name end
  return table.concat(out, " ")
end

describe("operations of a lowered statement", function()
  it("are all counted, whatever their names", function()
    for name, f in pairs {log = nw.log, abs = nw.abs, floor = nw.floor, ceil = nw.ceil, sqrt = nw.sqrt,
      pow = function(x) return nw.pow(x, 2.5) end, neg = function(x) return -x end} do
      assert.equal(1, lowered.of(of_one(f)).statements[1].operations, name)
    end
  end)

  it("are two for an fma, one for a select, and none for an index", function()
    assert.equal(2, lowered.of(of_one(function(x) return x * 3 + 1 end)).statements[1].operations)
    local s = lowered.of(of_one(function(x) return nw.select(nw.gt(x, 0), x, 0) end)).statements[1]
    assert.same({1, 1}, {s.operations, s.selects})
    local X = nw.placeholder({64}, "f32", "X")
    s = lowered.of(nw.schedule(nw.compute({16}, function(i) return X(4 * i + 3) end, "Y"))).statements[1]
    assert.same({0, true, 3, 4}, {s.operations, s.copies, s.loads[1].offset, s.loads[1].strides[2]})
  end)

  it("count a value once if it occurs several times", function()
    local s = lowered.of(of_one(function(x) return nw.abs(x) * nw.abs(x) end)).statements[1]
    assert.same({2, 1}, {s.operations, #s.loads})
  end)
end)

describe("the lowered program", function()
  it("has the loops of the cost record, in its order", function()
    local s = support.product(64, 64, 64)
    s:split("j", 16)
    s:vectorize "j_i"
    local c = s:cost {machine = "zen5"}
    local v = lowered.of(s, c)
    assert.equal(#c.loops, #v.bodies)
    for n, body in ipairs(v.bodies) do
      assert.equal(c.loops[n].name, body.name)
      if n > 1 then assert.equal(c.loops[n].id, body.id) end
    end
  end)

  it("has, for indices with // and %, the strides that most iterations have", function()
    local X = nw.placeholder({1024}, "f32", "X")
    local s = nw.schedule(nw.compute({256}, function(i) return X(64 * (i // 16) + 2 * (i % 16)) end, "Y"))
    assert.equal(2, lowered.of(s).statements[1].loads[1].strides[2])
  end)

  it("replaces sizes by their numbers", function()
    local M = nw.size "M"
    local X = nw.placeholder({8, M}, "f32", "X")
    local s = nw.schedule(nw.compute({8}, function(i) return X(i, 0) end, "Y"))
    local v = lowered.of(s, s:cost {machine = "zen5", sizes = {M = 40}}, {M = 40})
    assert.equal(40, v.statements[1].loads[1].strides[2])
    assert.equal(320, v.buffers.X.elements)
  end)

  it("marks atomic stores", function()
    local A = nw.placeholder({100}, "f32", "A")
    local k = nw.reduce_axis(100, "k")
    local S = nw.compute({1}, function(_) return nw.sum(A(k), k) end, "S")
    local s = nw.schedule(S)
    s:split("k", 8)
    s:atomic(S)
    s:parallel "k_o"
    local n = 0
    for _, st in ipairs(lowered.of(s).statements) do n = n + (st.updates and 1 or 0) end
    assert.equal(1, n)
  end)
end)

describe("the nest as data", function()
  it("gives the marks and extents of loops, and the last axis of stages", function()
    local s = support.product(64, 48, 32)
    s:parallel "i"
    local rows = core.outline(s)
    assert.same({"loop", "i", "parallel", 64, 0}, {rows[1].kind, rows[1].name, rows[1].mark, rows[1].extent, rows[1].depth})
    assert.same({"stage", "C", "j", 3}, {rows[4].kind, rows[4].name, rows[4].axis, rows[4].depth})
  end)

  it("gives the inputs and outputs of a computation", function()
    local M = nw.size "M"
    local X = nw.placeholder({M + 1, 3}, "f16", "X")
    local s = nw.schedule(nw.compute({M}, function(i) return X(i + 1, 0) end, "Y"))
    local input = s:inputs()[1]
    assert.same({"X", "f16", 3}, {input.name, input.dtype, input.dims[2]})
    assert.equal("M + 1", input.dims[1])
    assert.same({9, 3}, core.signature(s, {M = 8}).inputs[1].dims)
    assert.equal("Y", s:outputs()[1].name)
  end)
end)

describe("a loop after a step", function()
  it("is forwarded to the loops that the steps made from it", function()
    local s = support.product(64, 64, 64)
    local i, j = s:loops()[1], s:loops()[2]
    assert.equal("i", names(i.forwarded))
    s:split(i, 8)
    assert.equal("i_o i_i", names(i.forwarded))
    s:split("i_i", 4)
    assert.equal("i_o i_i_o i_i_i", names(i.forwarded))
    assert.equal("j", names(j.forwarded))
    s:undo()
    assert.equal("i_o i_i", names(i.forwarded))
  end)

  it("is forwarded to the loop into which it was fused", function()
    local s = support.product(64, 64, 64)
    local i, j = s:loops()[1], s:loops()[2]
    local both = s:fuse(i, j)
    assert.equal(both.name, names(i.forwarded))
    assert.equal(both.name, names(j.forwarded))
  end)
end)

describe("s:why() for lowered lines", function()
  it("describes the lines that are shown, also those of workspaces", function()
    local s, C, A = support.gemm(32)
    s:cache_read(A, "global", {C})
    local text, n = tostring(s:show "lowered"), 0
    for line in text:gmatch "[^\n]+" do
      n = n + 1
      if line:find "^ *alloc " then assert.truthy(tostring(s:why(n, "lowered")):find("cache_read", 1, true)) end
    end
    assert.equal(n, #core.lowered_line_ids(s))
  end)
end)
