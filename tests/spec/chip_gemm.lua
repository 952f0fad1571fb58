--- Makes products of two matrices on the accelerator of the lecture, for specs.
local nw = require "nestwright"

--- Returns the schedule of a product of two n x n matrices, and the result: tiles of 8 x 8, with `threads` virtual threads.
return function(n, threads)
  local vdla = nw.accelerator "vdla"
  local A, B = nw.placeholder({n, n}, "i8", "A"), nw.placeholder({n, n}, "i8", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(nw.cast(A(k, i), "i32") * nw.cast(B(k, j), "i32"), k) end, "C")
  local s = nw.schedule(C, {target = vdla})
  local _, xo = s:tile("i", "j", 8, 8)
  if threads > 1 then
    local _, v = s:split(xo, threads)
    s:bind(v, "vthread")
    xo = v
  end
  local CL = s:cache_write(C, "acc", {at = xo})
  local ko, ki = s:split("k", 8)
  s:reorder(ko, "i", "j", ki)
  s:decompose_reduction(CL, ko)
  s:cache_read(A, "inp", {at = ko})
  s:cache_read(B, "wgt", {at = ko})
  s:tensorize("i_init", vdla.fill_zero)
  s:tensorize("k", vdla.dma_copy2d)
  s:tensorize("k_1", vdla.dma_copy2d)
  s:tensorize("i", vdla.gemm8x8)
  s:tensorize("i_i", vdla.dma_copy2d)
  return s, C
end
