--- The rows make complete schedules, step by step, as people write them for Halide and TVM. Other rows make illegal variants of
--- these steps.
local nests = require "_nests"
local nw = require "nestwright"

local with = nests.with
local function gemm(...) return with("gemm", ...) end

-- Makes three stages. Each stage applies a three-point stencil to the rows of the previous stage.
local function thrice(h, w)
  local A = nw.placeholder({h + 6, w}, "f32", "A")
  local X = nw.compute({h + 4, w}, function(y, x) return A(y, x) + A(y + 1, x) - A(y + 2, x) end, "X")
  local Y = nw.compute({h + 2, w}, function(y, x) return X(y, x) + X(y + 1, x) - X(y + 2, x) end, "Y")
  local Z = nw.compute({h, w}, function(y, x) return Y(y, x) + Y(y + 1, x) - Y(y + 2, x) end, "Z")
  return nw.schedule(Z), Z, Y, X
end

-- Makes a product of three matrices, E = (A B) D.
local function two_products(n)
  local A, B, D = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n, n}, "f32", "B"), nw.placeholder({n, n}, "f32", "D")
  local k, l = nw.reduce_axis(n, "k"), nw.reduce_axis(n, "l")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(A(i, k) * B(k, j), k) end, "C")
  local E = nw.compute({n, n}, function(i, j) return nw.sum(C(i, l) * D(l, j), l) end, "E")
  return nw.schedule(E), E, C
end

-- Makes a batch of b products.
local function batch(b, n)
  local A, B = nw.placeholder({b, n, n}, "f32", "A"), nw.placeholder({b, n, n}, "f32", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({b, n, n}, function(z, i, j) return nw.sum(A(z, i, k) * B(z, k, j), k) end, "C")
  return nw.schedule(C), C
end

-- Makes a pooling stage, which computes the maximum of each 2 x 2 window with a stride of 2.
local function pool(h, w)
  local A = nw.placeholder({2 * h, 2 * w}, "f32", "A")
  local r, q = nw.reduce_axis(2, "r"), nw.reduce_axis(2, "q")
  local P = nw.compute({h, w}, function(y, x) return nw.max(A(2 * y + r, 2 * x + q), r, q) end, "P")
  return nw.schedule(P), P, A
end

-- Makes T, the transpose of A, and Z(i, j) = T(i, j) + T(n - 1 - i, j).
local function transposed(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local T = nw.compute({n, m}, function(i, j) return A(j, i) end, "T")
  local Z = nw.compute({n, m}, function(i, j) return T(i, j) + T(n - 1 - i, j) end, "Z")
  return nw.schedule(Z), Z, T
end

-- Makes S(i), the sum of A(i, k) * A(i, k) over k, and Z(i, j) = A(i, j) - S(i).
local function normed(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local k = nw.reduce_axis(n, "k")
  local S = nw.compute({m}, function(i) return nw.sum(A(i, k) * A(i, k), k) end, "S")
  local Z = nw.compute({m, n}, function(i, j) return A(i, j) - S(i) end, "Z")
  return nw.schedule(Z), Z, S
end

local function symbolic_thrice() return thrice(nw.size "H", nw.size "W") end

local legal = {
  {"the steps of a fast product", gemm(16, 16, 8), function(s, C, _, B)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 8, 8)
    local k_o, k_i = s:split("k", 4)
    s:reorder(i_o, j_o, k_o, k_i, i_i, j_i)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 8, k, j % 8 end})
    s:vectorize(j_i)
    s:unroll(i_i)
    s:parallel(i_o)
  end},
  {"a fast product whose sizes no factor divides", gemm(17, 19, 7), function(s, C, _, B)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 8, 8)
    local k_o, k_i = s:split("k", 4)
    s:reorder(i_o, j_o, k_o, k_i, i_i, j_i)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 8, k, j % 8 end})
    s:vectorize(j_i)
    s:unroll(i_i)
    s:parallel(i_o)
  end},
  {"a fast product with a local block and guarded tails", gemm(17, 19, 7), function(s, C)
    local i_o, j_o = s:tile("i", "j", 8, 8, {tail = "guard"})
    local block = s:cache_write(C, "local", {at = j_o})
    local loops = s:loops(block)
    local i, j, k = loops[#loops - 2], loops[#loops - 1], loops[#loops]
    s:reorder(k, i, j)
    s:vectorize(j)
    s:parallel(i_o)
  end},
  {"a fast product of symbolic sizes", function() return nests.gemm(nw.size "M", nw.size "N", nw.size "K") end, function(s, C, A)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 4, 8)
    local k_o, k_i = s:split("k", 4)
    s:reorder(i_o, j_o, k_o, k_i, i_i, j_i)
    s:cache_read(A, "global", {C})
    s:vectorize(j_i)
    s:unroll(i_i)
    s:parallel(i_o)
  end},
  {"three stencils: the first two computed at a strip of the last", function() return thrice(9, 8) end, function(s, Z, Y, X)
    local o = s:split(s:loops(Z)[1], 4)
    s:compute_at(Y, o)
    s:compute_at(X, o)
    s:parallel(o)
  end},
  {"three stencils: each of the first two computed at a row of the next", function() return thrice(6, 5) end,
    function(s, Z, Y, X)
      s:compute_at(Y, s:loops(Z)[1])
      s:compute_at(X, s:loops(Y)[1])
    end},
  {"three stencils of symbolic sizes: the first two computed at strips with a tail", symbolic_thrice, function(s, Z, Y, X)
    local o = s:split(s:loops(Z)[1], 8)
    s:compute_at(Y, o)
    s:compute_at(X, o)
  end},
  {"three stencils inlined into one", function() return thrice(5, 4) end, function(s, _, Y, X)
    s:compute_inline(X)
    s:compute_inline(Y)
    s:parallel(s:loops "Z"[1])
  end},
  {"three stencils: the second inlined, the first computed at a row", function() return thrice(5, 4) end, function(s, Z, Y, X)
    s:compute_inline(Y)
    s:compute_at(X, s:loops(Z)[1])
  end},
  {"a product computed at a row of the product that reads it", function() return two_products(7) end, function(s, E, C)
    s:compute_at(C, s:loops(E)[1])
    s:parallel(s:loops(E)[1])
  end},
  {"a product computed at a strip of its reader's rows, both reordered", function() return two_products(9) end, function(s, E, C)
    local o = s:split(s:loops(E)[1], 4)
    s:compute_at(C, o)
    local c = s:loops(C)
    s:reorder(c[#c], c[#c - 1])
    local e = s:loops(E)
    s:reorder(e[#e], e[#e - 1])
  end},
  {"a product computed inside the reduction of the product that reads it", function() return two_products(6) end, function(s, E, C)
    local e = s:loops(E)
    s:reorder(e[1], e[3], e[2])
    s:compute_at(C, e[3])
  end},
  {"the loops over a batch and its rows fused, in parallel", function() return batch(3, 6) end, function(s)
    s:parallel(s:fuse("z", "i"))
    s:reorder("k", "j")
    s:vectorize "j"
  end},
  {"a batch, its loops in reverse order", function() return batch(2, 5) end, function(s) s:reorder("k", "j", "i", "z") end},
  {"a pooling's rows in parallel, its window unrolled", function() return pool(5, 6) end, function(s)
    s:parallel "y"
    s:unroll "r"
    s:unroll "q"
  end},
  {"a pooling's input read through a copy at each row", function() return pool(5, 6) end, function(s, P, A)
    s:cache_read(A, "local", {P}, {at = "y"})
  end},
  {"a pooling with the loops of its window outermost", function() return pool(4, 8) end, function(s)
    s:reorder("r", "q", "y", "x")
    s:vectorize "x"
  end},
  {"a pooling: the init split off, the window outermost", function() return pool(4, 8) end, function(s, P)
    s:decompose_reduction(P, "y")
    s:reorder("r", "q", "y", "x")
    s:parallel "y"
  end},
  {"a transpose computed at a row of its reader, which reads two rows", function() return transposed(5, 6) end, function(s, Z, T)
    s:compute_at(T, s:loops(Z)[1])
  end},
  {"a transpose inlined", function() return transposed(5, 6) end, function(s, _, T) s:compute_inline(T) end},
  {"a transpose in tiles, and its reader in tiles of another size", function() return transposed(9, 7) end, function(s, Z, T)
    local t = s:loops(T)
    s:tile(t[1], t[2], 4, 4)
    local z = s:loops(Z)
    s:tile(z[1], z[2], 3, 5)
  end},
  {"sums of squares computed at the rows of their reader", function() return normed(6, 8) end, function(s, Z, S)
    s:compute_at(S, s:loops(Z)[1])
    s:parallel(s:loops(Z)[1])
    s:vectorize(s:loops(Z)[2])
  end},
  {"sums of squares from partial sums, computed at the rows of their reader", function() return normed(6, 16) end, function(s, Z, S)
    s:compute_at(S, s:loops(Z)[1])
    local loops = s:loops(S)
    local _, k_i = s:split(loops[#loops], 8)
    s:rfactor(S, k_i, {factor_axis = -1})
    s:vectorize(k_i)
    s:parallel(s:loops(Z)[1])
  end},
  {"both inputs of a product copied in the outer loop of the reduction", gemm(6, 7, 13), function(s, C, A, B)
    local k_o, k_i = s:split("k", 4)
    s:reorder(k_o, "i", "j", k_i)
    s:cache_read(A, "local", {C}, {at = k_o})
    s:cache_read(B, "local", {C}, {at = k_o})
  end},
  {"an output written through two buffers", gemm(6, 6, 5), function(s, C)
    local block = s:cache_write(C, "global")
    s:cache_write(block, "local")
  end},
  {"a depthwise convolution in strips, its padding computed at the strip", with("depthwise", 2, 9, 8), function(s, _, P)
    local o = s:split("y_1", 4)
    s:compute_at(P, o)
    s:reorder("r", "q", "x_1")
    s:vectorize "x_1"
    s:parallel "ch_1"
  end},
  {"channels and strips fused, in parallel", with("depthwise", 3, 6, 5), function(s)
    local o = s:split("y_1", 2)
    s:parallel(s:fuse("ch_1", o))
  end},
  {"an argmin written through a local buffer in each tile", with("arg", "argmin", 9, 6), function(s, V)
    local o = s:split("i", 4)
    s:cache_write(V, "local", {at = o})
  end},
  {"an argmax over a symbolic extent that may be 0", function()
    return nests.arg("argmax", nw.size "M", nw.size("K", {min = 0}))
  end, function(s)
    s:parallel "i"
    s:split("k", 4)
  end},
  {"a layer: the bias inlined, the product computed in the tiles of the ramp", with("layer", 8, 8, 6), function(s, R, P, C)
    s:compute_inline(P)
    local r = s:loops(R)
    local i_o, j_o = s:tile(r[1], r[2], 4, 4)
    s:compute_at(C, j_o)
    s:set_scope(C, "local")
    s:parallel(i_o)
  end},
  {"a layer: the product's input packed, the product tiled and in a local block", with("layer", 8, 8, 8), function(s, _, P, C, _, B)
    s:compute_inline(P)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 4, k, j % 4 end})
    local c = s:loops(C)
    local _, j_o = s:tile(c[1], c[2], 4, 4)
    s:cache_write(C, "local", {at = j_o})
  end},
  {"a stage and its two readers, each in parallel", with("fork", 12), function(s, Y, Z, X)
    s:parallel(s:loops(X)[1])
    s:parallel(s:loops(Y)[1])
    s:parallel(s:loops(Z)[1])
  end},
  {"a map: rows in parallel, vectors of sixteen, the tail cut", with("map", 5, 37), function(s)
    local _, lane, tail = s:split("j", {factor = 16, tail = "cut"})
    s:vectorize(lane)
    s:vectorize(tail)
    s:parallel "i"
  end},
  {"sums of squares computed in their reader's vector loop", function() return normed(6, 8) end, function(s, Z, S)
    s:vectorize(s:loops(Z)[2])
    s:compute_at(S, s:loops(Z)[2])
  end},
  {"a vector loop around a stage that is computed inside it", function() return normed(6, 8) end, function(s, Z, S)
    s:compute_at(S, s:loops(Z)[2])
    s:vectorize(s:loops(Z)[2])
  end},
}

local illegal = {
  {"the fast product with its reduction in parallel", gemm(16, 16, 8), function(s)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 8, 8)
    local k_o, k_i = s:split("k", 4)
    s:reorder(k_o, i_o, j_o, k_i, i_i, j_i)
    return function() s:parallel(k_o) end
  end, "reduction"},
  {"the fast product with vectors along its reduction", gemm(16, 16, 8), function(s)
    local i_o, j_o, i_i, j_i = s:tile("i", "j", 8, 8)
    s:reorder(i_o, j_o, i_i, j_i, "k")
    return function() s:vectorize "k" end
  end, "reduction"},
  {"a block computed inside its own reduction", gemm(8, 8, 8), function(s, C)
    local k_o = s:split("k", 4)
    s:reorder(k_o, "i", "j", "k_i")
    return function() s:cache_write(C, "local", {at = k_o}) end
  end, "structure"},
  {"a stencil computed at a loop of its reader's reader", function() return thrice(6, 5) end, function(s, Z, _, X)
    return function() s:compute_at(X, s:loops(Z)[1]) end
  end, "structure"},
  {"the first stencil moved from its reader to its reader's reader", function() return thrice(6, 5) end,
    function(s, Z, Y, X)
      s:compute_at(X, s:loops(Y)[1])
      return function() s:compute_at(X, s:loops(Z)[1]) end
    end, "structure"},
  {"the reader of an inlined stage moved to the root, where it already is", function() return thrice(6, 5) end, function(s, Z, Y)
    s:compute_inline(Y)
    return function() s:compute_root(Z) end
  end, "structure"},
  {"rows in parallel, then also the loop over strips around them", function() return thrice(9, 5) end, function(s, Z)
    local o, i = s:split(s:loops(Z)[1], 3)
    s:parallel(i)
    return function() s:parallel(o) end
  end, "structure"},
  {"a product's columns in parallel inside a strip in parallel", function() return two_products(8) end, function(s, E, C)
    local o = s:split(s:loops(E)[1], 4)
    s:compute_at(C, o)
    s:parallel(o)
    local c = s:loops(C)
    return function() s:parallel(c[#c - 1]) end
  end, "structure"},
  {"a product in parallel along the reduction of the product that reads it", function() return two_products(6) end,
    function(s, E, C)
      local e = s:loops(E)
      s:reorder(e[1], e[3], e[2])
      s:compute_at(C, e[3])
      return function() s:parallel(e[3]) end
    end, "reduction"},
  {"the loops over a batch and the reduction fused, in parallel", function() return batch(3, 6) end, function(s)
    s:reorder("i", "j", "z", "k")
    local f = s:fuse("z", "k")
    return function() s:parallel(f) end
  end, "reduction"},
  {"a pooling's window in parallel", function() return pool(5, 6) end, function(s)
    return function() s:parallel "r" end
  end, "reduction"},
  {"a pooling's window as vectors, its init split off", function() return pool(4, 8) end, function(s, P)
    s:decompose_reduction(P, "y")
    s:reorder("r", "y", "x", "q")
    return function() s:vectorize "q" end
  end, "reduction"},
  {"a pooling's init split off inside its window", function() return pool(4, 8) end, function(s, P)
    s:reorder("r", "q", "y", "x")
    return function() s:decompose_reduction(P, "x") end
  end, "structure"},
  {"sums of squares computed at their reader's rows, in parallel over k", function() return normed(6, 8) end, function(s, Z, S)
    s:compute_at(S, s:loops(Z)[1])
    local loops = s:loops(S)
    return function() s:parallel(loops[#loops]) end
  end, "reduction"},
  {"a copy of the whole output of a layer on the stack", with("layer", 512, 512, 4), function(s, R)
    return function() s:cache_write(R, "local") end
  end, "capacity"},
  {"a packed copy that puts two columns in one place", gemm(8, 8, 8), function(s, C, _, B)
    s:tile("i", "j", 4, 4)
    return function() s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 4, k, j % 2 end}) end
  end, "structure"},
  {"a copy with a layout that leaves its buffer", gemm(8, 8, 8), function(s, C, _, B)
    return function() s:cache_read(B, "global", {C}, {layout = function(k, j) return k - 1, j end}) end
  end, "structure"},
  {"a depthwise window in parallel", with("depthwise", 2, 6, 6), function(s)
    s:reorder("r", "q", "ch_1", "y_1", "x_1")
    return function() s:parallel "q" end
  end, "reduction"},
  {"4,097 copies of one loop body", with("map", 4097), function(s) return function() s:unroll "i" end end, "capacity"},
  {"copies of copies of one loop body", gemm(32, 32, 32), function(s)
    s:unroll "k"
    s:unroll "j"
    return function() s:unroll "i" end
  end, "capacity"},
}

return {legal = legal, illegal = illegal}
