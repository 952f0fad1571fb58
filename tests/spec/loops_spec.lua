--- Loops: split by a list, tiles of many dimensions, skew, shift, loops of one iteration, marks taken away.
local nw = require "nestwright"
local support = require "support"

local function heat(rows, n, radius)
  local A = nw.placeholder({1, n}, "f32", "A")
  local H = nw.scan_state({rows, n}, "f32", "H")
  local first = nw.compute({1, n}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({rows, n}, function(t, x)
    return H(t - 1, nw.max(x - radius, 0)) + H(t - 1, x) * 2 + H(t - 1, nw.min(x + radius, n - 1))
  end, "update")
  return nw.schedule(nw.scan(first, update, H, "S"))
end

local function names(...)
  local out = {}
  for n, loop in ipairs {...} do out[n] = loop.name end
  return table.concat(out, " ")
end

local function unchanged(s, f)
  local before = s:text()
  local err = support.error_of(f)
  assert.equal(before, s:text())
  return err
end

describe("split by a list", function()
  it("makes one loop more than there are factors, outermost first", function()
    local s = support.gemm(64, 50, 20)
    assert.equal("i_0 i_1 i_2", names(s:split("i", {factors = {4, 8}})))
    assert.equal("j_0 j_1 j_2", names(s:split("j", {factors = {2, 5}})))
    assert.equal("k_0 k_1 k_2 k_3", names(s:split("k", {factors = {2, 2, 2}, tail = "guard"})))
    s:reorder("i_0", "j_0", "k_0", "k_1", "i_1", "j_1", "k_2", "k_3", "i_2", "j_2")
    assert.truthy(s:check())
  end)

  it("cuts one tail for all factors together", function()
    local s = support.gemm(50, 8, 8)
    assert.equal("i_0 i_1 i_2 i.tail", names(s:split("i", {factors = {4, 4}, tail = "cut"})))
    assert.truthy(tostring(s):find("for i.tail in 48..50", 1, true))
    assert.truthy(s:check())
  end)

  it("is one step that replays from either trace, also where the tail vanishes", function()
    local s = support.gemm(50, 8, 8)
    s:split("i", {factors = {4, 4}, tail = "cut"})
    s:unroll "i.tail"
    for _, n in ipairs {50, 64} do
      local other = support.gemm(n, 8, 8)
      other:replay(s:trace "json")
      if n == 50 then assert.equal(s:text(), other:text()) end
      assert.truthy(other:check())
    end
    local pasted = support.gemm(50, 8, 8)
    assert(load("local s = ...\n" .. s:trace()))(pasted)
    assert.equal(s:text(), pasted:text())
  end)

  it("refuses what is no list of factors", function()
    local s = support.gemm(16)
    for _, bad in ipairs {{}, {0}, {4, -1}, {1 << 20, 1 << 20}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {"a"}, {2.5}} do
      assert.truthy(tostring(unchanged(s, function() s:split("i", {factors = bad}) end)):find "factor")
    end
    unchanged(s, function() s:split("i", {factor = 4, factors = {4}}) end)
  end)
end)

describe("tile", function()
  it("has as many dimensions as loops are given, in either form", function()
    local s, t = support.gemm(20, 24, 9), support.gemm(20, 24, 9)
    assert.equal("i_o j_o k_o i_i j_i k_i", names(s:tile("i", "j", "k", 8, 8, 4)))
    t:tile({t:loop "i", "j", "k"}, {8, 8, 4})
    assert.equal(s:text(), t:text())
    assert.equal('s:tile("i", "j", "k", 8, 8, 4)\n', s:trace())
    assert.truthy(s:check())
    local u = support.gemm(20, 24, 9)
    u:replay(s:trace "json")
    assert.equal(s:text(), u:text())
  end)

  it("cuts the tails of all dimensions before it splits", function()
    local s = support.gemm(20, 22, 9)
    s:tile("i", "j", "k", 8, 8, 4, {tail = "cut"})
    assert.falsy(tostring(s):find "if ")
    assert.truthy(s:check())
  end)

  it("refuses loops in another order, twice, or without a factor each", function()
    local s = support.gemm(16)
    for _, bad in ipairs {{"j", "i", 4, 4}, {"i", "i", 4, 4}, {"i", "j", 4}, {"i", 4}, {}, {4, 4, "i", "j"}} do
      unchanged(s, function() s:tile(table.unpack(bad)) end)
    end
  end)
end)

describe("unroll by a factor", function()
  it("splits and unrolls the inner loop as one step", function()
    local s = support.gemm(18)
    assert.equal("j_o j_i", names(s:unroll("j", 4)))
    assert.truthy(tostring(s):find "unroll for j_i in 0..4")
    assert.equal('s:unroll("j", 4)\n', s:trace())
    assert.equal("k_o k_i k.tail", names(s:unroll("k", 4, {tail = "cut"})))
    assert.truthy(s:check())
  end)

  it("takes symbolic loops, and refuses what is too much", function()
    local M = nw.size("M", {min = 1})
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, "C"))
    s:unroll("i", 4, {tail = "cut"})
    assert.truthy(s:check())
    local g = support.gemm(8192)
    unchanged(g, function() g:unroll("i", 5000) end)
    unchanged(g, function() g:unroll("i", 0) end)
    unchanged(g, function() g:unroll("i", {tail = "cut"}) end)
  end)
end)

describe("skew", function()
  it("makes the heat equation tileable, and the tiles of a wavefront parallel", function()
    for _, radius in ipairs {1, 2} do
      local s = heat(13, 29, radius)
      assert.equal("raw", unchanged(s, function() s:tile("t_1", "x_1", 4, 8) end).refusal.kind)
      s:skew("x_1", "t_1", radius)
      s:tile("t_1", "x_1", 4, 8)
      s:skew("x_1_o", "t_1_o", 1)
      s:reorder("x_1_o", "t_1_o")
      s:parallel "t_1_o"
      s:vectorize "x_1_i"
      assert.truthy(s:check())
    end
  end)

  it("is refused a tile when it is too flat for the stencil", function()
    local s = heat(13, 29, 2)
    s:skew("x_1", "t_1", 1)
    assert.equal("raw", unchanged(s, function() s:tile("t_1", "x_1", 4, 8) end).refusal.kind)
  end)

  it("runs a wavefront of single iterations in parallel once every dependence points on", function()
    local s = heat(9, 11, 1)
    s:skew("x_1", "t_1", 2)
    s:reorder("x_1", "t_1")
    s:parallel "t_1"
    assert.truthy(s:check())
  end)

  it("takes a symbolic time and place", function()
    for _, sizes in ipairs {{nw.size("T", {min = 1}), 20}, {9, nw.size("N", {min = 2})}} do
      local s = heat(sizes[1], sizes[2], 1)
      s:skew("x_1", "t_1", 1)
      s:tile("t_1", "x_1", 4, 8)
      s:skew("x_1_o", "t_1_o", 1)
      s:reorder("x_1_o", "t_1_o")
      s:parallel "t_1_o"
      assert.truthy(s:check())
    end
  end)

  it("is undone by its opposite, and may point back", function()
    local s = support.gemm(7, 9, 5)
    local before = s:text():gsub(" step=%d+", "")
    s:skew("j", "i", -3)
    assert.truthy(s:check())
    s:skew("k", "j", 2)
    s:skew("k", "i", 1)
    assert.truthy(s:check())
    s:skew("k", "i", -1)
    s:skew("k", "j", -2)
    s:skew("j", "i", 3)
    assert.equal(#before, #(s:text():gsub(" step=%d+", "")))
    assert.truthy(s:check())
  end)

  it("gives loops new bounds for another order, exactly", function()
    local s = support.gemm(7, 9, 5)
    s:skew("j", "i", 2)
    s:skew("k", "i", -1)
    s:reorder("k", "j", "i")
    assert.truthy(s:check())
    s:reorder("i", "j", "k")
    s:split("j", 4)
    s:reorder("j_o", "i", "k", "j_i")
    assert.truthy(s:check())
  end)

  it("refuses loops apart, a factor of nothing, and fusing what depends", function()
    local s = support.gemm(8)
    unchanged(s, function() s:skew("i", "j", 1) end)
    unchanged(s, function() s:skew("i", "i", 1) end)
    unchanged(s, function() s:skew("j", "i", 0) end)
    unchanged(s, function() s:skew("j", "i", 1 << 40) end)
    unchanged(s, function() s:skew("j", "i", "1") end)
    unchanged(s, function() s:skew("j", support.gemm(8):loops()[1], 1) end)
    s:skew("j", "i", 1)
    unchanged(s, function() s:fuse("i", "j") end)
  end)
end)

describe("shift", function()
  it("lets a loop begin anywhere, also at a size", function()
    local M = nw.size("M", {min = 1})
    local A = nw.placeholder({M, 12}, "f32", "A")
    local s = nw.schedule(nw.compute({M, 12}, function(i, j) return A(i, j) + 1 end, "C"))
    s:shift("i", M + 2)
    s:shift("j", -5)
    assert.equal('s:shift("i", "M + 2")\ns:shift("j", -5)\n', s:trace())
    assert.truthy(tostring(s):find("for i in M + 2..2*M + 2", 1, true))
    assert.truthy(s:check())
    local B = nw.placeholder({M, 12}, "f32", "A")
    local t = nw.schedule(nw.compute({M, 12}, function(i, j) return B(i, j) + 1 end, "C"))
    t:replay(s:trace "json")
    assert.equal(s:text(), t:text())
    assert(load("local s = ...\ns:undo(2)\n" .. s:trace()))(t)
    assert.equal(s:text(), t:text())
    s:split("i", 4)
    s:split("j", 4)
    s:vectorize "j_i"
    assert.truthy(s:check())
  end)

  it("refuses what is no number of the computation", function()
    local s = support.gemm(8)
    for _, bad in ipairs {nw.size "Q", "Q", "1.5", 2.5, "i", "", true, {}, 1 << 62, "0 - (1 << 41)", -(1 << 50)} do
      unchanged(s, function() s:shift("i", bad) end)
    end
  end)
end)

describe("a loop of one iteration", function()
  it("goes around a stage or a loop, and away again", function()
    local s, C = support.gemm(6)
    local u = s:add_unit_loop(C)
    local v = s:add_unit_loop "i"
    assert.equal("u u_1", names(u, v))
    assert.equal("u_1 i j k u", names(table.unpack(s:loops(C))))
    s:remove_unit_loop(u)
    s:remove_unit_loop(v)
    assert.truthy(s:check())
    assert.equal("i j k", names(table.unpack(s:loops(C))))
  end)

  it("that compute_at leaves behind can be removed", function()
    local A = nw.placeholder({16, 16}, "f32", "A")
    local X = nw.compute({16, 16}, function(i, j) return A(i, j) * 2 end, "X")
    local Y = nw.compute({16, 16}, function(i, j) return X(i, j) + 1 end, "Y")
    local s = nw.schedule(Y)
    s:compute_at(X, s:loops(Y)[1])
    local unit = s:loops(X)[2]
    s:remove_unit_loop(unit)
    assert.equal(2, #s:loops(X))
    assert.truthy(s:check())
    local err = support.error_of(function() s:split(unit, 4) end)
    assert.truthy(tostring(err):find "removed")
  end)

  it("is only removed where it is known to run once, and unmarked", function()
    local M = nw.size("M", {min = 0})
    local A = nw.placeholder({M}, "f32", "A")
    local s = nw.schedule(nw.compute({M}, function(i) return A(i) + 1 end, "C"))
    unchanged(s, function() s:remove_unit_loop "i" end)
    local u = s:add_unit_loop "i"
    s:parallel(u)
    unchanged(s, function() s:remove_unit_loop(u) end)
    s:unmark(u)
    s:remove_unit_loop(u)
    unchanged(s, function() s:add_unit_loop "nothing" end)
    unchanged(s, function() s:add_unit_loop(3) end)
  end)
end)

describe("unmark", function()
  it("gives a marked loop back to split and fuse", function()
    local s = support.gemm(16)
    s:parallel "i"
    s:vectorize "j"
    s:unmark "i"
    s:unmark "j"
    s:fuse("i", "j")
    unchanged(s, function() s:unmark "k" end)
    assert.truthy(s:check())
  end)
end)
