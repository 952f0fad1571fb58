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
--- the loop over the lanes, the tensors, and the names of the stages.
function tensor_gemm.tiled(mma, o)
  local depth, dtype, wide = tensor_gemm.shape(mma.instruction)
  local M, N, K = o.M or 32, o.N or 16, o.K or 32
  local A, B = nw.placeholder({M, K}, dtype, "A"), nw.placeholder({K, N}, dtype, "B")
  local k = nw.reduce_axis(K, "k")
  local C = nw.compute({M, N}, function(i, j) return nw.sum(wide(A(i, k)) * wide(B(k, j)), k) end, "C")
  local s = nw.schedule(C, {target = o.target or "a100"})
  local io, jo = s:tile("i", "j", 16, 8)
  s:bind(io, "blockIdx.y")
  s:bind(jo, "blockIdx.x")
  local x = {A = A, B = B, C = C, Cw = s:cache_write(C, "warp", {at = jo})}
  local l = s:loops(x.Cw)
  local ko, ki = s:split(l[#l], depth)
  x.i, x.j, x.k = l[#l - 2], l[#l - 1], ko
  s:reorder(ko, x.i, x.j, ki)
  x.Aw, x.Bw = s:cache_read(A, "warp", {x.Cw}, {at = ko}), s:cache_read(B, "warp", {x.Cw}, {at = ko})
  x.init = s:decompose_reduction(x.Cw, ko)
  x.data = {nw.random({M, K}, dtype, {seed = o.seed or 1, lo = -1, hi = 1}),
    nw.random({K, N}, dtype, {seed = (o.seed or 1) + 1, lo = -1, hi = 1})}
  return s, x
end

--- Gives the buffers their layouts, and binds the loops of all stages to lanes. Returns the loop over the lanes.
function tensor_gemm.spread(s, x, mma)
  for operand, stage in pairs {A = x.Aw, B = x.Bw, C = x.Cw} do s:fragment(stage, mma, operand) end
  for _, row in ipairs {{x.Aw, "A"}, {x.Bw, "B"}, {x.init, "C"}, {x.C, "C"}} do
    local i, j = tensor_gemm.last(s, row[1])
    s:lanes(i, j, mma, row[2])
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

return tensor_gemm
