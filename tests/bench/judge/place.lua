--- The rows change the positions of stages and the lifetimes of their storage. They move consumers to their producers, and make
--- sliding windows, rolling buffers and double buffers.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local blur, ahead, layer, gemm = with("blur", 10, 7), with("ahead", 20, 3), with("layer", 8, 8, 6), with("gemm", 16, 16, 16)
local function symbolic_blur() return nests.blur(nw.size "H", nw.size "W") end

-- Makes a sliding window over the sums of rows.
local function window_of_sums()
  local A = nw.placeholder({14, 5}, "i32", "A")
  local k = nw.reduce_axis(5, "k")
  local X = nw.compute({14}, function(i) return nw.sum(A(i, k), k) end, "X")
  local Y = nw.compute({12}, function(i) return X(i) + X(i + 1) + X(i + 2) end, "Y")
  return nw.schedule(Y), Y, X
end

-- Makes two sliding windows, one after the other.
local function two_windows()
  local A = nw.placeholder({20}, "i32", "A")
  local P = nw.compute({20}, function(i) return A(i) + 1 end, "P")
  local Q = nw.compute({18}, function(i) return P(i) + P(i + 2) end, "Q")
  local R = nw.compute({16}, function(i) return Q(i) + Q(i + 2) end, "R")
  return nw.schedule(R), R, Q, P
end

-- Makes a stage whose row i reads the rows 2i and 2i + 2 of X.
local function strided()
  local A = nw.placeholder({21, 4}, "i32", "A")
  local X = nw.compute({21, 4}, function(i, j) return A(i, j) * 3 end, "X")
  local Y = nw.compute({10, 4}, function(i, j) return X(2 * i, j) + X(2 * i + 2, j) end, "Y")
  return nw.schedule(Y), Y, X
end

-- Makes three elementwise stages. The last stage is transposed.
local function chain()
  local A = nw.placeholder({6, 9}, "i32", "A")
  local P = nw.compute({6, 9}, function(i, j) return A(i, j) + 1 end, "P")
  local Q = nw.compute({6, 9}, function(i, j) return P(i, j) * P(i, j) end, "Q")
  local R = nw.compute({9, 6}, function(j, i) return Q(i, j) - 2 end, "R")
  return nw.schedule(R), R, Q, P
end

-- Makes X and Y. Y reads X in reverse order.
local function mirrored()
  local A = nw.placeholder({12}, "i32", "A")
  local X = nw.compute({12}, function(i) return A(i) + 1 end, "X")
  local Y = nw.compute({12}, function(i) return X(11 - i) * 2 end, "Y")
  return nw.schedule(Y), Y, X
end

local function row(s, stage, n) return s:loops(stage)[n or 1] end

-- Moves the computation of X into the loop over the rows of Y.
local function at_row(s, Y, X) s:compute_at(X, row(s, Y)) end
local function slid(s, Y, X)
  at_row(s, Y, X)
  s:store_at(X)
end
local function in_strips(s, Y, X, n, tail)
  local o, i = s:split(row(s, Y), {factor = n, tail = tail})
  s:compute_at(X, i)
  return o, i
end

local legal = {
  {"a stage becomes the first statement of its reader's loop", chain, function(s, R, Q)
    s:compute_at(Q, row(s, R), {index = 1})
  end},
  {"a stage moved to several positions of a loop body", chain, function(s, R, Q, P)
    s:compute_at(Q, row(s, R, 2))
    s:compute_at(P, row(s, R, 2), {index = -2})
    s:compute_at(P, row(s, R, 2), {index = -1})
    s:compute_at(P, row(s, R, 2), {index = 1})
  end},
  {"a window slides along rows", blur, slid},
  {"a window slides in each strip", blur, function(s, Y, X)
    local o = in_strips(s, Y, X, 5)
    s:store_at(X, o)
  end},
  {"a window slides from strip to strip", blur, function(s, Y, X)
    in_strips(s, Y, X, 5)
    s:store_at(X)
  end},
  {"a window slides in strips, the last of which is short", blur, function(s, Y, X)
    local o = in_strips(s, Y, X, 4)
    s:store_at(X, o)
  end},
  {"a window slides in each of several parallel strips", blur, function(s, Y, X)
    local o = in_strips(s, Y, X, 5)
    s:store_at(X, o)
    s:parallel(o)
  end},
  {"a window slides along a vector", with("ahead", 20, 3), slid},
  {"a window slides over symbolic rows", symbolic_blur, slid},
  {"a window slides in strips of a symbolic size, in a rolling buffer", symbolic_blur, function(s, Y, X)
    local o = in_strips(s, Y, X, 8)
    s:store_at(X, o)
    s:rolling_buffer(X)
  end},
  {"a window moves by two rows in each iteration", strided, slid},
  {"a window slides over sums, each of which is computed once", window_of_sums, slid},
  {"two windows slide, one over the other", two_windows, function(s, R, Q, P)
    s:compute_at(P, row(s, Q))
    s:store_at(P)
    s:rolling_buffer(P)
    s:reverse_compute_at(R, row(s, Q))
  end},
  {"the rows of a window stay split and vectorized", with("blur", 10, 8), function(s, Y, X)
    at_row(s, Y, X)
    s:split(row(s, X, 3), 4)
    s:vectorize(row(s, X, 4))
    s:store_at(X)
  end},
  {"iterations without common elements share storage", with("map", 12), function(s, Z)
    local copy = s:cache_write(Z, "global", {at = row(s, Z)})
    s:store_at(copy)
  end},
  {"a rolling buffer of four rows for a window of three rows", blur, function(s, Y, X)
    slid(s, Y, X)
    s:rolling_buffer(X)
  end},
  {"a rolling buffer of three rows for a window of three rows", blur, function(s, Y, X)
    slid(s, Y, X)
    s:rolling_buffer(X, {size = 3})
  end},
  {"a rolling buffer of seven rows for a window of three rows, on the stack", blur, function(s, Y, X)
    slid(s, Y, X)
    s:rolling_buffer(X, 1, {size = 7})
    s:set_scope(X, "local")
  end},
  {"a rolling buffer in every strip, strips in parallel", blur, function(s, Y, X)
    local o = in_strips(s, Y, X, 5)
    s:store_at(X, o)
    s:rolling_buffer(X)
    s:parallel(o)
  end},
  {"a rolling buffer of sums", window_of_sums, function(s, Y, X)
    slid(s, Y, X)
    s:rolling_buffer(X)
  end},
  {"a rolling buffer that gets two rows in each iteration", strided, function(s, Y, X)
    slid(s, Y, X)
    s:rolling_buffer(X)
  end},
  {"columns of a rolling buffer run as lanes", with("blur", 6, 8), function(s, Y, X)
    slid(s, Y, X)
    s:rolling_buffer(X)
    s:vectorize(row(s, X, 3))
    s:vectorize(row(s, Y, 2))
  end},
  {"a stage without a window in a rolling buffer", with("map", 12), function(s, Z)
    local copy = s:cache_write(Z, "global", {at = row(s, Z)})
    s:store_at(copy)
    s:rolling_buffer(copy, 1)
  end},
  {"a tile loaded one iteration ahead", gemm, function(s, C, _, B)
    s:split("k", 4)
    s:reorder("k_o", "i", "j", "k_i")
    s:double_buffer(s:cache_read(B, "global", {C}, {at = "k_o"}))
  end},
  {"a tile loaded one iteration ahead, on the stack", gemm, function(s, C, A)
    s:split("k", 4)
    s:reorder("k_o", "i", "j", "k_i")
    local copy = s:cache_read(A, "local", {C}, {at = "k_o"})
    s:double_buffer(copy)
  end},
  {"overlapping tiles computed one iteration ahead", blur, function(s, Y, X)
    local o = s:split(row(s, Y), 5)
    s:compute_at(X, o)
    s:double_buffer(X)
  end},
  {"rows computed one iteration ahead in parallel strips", blur, function(s, Y, X)
    local o = in_strips(s, Y, X, 5)
    s:double_buffer(X)
    s:parallel(o)
  end},
  {"a reader of a product moved to a tile of the product", layer, function(s, _, P, C)
    local _, j = s:tile(row(s, C), row(s, C, 2), 4, 4)
    s:reverse_compute_at(P, j)
  end},
  {"two readers moved to a row of a product, one after the other", layer, function(s, R, P, C)
    s:reverse_compute_at(P, row(s, C))
    s:reverse_compute_at(R, row(s, C))
  end},
  {"a mirrored reader moved to the rows of the stage that it reads", mirrored, function(s, Y, X)
    s:reverse_compute_at(Y, row(s, X))
  end},
  {"a window moved to the rows that it reads", blur, function(s, Y, X) s:reverse_compute_at(Y, row(s, X)) end},
  {"a window moved to tiles that do not divide the rows", blur, function(s, Y, X)
    local o = s:split(row(s, X), 5)
    s:reverse_compute_at(Y, o)
  end},
  {"a window over every other row moved to the rows that it reads", strided, function(s, Y, X)
    s:reverse_compute_at(Y, row(s, X))
  end},
  {"a sum moved to the terms that it adds up", with("centred", 5, 6), function(s, S, E) s:reverse_compute_at(S, row(s, E, 2)) end},
  {"a reader moved to the rows that it reads, then in parallel", layer, function(s, _, P, C)
    s:reverse_compute_at(P, row(s, C))
    s:parallel(row(s, C))
  end},
  {"a stage becomes part of the stage that it reads", chain, function(s, _, Q) s:reverse_compute_inline(Q) end},
  {"a transposed stage becomes part of the stage that it reads", chain, function(s, R) s:reverse_compute_inline(R) end},
  {"a chain of three becomes one, from the back", chain, function(s, R, Q)
    s:reverse_compute_inline(R)
    s:reverse_compute_inline(s:stages()[#s:stages()])
    assert(Q)
  end},
  {"a stage becomes part of a tiled stage", chain, function(s, _, Q, P)
    s:tile(row(s, P), row(s, P, 2), 4, 4)
    s:reverse_compute_inline(Q)
  end},
  {"a stage becomes part of a stage that was cut in two", chain, function(s, _, Q, P)
    s:split(row(s, P), {factor = 4, tail = "cut"})
    s:reverse_compute_inline(Q)
  end},
  {"a bias and a ramp become one stage", layer, function(s, R) s:reverse_compute_inline(R) end},
  {"the copy of a sum becomes part of the sum", gemm, function(s, C)
    s:cache_write(C, "global")
    s:reverse_compute_inline(C)
  end},
  {"a rolling buffer in strips, the last of which is short", with("ahead", 20, 3), function(s, Y, X)
    local o = in_strips(s, Y, X, 6, "guard")
    s:store_at(X, o)
    s:rolling_buffer(X)
  end},
}

local illegal = {
  {"a stage moved after its reader", chain, function(s, R, Q)
    return function() s:compute_at(Q, row(s, R), {index = 2}) end
  end, "raw"},
  {"a stage moved before the stage that it reads", chain, function(s, R, Q, P)
    s:compute_at(Q, row(s, R, 2))
    s:compute_at(P, row(s, R, 2))
    return function() s:compute_at(Q, row(s, R, 2), {index = 1}) end
  end, "raw"},
  {"a window kept over parallel rows", blur, function(s, Y, X)
    at_row(s, Y, X)
    s:parallel(row(s, Y))
    return function() s:store_at(X) end
  end, "raw"},
  {"a window kept over parallel strips", blur, function(s, Y, X)
    local o = in_strips(s, Y, X, 5)
    s:parallel(o)
    return function() s:store_at(X) end
  end, "raw"},
  {"rows of a window run in parallel", blur, function(s, Y, X)
    slid(s, Y, X)
    return function() s:parallel(row(s, Y)) end
  end, "raw"},
  {"storage kept for a stage that is computed as a whole", blur, function(s, Y, X)
    return function() s:store_at(X, row(s, Y)) end
  end, "structure"},
  {"storage kept for a stage whose loop was split", blur, function(s, Y, X)
    at_row(s, Y, X)
    s:split(row(s, X, 2), 2)
    return function() s:store_at(X) end
  end, "structure"},
  {"storage kept for an output", ahead, function(s, Y) return function() s:store_at(Y) end end, "structure"},
  {"storage kept over iterations that all need the whole stage", mirrored, function(s, Y, X)
    local o, i = s:split(row(s, Y), 4)
    s:compute_at(X, o)
    assert(i)
    return function() s:store_at(X, o) end
  end, "structure"},
  {"a rolling buffer of two rows for a window of three rows", blur, function(s, Y, X)
    slid(s, Y, X)
    return function() s:rolling_buffer(X, {size = 2}) end
  end, "war"},
  {"a rolling buffer of one row for a window of three rows", blur, function(s, Y, X)
    slid(s, Y, X)
    return function() s:rolling_buffer(X, {size = 1}) end
  end, "war"},
  {"a rolling buffer of two columns for whole rows", blur, function(s, Y, X)
    slid(s, Y, X)
    return function() s:rolling_buffer(X, 2, {size = 2}) end
  end, "war"},
  {"a rolling buffer of two symbolic rows for a window of three rows", symbolic_blur, function(s, Y, X)
    slid(s, Y, X)
    return function() s:rolling_buffer(X, {size = 2}) end
  end, "war"},
  {"a rolling buffer of three elements for a window of six elements", with("ahead", 20, 5), function(s, Y, X)
    slid(s, Y, X)
    return function() s:rolling_buffer(X, {size = 3}) end
  end, "war"},
  {"a rolling buffer of two rows for a window that moves by two rows", strided, function(s, Y, X)
    slid(s, Y, X)
    return function() s:rolling_buffer(X, {size = 2}) end
  end, "war"},
  {"a rolling buffer of two sums for a window of sums", window_of_sums, function(s, Y, X)
    slid(s, Y, X)
    return function() s:rolling_buffer(X, {size = 2}) end
  end, "war"},
  {"a rolling buffer that threads share", with("map", 12), function(s, Z)
    local copy = s:cache_write(Z, "global", {at = row(s, Z)})
    s:store_at(copy)
    s:rolling_buffer(copy, 1, {size = 4})
    return function() s:parallel(row(s, Z)) end
  end, "waw"},
  {"a rolling buffer that lanes share", with("map", 12), function(s, Z)
    local copy = s:cache_write(Z, "global", {at = row(s, Z)})
    s:store_at(copy)
    s:rolling_buffer(copy, 1, {size = 4})
    return function() s:vectorize(row(s, Z)) end
  end, "waw"},
  {"a rolling buffer for a stage that gets new storage in every iteration", blur, function(s, Y, X)
    at_row(s, Y, X)
    return function() s:rolling_buffer(X) end
  end, "structure"},
  {"a double buffer in a parallel loop", gemm, function(s, C, _, B)
    s:split("j", 4)
    s:reorder("j_o", "i", "k", "j_i")
    local copy = s:cache_read(B, "global", {C}, {at = "j_o"})
    s:parallel "j_o"
    return function() s:double_buffer(copy) end
  end, "waw"},
  {"a double buffer of data that are the same in every iteration", gemm, function(s, C, A)
    local copy = s:cache_read(A, "global", {C}, {at = "i"})
    s:compute_at(copy, "j")
    return function() s:double_buffer(copy) end
  end, "structure"},
  {"a double buffer of overlapping sums", window_of_sums, function(s, Y, X)
    at_row(s, Y, X)
    return function() s:double_buffer(X) end
  end, "raw"},
  {"a reader moved into one of its own loops", layer, function(s, _, P)
    return function() s:reverse_compute_at(P, row(s, P)) end
  end, "structure"},
  {"a reader moved into the reduction whose result it reads", with("centred", 5, 6), function(s, _, E, M)
    return function() s:reverse_compute_at(E, s:loops(M)[2]) end
  end, "raw"},
  {"a reader moved before the stage that it reads", chain, function(s, _, Q, P)
    return function() s:reverse_compute_at(Q, row(s, P), {index = 1}) end
  end, "raw"},
  {"a window moved to parallel rows", blur, function(s, Y, X)
    s:parallel(row(s, X))
    return function() s:reverse_compute_at(Y, row(s, X)) end
  end, "raw"},
  {"a bias inlined into the sum that it reads", layer, function(s, _, P)
    return function() s:reverse_compute_inline(P) end
  end, "structure"},
  {"a window inlined into its producer", blur, function(s, Y) return function() s:reverse_compute_inline(Y) end end, "structure"},
  {"a reader inlined into a stage that others read too", with("fork", 9), function(s, Y)
    return function() s:reverse_compute_inline(Y) end
  end, "structure"},
}

return {legal = legal, illegal = illegal}
