--- The rows make reductions in parts, and reductions with atomic updates.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local function gemm(...) return with("gemm", ...) end
local function symbolic() return nests.gemm(nw.size("M", {min = 0}), nw.size "N", nw.size("K", {min = 0})) end

-- Makes the maximum M of each row, and a sum over each row that reads M.
local function softmax(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local k, l = nw.reduce_axis(n, "k"), nw.reduce_axis(n, "l")
  local M = nw.compute({m}, function(i) return nw.max(A(i, k), k) end, "M")
  local S = nw.compute({m}, function(i) return nw.sum(A(i, l) - M(i), l) end, "S")
  return nw.schedule(S), S, M
end

local legal = {
  {"partial sums along the inner part of a loop, in parallel", gemm(6, 6, 12), function(s, C)
    local _, k_i = s:split("k", 4)
    s:rfactor(C, k_i)
    s:parallel(k_i)
  end},
  {"partial sums along the outer part, in parallel", gemm(6, 6, 12), function(s, C)
    local k_o = s:split("k", 4)
    s:rfactor(C, k_o)
    s:parallel(k_o)
  end},
  {"partial sums of a loop with a tail, as vectors along the last dimension", gemm(5, 6, 13), function(s, C)
    local _, k_i = s:split("k", 4)
    s:rfactor(C, k_i, {factor_axis = -1})
    s:vectorize(k_i)
  end},
  {"partial sums whose loop moves outermost", gemm(5, 6, 13), function(s, C)
    local k_o = s:split("k", 5)
    s:rfactor(C, k_o)
    s:reorder(k_o, "i", "j", "k_i")
    s:parallel(k_o)
  end},
  {"partial sums of a single sum, in parallel", with("fold", "sum", 1, 40), function(s, S)
    local k_o = s:split("k", 8)
    s:rfactor(S, k_o)
    s:parallel(k_o)
    s:vectorize(s:loops(S)[1])
  end},
  {"partial products", with("fold", "prod", 4, 10, "i64"), function(s, S) s:rfactor(S, (s:split("k", 3))) end},
  {"partial minima, in vectors of eight", with("fold", "min", 3, 37), function(s, S)
    local _, k_i = s:split("k", 8)
    s:rfactor(S, k_i)
    s:vectorize(k_i)
  end},
  {"a partial argmax, with a tail", with("arg", "argmax", 4, 11), function(s, V)
    local k_o, k_i = s:split("k", 4)
    s:rfactor(V, k_i)
    s:reorder(k_i, k_o)
    s:parallel(k_i)
  end},
  {"a partial argmin for each candidate", with("arg", "argmin", 3, 5), function(s, V) s:rfactor(V, "k") end},
  {"every term of a sum stored, then added", gemm(3, 4, 5), function(s, C)
    s:rfactor(C, "k")
    s:parallel "k"
  end},
  {"partial sums of partial sums", with("fold", "sum", 2, 60), function(s, S)
    local k_o, k_i = s:split("k", 12)
    local k_io = s:split(k_i, 5)
    local partial = s:rfactor(S, k_o)
    s:rfactor(partial, k_io)
    s:parallel(k_o)
  end},
  {"a symbolic number of partial sums, which may be 0", symbolic, function(s, C)
    local k_o = s:split("k", 4)
    s:rfactor(C, k_o)
    s:parallel(k_o)
  end},
  {"four parts of a symbolic reduction, as vectors", symbolic, function(s, C)
    local _, k_i = s:split("k", 4)
    s:rfactor(C, k_i, {factor_axis = -1})
    s:vectorize(k_i)
  end},
  {"partial sums along one of the two axes of a window", with("depthwise", 2, 4, 4), function(s, D)
    s:rfactor(D, "r")
    s:parallel "r"
  end},
  {"the loops of a window fused and split with a tail, partial sums in parallel", with("depthwise", 2, 4, 4), function(s, D)
    local _, i = s:split(s:fuse("r", "q"), 2)
    s:rfactor(D, i)
    s:parallel(i)
  end},
  {"a tile of sums in local storage, its reduction split", gemm(8, 8, 12), function(s, C)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 4, 4)
    local k_o, k_i = s:split("k", 4)
    s:reorder(i_o, j_o, k_o, i_i, j_i, k_i)
    s:cache_write(C, "local", {at = j_o})
    s:parallel(i_o)
  end},
  {"partial sums of a stage that others read", with("layer", 5, 6, 12), function(s, _, _, C)
    local _, k_i = s:split("k", 4)
    s:rfactor(C, k_i)
    s:parallel(k_i)
  end},
  {"partial maxima, and partial sums that read the maximum", function() return softmax(4, 14) end, function(s, S, M)
    s:rfactor(M, (s:split("k", 4)))
    s:rfactor(S, (s:split("l", 5)))
  end},
  {"the init of partial results split off", gemm(4, 5, 12), function(s, C)
    local k_o, k_i = s:split("k", 4)
    local partial = s:rfactor(C, k_i)
    s:decompose_reduction(partial, k_o)
  end},
  {"partial results in a local buffer", gemm(4, 5, 12), function(s, C)
    local _, k_i = s:split("k", 4)
    s:set_scope(s:rfactor(C, k_i), "local")
  end},
  {"partial results moved into the row that adds them", with("layer", 4, 5, 12), function(s, _, _, C)
    local _, k_i = s:split("k", 4)
    local partial = s:rfactor(C, k_i)
    s:compute_at(partial, s:loops(C)[1])
  end},
  {"threads that add to one element, atomically", gemm(4, 4, 12), function(s, C)
    s:atomic(C)
    s:parallel "k"
  end},
  {"threads along the outer part of a reduction, its init first", gemm(4, 5, 13), function(s, C)
    local k_o = s:split("k", 4)
    s:atomic(C)
    s:reorder(k_o, "i", "j", "k_i")
    s:decompose_reduction(C, k_o)
    s:parallel(k_o)
  end},
  {"threads along a row and the reduction, fused", gemm(4, 5, 6), function(s, C)
    s:atomic(C)
    s:decompose_reduction(C, "j")
    s:parallel(s:fuse("j", "k"))
  end},
  {"a minimum by threads, atomically", with("fold", "min", 3, 20), function(s, S)
    s:atomic(S)
    s:parallel((s:split("k", 4)))
  end},
  {"products of whole numbers by threads", with("fold", "prod", 3, 11, "i32"), function(s, S)
    s:atomic(S)
    s:parallel "k"
  end},
  {"threads along a symbolic reduction, which may be empty", symbolic, function(s, C)
    s:atomic(C)
    s:parallel((s:split("k", 4)))
  end},
  {"atomic updates, and a parallel loop that does not need them", gemm(4, 4, 4), function(s, C)
    s:atomic(C)
    s:parallel "i"
  end},
  {"partial sums as vectors, combined by threads", with("fold", "sum", 2, 32), function(s, S)
    local _, k_i = s:split("k", 8)
    s:rfactor(S, k_i, {factor_axis = -1})
    s:vectorize(k_i)
    s:atomic(S)
    local loops = s:loops(S)
    s:parallel(loops[#loops])
  end},
  {"a window summed by threads", with("depthwise", 2, 4, 4), function(s, D)
    s:atomic(D)
    s:parallel(s:fuse("r", "q"))
  end},
}

local illegal = {
  {"partial sums, the remaining reduction in parallel", gemm(4, 4, 12), function(s, C)
    local k_o, k_i = s:split("k", 4)
    s:rfactor(C, k_i)
    return function() s:parallel(k_o) end
  end, "reduction"},
  {"the combination in parallel along the parts", gemm(4, 4, 12), function(s, C)
    local _, k_i = s:split("k", 4)
    s:rfactor(C, k_i)
    local loops = s:loops(C)
    return function() s:parallel(loops[#loops]) end
  end, "reduction"},
  {"the combination as vectors along the parts", gemm(4, 4, 12), function(s, C)
    local _, k_i = s:split("k", 4)
    s:rfactor(C, k_i)
    local loops = s:loops(C)
    return function() s:vectorize(loops[#loops]) end
  end, "reduction"},
  {"partial sums along an axis of the output", gemm(4), function(s, C) return function() s:rfactor(C, "i") end end, "structure"},
  {"partial sums along a loop of another stage", with("layer", 4, 4, 4), function(s, R, _, C)
    local loop = s:loops(R)[1]
    return function() s:rfactor(C, loop) end
  end, "structure"},
  {"partial results of a map", with("map", 4, 4), function(s, Z) return function() s:rfactor(Z, "i") end end, "structure"},
  {"partial sums of a reduction whose init was split off", gemm(4), function(s, C)
    s:decompose_reduction(C, "k")
    return function() s:rfactor(C, "k") end
  end, "structure"},
  {"partial sums of a reduction in two pieces", gemm(4, 4, 13), function(s, C)
    local k_o = s:split("k", {factor = 4, tail = "cut"})
    return function() s:rfactor(C, k_o) end
  end, "structure"},
  {"partial sums along a loop that was fused with a row", gemm(4, 4, 6), function(s, C)
    local f = s:fuse("j", "k")
    return function() s:rfactor(C, f) end
  end, "structure"},
  {"threads along a row and the reduction, with the init inside", gemm(4, 5, 6), function(s, C)
    s:atomic(C)
    local f = s:fuse("j", "k")
    return function() s:parallel(f) end
  end, "reduction"},
  {"lanes that add to one element, with atomic updates", gemm(4, 4, 8), function(s, C)
    s:atomic(C)
    return function() s:vectorize "k" end
  end, "structure"},
  {"lanes with atomic updates of their own elements", gemm(4, 8, 4), function(s, C)
    s:reorder("i", "k", "j")
    s:atomic(C)
    return function() s:vectorize "j" end
  end, "structure"},
  {"atomic updates in a loop of lanes", gemm(4, 8, 4), function(s, C)
    s:reorder("i", "k", "j")
    s:vectorize "j"
    return function() s:atomic(C) end
  end, "structure"},
  {"atomic updates of a value and its position", with("arg", "argmax", 4, 8), function(s, V)
    return function() s:atomic(V) end
  end, "structure"},
  {"atomic updates of a stage that is not a reduction", with("map", 4, 4), function(s, Z)
    return function() s:atomic(Z) end
  end, "structure"},
  {"atomic updates of a recurrence", with("recurrence", 4, 4, nests.step.column), function(s)
    return function() s:atomic "S" end
  end, "structure"},
  {"atomic updates while another stage in the loop reads them", function() return softmax(4, 9) end, function(s, S, M)
    s:atomic(M)
    s:compute_at(M, s:loops(S)[1])
    local loops = s:loops(S)
    return function() s:parallel(loops[#loops]) end
  end, "reduction"},
  {"partial results inlined", gemm(4, 4, 12), function(s, C)
    local _, k_i = s:split("k", 4)
    local partial = s:rfactor(C, k_i)
    return function() s:compute_inline(partial) end
  end, "structure"},
  {"partial results computed inside the loop that makes them", gemm(4, 4, 12), function(s, C)
    local k_o, k_i = s:split("k", 4)
    local partial = s:rfactor(C, k_i)
    return function() s:compute_at(partial, k_o) end
  end, "structure"},
}

return {legal = legal, illegal = illegal}
