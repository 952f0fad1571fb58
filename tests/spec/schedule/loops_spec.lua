--- Tests steps on loops: splits by a list, tiles of many dimensions, skew, shift, reversal, loops of one iteration, and the removal
--- of marks.
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
  it("makes n + 1 loops from n factors, outermost first", function()
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

  it("is one step, which both forms of the trace replay, also if there is no tail", function()
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

  it("refuses an invalid list of factors", function()
    local s = support.gemm(16)
    for _, bad in ipairs {{}, {0}, {4, -1}, {1 << 20, 1 << 20}, {1, 1, 1, 1, 1, 1, 1, 1, 1}, {"a"}, {2.5}} do
      assert.truthy(tostring(unchanged(s, function() s:split("i", {factors = bad}) end)):find "factor")
    end
    unchanged(s, function() s:split("i", {factor = 4, factors = {4}}) end)
  end)
end)

describe("tile", function()
  it("has one dimension for each given loop, in either form", function()
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

  it("refuses loops in another order, repeated loops, and missing factors", function()
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

  it("accepts symbolic loops, and refuses too many copies", function()
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

  it("does not allow a tile if the skew is too small for the stencil", function()
    local s = heat(13, 29, 2)
    s:skew("x_1", "t_1", 1)
    assert.equal("raw", unchanged(s, function() s:tile("t_1", "x_1", 4, 8) end).refusal.kind)
  end)

  it("runs a wavefront of single iterations in parallel if every dependence points forward", function()
    local s = heat(9, 11, 1)
    s:skew("x_1", "t_1", 2)
    s:reorder("x_1", "t_1")
    s:parallel "t_1"
    assert.truthy(s:check())
  end)

  it("accepts symbolic extents of time and space", function()
    local T, N = nw.size("T", {min = 1}), nw.size("N", {min = 2})
    for _, sizes in ipairs {{T, N}, {T, 20}, {9, N}} do
      local s = heat(sizes[1], sizes[2], 1)
      s:skew("x_1", "t_1", 1)
      s:tile("t_1", "x_1", 4, 8)
      s:skew("x_1_o", "t_1_o", 1)
      s:reorder("x_1_o", "t_1_o")
      s:parallel "t_1_o"
      assert.truthy(s:check())
    end
  end)

  it("is undone by the opposite factor, and may be negative", function()
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

  it("gives loops exact bounds after reorder", function()
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

  it("refuses loops of different nests and a factor of 0; fuse refuses dependent bounds", function()
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

describe("fuse", function()
  -- The step was refused: "X would compute an element outside its domain at (i_k=0)".
  it("fuses two loops without iterations", function()
    for _, of in ipairs {{0, 0}, {0, 3}, {3, 0}} do
      local A, k = nw.placeholder({of[1], of[2]}, "i8", "A"), nw.reduce_axis(of[2], "k")
      local s = nw.schedule(nw.compute({of[1]}, function(i) return nw.max(A(i, k), k) end, "X"))
      if of[1] == 0 then
        s:fuse("i", "k")
        assert.truthy(s:check())
      else -- the result of an empty reduction is its init, which must run
        local ok, e = pcall(s.fuse, s, "i", "k")
        assert.is_false(ok)
        assert.truthy(tostring(e):find("X[0] is never written", 1, true), tostring(e))
      end
    end
  end)
end)

describe("shift", function()
  it("lets a loop begin at any number, also at a size", function()
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

  it("refuses sizes that the computation does not have", function()
    local s = support.gemm(8)
    for _, bad in ipairs {nw.size "Q", "Q", "1.5", 2.5, "i", "", true, {}, 1 << 62, "0 - (1 << 41)", -(1 << 50)} do
      unchanged(s, function() s:shift("i", bad) end)
    end
  end)
end)

describe("reverse", function()
  it("runs the iterations from the last to the first, for any sizes", function()
    local M = nw.size("M", {min = 0})
    local A = nw.placeholder({M, 12}, "f32", "A")
    local function make() return nw.schedule(nw.compute({M, 12}, function(i, j) return A(i, j) + 1 end, "C")) end
    local s = make()
    s:reverse "i"
    s:split("j", 5)
    s:reverse "j_o"
    assert.equal('s:reverse "i"\ns:split("j", 5)\ns:reverse "j_o"\n', s:trace())
    assert.truthy(tostring(s):find("A[M - i - 1, ", 1, true))
    assert.is_true(s:reparses())
    assert.is_false(s:rounds())
    assert.truthy(s:check())
    local t, u = make(), make()
    t:replay(s:trace "json")
    assert.equal(s:text(), t:text())
    assert(load("local s = ...\n" .. s:trace()))(u)
    assert.equal(s:text(), u:text())
    s:reverse "i"
    s:reverse "i"
    assert.equal(t:text(), s:text())
  end)

  it("lets columns run outside the rows if each row reads elements to the right", function()
    local A, H = nw.placeholder({1, 20}, "f32", "A"), nw.scan_state({6, 20}, "f32", "H")
    local first = nw.compute({1, 20}, function(t, x) return A(t, x) end, "first")
    local update = nw.compute({6, 20}, function(t, x) return H(t - 1, nw.min(x + 1, 19)) + H(t - 1, x) end, "update")
    local s = nw.schedule(nw.scan(first, update, H, "S"))
    unchanged(s, function() s:reorder("x_1", "t_1") end)
    s:reverse "x_1"
    s:reorder("x_1", "t_1")
    assert.is_false(s:rounds())
    assert.truthy(s:check())
    local err = unchanged(s, function() s:reverse "t_1" end)
    assert.equal("raw", err.refusal.kind)
    assert.same({"(x_1=0, t_1=2)", "(x_1=0, t_1=1)"}, {err.refusal.source, err.refusal.sink})
  end)

  it("marks a float sum whose terms are added in another order, also without a proof", function()
    for _, dtype in ipairs {"f32", "i32"} do
      for _, unsafe in ipairs {false, true} do
        local A, k = nw.placeholder({9, 16}, dtype, "A"), nw.reduce_axis(16, "k")
        local R = nw.compute({9}, function(i) return nw.sum(A(i, k), k) end, "R")
        local s = nw.schedule(R)
        s:decompose_reduction(R, "i")
        s:reverse "i"
        assert.is_false(s:rounds())
        local function reverse() s:reverse "k" end
        if unsafe then s:unsafe(reverse) else reverse() end
        assert.equal(dtype == "f32", s:rounds())
        if dtype == "f32" then assert.truthy(s:notes():find "rounding may change") end
      end
    end
  end)

  it("offers to split off the init of a reduction, which must run before all updates", function()
    local s = support.gemm(8)
    local err = unchanged(s, function() s:reverse "k" end)
    assert.equal('s:decompose_reduction("C", "k")', err.refusal.alternatives[1])
    s:decompose_reduction("C", "k")
    s:reverse "k"
    assert.truthy(s:check())
  end)

  it("refuses a loop fused from symbolic sizes, and other arguments than loops", function()
    local M, N = nw.size "M", nw.size "N"
    local A = nw.placeholder({M, N}, "f32", "A")
    local s = nw.schedule(nw.compute({M, N}, function(i, j) return A(i, j) + 1 end, "C"))
    local f = s:fuse("i", "j")
    assert.truthy(tostring(unchanged(s, function() s:reverse(f) end)):find "use reverse before fuse")
    for _, bad in ipairs {"no loop", "C", 3, {}} do unchanged(s, function() s:reverse(bad) end) end
    unchanged(s, function() s:reverse() end)
  end)
end)

describe("a loop of one iteration", function()
  it("can be added around a stage or a loop, and be removed", function()
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

  it("that compute_at leaves can be removed", function()
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

  it("is removed only if it is known to run once and is not marked", function()
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
  it("removes a mark, so that the loop can be split and fused", function()
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

-- ---- Several nests

local function sums(n, m, k)
  local A, B = nw.placeholder({n, 10}, "f32", "A"), nw.placeholder({m, 10}, "f32", "B")
  local X = nw.compute({n, 10}, function(i, j) return A(i, j) + 1 end, "X")
  local Y = nw.compute({m, 10}, function(i, j) return nw.exp(B(i, j)) end, "Y")
  local Z = nw.compute({k or nw.min(n, m), 10}, function(i, j) return X(i, j) * Y(i, j) end, "Z")
  return nw.schedule(Z), X, Y, Z
end

-- Makes two states of one scan. Each state is computed from earlier rows of the other state.
local function ping_pong()
  local A = nw.placeholder({1, 16}, "f32", "A")
  local P, Q = nw.scan_state({8, 16}, "f32", "P"), nw.scan_state({8, 16}, "f32", "Q")
  local p0 = nw.compute({1, 16}, function(t, x) return A(t, x) end, "p0")
  local q0 = nw.compute({1, 16}, function(t, x) return A(t, x) * 3 end, "q0")
  local p = nw.compute({8, 16}, function(t, x) return Q(t - 1, x) + 1 end, "p")
  local q = nw.compute({8, 16}, function(t, x) return P(t - 1, 15 - x) * 2 end, "q")
  return nw.schedule {nw.scan({p0, q0}, {p, q}, {P, Q}, "S")}
end

describe("merge", function()
  it("merges two loops, and then the loops inside them", function()
    local s, _, _, Z = sums(8, 8, 8)
    assert.equal("i", names(s:merge("i", "i_1")))
    assert.equal("i", names(s:merge("i", "i_2")))
    assert.equal("j", names(s:merge("j", "j_1")))
    s:merge("j", "j_2")
    assert.equal("i j", names(table.unpack(s:loops(Z))))
    assert.truthy(s:check())
    assert.truthy(tostring(support.error_of(function() s:split("i_1", 2) end)):find "merged into i")
  end)

  it("accepts loops with different begins, fused loops and symbolic sizes", function()
    local M = nw.size("M", {min = 0})
    local s = sums(M, M, M)
    s:fuse("i", "j")
    s:fuse("i_1", "j_1")
    s:merge("i_j", "i_1_j_1")
    assert.truthy(s:check())
    s:shift("i_2", 5)
    local t = sums(M, M, M)
    t:shift("i", 3)
    t:shift("i_1", -M)
    t:merge("i", "i_1")
    t:merge("i", "i_2")
    assert.truthy(t:check())
  end)

  it("refuses reads before writes, different extents, and different marks", function()
    local A = nw.placeholder({20}, "f32", "A")
    local X = nw.compute({20}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({20}, function(i) return X(19 - i) end, "Y")
    local s = nw.schedule(Y)
    assert.equal("raw", unchanged(s, function() s:merge("i", "i_1") end).refusal.kind)
    local u = sums(8, 6, 6)
    unchanged(u, function() u:merge("i", "i_1") end)
    unchanged(u, function() u:merge("i_1", "i") end)
    unchanged(u, function() u:merge("i", "i_2") end)
    unchanged(u, function() u:merge("i", "j") end)
    unchanged(u, function() u:merge("i", "i") end)
    u:parallel "i_1"
    unchanged(u, function() u:merge("i_1", "i_2") end)
    u:parallel "i_2"
    u:merge("i_1", "i_2")
    assert.truthy(u:check())
  end)
end)

describe("fission", function()
  it("advises to fuse nested loops, and the advice works", function()
    for _, args in ipairs {{"i", "j"}, {"j", "i"}} do
      for _, name in ipairs {"merge", "create_fused_loop"} do
        local s = support.gemm(8)
        local text = tostring(support.error_of(function() s[name](s, table.unpack(args)) end))
        assert.truthy(text:find("j is inside i, but the two must follow each other", 1, true), text)
        assert.falsy(text:find("program order", 1, true))
        assert.truthy(text:find('you can: s:fuse("i", "j")', 1, true), text)
        s:fuse("i", "j")
      end
    end
    local s = support.gemm(8)
    local text = tostring(support.error_of(function() s:reorder_stmts("i", "j") end))
    assert.truthy(text:find('you can: s:reorder("j", "i")', 1, true), text)
    s:reorder("j", "i")
    assert.truthy(tostring(support.error_of(function() s:merge("i", "i") end)):find("give two different ones", 1, true))
  end)

  it("is advised for loops that follow each other and cannot be fused", function()
    local A = nw.placeholder({8}, "f32", "A")
    local B = nw.compute({8}, function(i) return A(i) * 2 end, "B")
    local s = nw.schedule(nw.compute({8}, function(i) return B(i) + 1 end, "C"))
    local text = tostring(support.error_of(function() s:fuse("i", "i_1") end))
    assert.truthy(text:find("i_1 is not inside i", 1, true), text)
    assert.truthy(text:find('you can: s:merge("i", "i_1")', 1, true), text)
    s:merge("i", "i_1")
  end)

  it("undoes a merge, through all loops in between", function()
    local s, X, Y, Z = sums(8, 8, 8)
    s:merge("i", "i_1") s:merge("j", "j_1") s:merge("i", "i_2") s:merge("j", "j_2")
    assert.equal("i i.after", names(s:fission("i", {after = Y})))
    assert.equal("i.after i.after/j", names(table.unpack(s:loops(Z))))
    assert.equal("j j.after", names(s:fission("j", {after = X})))
    assert.equal("i i.after_1", names(s:fission("i", {after = "j"})))
    assert.truthy(s:check())
  end)

  it("keeps storage that both nests need for all iterations", function()
    local s, X, _, Z = sums(8, 8, 8)
    s:compute_at(X, s:loops(Z)[1])
    assert.truthy(tostring(s):find("alloc X[1, 10]", 1, true))
    s:fission("i_2", {after = X})
    assert.truthy(s:notes():find("X is now stored outside both nests", 1, true))
    assert.truthy(s:check())
  end)

  it("refuses to run all reads before the writes of a recurrence", function()
    local s = ping_pong()
    assert.equal("raw", unchanged(s, function() s:fission("t_2", {after = "S.v0"}) end).refusal.kind)
    unchanged(s, function() s:fission("t_2", {after = "S.v1"}) end)
    unchanged(s, function() s:fission("t_2", {after = "t_2"}) end)
    unchanged(s, function() s:fission("t_2", {after = "t"}) end)
    unchanged(s, function() s:fission "t_2" end)
    unchanged(s, function() s:fission("t_2", {after = "nothing"}) end)
  end)
end)

describe("reorder_stmts", function()
  it("exchanges adjacent independent statements", function()
    local s, X, Y = sums(8, 8, 8)
    s:reorder_stmts(X, Y)
    assert.truthy(tostring(s):find "Y%[.*X%[")
    assert.truthy(s:check())
    s:reorder_stmts("i_1", "i")
    s:merge("i", "i_1")
    s:reorder_stmts("j", Y)
    assert.truthy(s:check())
  end)

  it("refuses a read before its write, and statements that are not adjacent", function()
    local s, X, Y, Z = sums(8, 8, 8)
    assert.equal("raw", unchanged(s, function() s:reorder_stmts(Y, Z) end).refusal.kind)
    for _, bad in ipairs {{X, Z}, {Y, X}, {X, X}, {"i", "j"}, {X}, {1, 2}, {"i", "nothing"}} do
      unchanged(s, function() s:reorder_stmts(table.unpack(bad)) end)
    end
  end)
end)

describe("create_fused_loop", function()
  local function fused(n, m, ...)
    local s = sums(n, m, ...)
    return s, s:create_fused_loop("i", "i_1")
  end

  it("makes one loop over the iterations of both loops, and says how these are balanced", function()
    local s, f = fused(8, 5, 5)
    assert.truthy(tostring(s):find("for i_or_i_1 in 0..13", 1, true))
    assert.truthy(s:notes():find "branch i: 8 iterations of 20 operations, 62 %%")
    assert.truthy(s:notes():find "branch i_1: 5 iterations")
    assert.truthy(s:check())
    assert.falsy(tostring(s:show "lowered"):find "if ", nil, "serial: the guards are gone")
    s:parallel(f)
    assert.truthy(s:check())
    local back = sums(8, 5, 5)
    back:replay(s:trace "json")
    assert.equal(s:text(), back:text())
    assert.truthy(s:reparses())
  end)

  it("is judged with exact guards, also after split, fuse, vectorize and parallel", function()
    for _, m in ipairs {5, nw.size("M", {min = 0})} do
      local s, f = fused(8, m, m == 5 and 5 or nil)
      local o = s:split(f, 3)
      s:parallel(o)
      assert.truthy(s:check())
      s:undo(2)
      s:vectorize(s:loops "X"[2])
      s:parallel(f)
      assert.truthy(s:check())
    end
  end)

  it("fuses inner loops, three loops at once, and the loops of reductions", function()
    local s = ping_pong()
    local f = s:create_fused_loop("x_2", "x_3")
    s:parallel(f)
    assert.truthy(s:check())
    local g = support.gemm(6, 7, 8)
    local k = nw.reduce_axis(9, "k")
    local A = nw.placeholder({7, 9}, "f32", "A")
    local R = nw.compute({7}, function(i) return nw.sum(A(i, k), k) end, "R")
    local Q = nw.compute({5}, function(i) return nw.max(A(i, k), k) end, "Q")
    local D = nw.compute({3}, function(i) return A(i, 0) / 2 end, "D")
    local t = nw.schedule {R, Q, D}
    local h = t:create_fused_loop("i", "i_1", "i_2")
    assert.truthy(t:check())
    t:parallel(h)
    assert.truthy(t:check())
    assert.truthy(g:check())
  end)

  it("refuses nests that depend on each other, and names two instances", function()
    local s = sums(8, 8, 8)
    local err = unchanged(s, function() s:create_fused_loop("i_1", "i_2") end)
    assert.equal("raw", err.refusal.kind)
    assert.truthy(tostring(err):find "not independent")
    unchanged(s, function() s:create_fused_loop("i", "i_1", "i_2") end)
    for _, bad in ipairs {{"i"}, {"i", "i"}, {"i", "j"}, {"i_1", "i"}, {"i", "i_2"}, {}, {"i", 3}, {"i", "nothing"}} do
      unchanged(s, function() s:create_fused_loop(table.unpack(bad)) end)
    end
    s:parallel "i"
    unchanged(s, function() s:create_fused_loop("i", "i_1") end)
  end)
end)
