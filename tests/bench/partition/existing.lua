--- Measures two weaknesses of TVM's pass LoopPartition, with our version of the pass. First, the pass does not partition loops of
--- constant extent by default. Second, if a tensor has symbolic sizes, its strides are symbolic, too, so vectors are gathered and
--- scattered. The figures have no bars. They are printed beside the ratios that were measured with TVM itself.
local nw = require "nestwright"
local bench = require "_bench"
local partition = require "_partition"

-- Ratios of two times of TVM itself, measured on an EPYC 9005. THEIR_CONSTANT is the time for a constant M, with TVM's default
-- settings, divided by the time of the kernel for every M (schedule "cache", which computes C in the loop). THEIR_STRIDES is the
-- time with symbolic strides, divided by the time with compact buffers (schedule "plain").
local ROWS, THEIR_CONSTANT, THEIR_STRIDES = {33, 100}, {2.7, 2.75}, {42, 49}

local function rebuilt(make, m, options)
  return nw.partition.tvm_like(make(m), "i", partition.gemm_kernel(16, 1), options):build {threads = 1}
end

local function any() return nw.size("M", {min = 0}) end

local function seconds(list, a, packed, rounds)
  local racers, first = {}, nil
  for n, entry in ipairs(list) do
    local c = nw.zeros(entry.shape, "f32")
    entry.kernel(a, packed, c)
    first = first or c
    assert(#entry.shape > 3 or nw.allclose(c, first, {rtol = 1e-4, atol = 1e-4}), "the results of two kernels differ")
    racers[n] = bench.timed(entry.kernel, a, packed, c)
  end
  return bench.race(racers, rounds)
end

return function(out, packed, ours)
  return function()
    local dynamic, strided, own = rebuilt(partition.gemm, any()), rebuilt(partition.strided_gemm, any()), ours()
    local constant, gathers = {}, {}
    for n, m in ipairs(ROWS) do
      local a, shape = nw.random({m, partition.K}, "f32", {seed = 1}), {m, partition.N // 16, 16}
      local t = seconds({{kernel = dynamic, shape = shape}, {kernel = rebuilt(partition.gemm, m), shape = shape},
        {kernel = rebuilt(partition.gemm, m, {partition_const_loop = true}), shape = shape}, {kernel = own, shape = shape},
        {kernel = strided, shape = {m, partition.N // 16, 16, 1}}}, a, packed, 7)
      print(("M=%d, our version of the pass: any M %.1f us; constant %.1f us (%.2f times; TVM %.2f), cut on request %.1f us; "
        .. "symbolic strides %.1f us (%.1f times; TVM %d); our kernel, any M: %.1f us"):format(m, 1e6 * t[1], 1e6 * t[2],
        t[2] / t[1], THEIR_CONSTANT[n], 1e6 * t[3], 1e6 * t[5], t[5] / t[1], THEIR_STRIDES[n], 1e6 * t[4]))
      out:bar(("partition.tvm_constant_%d"):format(m), t[2] / t[1])
      out:bar(("partition.tvm_strides_%d"):format(m), t[5] / t[1])
      constant[n], gathers[n] = t[2] / t[4], t[5] / t[4]
    end
    out:bar("partition.vs_tvm_constant", bench.geometric_mean(constant))
    out:bar("partition.vs_tvm_strides", bench.geometric_mean(gathers))
  end
end
