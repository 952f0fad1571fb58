--- The rows divide loops into parts: they cut and join loops, and use partition, versions, assumptions and the tails of a split.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local function gemm(...) return with("gemm", ...) end
local function map(...) return with("map", ...) end
local function symbolic(min)
  return function() return nests.map(nw.size("M", {min = min or 0}), 7) end
end
local function symbolic_gemm() return nests.gemm(nw.size("M", {min = 0}), nw.size("N", {min = 0}), nw.size("K", {min = 0})) end
local function recurrence(step) return nests.scan(step, 9, 11) end

local function padded(h, w)
  return function()
    local H, W = h or nw.size("H", {min = 0}), w or nw.size("W", {min = 0})
    local A, F = nw.placeholder({H, W}, "f32", "A"), nw.placeholder({3, 3}, "f32", "F")
    local r, q = nw.reduce_axis(3, "r"), nw.reduce_axis(3, "q")
    local Y = nw.compute({H, W}, function(y, x)
      local v, u = y + r - 1, x + q - 1
      local inside = nw.all(nw.ge(v, 0), nw.lt(v, H), nw.ge(u, 0), nw.lt(u, W))
      return nw.sum(nw.select(inside, A(v, u), 0) * F(r, q), r, q)
    end, "Y")
    return nw.schedule(Y), Y
  end
end

local function concatenated(...)
  local sizes = {...}
  return function()
    local N, M = sizes[1] or nw.size "N", sizes[2] or nw.size "M"
    local A, B = nw.placeholder({N}, "f32", "A"), nw.placeholder({M}, "f32", "B")
    local Y = nw.compute({N + M}, function(i) return nw.select(nw.lt(i, N), A(i), B(i - N)) end, "Y")
    return nw.schedule(Y), Y
  end
end

-- Returns a function that makes X and Y = X + 1. X reads no tensor, so it may be computed beyond its end.
local function table_of(n)
  return function()
    local N = n or nw.size("N", {min = 0})
    local X = nw.compute({N}, function(i) return nw.cast(i % 9, "f32") end, "X")
    local Y = nw.compute({N}, function(i) return X(i) + 1 end, "Y")
    return nw.schedule(Y), Y, X
  end
end

local legal = {
  {"a cut in the middle", map(20), function(s) s:cut("i", 7) end},
  {"three cuts, one piece as a vector, another unrolled", map(40), function(s)
    s:cut("i", 8, 24, 32)
    s:vectorize "i.1"
    s:unroll "i.4"
  end},
  {"a cut at a symbolic position", symbolic(), function(s) s:cut("i", "M // 2") end},
  {"a cut outside of the loop", symbolic(), function(s) s:cut("i", -4, "M + 4") end},
  {"a cut of the reduction at an outer loop's variable: a triangle and the rest", gemm(9), function(s) s:cut("k", "i + 1") end},
  {"a cut of a symbolic reduction", symbolic_gemm, function(s) s:cut("k", "K // 3", "K - 1") end},
  {"a cut of a parallel loop", gemm(12), function(s)
    s:parallel "i"
    s:cut("i", 5)
  end},
  {"the rows of a heat equation cut in time", recurrence "heat", function(s) s:cut(s:loops "S"[1], 4) end},
  {"a sweep in place cut in space", recurrence "sweep", function(s) s:cut(s:loops "S"[2], 5) end},
  {"pieces cut again, and joined again", gemm(16), function(s)
    s:cut("i", 8)
    s:cut("i.head", 4)
    s:join("i.head.head", "i.head.rest")
    s:join("i.head", "i.rest")
  end},
  {"pieces scheduled alike and joined", symbolic(), function(s)
    s:cut("i", "M // 2")
    s:unroll "i.head/j"
    s:unroll "i.rest/j"
    s:join("i.head", "i.rest")
  end},
  {"a guard kept by join", map(37), function(s)
    s:split("i", 8)
    s:cut("i_o", 4)
    s:join("i_o.head", "i_o.rest")
  end},
  {"vectors in the whole tiles of a guarded split", symbolic(), function(s)
    s:split("i", 8)
    s:partition "i_o"
    s:reorder("i_o.main/j", "i_o.main/i_i")
    s:vectorize "i_o.main/i_i"
  end},
  {"the middle of a padded convolution, in both dimensions", padded(12, 13), function(s)
    s:partition "y"
    s:partition "y.main/x"
    s:parallel "y.main"
  end},
  {"the middle of a padded convolution of any size", padded(), function(s)
    s:partition "y"
    s:partition "y.main/x"
    s:split("y.main/x.main", 8)
    s:partition "y.main/x.main_o"
    s:vectorize "y.main/x.main_o.main/x.main_i"
  end},
  {"a concatenation in two pieces", concatenated(20, 13), function(s) s:partition "i" end},
  {"a concatenation of any sizes in two parallel pieces", concatenated(), function(s)
    s:partition "i"
    s:parallel "i.main"
    s:parallel "i.post"
  end},
  {"a partition at given iterations", gemm(16), function(s) s:partition("i", {at = {3, 13}}) end},
  {"two versions of a reduction, chosen by its length", symbolic_gemm, function(s)
    s:specialize("K % 4 == 0", "k")
    s:split("then/k", 4)
    s:split("else/k", 4)
  end},
  {"two versions of the program, one with whole tiles", symbolic_gemm, function(s)
    s:specialize "M % 4 == 0 and N % 8 == 0"
    s:tile("then/i", "then/j", 4, 8)
    s:parallel "then/i_o"
    s:parallel "else/i"
  end},
  {"versions of a program with temporaries", function() return nests.layer(nw.size("M", {min = 0}), 6, 5) end, function(s)
    s:specialize "M >= 8"
    s:parallel "then/i"
  end},
  {"a version for some iterations of the enclosing loop", gemm(12), function(s)
    s:specialize("i % 2 == 0", "k")
    s:unroll "then/k"
  end},
  {"a version within a version", symbolic_gemm, function(s)
    s:specialize("M > N", "j")
    s:specialize("N > 5", "then/j")
  end},
  {"a split without a tail, by assumption", symbolic_gemm, function(s)
    s:assume "M % 8 == 0"
    s:split("i", 8)
    s:parallel "i_o"
  end},
  {"a vector over eight iterations, which an assumption guarantees", symbolic(), function(s)
    s:assume "M >= 8"
    s:cut("i", 8)
    s:reorder("i.head/j", "i.head")
    s:vectorize "i.head"
  end},
  {"a last tile that begins earlier", map(37), function(s)
    local _, lanes = s:split("i", 8, {tail = "shift"})
    s:vectorize(lanes)
  end},
  {"tiles that overlap at the end, the reduction inside", gemm(10, 13, 7), function(s)
    s:tile("i", "j", 4, 8, {tail = "shift"})
    s:reorder("k", "i_i", "j_i")
    s:vectorize "j_i"
  end},
  {"overlapping tiles, their init split off inside the tile", gemm(10, 13, 7), function(s, C)
    s:split("i", 4, {tail = "shift"})
    s:decompose_reduction(C, "j")
  end},
  {"a shifted tile in a loop of symbolic extent, assumed to be at least one tile", symbolic(), function(s)
    s:assume "M >= 8"
    s:split("i", 8, {tail = "shift"})
  end},
  {"a shifted tile in the version for long loops", symbolic(), function(s)
    s:specialize("M >= 8", "i")
    s:split("then/i", 8, {tail = "shift"})
  end},
  {"shifted tiles, all but the last in parallel", symbolic(8), function(s)
    s:split("i", 8, {tail = "shift"})
    s:cut("i_o", "M // 8")
    s:parallel "i_o.head"
  end},
  {"a row of a heat equation with a shifted last tile", recurrence "heat", function(s)
    s:split(s:loops "S"[2], 4, {tail = "shift"})
  end},
  {"an argmax that overlapping tiles compute again", function() return nests.arg("argmax", 10, 6) end, function(s)
    s:split("i", 4, {tail = "shift"})
  end},
  {"a shifted split of a split", map(50), function(s)
    local _, i_i = s:split("i", 16, {tail = "shift"})
    s:split(i_i, 6, {tail = "shift"})
  end},
  {"a stage with a shifted tail, computed at its reader", function() return nests.blur(11, 13) end, function(s, Y, X)
    s:split(s:loops(Y)[1], 4, {tail = "shift"})
    s:compute_at(X, s:loops(Y)[1])
    s:split(s:loops(X)[3], 8, {tail = "shift"})
  end},
  {"overlapping tiles as lanes, the loop within a tile outside", map(37), function(s)
    s:split("i", 8, {tail = "shift"})
    s:reorder("i_i", "i_o")
    s:vectorize "i_o"
  end},
  {"a temporary computed beyond its end", table_of(37), function(s)
    local _, lanes = s:split("i", 8, {tail = "pad"})
    s:vectorize(lanes)
  end},
  {"a temporary of any size computed beyond its end", table_of(), function(s)
    local _, lanes = s:split("i", 8, {tail = "pad"})
    s:vectorize(lanes)
  end},
  {"a copy that repeats its last element", map(37), function(s)
    local copy = s:cache_read("A", "global")
    s:split(s:loops(copy)[1], 8, {tail = "pad"})
  end},
  {"padding in the storage of a tile", table_of(100), function(s, Y, X)
    s:split(s:loops(Y)[1], 30)
    s:compute_at(X, s:loops(Y)[1])
    s:split(s:loops(X)[2], 8, {tail = "pad"})
  end},
  {"masked vectors", map(37), function(s) s:split("i", 8, {tail = "predicate"}) end},
  {"masked vectors in a tile of any size", symbolic_gemm, function(s)
    s:tile("i", "j", 4, 8, {tail = "predicate"})
    s:reorder("k", "j_i")
  end},
}

local illegal = {
  {"shifted tiles inside the reduction", gemm(10, 13, 7), function(s)
    s:reorder("k", "i", "j")
    return function() s:split("i", 4, {tail = "shift"}) end
  end, "reduction"},
  {"a shifted tail of a reduction", gemm(10, 13, 7), function(s)
    return function() s:split("k", 4, {tail = "shift"}) end
  end, "reduction"},
  {"the reduction moved out of overlapping tiles", gemm(10, 13, 7), function(s)
    s:split("i", 4, {tail = "shift"})
    return function() s:reorder("k", "i_o", "i_i", "j") end
  end, "reduction"},
  {"overlapping tiles with a single init for all of them", gemm(10, 13, 7), function(s, C)
    s:decompose_reduction(C, "i")
    return function() s:split(s:loops(C)[1], 4, {tail = "shift"}) end
  end, "reduction"},
  {"the init of overlapping tiles moved out of the tiles", gemm(10, 13, 7), function(s, C)
    s:split("i", 4, {tail = "shift"})
    return function() s:decompose_reduction(C, "i_o") end
  end, "reduction"},
  {"overlapping tiles in parallel", map(37), function(s)
    s:split("i", 8, {tail = "shift"})
    return function() s:parallel "i_o" end
  end, "waw"},
  {"overlapping tiles as lanes", map(37), function(s)
    s:split("i", 8, {tail = "shift"})
    return function() s:vectorize "i_o" end
  end, "waw"},
  {"overlapping reductions in parallel", gemm(10, 13, 7), function(s)
    s:split("i", 4, {tail = "shift"})
    return function() s:parallel "i_o" end
  end, "reduction"},
  {"an overlapping tile in the parallel loop", symbolic(8), function(s)
    s:split("i", 8, {tail = "shift"})
    s:cut("i_o", "M // 8 + 1")
    return function() s:parallel "i_o.head" end
  end, "waw"},
  {"a shifted tile in a loop that may be shorter than a tile", symbolic(), function(s)
    return function() s:split("i", 8, {tail = "shift"}) end
  end, "bounds"},
  {"a shifted tile longer than the loop", map(5), function(s)
    return function() s:split("i", 8, {tail = "shift"}) end
  end, "bounds"},
  {"a shifted tile in the version for short loops", symbolic(), function(s)
    s:specialize("M >= 8", "i")
    return function() s:split("else/i", 8, {tail = "shift"}) end
  end, "bounds"},
  {"an output padded", map(13), function(s)
    return function() s:split("i", 8, {tail = "pad"}) end
  end, "structure"},
  {"a reduction padded", function() return nests.centred(7, 10) end, function(s, _, _, M)
    return function() s:split(s:loops(M)[2], 4, {tail = "pad"}) end
  end, "structure"},
  {"a stage padded beyond the end of the stage that it reads", function() return nests.ahead(14, 2) end, function(s, _, X)
    return function() s:split(s:loops(X)[1], 8, {tail = "pad"}) end
  end, "bounds"},
  {"masked lanes along a reduction", gemm(8, 8, 13), function(s)
    return function() s:split("k", 8, {tail = "predicate"}) end
  end, "reduction"},
  {"masked lanes along a recurrence", recurrence "sweep", function(s)
    return function() s:split(s:loops "S"[2], 4, {tail = "predicate"}) end
  end, "raw"},
  {"masked lanes around masked lanes", gemm(8, 13, 5), function(s)
    s:split("j", 8, {tail = "predicate"})
    return function() s:split("i", 3, {tail = "predicate"}) end
  end, "structure"},
  {"pieces of a recurrence in parallel", recurrence "column", function(s)
    local _, rest = s:cut(s:loops "S"[1], 4)
    return function() s:parallel(rest) end
  end, "raw"},
  {"a join of pieces that are not adjacent", map(20), function(s)
    s:cut("i", 5, 10)
    return function() s:join("i.1", "i.3") end
  end, "structure"},
  {"a join of pieces that were scheduled differently", gemm(16), function(s)
    s:cut("i", 8)
    s:reorder("i.rest/k", "i.rest/j")
    return function() s:join("i.head", "i.rest") end
  end, "structure"},
  {"loops of two stages joined", function() return nests.fork(9) end, function(s, Y, Z)
    return function() s:join(s:loops(Y)[1], s:loops(Z)[1]) end
  end, "structure"},
  {"a main piece for a condition that holds in stripes", function()
    local A = nw.placeholder({32}, "f32", "A")
    local Y = nw.compute({32}, function(i) return nw.select(nw.eq(i % 4, 1), A(i), 0) end, "Y")
    return nw.schedule(Y), Y
  end, function(s)
    return function() s:partition "i" end
  end, "structure"},
  {"a fused loop partitioned", map(13), function(s)
    s:split("i", 4)
    s:fuse("i_o", "i_i")
    return function() s:partition "i_o_i_i" end
  end, "structure"},
  {"an assumption that contradicts another by remainders alone", symbolic(1), function(s)
    s:assume "M % 4 == 1"
    return function() s:assume "M % 6 == 2" end
  end, "structure"},
  {"an assumption that is false for every size", symbolic(4), function(s)
    return function() s:assume "M < 3" end
  end, "structure"},
  {"the main part of a split in parallel along the reduction", gemm(8, 8, 37), function(s)
    s:split("k", 8)
    local _, main = s:partition "k_o"
    return function() s:parallel(main) end
  end, "reduction"},
  {"a version of a reduction in parallel", symbolic_gemm, function(s)
    s:specialize("K > 4", "k")
    return function() s:parallel "then/k" end
  end, "reduction"},
}

return {legal = legal, illegal = illegal}
