--- The rows make steps on loops: splits by lists of factors, tiles of many dimensions, skewed and shifted loops, and steps on
--- several nests at once.
local nests = require "_nests"
local nw = require "nestwright"

local with, scan = nests.with, nests.scan
local function two(s) return nests.loops(s, "S") end

-- Makes a heat equation in two dimensions of space.
local function plane()
  local A = nw.placeholder({5, 6, 7}, "f32", "A")
  local S = nw.scan_state({5, 6, 7}, "f32", "S_state")
  local first = nw.compute({1, 6, 7}, function(t, y, x) return A(t, y, x) end, "first")
  local update = nw.compute({5, 6, 7}, function(t, y, x)
    return S(t - 1, nw.max(y - 1, 0), x) + S(t - 1, nw.min(y + 1, 5), x) - S(t - 1, y, nw.max(x - 1, 0))
      - S(t - 1, y, nw.min(x + 1, 6))
  end, "update")
  return nw.schedule(nw.scan(first, update, S, "S"))
end

-- Returns a function that makes a stencil. The stencil reads the elements x - r, x and x + r of the previous row.
local function wide(r)
  return function()
    return nests.recurrence(7, 12, function(S, _, t, x, n)
      return S(t - 1, nw.max(x - r, 0)) - S(t - 1, nw.min(x + r, n - 1)) + S(t - 1, x)
    end)
  end
end

-- Returns a function that makes X = A + 1 with n rows, Y = B + 3 with m rows, and Z = X * Y with min(n, m) rows.
local function pair(n, m)
  return function()
    local A, B = nw.placeholder({n, 5}, "f32", "A"), nw.placeholder({m or n, 5}, "f32", "B")
    local X = nw.compute({n, 5}, function(i, j) return A(i, j) + 1 end, "X")
    local Y = nw.compute({m or n, 5}, function(i, j) return B(i, j) + 3 end, "Y")
    local Z = nw.compute({nw.min(n, m or n), 5}, function(i, j) return X(i, j) * Y(i, j) end, "Z")
    return nw.schedule(Z), X, Y, Z
  end
end

-- Makes two states of one scan. Each state is computed from earlier rows of the other state.
local function ping_pong()
  local A = nw.placeholder({1, 8}, "f32", "A")
  local P, Q = nw.scan_state({6, 8}, "f32", "P"), nw.scan_state({6, 8}, "f32", "Q")
  local p0 = nw.compute({1, 8}, function(t, x) return A(t, x) end, "p0")
  local q0 = nw.compute({1, 8}, function(t, x) return A(t, x) * 3 end, "q0")
  local p = nw.compute({6, 8}, function(t, x) return Q(t - 1, x) + 1 end, "p")
  local q = nw.compute({6, 8}, function(t, x) return P(t - 1, 7 - x) * 2 end, "q")
  return nw.schedule {nw.scan({p0, q0}, {p, q}, {P, Q}, "S")}
end

-- Makes two reductions over axes of different extents.
local function two_sums()
  local A = nw.placeholder({6, 9}, "f32", "A")
  local k, l = nw.reduce_axis(9, "k"), nw.reduce_axis(4, "l")
  local R = nw.compute({6}, function(i) return nw.sum(A(i, k), k) end, "R")
  local Q = nw.compute({5}, function(i) return nw.max(A(i, l), l) end, "Q")
  return nw.schedule {R, Q}
end

-- Returns a function that makes X and Y. Y reads X in reverse order.
local function mirrored(n)
  return function()
    local A = nw.placeholder({n}, "f32", "A")
    local X = nw.compute({n}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({n}, function(i) return X(n - 1 - i) end, "Y")
    return nw.schedule(Y), X, Y
  end
end

local legal = {
  {"loops split by lists of factors that do not divide them", with("gemm", 13), function(s)
    s:split("i", {factors = {2, 3}})
    s:split("k", {factors = {2, 2, 2}})
  end},
  {"a loop split by a list of factors with one kind of tail, then reordered", with("map", 50, 7), function(s)
    local o, m, i = s:split("i", {factors = {3, 4}, tail = "cut"})
    s:reorder(i, o, m)
  end},
  {"a symbolic loop split by a list of factors, the middle loop in parallel", function() return nests.map(nw.size "M", 6) end,
    function(s)
      local _, m = s:split("i", {factors = {4, 8}})
      s:parallel(m)
    end},
  {"a tile of three dimensions", with("gemm", 10, 11, 12), function(s) s:tile("i", "j", "k", 4, 4, 4) end},
  {"a tile of three dimensions, tails cut", with("gemm", 10, 11, 12), function(s)
    s:tile("i", "j", "k", 4, 4, 4, {tail = "cut"})
  end},
  {"a heat equation in the plane, tiled only in space", plane, function(s)
    local _, y, x = two(s)
    s:tile(y, x, 2, 4)
  end},
  {"one loop unrolled by a factor with a guard, another with a cut tail", with("gemm", 10), function(s)
    s:unroll("j", 4)
    s:unroll("k", 3, {tail = "cut"})
  end},
  {"a heat equation: skewed and tiled", scan "heat", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:tile(t, x, 3, 4)
  end},
  {"a heat equation: skewed, space before time", scan "heat", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:reorder(x, t)
  end},
  {"a heat equation: a wavefront in parallel", scan "heat", function(s)
    local t, x = two(s)
    s:skew(x, t, 2)
    s:reorder(x, t)
    s:parallel(t)
  end},
  {"a heat equation: tiles of a wavefront in parallel", scan "heat", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    local to, xo = s:tile(t, x, 2, 4)
    s:skew(xo, to, 1)
    s:reorder(xo, to)
    s:parallel(to)
  end},
  {"a stencil that reads two elements to either side, skewed by two and tiled", wide(2), function(s)
    local t, x = two(s)
    s:skew(x, t, 2)
    s:tile(t, x, 3, 4)
  end},
  {"a distance of (1, -1): skewed and tiled", scan "against", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:tile(t, x, 2, 2)
  end},
  {"a distance of (1, -1): skewed, then time and space exchanged", scan "against", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:reorder(x, t)
  end},
  {"independent columns: space skewed by one, then moved outside time", scan "column", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:reorder(x, t)
  end},
  {"a heat equation in the plane: skewed in both directions, tiled in all three", plane, function(s)
    local t, y, x = two(s)
    s:skew(y, t, 1)
    s:skew(x, t, 1)
    s:tile(t, y, x, 2, 2, 3)
  end},
  {"a sweep that reads new values on the left and old ones on the right, tiled", scan "sweep", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:tile(t, x, 2, 3)
  end},
  {"a sweep as a wavefront", scan "sweep", function(s)
    local t, x = two(s)
    s:skew(x, t, 2)
    s:reorder(x, t)
    s:parallel(t)
  end},
  {"a product skewed and skewed back", with("gemm", 7), function(s)
    s:skew("j", "i", 3)
    s:skew("k", "j", -2)
    s:skew("k", "j", 2)
    s:skew("j", "i", -3)
  end},
  {"a skewed product in several orders", with("gemm", 5, 6, 7), function(s)
    s:skew("j", "i", 2)
    s:skew("k", "i", -1)
    s:reorder("k", "j", "i")
    s:reorder("j", "i", "k")
  end},
  {"skewed rows as vectors with masked ends", with("map", 9, 21), function(s)
    s:skew("j", "i", 1)
    local _, j_i = s:split("j", 8)
    s:vectorize(j_i)
    s:parallel "i"
  end},
  {"loops shifted to begin at another value, then split and fused", with("map", 12, 10), function(s)
    s:shift("i", 5)
    s:shift("j", -3)
    s:fuse(s:split("i", 4))
    s:split("j", 4)
  end},
  {"a loop that begins at a symbolic value", function() return nests.map(nw.size "M", 6) end, function(s)
    s:shift("i", "2*M + 1")
    s:parallel "i"
  end},
  {"a loop of one iteration: added, made parallel, unmarked and removed", with("gemm", 6), function(s)
    local u = s:add_unit_loop "k"
    s:reorder(u, "i", "j")
    s:parallel(u)
    s:unmark(u)
    s:remove_unit_loop(u)
  end},
  {"the loop of one iteration that compute_at leaves, removed", with("blur", 6, 8), function(s, Y, X)
    local y, x = nests.loops(s, Y)
    s:compute_at(X, x)
    s:remove_unit_loop(s:loops(X)[4])
    s:parallel(y)
  end},
  {"three stages merged in both loops", pair(6), function(s)
    s:merge("i", "i_1")
    s:merge("i", "i_2")
    s:merge("j", "j_1")
    s:merge("j", "j_2")
    s:parallel "i"
  end},
  {"a stage merged with a reader of earlier elements", function()
    local A = nw.placeholder({12}, "f32", "A")
    local X = nw.compute({12}, function(i) return A(i) * 2 end, "X")
    local Y = nw.compute({12}, function(i) return X(nw.max(i - 1, 0)) + X(i) end, "Y")
    return nw.schedule(Y), X, Y
  end, function(s) s:merge("i", "i_1") end},
  {"a stage merged with a reader of later elements, after a cut", with("ahead", 12, 2), function(s)
    s:cut("i", 2)
    s:merge("i.rest", "i_1")
  end},
  {"the space loops of a scan's two states merged in each time step", ping_pong, function(s) s:merge("x_2", "x_3") end},
  {"a merged nest divided into its three stages by fission", pair(6), function(s, X, Y, Z)
    s:compute_at(X, (nests.loops(s, Z)))
    s:merge("i_1", "i_2")
    s:fission("i_1", {after = Y})
    s:fission("i_1.after", {after = X})
  end},
  {"fission of a product and the stage that adds a bias to it", with("layer", 6, 7, 8), function(s, _, P, C)
    s:compute_at(C, (nests.loops(s, P)))
    s:fission((nests.loops(s, P)), {after = C})
  end},
  {"two independent stages exchanged", pair(6), function(s, X, Y) s:reorder_stmts(X, Y) end},
  {"the pieces of a loop exchanged", with("map", 12, 4), function(s)
    s:cut("i", 5)
    s:reorder_stmts("i.head", "i.rest")
  end},
  {"the inits of a scan's states exchanged", ping_pong, function(s) s:reorder_stmts("t", "t_1") end},
  {"two stages of different extents as one loop, in parallel", pair(6, 9), function(s)
    s:parallel(s:create_fused_loop("i", "i_1"))
  end},
  {"two stages of symbolic extents as one loop, in parallel",
    function() return pair(nw.size("M", {min = 0}), nw.size("N", {min = 0}))() end, function(s)
      s:parallel(s:create_fused_loop("i", "i_1"))
    end},
  {"inner loops as one loop: the two states of a scan in a time step, in parallel", ping_pong, function(s)
    s:parallel(s:create_fused_loop("x_2", "x_3"))
  end},
  {"inner loops of merged nests as one loop", pair(6), function(s)
    s:merge("i", "i_1")
    s:create_fused_loop("j", "j_1")
    s:parallel "i"
  end},
  {"two sums of different depths as one loop, in parallel", two_sums, function(s)
    s:parallel(s:create_fused_loop("i", "i_1"))
  end},
  {"a horizontally fused loop split, its parts in parallel", pair(6, 9), function(s)
    s:parallel((s:split(s:create_fused_loop("i", "i_1"), 4)))
  end},
}

local illegal = {
  {"a heat equation: skewed the wrong way, tiled", scan "heat", function(s)
    local t, x = two(s)
    s:skew(x, t, -1)
    return function() s:tile(t, x, 2, 3) end
  end, "raw"},
  {"a heat equation: skewed the wrong way, space before time", scan "heat", function(s)
    local t, x = two(s)
    s:skew(x, t, -1)
    return function() s:reorder(x, t) end
  end, "raw"},
  {"a heat equation: skewed by one, the wavefront in parallel", scan "heat", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:reorder(x, t)
    return function() s:parallel(t) end
  end, "raw"},
  {"a heat equation: skewed and tiled, the loop over tiles of time in parallel", scan("heat", 9, 12), function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    local to = s:tile(t, x, 2, 3)
    return function() s:parallel(to) end
  end, "raw"},
  {"a heat equation: skewed and tiled, the loop over tiles of space in parallel", scan("heat", 9, 12), function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    local _, xo = s:tile(t, x, 2, 3)
    return function() s:parallel(xo) end
  end, "raw"},
  {"a stencil that reads two elements to either side, skewed by one and tiled", wide(2), function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    return function() s:tile(t, x, 2, 4) end
  end, "raw"},
  {"a stencil that reads three elements to either side, skewed by two, then reordered", wide(3), function(s)
    local t, x = two(s)
    s:skew(x, t, 2)
    return function() s:reorder(x, t) end
  end, "raw"},
  {"a mirrored read: tiled after a skew by one", scan "mirror", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    return function() s:tile(t, x, 2, 3) end
  end, "raw"},
  {"a heat equation in the plane: skewed in one direction, tiled in all three", plane, function(s)
    local t, y, x = two(s)
    s:skew(y, t, 1)
    return function() s:tile(t, y, x, 2, 2, 2) end
  end, "raw"},
  {"a sweep: skewed by one, the wavefront in parallel", scan "sweep", function(s)
    local t, x = two(s)
    s:skew(x, t, 1)
    s:reorder(x, t)
    return function() s:parallel(t) end
  end, "raw"},
  {"time skewed by space", scan "heat", function(s)
    local t, x = two(s)
    return function() s:skew(t, x, 1) end
  end, "structure"},
  {"skewed loops fused", with("map", 6, 7), function(s)
    s:skew("j", "i", 1)
    return function() s:fuse("i", "j") end
  end, "structure"},
  {"a cut tail of a skewed loop", with("map", 6, 7), function(s)
    s:skew("j", "i", 1)
    return function() s:split("j", {factor = 4, tail = "cut"}) end
  end, "structure"},
  {"a vector loop around a loop that is skewed by it", with("map", 6, 8), function(s)
    s:skew("j", "i", 1)
    return function() s:vectorize "i" end
  end, "structure"},
  {"a loop of six iterations removed as a unit loop", with("map", 6, 7),
    function(s) return function() s:remove_unit_loop "i" end end, "structure"},
  {"a loop of symbolic extent removed as a unit loop", function() return nests.map(nw.size "M", 3) end,
    function(s) return function() s:remove_unit_loop "i" end end, "structure"},
  {"a stage merged with a reader of later elements", with("ahead", 12, 2), function(s)
    s:cut("i", 10)
    s:reorder_stmts("i.head", "i.rest")
    return function() s:merge("i.head", "i_1") end
  end, "raw"},
  {"a stage merged with a reader in reverse order", mirrored(9), function(s)
    return function() s:merge("i", "i_1") end
  end, "raw"},
  {"loops with different numbers of iterations, merged", pair(6, 9), function(s)
    return function() s:merge("i", "i_1") end
  end, "structure"},
  {"fission of the two states of a scan in time", ping_pong, function(s)
    return function() s:fission("t_2", {after = "S.v0"}) end
  end, "raw"},
  {"fission after the last statement", pair(6), function(s)
    s:merge("i", "i_1")
    return function() s:fission("i", {after = "Y"}) end
  end, "structure"},
  {"a reader moved before the stage that it reads", pair(6), function(s, _, Y, Z)
    return function() s:reorder_stmts(Y, Z) end
  end, "raw"},
  {"the init of a scan moved after its first time step", scan "column", function(s)
    return function() s:reorder_stmts(s:loops()[1], (two(s))) end
  end, "raw"},
  {"a stage and its reader as one loop", pair(6), function(s)
    return function() s:create_fused_loop("i_1", "i_2") end
  end, "raw"},
  {"three nests as one loop, where the third reads the first two", pair(6), function(s)
    return function() s:create_fused_loop("i", "i_1", "i_2") end
  end, "raw"},
  {"a nest and a later one that reads it, with another between them, as one loop", pair(6), function(s)
    return function() s:create_fused_loop("i", "i_2") end
  end, "raw"},
  {"a horizontally fused loop over sums, the reduction in parallel", two_sums, function(s)
    s:create_fused_loop("i", "i_1")
    return function() s:parallel "k" end
  end, "reduction"},
}

return {legal = legal, illegal = illegal}
