--- In the legal rows, an intrinsic replaces a nest, with windows of several kinds. In the illegal rows, the nest differs from the
--- intrinsic, in each row in another way.
package.path = "tests/prop/?.lua;tests/tools/?.lua;" .. package.path
local small, micro = require "kernels", require "microkernels"
local nests = require "_nests"
local nw = require "nestwright"

-- Returns the intrinsic C[4, 8] += A[4, 2]*B[2, 8] of i32 with the options o. Registers each intrinsic once.
local made = {}
local function mm(o)
  o = o or {}
  local key = ("%s%s"):format(tostring(o.bt), tostring(o.accumulate))
  made[key] = made[key] or micro.gemm {name = "judged_mm", m = 4, n = 8, k = 2, bt = o.bt, accumulate = o.accumulate}
  return made[key]
end
local function gemm(m, n, k, dtype)
  return function() return nests.gemm(m, n, k, dtype or "i32") end
end
local function product(body, m, n, depth)
  return function()
    local A, B = nw.placeholder({m or 8, depth or 4}, "i32", "A"), nw.placeholder({depth or 4, n or 16}, "i32", "B")
    local k = nw.reduce_axis(depth or 4, "k")
    local C = nw.compute({m or 8, n or 16}, function(i, j) return body(A, B, i, j, k) end, "C")
    return nw.schedule(C), C, A, B
  end
end
local function symbolic()
  return nests.gemm(nw.size("M", {multiple = 4}), nw.size("N", {multiple = 8}), nw.size("K", {multiple = 2}), "i32")
end
local function vector(make, ...)
  local shapes = {...}
  return function()
    local t = {}
    for n, shape in ipairs(shapes) do t[n] = nw.placeholder(shape, "i32", ("XYW"):sub(n, n)) end
    local Z = make(table.unpack(t))
    return nw.schedule(Z), Z, table.unpack(t)
  end
end

-- Tiles the loops of a product to the size of mm. The tile is innermost and begins with the loop i_i.
local function tile(s)
  s:tile("i", "j", 4, 8)
  s:split("k", 2)
  s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
end
local function ready(s, C)
  tile(s)
  s:decompose_reduction(C, "k_o")
end
local function called(s, C)
  ready(s, C)
  s:tensorize("i_i", mm())
end

local legal = {
  {"a tile of a product", gemm(8, 16, 4), called},
  {"a tile of a product, its loops in another order", gemm(8, 16, 4), function(s, C)
    ready(s, C)
    s:reorder("k_i", "j_i", "i_i")
    s:tensorize("k_i", mm())
  end},
  {"a product with its factors exchanged", product(function(A, B, i, j, k) return nw.sum(B(k, j) * A(i, k), k) end), called},
  {"a transposed matrix, by strides alone", function()
    local A, B = nw.placeholder({8, 4}, "i32", "A"), nw.placeholder({16, 4}, "i32", "B")
    local k = nw.reduce_axis(4, "k")
    local C = nw.compute({8, 16}, function(i, j) return nw.sum(A(i, k) * B(j, k), k) end, "C")
    return nw.schedule(C), C
  end, called},
  {"rows computed as columns, with exchanged factors", gemm(16, 8, 4), function(s, C)
    s:tile("i", "j", 8, 4)
    s:split("k", 2)
    s:reorder("i_o", "j_o", "k_o", "i_i", "j_i", "k_i")
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm())
  end},
  {"an intrinsic described with the transposed matrix", gemm(8, 16, 4), function(s, C)
    ready(s, C)
    s:tensorize("i_i", mm {bt = true})
  end},
  {"a window of a packed copy", gemm(8, 16, 4), function(s, C, _, B)
    s:cache_read(B, "global", {C}, {layout = function(k, j) return j // 8, k, j % 8 end})
    called(s, C)
  end},
  {"a window of a small copy made inside", gemm(8, 16, 4), function(s, C, A)
    tile(s)
    s:cache_read(A, "local", {C}, {at = "k_o"})
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm())
  end},
  {"a copy of an operand made after the call", gemm(8, 16, 4), function(s, C, _, B)
    called(s, C)
    s:cache_read(B, "global", {C})
  end},
  {"symbolic sizes, whose strides are known at the call", symbolic, called},
  {"a call in a parallel loop", gemm(16, 16, 4), function(s, C)
    called(s, C)
    s:parallel "i_o"
  end},
  {"a parallel loop, then a call inside", gemm(16, 16, 4), function(s, C)
    ready(s, C)
    s:parallel "i_o"
    s:tensorize("i_i", mm())
  end},
  {"an unrolled loop of calls", gemm(8, 16, 4), function(s, C)
    called(s, C)
    s:unroll "k_o"
  end},
  {"a loop of calls split again", gemm(16, 16, 8), function(s, C)
    called(s, C)
    s:split("k_o", 2)
    s:split("j_o", 2)
  end},
  {"a loop of calls split by a factor that does not divide it", gemm(12, 16, 4), function(s, C)
    called(s, C)
    s:split("i_o", 2)
  end},
  {"a loop of calls cut in two, each half with its calls", gemm(20, 16, 4), function(s, C)
    called(s, C)
    s:cut("i_o", 3)
  end},
  {"two loops of calls fused", gemm(8, 16, 4), function(s, C)
    called(s, C)
    s:fuse("i_o", "j_o")
  end},
  {"two loops of calls exchanged", gemm(8, 16, 4), function(s, C)
    called(s, C)
    s:reorder("j_o", "i_o")
  end},
  {"a whole reduction with its init", gemm(8, 16, 2), function(s)
    s:tile("i", "j", 4, 8)
    s:tensorize("i_i", mm {accumulate = false})
  end},
  {"a cut tail left as loops", gemm(11, 16, 4), function(s, C)
    s:split("j", 8)
    s:split("k", 2)
    s:reorder("j_o", "k_o", "i", "j_i", "k_i")
    s:decompose_reduction(C, "k_o")
    s:split("i", {factor = 4, tail = "cut"})
    s:tensorize("i_i", mm())
  end},
  {"a condition that depends on outer loops only", gemm(8, 16, 4), function(s, C)
    tile(s)
    s:split("j_o", 4)
    s:decompose_reduction(C, "k_o")
    s:tensorize("i_i", mm())
  end},
  {"every other column", vector(function(X, Y)
    local k = nw.reduce_axis(2, "k")
    return nw.compute({8, 16}, function(i, j) return nw.sum(X(i, 2 * k + 1) * Y(k, j), k) end, "Z")
  end, {8, 4}, {2, 16}), function(s, C)
    s:tile("i", "j", 4, 8)
    s:decompose_reduction(C, "i_i")
    s:tensorize("i_i", mm())
  end},
  {"a convolution, whose windows overlap", vector(function(X, Y)
    local k = nw.reduce_axis(2, "k")
    return nw.compute({16, 8}, function(x, c) return nw.sum(X(x + k) * Y(k, c), k) end, "Z")
  end, {17}, {2, 8}), function(s, Z)
    s:split("x", 4)
    s:decompose_reduction(Z, "x_i")
    s:tensorize("x_i", mm())
  end},
  {"a sum of vectors, a vector at a time", vector(function(X, Y)
    return nw.compute({20}, function(i) return X(i) + Y(i) end, "Z")
  end, {20}, {20}), function(s)
    s:split("i", 4)
    s:tensorize("i_i", small.id "add_i32_4")
  end},
  {"a vector read backwards", vector(function(X)
    return nw.compute({8}, function(i) return X(7 - i) end, "Z")
  end, {8}), function(s) s:tensorize("i", small.id "copy_i32_8") end},
  {"one element read again and again", vector(function(X, Y)
    return nw.compute({6, 8}, function(i, j) return X(i) + Y(j) end, "Z")
  end, {6}, {8}), function(s) s:tensorize("j", small.id "add_i32_8") end},
  {"a transposed copy, by columns", vector(function(X)
    return nw.compute({6, 8}, function(i, j) return X(j, i) end, "Z")
  end, {8, 6}), function(s) s:tensorize("j", small.id "copy_i32_8") end},
  {"one tensor for both operands", vector(function(X)
    return nw.compute({8}, function(i) return X(i) * X(i + 1) end, "Z")
  end, {9}), function(s) s:tensorize("i", small.id "mul_i32_8") end},
  {"a scalar product with its init", gemm(3, 5, 7), function(s) s:tensorize("k", small.id "dot_i32_7_init") end},
  {"a scalar product that adds to its output", gemm(3, 5, 8), function(s, C)
    local k_o = s:split("k", 4)
    s:decompose_reduction(C, k_o)
    s:tensorize("k_i", small.id "dot_i32_4")
  end},
  {"a product, one row at a time", gemm(3, 8, 5), function(s, C)
    s:reorder("k", "j")
    s:decompose_reduction(C, "k")
    s:tensorize("j", small.id "axpy_i32_8")
  end},
  {"a copy made by cache_read", vector(function(X)
    return nw.compute({12}, function(i) return X(i) + 1 end, "Z")
  end, {12}), function(s, Z, X)
    s:cache_read(X, "global", {Z})
    s:tensorize(s:loops "X_global"[1], small.id "copy_i32_12")
  end},
  {"two calls of different intrinsics", vector(function(X, Y)
    local P = nw.compute({8}, function(i) return X(i) * Y(i) end, "P")
    return nw.compute({8}, function(j) return P(j) + X(j) end, "Z")
  end, {8}, {8}), function(s, Z)
    s:tensorize(s:loops "P"[1], small.id "mul_i32_8")
    s:tensorize(s:loops(Z)[1], small.id "add_i32_8")
  end},
}

local function not_what(make, steps, loop, intrinsic)
  return make, function(s, ...)
    if steps then steps(s, ...) end
    return function() s:tensorize(loop or "i", (intrinsic or mm)()) end
  end, "structure"
end
local function whole() return mm {accumulate = false} end
local function row(what, ...) return {what, not_what(...)} end

local illegal = {
  row("a tile with other extents", gemm(4, 4, 2), nil, "i", whole),
  row("one loop less than the intrinsic has", gemm(4, 8, 2), nil, "j", whole),
  row("one loop more than the intrinsic has", gemm(8, 16, 4), function(s) tile(s) end, "k_o", whole),
  row("reduced and kept axes exchanged", gemm(2, 8, 4), nil, "i", whole),
  row("a sum of operands, not a product", product(function(A, B, i, j, k) return nw.sum(A(i, k) + B(k, j), k) end, 4, 8, 2),
    nil, "i", whole),
  row("one operation more in the body", product(function(A, B, i, j, k) return nw.sum(A(i, k) * nw.abs(B(k, j)), k) end, 4, 8, 2),
    nil, "i", whole),
  row("another combiner", product(function(A, B, i, j, k) return nw.max(A(i, k) * B(k, j), k) end, 4, 8, 2), nil, "i", whole),
  row("another type", gemm(4, 8, 2, "i64"), nil, "i", whole),
  row("an index that is not affine",
    product(function(A, B, i, j, k) return nw.sum(A(i, k) * B(k, (i + j) % 8), k) end, 4, 8, 2), nil, "i", whole),
  row("an operand whose index uses a third loop",
    product(function(A, B, i, j, k) return nw.sum(A(i, k) * B(k, nw.min(i + j, 7)), k) end, 4, 8, 2), nil, "i", whole),
  row("a guard inside the tile", gemm(7, 8, 2), function(s) s:split("i", 4) end, "i_i", whole),
  row("an init that the intrinsic does not do", gemm(8, 16, 4), tile, "i_i"),
  row("an init that is done elsewhere", gemm(4, 8, 2), function(s, C) s:decompose_reduction(C, "i") end, "i", whole),
  row("a part of a reduction, for which the init would run again", gemm(4, 8, 4), function(s)
    s:split("k", 2)
    s:reorder("k_o", "i", "j", "k_i")
  end, "i", whole),
  row("an unrolled loop inside", gemm(4, 8, 2), function(s) s:unroll "k" end, "i", whole),
  row("a vector loop inside", gemm(4, 8, 2), function(s) s:vectorize "j" end, "i", whole),
  row("a parallel loop inside", gemm(4, 8, 2), function(s) s:parallel "i" end, "i", whole),
  row("the init beside the update", gemm(4, 8, 2), function(s, C) s:decompose_reduction(C, "k") end, "i"),
  row("storage inside the nest", vector(function(X, Y)
    return nw.compute({8}, function(i) return X(i) + Y(i) end, "Z")
  end, {8}, {8}), function(s, Z, X) s:cache_read(X, "local", {Z}, {at = "i"}) end, "i", function() return small.id "add_i32_8" end),
  row("a call inside the nest", vector(function(X, Y)
    return nw.compute({4, 8}, function(i, j) return X(i, j) + Y(i, j) end, "Z")
  end, {4, 8}, {4, 8}), function(s) s:tensorize("j", small.id "add_i32_8") end, "i", function() return small.id "add_i32_4" end),
  row("a loop inside a vector loop", vector(function(X, Y)
    return nw.compute({8, 4}, function(i, j) return X(i, j) + Y(i, j) end, "Z")
  end, {8, 4}, {8, 4}), function(s) s:vectorize "i" end, "j", function() return small.id "add_i32_4" end),
  row("a symbolic extent", vector(function(X)
    return nw.compute(X:shape(), function(i) return X(i) end, "Z")
  end, {nw.size "N"}), nil, "i", function() return small.id "copy_i32_8" end),
  {"a vector loop around a call", gemm(8, 16, 4), function(s, C)
    called(s, C)
    return function() s:vectorize "j_o" end
  end, "structure"},
  {"an operand inlined into a call", function()
    local A, B = nw.placeholder({8, 4}, "i32", "A"), nw.placeholder({4, 16}, "i32", "B")
    local X = nw.compute({8, 4}, function(y, x) return A(y, x) + 1 end, "X")
    local k = nw.reduce_axis(4, "k")
    local C = nw.compute({8, 16}, function(i, j) return nw.sum(X(i, k) * B(k, j), k) end, "C")
    return nw.schedule(C), C, X
  end, function(s, C, X)
    called(s, C)
    return function() s:compute_inline(X) end
  end, "structure"},
  {"a recurrence, whose output is read as well", function()
    return nests.recurrence(5, 8, nests.step.column)
  end, function(s)
    local _, x = nests.loops(s, "S")
    return function() s:tensorize(x, small.id "add_f32_8") end
  end, "structure"},
}

return {legal = legal, illegal = illegal}
