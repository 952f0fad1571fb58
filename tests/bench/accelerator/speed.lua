--- Measures the speed of the simulated accelerator: instructions per second in time only, and multiply-adds per second with values.
package.loaded["nestwright.script"] = nil
local nw = require "nestwright"
local product = require "chip_gemm" -- the schedule of the lecture: tiles of 8 x 8

-- Returns the least seconds of three calls.
local function seconds(f)
  local best = math.huge
  for _ = 1, 3 do
    local t0 = os.clock()
    f()
    best = math.min(best, os.clock() - t0)
  end
  return best
end

-- Blocks of 32 x 32 tiles of VTA: one instruction executes many products.
local function blocks(n)
  local vta = nw.accelerator "vta"
  local A, B = nw.placeholder({n, n}, "i8", "A"), nw.placeholder({n, n}, "i8", "B")
  local k = nw.reduce_axis(n, "k")
  local C = nw.compute({n, n}, function(i, j) return nw.sum(nw.cast(A(i, k), "i32") * nw.cast(B(j, k), "i32"), k) end, "C")
  local D = nw.compute({n, n}, function(i, j) return nw.cast(C(i, j) >> 8, "i8") end, "D")
  local s = nw.schedule(D, {target = vta})
  local rows = s:loops(D)
  local _, jo = s:tile(rows[1], rows[2], 64, 64)
  local DL = s:cache_write(D, "out", {at = jo})
  s:compute_at(C, jo)
  s:set_scope(C, "acc")
  local l = s:loops(C)
  local i, j, kk = l[#l - 2], l[#l - 1], l[#l]
  local io, ii = s:split(i, 1)
  local jt, ji = s:split(j, 16)
  local ko, kr = s:split(kk, 256)
  local ki, kt = s:split(kr, 16)
  s:reorder(ko, io, jt, ki, ii, ji, kt)
  local init = s:loops(s:decompose_reduction(C, ko))
  s:tensorize(init[3], vta.fill_zero)
  local copy = {s:cache_read(A, "inp", {at = ko}), s:cache_read(B, "wgt", {at = ko}), D}
  for _, stage in ipairs(copy) do
    local loops = s:loops(stage)
    s:tensorize(loops[#loops - 1], vta.dma_copy2d)
  end
  local loops = s:loops(DL)
  s:tensorize(loops[#loops - 1], vta.alu)
  s:tensorize(ii, vta.gemm)
  return s
end

local function random_inputs(s)
  local out = {}
  for n, t in ipairs(s:inputs()) do out[n] = nw.random(t:shape(), t.dtype, {seed = n}) end
  return out
end

--- Returns millions of instructions per second in time only, and 1e9 multiply-adds per second with values: for the products of
--- VTA, and for those of VDLA.
return function()
  local stream = product(448, 2):stream()
  stream:check() -- the tokens are examined once
  local timed = #stream / seconds(function() stream:run() end) * 1e-6
  local speeds = {}
  for _, s in ipairs {blocks(512), (product(256, 2))} do
    local of, given = s:stream(), random_inputs(s)
    of:check()
    local r
    speeds[#speeds + 1] = 512 ^ 3 / seconds(function() r = of:run {arguments = given} end) * 1e-9
    speeds[#speeds] = speeds[#speeds] * r.macs / 512 ^ 3
  end
  return #stream, timed, speeds[1], speeds[2]
end
