--- Schedules for a GPU, as a course on CUDA would make them.
local nw = require "nestwright"
local kernels = {}

local function gemm(m, n, k)
  local A, B = nw.placeholder({m, k}, "f32", "A"), nw.placeholder({k, n}, "f32", "B")
  return nw.compute({m, n}, function(i, j)
    local r = nw.reduce_axis(k, "k")
    return nw.sum(A(i, r) * B(r, j), r)
  end, "C")
end

-- Binds the last two loops of a stage, after fusing them and splitting them by the numbers of threads.
local function share(s, stage, tx, ty, vector)
  local l = s:loops(stage)
  local f = s:fuse(l[#l - 1], l[#l])
  if vector then
    local _, v = s:split(f, vector)
    s:vectorize(v)
    l = s:loops(stage)
    f = l[#l - 1]
  end
  local outer, x = s:split(f, tx)
  if ty then
    local _, y = s:split(outer, ty)
    s:bind(y, "threadIdx.y")
  end
  s:bind(x, "threadIdx.x")
end

--- One element of the result for each thread.
function kernels.gemm_naive(n)
  local s = nw.schedule(gemm(n, n, n), {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 16, 16)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ii, "threadIdx.y") s:bind(ji, "threadIdx.x")
  return s
end

--- Tiles of both inputs in shared memory, one element of the result for each thread.
function kernels.gemm_shared(n)
  local s = nw.schedule(gemm(n, n, n), {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 16, 16)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ii, "threadIdx.y") s:bind(ji, "threadIdx.x")
  s:cache_write("C", "local", {at = ji})
  local ko = s:split("k", 16)
  s:cache_read("A", "shared", {"C_local"}, {at = ko})
  s:cache_read("B", "shared", {"C_local"}, {at = ko})
  for _, stage in ipairs {"A_shared", "B_shared"} do
    local l = s:loops(stage)
    s:bind(l[#l - 1], "threadIdx.y") s:bind(l[#l], "threadIdx.x")
  end
  return s
end

--- A tile of the result in the registers of each thread.
function kernels.gemm_registers(n, block, thread, depth, vector)
  local s = nw.schedule(gemm(n, n, n), {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", block, block)
  local ti, ri = s:split(ii, thread)
  local tj, rj = s:split(ji, thread)
  s:reorder(ti, tj, ri, rj)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ti, "threadIdx.y") s:bind(tj, "threadIdx.x")
  s:cache_write("C", "local", {at = tj})
  local l = s:loops "C_local"
  local i, j, k = l[#l - 2], l[#l - 1], l[#l]
  local ko, ki = s:split(k, depth)
  s:reorder(ko, ki, i, j)
  s:unroll(i) s:unroll(j)
  s:cache_read("A", "shared", {"C_local"}, {at = ko})
  s:cache_read("B", "shared", {"C_local"}, {at = ko})
  share(s, "A_shared", block // thread, block // thread, vector)
  share(s, "B_shared", block // thread, block // thread, vector)
  return s
end

--- The same with four virtual threads for each thread. Their parts of a tile are far apart, so that neighbouring threads read
--- neighbouring vectors. The tile of A is stored by columns.
function kernels.gemm_parts(n, depth)
  local s = nw.schedule(gemm(n, n, n), {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 128, 128)
  local vi, i = s:split(ii, 64)
  local vj, j = s:split(ji, 64)
  local ti, ri = s:split(i, 4)
  local tj, rj = s:split(j, 4)
  s:reorder(vi, vj, ti, tj, ri, rj)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(vi, "vthread") s:bind(vj, "vthread")
  s:bind(ti, "threadIdx.y") s:bind(tj, "threadIdx.x")
  s:cache_write("C", "local", {at = tj})
  s:vectorize(rj)
  local l = s:loops "C_local"
  local ci, cj, k = l[#l - 2], l[#l - 1], l[#l]
  local ko, ki = s:split(k, depth)
  s:reorder(ko, ki, ci, cj)
  s:unroll(ci) s:unroll(cj) s:unroll(ki)
  s:cache_read("A", "shared", {"C_local"}, {at = ko})
  s:cache_read("B", "shared", {"C_local"}, {at = ko})
  s:transform_layout("A_shared", function(x, y) return y, x end)
  share(s, "A_shared", 16, 16, 4)
  share(s, "B_shared", 16, 16, 4)
  return s
end

--- A convolution of one dimension.
function kernels.conv1d(n, taps)
  local X, W = nw.placeholder({n + taps - 1}, "f32", "X"), nw.placeholder({taps}, "f32", "W")
  local Y = nw.compute({n}, function(i)
    local k = nw.reduce_axis(taps, "k")
    return nw.sum(X(i + k) * W(k), k)
  end, "Y")
  local s = nw.schedule(Y, {target = kernels.target})
  local o, i = s:split("i", 256)
  s:bind(o, "blockIdx.x") s:bind(i, "threadIdx.x")
  return s
end

--- The same, with the part of the input that a block uses in shared memory.
function kernels.conv1d_shared(n, taps)
  local s = kernels.conv1d(n, taps)
  s:cache_read("X", "shared", {"Y"}, {at = "i_o"})
  local l = s:loops "X_shared"
  local _, x = s:split(l[#l], 256)
  s:bind(x, "threadIdx.x")
  return s
end

--- A depthwise convolution of 3 x 3.
function kernels.depthwise(c, h, w)
  local X, W = nw.placeholder({c, h + 2, w + 2}, "f32", "X"), nw.placeholder({c, 3, 3}, "f32", "W")
  local Y = nw.compute({c, h, w}, function(ch, i, j)
    local u, v = nw.reduce_axis(3, "u"), nw.reduce_axis(3, "v")
    return nw.sum(X(ch, i + u, j + v) * W(ch, u, v), {u, v})
  end, "Y")
  local s = nw.schedule(Y, {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 8, 32)
  s:bind("ch", "blockIdx.z") s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ii, "threadIdx.y") s:bind(ji, "threadIdx.x")
  return s
end

--- Sums of rows, where the threads of a block share a row.
function kernels.rows(m, n)
  local A = nw.placeholder({m, n}, "f32", "A")
  local R = nw.compute({m}, function(i)
    local k = nw.reduce_axis(n, "k")
    return nw.sum(A(i, k), k)
  end, "R")
  local s = nw.schedule(R, {target = kernels.target})
  local _, k = s:split("k", 256)
  s:bind("i", "blockIdx.x") s:bind(k, "threadIdx.x")
  return s
end

--- A transpose through shared memory; `pad` more columns avoid bank conflicts.
function kernels.transpose(n, pad)
  local A = nw.placeholder({n, n}, "f32", "A")
  local T = nw.compute({n, n}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T, {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 32, 32)
  local _, ty = s:split(ii, 8)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ty, "threadIdx.y") s:bind(ji, "threadIdx.x")
  s:cache_read("A", "shared", {"T"}, {at = jo})
  local l = s:loops "A_shared"
  s:bind(l[#l], "threadIdx.x")
  local _, y = s:split(l[#l - 1], 8)
  s:bind(y, "threadIdx.y")
  if pad then s:storage_align("A_shared", 0, 32, pad) end
  return s
end

--- A sum of vectors of any size.
function kernels.vector_sum()
  local n = nw.size "N"
  local A, B = nw.placeholder({n}, "f32", "A"), nw.placeholder({n}, "f32", "B")
  local C = nw.compute({n}, function(i) return A(i) + B(i) end, "C")
  local s = nw.schedule(C, {target = kernels.target})
  local o, i = s:split("i", 256)
  s:bind(o, "blockIdx.x") s:bind(i, "threadIdx.x")
  return s, {N = 1000003}
end

--- Like gemm_registers, with asynchronous copies of the next tiles.
function kernels.gemm_async(n, block, thread, depth, vector, ahead)
  local s = kernels.gemm_registers(n, block, thread, depth, vector)
  for _, stage in ipairs {"A_shared", "B_shared"} do
    s:double_buffer(stage, ahead or 1)
    s:async_copy(stage)
  end
  return s
end

--- A transpose of n x n whose threads copy four elements of a tile at once.
function kernels.transpose_vectors(n)
  local A = nw.placeholder({n, n}, "f32", "A")
  local T = nw.compute({n, n}, function(i, j) return A(j, i) end, "T")
  local s = nw.schedule(T, {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 32, 32)
  local _, ty = s:split(ii, 8)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ty, "threadIdx.y") s:bind(ji, "threadIdx.x")
  s:cache_read(A, "shared", {T}, {at = jo})
  local l = s:loops "A_shared"
  local rest, lane = s:split(s:fuse(l[#l - 1], l[#l]), 4)
  local y, x = s:split(rest, 32)
  s:bind(select(2, s:split(y, 8)), "threadIdx.y") s:bind(x, "threadIdx.x")
  s:vectorize(lane)
  return s
end

--- A product of matrices whose sizes no tile divides.
function kernels.gemm_odd(m, n, k)
  local s = nw.schedule(gemm(m, n, k), {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 16, 16)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x") s:bind(ii, "threadIdx.y") s:bind(ji, "threadIdx.x")
  return s
end

--- A product of a matrix with a vector after another: two kernels, with a temporary in the memory of the device.
function kernels.two_stages(n)
  local A, x = nw.placeholder({n, n}, "f32", "A"), nw.placeholder({n}, "f32", "x")
  local Y = nw.compute({n}, function(i)
    local k = nw.reduce_axis(n, "k")
    return nw.sum(A(i, k) * x(k), k)
  end, "Y")
  local Z = nw.compute({n}, function(i)
    local l = nw.reduce_axis(n, "l")
    return nw.sum(A(i, l) * Y(l), l)
  end, "Z")
  local s = nw.schedule(Z, {target = kernels.target})
  for _, stage in ipairs {"Y", "Z"} do
    local o, i = s:split(s:loops(stage)[1], 64)
    s:bind(o, "blockIdx.x") s:bind(i, "threadIdx.x")
  end
  return s
end

--- A heat equation: a kernel for each step of time, which the host launches.
function kernels.heat(steps, n)
  local a0 = nw.placeholder({1, n}, "f32", "a0")
  local state = nw.scan_state({steps, n}, "f32", "state")
  local first = nw.compute({1, n}, function(t, i) return a0(t, i) end, "first")
  local update = nw.compute({steps, n}, function(t, i)
    return 0.25 * state(t - 1, nw.max(i - 1, 0)) + 0.5 * state(t - 1, i) + 0.25 * state(t - 1, nw.min(i + 1, n - 1))
  end, "update")
  local s = nw.schedule(nw.scan(first, update, state, "S"), {target = kernels.target})
  local o, i = s:split(s:loops "S"[2], 128)
  s:bind(o, "blockIdx.x") s:bind(i, "threadIdx.x")
  return s
end

--- A histogram by atomic additions.
function kernels.histogram(n, bins)
  local X = nw.placeholder({n}, "i32", "X")
  local H = nw.compute({bins}, function(b)
    local k = nw.reduce_axis(n, "k")
    return nw.sum(nw.cast(nw.select(nw.eq(X(k), b), 1, 0), "i32"), k)
  end, "H")
  local s = nw.schedule(H, {target = kernels.target})
  local o, k = s:split("k", 256)
  s:reorder(o, k, "b")
  s:decompose_reduction("H", o)
  s:atomic "H"
  s:bind(o, "blockIdx.x") s:bind(k, "threadIdx.x")
  return s
end

--- Half precision in, single precision out.
function kernels.half(n, dtype)
  local A = nw.placeholder({n}, dtype, "A")
  local B = nw.compute({n}, function(i) return nw.cast(nw.cast(A(i), "f32") * 3 + nw.sqrt(nw.cast(A(i), "f32")), dtype) end, "B")
  local s = nw.schedule(B, {target = kernels.target})
  local o, i = s:split("i", 128)
  s:bind(o, "blockIdx.x") s:bind(i, "threadIdx.x")
  return s
end

--- Virtual threads: each thread computes two parts that are far apart.
function kernels.gemm_vthread(n)
  local s = nw.schedule(gemm(n, n, n), {target = kernels.target})
  local io, jo, ii, ji = s:tile("i", "j", 32, 32)
  local vi, ti = s:split(ii, 16)
  local vj, tj = s:split(ji, 16)
  s:reorder(vi, vj, ti, tj)
  s:bind(io, "blockIdx.y") s:bind(jo, "blockIdx.x")
  s:bind(vi, "vthread") s:bind(vj, "vthread")
  s:bind(ti, "threadIdx.y") s:bind(tj, "threadIdx.x")
  s:cache_write("C", "local", {at = tj})
  return s
end

return kernels
