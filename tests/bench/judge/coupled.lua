--- The rows make chains of steps of several kinds. Some chains end with an illegal step. Some recurrences are coupled, and one
--- recurrence reads its indices from a tensor.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local function gemm(...) return with("gemm", ...) end
local scan, symbolic = nests.scan, nests.symbolic_scan
local function symbolic_gemm() return nests.gemm(nw.size "M", nw.size "N", nw.size "K") end

-- Makes a recurrence that reads three rows back: S(t, x) = S(t - 3, x) + A(t, x).
local function three_back()
  return nests.recurrence(11, 6, function(S, A, t, x) return S(t - 3, x) + A(t, x) end, 3)
end

-- Makes a recurrence that reads the previous row at indices from the tensor I: S(t, x) = S(t - 1, I(x)) + A(t, x).
local function gathered()
  local A, I = nw.placeholder({6, 8}, "f32", "A"), nw.placeholder({8}, "i32", "I")
  local S = nw.scan_state({6, 8}, "f32", "S_state")
  local first = nw.compute({1, 8}, function(t, x) return A(t, x) end, "first")
  local update = nw.compute({6, 8}, function(t, x)
    return S(t - 1, nw.min(nw.max(nw.cast(I(x), "i64"), 0), 7)) + A(t, x)
  end, "update")
  local out = nw.scan(first, update, S, "S")
  return nw.schedule(out), out, A
end

-- Makes two states. Each state is computed from the previous row of the other state.
local function coupled()
  local A, B = nw.placeholder({1, 8}, "f32", "A"), nw.placeholder({1, 8}, "f32", "B")
  local p, q = nw.scan_state({6, 8}, "f32", "p_state"), nw.scan_state({6, 8}, "f32", "q_state")
  local p0 = nw.compute({1, 8}, function(t, x) return A(t, x) end, "p0")
  local q0 = nw.compute({1, 8}, function(t, x) return B(t, x) end, "q0")
  local p1 = nw.compute({6, 8}, function(t, x) return q(t - 1, x) + 1 end, "p1")
  local q1 = nw.compute({6, 8}, function(t, x) return p(t - 1, x) * 2 end, "q1")
  local P, Q = nw.scan({p0, q0}, {p1, q1}, {p, q}, "P")
  return nw.schedule {P, Q}, P, Q
end

local function two(s, stage) return nests.loops(s, stage or "S") end

local legal = {
  {"three rows back: three steps of time as vectors", three_back, function(s)
    local t = two(s)
    local _, t_i = s:split(t, 3)
    s:vectorize(t_i)
  end},
  {"three rows back: the loop over space outside of three steps of time, in parallel", three_back, function(s)
    local t, x = two(s)
    local _, t_i = s:split(t, 3)
    s:reorder(x, t_i)
    s:parallel(x)
  end},
  {"three rows back: three steps of time in parallel", three_back, function(s)
    local t, x = two(s)
    local _, t_i = s:split(t, 3)
    s:parallel(t_i)
    s:vectorize(x)
  end},
  {"a gathered row in parallel", gathered, function(s)
    local _, x = two(s)
    s:parallel(x)
  end},
  {"a gathered row split with a tail, in lanes", gathered, function(s)
    local _, x = two(s)
    local _, x_i = s:split(x, {factor = 3, tail = "cut"})
    s:vectorize(x_i)
  end},
  {"a symbolic recurrence by columns: tiles of time and space", symbolic "column", function(s)
    local t, x = two(s)
    s:tile(t, x, 4, 4)
  end},
  {"a symbolic diagonal: rows split, in lanes", symbolic "diagonal", function(s)
    local _, x = two(s)
    local _, x_i = s:split(x, {factor = 8, tail = "cut"})
    s:vectorize(x_i)
  end},
  {"the steps of a product whose sizes no factor divides", gemm(37, 41, 43), function(s, C, _, B)
    local i_o, j_o, _, j_i = s:tile("i", "j", 8, 16)
    local k_o, k_i = s:split("k", 4)
    s:reorder(i_o, j_o, k_o, "i_i", k_i, j_i)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 16, k, j % 16 end})
    s:decompose_reduction(C, k_o)
    s:parallel(i_o)
  end},
  {"a product in a local block, its columns in lanes inside the reduction", gemm(16, 32, 9), function(s, C)
    local _, j_o = s:tile("i", "j", 4, 8)
    local local_C = s:cache_write(C, "local", {at = j_o})
    local loops = s:loops(local_C)
    s:reorder(loops[#loops], loops[#loops - 1])
    local inner = s:loops(local_C)
    s:vectorize(inner[#inner])
  end},
  {"a layer: the bias inlined, the product computed at the row, its reduction split", with("layer", 7, 9, 13), function(s, R, P, C)
    s:compute_inline(P)
    local i = nests.loops(s, R)
    s:compute_at(C, i)
    s:split("k", 4)
    s:parallel(i)
  end},
  {"a layer: the ramp tiled and vectorized, the product computed in its tiles", with("layer", 12, 16, 5), function(s, R, P, C)
    s:compute_inline(P)
    local i, j = nests.loops(s, R)
    local _, j_o, _, j_i = s:tile(i, j, 4, 8)
    s:compute_at(C, j_o)
    s:vectorize(j_i)
  end},
  {"a blur: rows in parallel, columns of both stages in lanes", with("blur", 12, 16), function(s, Y, X)
    local y, x = nests.loops(s, Y)
    s:compute_at(X, y)
    s:vectorize(x)
    local inner = s:loops(X)
    s:vectorize(inner[#inner])
    s:parallel(y)
  end},
  {"a blur: a stage moved into tiles, to the root, and into an inner loop", with("blur", 11, 13), function(s, Y, X)
    local y, x = nests.loops(s, Y)
    local y_o, x_o = s:tile(y, x, 4, 4)
    s:compute_at(X, y_o)
    s:compute_root(X)
    s:compute_at(X, x_o)
    s:set_scope(X, "local")
  end},
  {"a depthwise convolution: channels and rows fused, the padding at that loop", with("depthwise", 3, 4, 6), function(s, D, P)
    local c, y = nests.loops(s, D)
    local f = s:fuse(c, y)
    s:compute_at(P, f)
    s:parallel(f)
  end},
  {"a depthwise convolution: the window unrolled, a row in lanes", with("depthwise", 2, 4, 8), function(s, D, P)
    s:compute_inline(P)
    local _, _, x, r, q = nests.loops(s, D)
    s:reorder(r, q, x)
    s:unroll(q)
    s:unroll(r)
    s:vectorize(x)
  end},
  {"centred: maxima computed at the row, differences inlined, rows in parallel", with("centred", 6, 7), function(s, S, E, M)
    s:compute_inline(E)
    local i = nests.loops(s, S)
    s:compute_at(M, i)
    s:parallel(i)
  end},
  {"three loops fused, split with a tail, the parts in threads and in lanes", with("map", 5, 7, 3), function(s, Z)
    local a, b, c = nests.loops(s, Z)
    local f = s:fuse(s:fuse(a, b), c)
    local f_o, f_i = s:split(f, {factor = 8, tail = "cut"})
    s:vectorize(f_i)
    s:parallel(f_o)
  end},
  {"a symbolic product: the tail cut, whole vectors in lanes, rows in parallel", symbolic_gemm, function(s)
    local _, j_i = s:split("j", {factor = 8, tail = "cut"})
    s:reorder("k", j_i)
    s:vectorize(j_i)
    s:parallel "i"
  end},
  {"a minimum: split, the outer part outermost, the init split off before it", with("fold", "min", 6, 14), function(s, S)
    local k_o = s:split("k", 4)
    s:reorder(k_o, "i")
    s:decompose_reduction(S, k_o)
  end},
  {"a reader of elements far ahead, split; the stage computed at its inner loop", with("ahead", 23, 5), function(s, Y, X)
    local i = nests.loops(s, Y)
    local _, i_i = s:split(i, 4)
    s:compute_at(X, i_i)
  end},
  {"a stage with two readers: the readers as vectors, the stage in parallel", with("fork", 16), function(s, Y, Z, X)
    s:vectorize(nests.loops(s, Y))
    s:vectorize(nests.loops(s, Z))
    s:parallel(nests.loops(s, X))
  end},
}

local illegal = {
  {"three rows back: four steps of time as vectors", three_back, function(s)
    local t = two(s)
    local _, t_i = s:split(t, 4)
    return function() s:vectorize(t_i) end
  end, "raw"},
  {"three rows back: all of time in parallel", three_back, function(s)
    local t = two(s)
    return function() s:parallel(t) end
  end, "raw"},
  {"three rows back: the loop over groups of three steps in parallel", three_back, function(s)
    local t_o = s:split((two(s)), 3)
    return function() s:parallel(t_o) end
  end, "raw"},
  {"coupled states: the loop over time in parallel", coupled, function(s)
    local t = two(s, "P.v0")
    return function() s:parallel(t) end
  end, "raw"},
  {"coupled states: time as vectors", coupled, function(s)
    local t = two(s, "P.v1")
    return function() s:vectorize(t) end
  end, "raw"},
  {"a symbolic heat equation: space before time", symbolic "heat", function(s)
    local t, x = two(s)
    return function() s:reorder(x, t) end
  end, "raw"},
  {"a symbolic heat equation: tiles of time and space", symbolic "heat", function(s)
    local t, x = two(s)
    return function() s:tile(t, x, 4, 4) end
  end, "raw"},
  {"symbolic columns: time in parallel", symbolic "column", function(s)
    local t = two(s)
    return function() s:parallel(t) end
  end, "raw"},
  {"a symbolic sweep: space in parallel", symbolic "sweep", function(s)
    local _, x = two(s)
    return function() s:parallel(x) end
  end, "raw"},
  {"a symbolic running sum: parts of each row in lanes", symbolic "along", function(s)
    local _, x = two(s)
    local _, x_i = s:split(x, {factor = 4, tail = "cut"})
    return function() s:vectorize(x_i) end
  end, "raw"},
  {"a distance of (1, -1): tiles of time and space", scan "against", function(s)
    local t, x = two(s)
    return function() s:tile(t, x, 2, 3) end
  end, "raw"},
  {"a mirrored read: space outside of pairs of time steps", scan "mirror", function(s)
    local t, x = two(s)
    local _, t_i = s:split(t, 2)
    return function() s:reorder(x, t_i) end
  end, "raw"},
  {"distances one and two: pairs of time steps as vectors", scan("fibonacci", 8, 4, 2), function(s)
    local _, t_i = s:split((two(s)), 2)
    return function() s:vectorize(t_i) end
  end, "raw"},
  {"a diagonal: time and space fused, in lanes", scan("diagonal", 5, 8), function(s)
    local t, x = two(s)
    local _, f_i = s:split(s:fuse(t, x), 16)
    return function() s:vectorize(f_i) end
  end, "raw"},
  {"a product in a local block: its reduction in parallel", gemm(8, 8, 6), function(s, C)
    s:cache_write(C, "local", {at = "j"})
    return function() s:parallel "k" end
  end, "reduction"},
  {"a layer: the product at a row, its reduction in lanes", with("layer", 5, 6, 8), function(s, R, P, C)
    s:compute_inline(P)
    local i = nests.loops(s, R)
    s:compute_at(C, i)
    return function() s:vectorize "k" end
  end, "reduction"},
  {"centred: the sum in parallel, the stages before it inlined", with("centred", 4, 6), function(s, _, E)
    s:compute_inline(E)
    return function() s:parallel "l" end
  end, "reduction"},
  {"a convolution: the rows of its window in parallel", with("depthwise", 2, 4, 4), function(s)
    return function() s:parallel "r" end
  end, "reduction"},
  {"a convolution: the columns of its window in lanes", with("depthwise", 2, 4, 4), function(s)
    return function() s:vectorize "q" end
  end, "reduction"},
  {"a product: its reduction split with a cut tail, the inner part in lanes", gemm(4, 4, 13), function(s)
    local _, k_i = s:split("k", {factor = 4, tail = "cut"})
    return function() s:vectorize(k_i) end
  end, "reduction"},
  {"a product: its reduction split with a cut tail, the outer part in parallel", gemm(4, 4, 13), function(s)
    local k_o = s:split("k", {factor = 4, tail = "cut"})
    return function() s:parallel(k_o) end
  end, "reduction"},
  {"a maximum with its init split off: lanes along the reduction", with("fold", "max", 5, 8), function(s, S)
    s:decompose_reduction(S, "k")
    return function() s:vectorize "k" end
  end, "reduction"},
  {"a symbolic product: the reduction outermost, in parallel", symbolic_gemm, function(s)
    s:reorder("k", "i", "j")
    return function() s:parallel "k" end
  end, "reduction"},
  {"a large product: the reduction in parallel", gemm(512), function(s)
    return function() s:parallel "k" end
  end, "reduction"},
  {"an argmin: lanes along the reduction", with("arg", "argmin", 4, 16), function(s)
    return function() s:vectorize "k" end
  end, "reduction"},
}

return {legal = legal, illegal = illegal}
