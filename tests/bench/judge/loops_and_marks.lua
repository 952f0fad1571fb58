--- The rows make steps on loops, tails of splits, and marks such as parallel, on products, maps, stencils and reductions.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local function gemm(...) return with("gemm", ...) end
local function map(...) return with("map", ...) end
local function symbolic_gemm()
  return nests.gemm(nw.size("M", {min = 0}), nw.size "N", nw.size("K", {min = 0}))
end
local function symbolic_map() return nests.map(nw.size("M", {min = 0}), nw.size("N", {multiple = 8, min = 8})) end

local legal = {
  {"an even split", gemm(12), function(s) s:split("i", 4) end},
  {"a split with a guarded tail", gemm(13), function(s) s:split("i", 4) end},
  {"a split by more than the extent", gemm(5), function(s) s:split("i", 8) end},
  {"a split by 1", gemm(7), function(s) s:split("j", 1) end},
  {"a split into parts of different lengths", map(13), function(s) s:split("i", {parts = 4}) end},
  {"a cut tail with a mark of its own", map(37), function(s)
    local _, i_i, tail = s:split("i", {factor = 8, tail = "cut"})
    s:vectorize(i_i)
    s:unroll(tail)
  end},
  {"a cut tail of the reduction", gemm(6, 6, 13), function(s) s:split("k", {factor = 4, tail = "cut"}) end},
  {"a masked vector loop over a tail", map(37), function(s)
    local _, i_i = s:split("i", {factor = 8, tail = "guard"})
    s:vectorize(i_i)
  end},
  {"a loop split three times by factors that do not divide it", map(101), function(s)
    local _, i = s:split("i", 37)
    local _, i_i = s:split(i, 11)
    s:split(i_i, 3)
  end},
  {"a tile whose factors divide no extent", gemm(13, 11, 5), function(s) s:tile("i", "j", 4, 4) end},
  {"a tile with cut tails", map(13, 11), function(s) s:tile("i", "j", 4, 4, {tail = "cut"}) end},
  {"every order of a product", gemm(6), function(s)
    s:reorder("k", "i", "j")
    s:reorder("j", "k", "i")
    s:reorder("i", "k", "j")
    s:reorder("j", "i", "k")
  end},
  {"the reduction moved outermost, then a parallel loop inside it", gemm(8), function(s)
    s:reorder("k", "i", "j")
    s:parallel "i"
  end},
  {"vectors over a spatial loop inside the reduction", gemm(8), function(s)
    s:reorder("i", "k", "j")
    s:vectorize "j"
  end},
  {"fused spatial loops in parallel", gemm(9, 7, 5), function(s) s:parallel(s:fuse("i", "j")) end},
  {"a fused loop split by a factor that divides neither loop", map(6, 10), function(s)
    local f = s:fuse("i", "j")
    local o = s:split(f, 7)
    s:parallel(o)
  end},
  {"three loops fused and vectorized in parts", map(3, 5, 7), function(s)
    local f = s:fuse(s:fuse("i", "j"), "k")
    local _, lane = s:split(f, {factor = 8, tail = "guard"})
    s:vectorize(lane)
  end},
  {"a reduce loop unrolled", gemm(4, 4, 8), function(s) s:unroll "k" end},
  {"a reduce loop fused with a spatial one", gemm(4, 5, 6), function(s) s:fuse("j", "k") end},
  {"a reduction split twice and reordered outwards", gemm(8, 8, 30), function(s)
    local k_o, k_i = s:split("k", 6)
    local k_io, k_ii = s:split(k_i, 4)
    s:reorder(k_o, k_io, "i", "j", k_ii)
  end},
  {"two-level tiling with a tail at both levels", gemm(29, 31, 7), function(s)
    local yo, xo, yi, xi = s:tile("i", "j", 12, 13)
    s:tile(yi, xi, 5, 5)
    s:parallel(yo)
    s:unroll(xo)
  end},
  {"integers that wrap, summed in another order", gemm(6, 6, 6, "i8"), function(s) s:reorder("k", "j", "i") end},
  {"a product of factors in another order", with("fold", "prod", 5, 9, "i32"), function(s)
    local k_o, k_i = s:split("k", 4)
    s:reorder(k_i, k_o)
  end},
  {"a maximum, its loop split and moved outside", with("fold", "max", 5, 9), function(s)
    local k_o = s:split("k", 4)
    s:reorder(k_o, "i")
  end},
  {"an argmin in another order: ties go to the lowest index", with("arg", "argmin", 6, 10), function(s)
    local k_o, k_i = s:split("k", 3)
    s:reorder(k_i, k_o)
    s:parallel "i"
  end},
  {"symbolic sizes that may be 0: loops split, reordered, in parallel", symbolic_gemm, function(s)
    local i_o = s:split("i", 8)
    local _, j_i = s:split("j", 16)
    s:vectorize(j_i)
    s:parallel(i_o)
    s:split("k", 4)
  end},
  {"a symbolic size that is a multiple of the factor, so a split needs no guard", symbolic_map, function(s)
    local _, j_i = s:split("j", 8)
    s:vectorize(j_i)
    s:parallel(s:loops "Z"[1])
  end},
  {"symbolic loops fused and in parallel", symbolic_map, function(s) s:parallel(s:fuse("i", "j")) end},
  {"a symbolic product tiled with cut tails", symbolic_gemm, function(s) s:tile("i", "j", 4, 8, {tail = "cut"}) end},
  {"an extent of 1 in parallel and as a vector", map(1, 1), function(s)
    s:parallel "i"
    s:vectorize "j"
  end},
  {"unrolling two of three loops", gemm(3, 4, 5), function(s)
    s:unroll "j"
    s:unroll "k"
  end},
  {"two outputs of one body in parallel", with("twins", 20), function(s)
    local i_o, i_i = s:split("i", 8)
    s:parallel(i_o)
    s:unroll(i_i)
  end},
  {"an init split off before the reduce loop, then both nests marked", gemm(8, 8, 6), function(s, C)
    local init = s:decompose_reduction(C, "i")
    local loops = s:loops(init)
    s:vectorize(loops[#loops])
    s:parallel "i"
  end},
  {"an init split off in each row, then the reduction moved outside the columns", gemm(8, 8, 6), function(s, C)
    s:decompose_reduction(C, "j")
    s:reorder("k", "j")
    s:vectorize "j"
  end},
  {"the init of a maximum split off, then the reduction moved outermost", with("fold", "max", 7, 9), function(s, S)
    s:decompose_reduction(S, "i")
    s:reorder("k", "i")
    s:parallel "i"
  end},
  {"parallel over channels of a depthwise convolution, vectors along rows", with("depthwise", 3, 5, 8), function(s)
    s:parallel "ch_1"
    s:reorder("r", "q", "x_1")
    s:vectorize "x_1"
  end},
}

local illegal = {
  {"parallel over a reduction", gemm(8), function(s) return function() s:parallel "k" end end, "reduction"},
  {"parallel over the outer part of a reduction", gemm(8), function(s)
    local k_o = s:split("k", 2)
    return function() s:parallel(k_o) end
  end, "reduction"},
  {"parallel over the inner part of a reduction with a tail", gemm(6, 6, 7), function(s)
    local _, k_i = s:split("k", 3)
    return function() s:parallel(k_i) end
  end, "reduction"},
  {"parallel over an outermost reduction", gemm(8), function(s)
    s:reorder("k", "i", "j")
    return function() s:parallel "k" end
  end, "reduction"},
  {"parallel over a fused loop of a row and the reduction", gemm(4, 5, 6), function(s)
    local f = s:fuse("j", "k")
    return function() s:parallel(f) end
  end, "reduction"},
  {"vectors over a reduction", gemm(8), function(s) return function() s:vectorize "k" end end, "reduction"},
  {"vectors over the inner part of a reduction of whole numbers", with("fold", "sum", 4, 16, "i32"), function(s)
    local _, k_i = s:split("k", 4)
    return function() s:vectorize(k_i) end
  end, "reduction"},
  {"parallel over a maximum", with("fold", "max", 4, 16), function(s) return function() s:parallel "k" end end, "reduction"},
  {"parallel over an argmin", with("arg", "argmin", 4, 16), function(s)
    return function() s:parallel "k" end
  end, "reduction"},
  {"parallel over a product, its init split off", with("fold", "prod", 4, 16), function(s, S)
    s:decompose_reduction(S, "k")
    return function() s:parallel "k" end
  end, "reduction"},
  {"parallel over a reduction of symbolic extent", symbolic_gemm, function(s)
    return function() s:parallel "k" end
  end, "reduction"},
  {"parallel over both window loops of a convolution, fused", with("depthwise", 2, 4, 4), function(s)
    local f = s:fuse("r", "q")
    return function() s:parallel(f) end
  end, "reduction"},
  {"parallel inside parallel", gemm(8), function(s)
    s:parallel "i"
    return function() s:parallel "j" end
  end, "structure"},
  {"parallel around parallel", gemm(8), function(s)
    s:parallel "j"
    return function() s:parallel "i" end
  end, "structure"},
  {"vectors inside vectors", map(8, 8), function(s)
    s:vectorize "i"
    return function() s:vectorize "j" end
  end, "structure"},
  {"vectors of a symbolic length", symbolic_map, function(s)
    return function() s:vectorize "j" end
  end, "structure"},
  {"vectors of 300 lanes", map(300), function(s) return function() s:vectorize "i" end end, "structure"},
  {"two marks on one loop", map(8, 8), function(s)
    s:parallel "i"
    return function() s:unroll "i" end
  end, "structure"},
  {"a marked loop split", map(8, 8), function(s)
    s:vectorize "j"
    return function() s:split("j", 4) end
  end, "structure"},
  {"a fusion of loops that are not adjacent", gemm(8), function(s) return function() s:fuse("i", "k") end end, "structure"},
  {"loops fused in the wrong order", map(8, 8), function(s) return function() s:fuse("j", "i") end end, "structure"},
  {"loops of two nests reordered", with("blur", 6, 6), function(s)
    return function() s:reorder("y", "x_1") end
  end, "structure"},
  {"loops reordered around another stage", with("blur", 6, 6), function(s, _, X)
    s:compute_at(X, "y_1")
    return function() s:reorder("x_1", "y_1") end
  end, "structure"},
  {"a symbolic loop unrolled", symbolic_map, function(s) return function() s:unroll "i" end end, "structure"},
  {"a tile of loops of two nests", with("blur", 6, 6), function(s)
    return function() s:tile("y", "x_1", 2, 2) end
  end, "structure"},
  {"an init split off inside the reduction's outer part", gemm(8), function(s, C)
    local _, k_i = s:split("k", 4)
    return function() s:decompose_reduction(C, k_i) end
  end, "structure"},
  {"an init split off inside an outermost reduce loop", gemm(6), function(s, C)
    s:reorder("k", "i", "j")
    return function() s:decompose_reduction(C, "i") end
  end, "structure"},
  {"an init split off twice", gemm(6), function(s, C)
    s:decompose_reduction(C, "k")
    return function() s:decompose_reduction(C, "i") end
  end, "structure"},
  {"an init split off from a stage that is not a reduction", map(6), function(s, Z)
    return function() s:decompose_reduction(Z, "i") end
  end, "structure"},
  {"vectors over both parts of a split with a guarded tail", map(37), function(s)
    local i_o = s:split("i", {factor = 8, tail = "guard"})
    s:vectorize(i_o)
    return function() s:vectorize "i_i" end
  end, "structure"},
}

return {legal = legal, illegal = illegal}
