--- Tests blockize and unblockize, and steps that move units as a whole.
package.path = "tests/tools/?.lua;" .. package.path
local core = require "nestwright.core"
local kernels = require "microkernels"
local nw = require "nestwright"
local support = require "support"
local fails, refuses = support.fails, support.refuses

-- Returns a schedule of C, which reads P[i] and P[i + 2]. Without a number of rows, the number is a size.
local function window(rows)
  local n = rows or nw.size "M"
  local A = nw.placeholder({n + 2}, "i32", "A")
  local P = nw.compute({n + 2}, function(i) return A(i) * 3 end, "P")
  local C = nw.compute({n}, function(i) return P(i) + P(i + 2) end, "C")
  return nw.schedule(C), C, P
end

local function image()
  local A = nw.placeholder({20, 18}, "i32", "A")
  local P = nw.compute({20, 18}, function(i, j) return A(i, j) * 3 end, "P")
  local C = nw.compute({18, 16}, function(i, j) return P(i, j) - P(i + 2, j + 2) end, "C")
  return nw.schedule(C), C, P
end

-- Returns the schedule of a product C of 32x32 numbers in tiles of 4x8, which D reads.
local function product()
  local A, B = nw.placeholder({32, 32}, "i32", "A"), nw.placeholder({32, 32}, "i32", "B")
  local k = nw.reduce_axis(32, "k")
  local C = nw.compute({32, 32}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local D = nw.compute({32, 32}, function(i, j) return C(i, j) + nw.cast(i, "i32") end, "D")
  local s = nw.schedule(D)
  s:tile("i", "j", 4, 8)
  s:split("k", 2)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
  return s, C, D
end

local function has(s, ...)
  local text = tostring(s)
  for _, line in ipairs {...} do assert(text:find(line, 1, true), line .. " is not in:\n" .. text) end
end

local function has_not(s, ...)
  local text = tostring(s)
  for _, line in ipairs {...} do assert(not text:find(line, 1, true), line .. " is in:\n" .. text) end
end

describe("blockize", function()
  it("makes a unit that has no effect on what is computed", function()
    local s, C = image()
    s:tile("i", "j", 4, 6)
    local lowered = tostring(s:show "lowered")
    local unit = s:blockize "i_i"
    assert.equal("m", core.judge_question()) -- judged by the marks alone: the program is the same
    assert.equal("P_o", unit.name)
    assert.equal("unit P_o", tostring(unit))
    has(s, "unit P_o:\n      for i_i in 0..4:")
    assert.equal(lowered, tostring(s:show "lowered"))
    assert.same({"i_o", "j_o"}, support.names(s:loops(unit)))
    assert.equal('s:blockize "i_i"', s:trace():match "([^\n]*)\n*$")
    support.computes(s, {C})
    support.replays(s, function() return (image()) end)
    s:undo()
    has_not(s, "unit")
    s:redo()
    s:unblockize(unit)
    has_not(s, "unit")
  end)

  it("names the unit", function()
    local s = image()
    s:tile("i", "j", 4, 6)
    assert.equal("tile", s:blockize("i_i", "tile").name)
    assert.equal("tile_1", s:blockize("j_i", "tile").name)
    assert.equal("C_1", s:blockize("i_1", "C").name) -- a step takes units and stages by name, so their names differ
    assert.equal("j_o_1", s:blockize("j_o", "j_o").name)
    assert.truthy(tostring(s:tree()):find("unit tile", 1, true))
    refuses(s, "cannot be named", "invalid", s.blockize, s, "i_o", "two words")
    refuses(s, "it is already the unit tile", "refused", s.blockize, s, "i_i")
    refuses(s, 'no unit "P"; units are ', "invalid", s.unblockize, s, "P")
    assert.is_true(s:reparses())
  end)

  it("lets the name of a unit stand for its outermost loop", function()
    local s, C = image()
    s:tile("i", "j", 4, 6)
    s:blockize("j_i", "rows")
    s:vectorize "rows"
    has(s, "vectorize for j_i in 0..6:")
    s:blockize("j_o", "all")
    s:parallel "i_o"
    s:add_unit_loop "all"
    has(s, "for u in 0..1:\n    unit all:")
    support.computes(s, {C})
    s:cut("i_i", 2)
    s:blockize("i_i.head", "head")
    s:unblockize "rows.rest"
    support.computes(s, {C})
  end)

  it("gives the units of copies names of their own", function()
    local s, C = image()
    s:tile("i", "j", 4, 6)
    s:blockize("i_i", "T")
    s:cut("i_o", 3)
    has(s, "unit T.head:", "unit T.rest:")
    support.computes(s, {C})
    s:join("i_o.head", "i_o.rest")
    has(s, "unit T:\n      for i_i in 0..4:")
    has_not(s, "rest")
    s:specialize("i_o < 2", "j_o")
    has(s, "unit then/T:", "unit else/T:")
    support.computes(s, {C})
    local pieces = window(17)
    pieces:split("i", 4)
    pieces:blockize("i_i", "T")
    pieces:partition "i_o"
    assert.is_true(pieces:reparses())
  end)

  it("keeps the nest that a condition of sizes has removed", function()
    local s = window(16)
    local _, _, tail = s:split("i_1", {factor = 4, tail = "cut"})
    local unit = s:blockize(tail, "T")
    assert.equal("T", unit.name)
    s:compute_at(unit, "i_1_o") -- the tail is empty, so the step has no effect
    assert.truthy(s:notes():find("is empty: the step has no effect", 1, true))
    has_not(s, "unit")
  end)

  it("allows the loops around it to be reordered, fused, bound and run in parallel", function()
    local s, C = image()
    s:tile("i", "j", 4, 6)
    s:blockize("i_i", "T")
    s:reorder("j_o", "i_o")
    s:split("i_o", 2)
    s:parallel "j_o"
    support.computes(s, {C})
    s:unmark "j_o"
    s:bind("j_o", "blockIdx.x")
    s:bind("i_o_i", "threadIdx.x")
    s:bind("T", "threadIdx.y")
    local a = nw.random({20, 18}, "i32", {seed = 1})
    local want = nw.evaluate(C, {a})[1]
    assert.is_true(nw.allclose(want, nw.interpret(s, {a})[1], {rtol = 0, atol = 0}))
    assert.is_true(nw.allclose(want, nw.interpret(s, {a}, {lowered = true})[1], {rtol = 0, atol = 0}))
    s:unmark "i_i"
    s:unmark "i_o_i"
    s:unmark "j_o"
    s:fuse("j_o", "i_o_o")
    s:reorder("j_i", "i_i")
    s:unroll "j_i"
    support.computes(s, {C})
  end)

  it("refuses steps that would take it apart, and shows a way out", function()
    local s, _, P = image()
    s:tile("i", "j", 4, 6)
    s:blockize("i_i", "T")
    local function apart(f, ...)
      local err = refuses(s, "would take the unit T apart", "refused", f, s, ...)
      local found = false
      for _, step in ipairs(err.refusal.alternatives) do found = found or step == 's:unblockize "T"' end
      assert(found, tostring(err))
    end
    apart(s.reorder, "i_i", "i_o")
    apart(s.compute_at, P, "j_1")
    s:split("j_i", 2)
    s:add_unit_loop "i_i"
    refuses(s, "would take the unit T apart", "refused", s.fission, s, "j_o", {after = "i_i"})
    refuses(s, "not adjacent in a perfect nest", "refused", s.fuse, s, "j_o", "u")
    assert.equal('s:compute_at("T", "j_1")', fails("apart", "refused", s.compute_at, s, P, "j_1").refusal.alternatives[1])
  end)

  it("keeps stages that move into it, and loses stages that are inlined", function()
    local A = nw.placeholder({16}, "i32", "A")
    local X = nw.compute({16}, function(i) return A(i) + 1 end, "X")
    local Y = nw.compute({16}, function(i) return X(i) * 2 end, "Y")
    local s = nw.schedule(Y)
    s:split("i_1", 4)
    s:blockize("i_1_i", "T")
    s:blockize("i", "U")
    s:compute_inline(X)
    has_not(s, "unit U")
    s:undo()
    s:compute_at("U", "i_1_i")
    has(s, "  unit T:\n    for i_1_i in 0..4:\n      alloc X[16]\n      unit U:")
    support.computes(s, {Y})
    refuses(s, "would take the unit T apart", "refused", s.compute_at, s, X, "i_1_o")
    s:unblockize "T"
    refuses(s, "would take the unit U apart", "refused", s.compute_at, s, X, "i_1_o")
    s:compute_at("U", "i_1_o")
    support.computes(s, {Y})
  end)
end)

describe("compute_at of a unit", function()
  it("computes whole tiles", function()
    local s, C = image()
    s:tile("i", "j", 4, 6)
    local T = s:blockize("i_i", "T")
    s:tile("i_1", "j_1", 8, 8)
    s:compute_at(T, "j_1_o")
    has(s, "alloc P[12, 12]", "for i_o in 0..3:", "if 2*i_1_o + i_o < 5", "unit T:", "for i_i in 0..4:", "for j_i in 0..6:")
    assert.same({"i_1_o", "j_1_o", "i_o", "j_o"}, support.names(s:loops(T)))
    assert.truthy(s:notes():find "recomputes: each element of P is computed")
    support.computes(s, {C})
    support.replays(s, function() return (image()) end)
  end)

  it("computes a tile once if tiles of the reader have the same rows", function()
    local A = nw.placeholder({24}, "i32", "A")
    local P = nw.compute({24}, function(i) return A(i) * 3 end, "P")
    local C = nw.compute({24}, function(i) return P(i) + 1 end, "C")
    local s = nw.schedule(C)
    s:split("i", 4)
    s:blockize("i_i", "T")
    s:split("i_1", 8)
    s:compute_at("T", "i_1_o")
    has(s, "alloc P[8]", "for i_o in 0..2:\n    unit T:")
    has_not(s, "if")
    assert.equal("", s:notes())
    support.computes(s, {C})
  end)

  it("counts executions by loops that are the digits of a number", function()
    local s, C = window(62)
    s:split("i", 8)
    s:split("i_o", 4)
    s:blockize("i_i", "T")
    s:split("i_1", 8)
    local o, i = table.unpack(s:loops "T")
    s:compute_at("T", "i_1_o")
    has(s, "alloc P[16]", "for i_o_o in 0..2:\n    if i_1_o + i_o_o < 8:\n      unit T:")
    fails("i_o_i was replaced", "stale", function() return i.name end)
    fails("i_o_o was replaced into i_o_o", "stale", function() return o.name end)
    support.computes(s, {C})
  end)

  it("can be undone by further moves", function()
    local s, C, P = window(62)
    s:split("i", 8)
    local T = s:blockize("i_i", "T")
    local before = tostring(s)
    s:compute_at(T, "i_1")
    has(s, "for i_o in 0..(i_1 + 2) // 8 - i_1 // 8 + 1:\n    unit T:")
    s:compute_root(T)
    assert.equal(before, tostring(s))
    refuses(s, "already there", "refused", s.compute_root, s, T)
    s:split("i_1", 16)
    s:compute_at(T, "i_1_i")
    s:compute_at(T, "i_1_o")
    s:unblockize(T)
    s:reorder("i_i", "i_o") -- the condition around the unit is now one of P
    support.computes(s, {C})
    s:compute_at(P, "i_1_i")
    support.computes(s, {C})
  end)

  it("moves calls of intrinsics, and sums with their init", function()
    local s, C, D = product()
    s:blockize("k_o", "T")
    s:decompose_reduction(C, "k_o")
    s:blockize("i_i", "inner")
    s:tensorize("inner", kernels.gemm {name = "mm_moved", m = 4, n = 8, k = 2})
    s:tile(s:loops(D)[1], s:loops(D)[2], 10, 8)
    s:compute_at("T", s:loops(D)[2])
    has(s, "alloc C[12, 8]", "call mm_moved:", "if 2*i_1_o + i_o + i_1_o // 2 < 8:\n          unit T:")
    support.computes(s, {D})
    s:compute_root "T"
    has(s, "call mm_moved:")
    support.computes(s, {D})
  end)

  it("refuses moves that the unit does not allow", function()
    local s, C, D = product()
    s:decompose_reduction(C, "k_o")
    s:blockize("i_i", "T")
    refuses(s, "C_init writes C too", "refused", s.compute_at, s, "T", s:loops(D)[2])
    refuses(s, "that is a loop of T", "refused", s.compute_at, s, "T", "k_o")
    refuses(s, "that is a loop of T", "refused", s.compute_at, s, "T", "k_i")
    s:blockize(s:loops(D)[2], "U")
    refuses(s, "D is an output", "refused", s.compute_at, s, "U", "i_o")
    local t, _, P = window(16)
    t:split("i", 4)
    t:blockize("i_i", "T")
    t:cache_read("A", "local", {P}, {at = "i_o"})
    refuses(t, "T depends on i_o, which also holds other statements", "refused", t.compute_at, t, "T", "i_1")
    local two = nw.compute({16}, function(i) return P(i) end, "Z")
    local u = nw.schedule {nw.compute({16}, function(i) return P(i + 1) end, "Y"), two}
    u:split("i", 4)
    u:blockize("i_i", "T")
    refuses(u, "not all of its readers are inside that loop", "refused", u.compute_at, u, "T", u:loops(two)[1])
  end)

  it("moves units of an unknown size", function()
    local s = window()
    s:split("i", 4)
    s:blockize("i_i", "T")
    s:split("i_1", 6)
    s:compute_at("T", "i_1_o")
    support.agrees(s)
    s:compute_root "T"
    support.agrees(s)
    s:compute_at("T", "i_1_i")
    support.agrees(s)
  end)
end)

describe("moves and locations", function()
  it("offer steps of units", function()
    local s = window(62)
    s:split("i", 8)
    assert.truthy(tostring(s:moves "i_i"):find 's:blockize "i_i"')
    assert.truthy(tostring(s:moves "i_i"):find "unblockize +the loop is in no unit")
    s:blockize("i_i", "T")
    assert.truthy(tostring(s:moves "i_i"):find 's:unblockize "T"')
    assert.truthy(tostring(s:moves "i_1"):find 's:compute_at%("T", "i_1"%)')
    local there = {}
    for _, at in ipairs(s:locations "T") do there[at.loop or "root"] = at.why or at.size end
    assert.same({root = "64", i_1 = "17", i_o = "a unit can move only into a loop of another stage",
      i_i = "a unit can move only into a loop of another stage"}, there)
  end)
end)

describe("reverse_compute_at of a unit", function()
  it("computes a tile as soon as its rows are computed", function()
    local s, C = window(62)
    s:split("i", 16)
    s:split("i_1", 8)
    s:blockize("i_1_i", "T")
    s:reverse_compute_at("T", "i_o")
    has(s, "unit T:")
    assert.same({"i_o", "i_1_o"}, support.names(s:loops "T"))
    support.computes(s, {C})
    support.replays(s, function() return (window(62)) end)
  end)

  it("waits for all rows of a unit that runs along them", function()
    local s, C = image()
    s:split("i_1", 4)
    s:blockize("i_1_i", "T")
    s:reverse_compute_at("T", "j")
    has(s, "if")
    support.computes(s, {C})
  end)

  it("is refused if no loop around the unit runs along its inputs", function()
    local s = window(16)
    s:blockize("i_1", "T")
    refuses(s, "no loop around T runs along its inputs", "refused", s.reverse_compute_at, s, "T", "i")
    refuses(s, "that is a loop of T", "refused", s.reverse_compute_at, s, "T", "i_1")
  end)
end)

describe("tensorize of a unit", function()
  it("replaces its nest, by the name of the unit", function()
    local s, C, D = product()
    s:decompose_reduction(C, "k_o")
    local T = s:blockize("i_i", "T")
    s:tensorize(T, kernels.gemm {name = "mm_unit", m = 4, n = 8, k = 2})
    has(s, "unit T:\n        call mm_unit:")
    support.computes(s, {D})
    support.replays(s, function() local fresh = nw.schedule(D) return fresh end)
    s:unblockize(T)
    has(s, "call mm_unit:")
    fails("was replaced by the call of mm_unit", "invalid", s.blockize, s, "i_i")
  end)
end)
