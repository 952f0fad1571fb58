--- Makes schedules of matrix products that use tensor cores, for several specs.
local nw = require "nestwright"

local tensor_gemm = {}

--- Returns the depth of a product and the dtype of its factors: 16 and "f16" for mma.m16n8k16.f16.
function tensor_gemm.shape(name)
  local depth, kind = name:match "k(%d+)%.(%w+)$"
  return math.tointeger(depth), kind == "tf32" and "f32" or kind, kind == "tf32" and nw.tf32 or nw.f32
end

--- Returns the last two loops around a stage.
function tensor_gemm.last(s, stage)
  local l = s:loops(stage)
  return l[#l - 1], l[#l]
end

--- Returns a schedule of C[M, N] = A[M, K]*B[K, N] with fragments in a warp, before s:tensorize, and what belongs to it:
--- the loop over the lanes, the tensors, and the names of the stages. o: M, N, K, target, seed; shared: the factors are copied
--- through shared memory; warps: number of warps of a block.
function tensor_gemm.tiled(mma, o)
  local depth, dtype, wide = tensor_gemm.shape(mma.instruction)
  local M, N, K = o.M or 32, o.N or 16, o.K or 32
  local A, B = nw.placeholder({M, K}, dtype, "A"), nw.placeholder({K, N}, dtype, "B")
  local k = nw.reduce_axis(K, "k")
  local C = nw.compute({M, N}, function(i, j) return nw.sum(wide(A(i, k)) * wide(B(k, j)), k) end, "C")
  local s = nw.schedule(C, {target = o.target or "a100"})
  local io, jo = s:tile("i", "j", 16, 8)
  local at = jo
  if o.warps then
    io, at = s:split(io, o.warps)
    s:reorder(jo, at)
    s:bind(at, "threadIdx.y")
  end
  s:bind(io, "blockIdx.y")
  s:bind(jo, "blockIdx.x")
  local x = {A = A, B = B, C = C, Cw = s:cache_write(C, "warp", {at = at})}
  local l = s:loops(x.Cw)
  local ko, ks, ki = s:split(l[#l], {factors = {o.warps and 2 or 1, depth}})
  x.i, x.j, x.k = l[#l - 2], l[#l - 1], ko
  s:reorder(ko, ks, x.i, x.j, ki)
  local from = {A, B}
  if o.shared then
    for n, t in ipairs(from) do
      from[n] = s:cache_read(t, "shared", {x.Cw}, {at = ko})
      local row = tensor_gemm.last(s, from[n])
      s:bind(row, "threadIdx.x") -- a row for each lane
    end
    x.As, x.Bs = from[1], from[2]
  end
  x.Aw, x.Bw = s:cache_read(from[1], "warp", {x.Cw}, {at = ks}), s:cache_read(from[2], "warp", {x.Cw}, {at = ks})
  x.init = s:decompose_reduction(x.Cw, ko)
  x.data = {nw.random({M, K}, dtype, {seed = o.seed or 1, lo = -1, hi = 1}),
    nw.random({K, N}, dtype, {seed = (o.seed or 1) + 1, lo = -1, hi = 1})}
  return s, x
end

--- Gives the buffers their layouts, and binds the loops of all stages to lanes. Returns the loop over the lanes. x.lanes gets
--- the loops of the stages.
function tensor_gemm.spread(s, x, mma)
  for operand, stage in pairs {A = x.Aw, B = x.Bw, C = x.Cw} do s:fragment(stage, mma, operand) end
  x.lanes = {}
  for n, row in ipairs {{x.Aw, "A"}, {x.Bw, "B"}, {x.init, "C"}, {x.C, "C"}} do
    local i, j = tensor_gemm.last(s, row[1])
    x.lanes[n] = s:lanes(i, j, mma, row[2])
  end
  return s:lanes(x.i, x.j, mma, "C")
end

--- Returns a schedule whose innermost products are calls of the instruction.
function tensor_gemm.make(mma, o)
  local s, x = tensor_gemm.tiled(mma, o or {})
  x.lane = tensor_gemm.spread(s, x, mma)
  s:tensorize(x.lane, mma)
  return s, x
end

-- Splits the last two loops of a stage into tiles, and spreads each tile over the lanes.
local function spread_tiles(s, stage, mma, operand, rows, columns)
  local i, j = tensor_gemm.last(s, stage)
  local i_o, i_i = s:split(i, rows)
  local j_o, j_i = s:split(j, columns)
  s:reorder(i_o, j_o, i_i, j_i)
  s:lanes(i_i, j_i, mma, operand)
end

--- Returns a schedule whose blocks have `size` x `size` sums, in the registers of 2 x 4 warps. Also returns C and the data.
function tensor_gemm.block(mma, size, target)
  local K = 32
  local A, B, k = nw.placeholder({size, K}, "f16", "A"), nw.placeholder({K, size}, "f16", "B"), nw.reduce_axis(K, "k")
  local C = nw.compute({size, size}, function(i, j) return nw.sum(nw.f32(A(i, k)) * nw.f32(B(k, j)), k) end, "C")
  local s = nw.schedule(C, {target = target})
  local y, i = s:split("i", size // 2)
  local x, j = s:split("j", size // 4)
  s:reorder(y, x, i, j)
  s:bind(y, "threadIdx.z")
  s:bind(x, "threadIdx.y")
  local i_o, i_i = s:split(i, 16)
  local j_o, j_i = s:split(j, 8)
  s:reorder(i_o, j_o, i_i, j_i)
  local sums = s:cache_write(C, "warp", {at = x})
  local l = s:loops(sums)
  local ko, rest = s:split(l[#l], K)
  local ks, ki = s:split(rest, 16)
  local ti, ei = s:split(l[#l - 2], 16)
  local tj, ej = s:split(l[#l - 1], 8)
  s:reorder(ko, ks, ti, tj, ei, ej, ki)
  local from = {A, B}
  for n, t in ipairs(from) do -- the storage of all warps moves outside of the loops over warps
    from[n] = s:cache_read(t, "shared", {sums}, {at = ko})
    local _, lane = s:split(s:fuse(tensor_gemm.last(s, from[n])), 32)
    s:bind(lane, "threadIdx.x")
  end
  local a, b = s:cache_read(from[1], "warp", {sums}, {at = ks}), s:cache_read(from[2], "warp", {sums}, {at = ks})
  local init = s:decompose_reduction(sums, ko)
  for operand, stage in pairs {A = a, B = b, C = sums} do s:fragment(stage, mma, operand) end
  spread_tiles(s, a, mma, "A", 16, 16)
  spread_tiles(s, b, mma, "B", 16, 8)
  spread_tiles(s, init, mma, "C", 16, 8)
  s:lanes(i_i, j_i, mma, "C")
  s:tensorize(s:lanes(ei, ej, mma, "C"), mma)
  local data = {nw.random({size, K}, "f16", {seed = 1, lo = -1, hi = 1})}
  data[2] = nw.random({K, size}, "f16", {seed = 2, lo = -1, hi = 1})
  return s, C, data
end

--- Returns a schedule that copies tiles of a matrix through shared memory, from which an instruction loads them.
function tensor_gemm.loaded(it, o)
  local shape, dtype = it.args[2]:shape(), it.instruction:match "%w+$"
  local rows, columns = shape[1] * (o.down or 2), shape[2] * (o.across or 2)
  local turned = it.args[1]:shape()[1] ~= shape[1]
  local S = nw.placeholder(turned and {columns, rows} or {rows, columns}, dtype, "S")
  local D = nw.compute({rows, columns}, function(i, j) return turned and S(j, i) or S(i, j) end, "D")
  local s = nw.schedule(D, {target = o.target or "a100"})
  local io, jo = s:tile("i", "j", shape[1], shape[2])
  s:bind(io, "blockIdx.y")
  s:bind(jo, "blockIdx.x")
  local x = {C = D, Dw = s:cache_write(D, "warp", {at = jo})}
  x.Ss = s:cache_read(S, "shared", {x.Dw}, {at = jo})
  local _, lane = s:split(s:fuse(tensor_gemm.last(s, x.Ss)), 32)
  s:bind(lane, "threadIdx.x")
  s:fragment(x.Dw, it, "D")
  local i, j = tensor_gemm.last(s, D)
  s:lanes(i, j, it, "D")
  i, j = tensor_gemm.last(s, x.Dw)
  x.lane = s:lanes(i, j, it, "D")
  if not o.plain then s:tensorize(x.lane, it) end
  x.data = {nw.random(turned and {columns, rows} or {rows, columns}, dtype, {seed = o.seed or 1, lo = -1, hi = 1})}
  return s, x
end

return tensor_gemm
