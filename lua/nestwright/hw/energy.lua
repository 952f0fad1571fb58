--- Has published energies, in the form of machine records. The energies are those of a 45 nm process, so totals are only estimates
--- for comparisons.
local energy = {}

-- Energies of one operation on numbers of 8, 16, 32 and 64 bits, in pJ. Source: M. Horowitz, "Computing's energy problem", ISSCC
-- 2014 (45 nm at 0.9 V). The paper has no values for f64, for integers of 16 and 64 bits, and for fma; energy.sources says how
-- these values were derived.
energy.ops = {
  add = {0.03, 0.4, 0.9, 1.8},
  mul = {0.2, 1.1, 3.7, 14.8},
  fma = {0.23, 1.5, 4.6, 16.6},
  int = {0.03, 0.05, 0.1, 0.2},
  intmul = {0.2, 0.8, 3.1, 12.4},
  instruction = 70,
}

energy.SOURCE = "Horowitz, ISSCC 2014, 45 nm at 0.9 V"

--- Returns the sources of the numbers in energy.ops.
function energy.sources()
  local wider = "Horowitz's value for f32, scaled by width: times 2 for an addition, times 4 for a multiplication"
  return {energy = energy.SOURCE, ["energy.add[4]"] = wider, ["energy.mul[4]"] = wider,
    ["energy.fma"] = "a multiplication plus an addition", ["energy.int[2]"] = "interpolated between Horowitz's widths",
    ["energy.int[4]"] = "twice Horowitz's value for 32 bits", ["energy.intmul[2]"] = "interpolated between Horowitz's widths",
    ["energy.intmul[4]"] = "four times Horowitz's value for 32 bits"}
end

-- Each pair has the size of a cache in bytes, and the energy to read 8 bytes from this cache in pJ.
local CACHES = {{8 << 10, 10}, {32 << 10, 20}, {1 << 20, 100}}

--- Returns the energy to read a byte from a cache with this number of bytes, in pJ. The energy is interpolated between Horowitz's
--- three sizes, or extrapolated from them, on logarithmic scales.
function energy.cache(bytes)
  local a, b = CACHES[1], CACHES[2]
  if bytes > b[1] then a, b = b, CACHES[3] end
  local slope = math.log(b[2] / a[2]) / math.log(b[1] / a[1])
  return a[2] * (bytes / a[1]) ^ slope / 8
end

energy.CACHE_SOURCE = "Horowitz, ISSCC 2014, for 8 KB, 32 KB and 1 MB; other sizes are interpolated or extrapolated in logarithms"

-- The energies to read a byte from memory, in pJ.
energy.DRAM = 1950 / 8 -- the middle of Horowitz's 1300 to 2600 pJ for 8 bytes
energy.LPDDR4 = 64 -- 8 pJ per bit
energy.DRAM_SOURCE = "Horowitz, ISSCC 2014: the middle of 1300 to 2600 pJ for 64 bits"
energy.LPDDR4_SOURCE = "LPDDR4 at 8 pJ a bit, as in Accelergy's table"

return energy
