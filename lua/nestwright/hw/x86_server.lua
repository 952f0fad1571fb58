--- The record of a common x86 server with AVX2 and FMA. Records of other CPUs extend this record.
local energy = require "nestwright.hw.energy"

local function cache(level)
  level.read_pj = energy.cache(level.bytes)
  return level
end

local record = {
  name = "x86_server",
  about = "a common server with AVX2 and FMA; no particular chip",
  cores = 32,
  clock = 2.8,
  cpu = "haswell",
  vector_bytes = 32,
  vector_registers = 16,
  dispatch = 4,
  ops = {
    fma = {per_cycle = {2, 2, 2, 2}, latency = 4},
    add = {per_cycle = {2, 2, 2, 2}, latency = 4},
    mul = {per_cycle = {2, 2, 2, 2}, latency = 4},
    minmax = {per_cycle = {2, 2, 2, 2}, latency = 4},
    round = {per_cycle = {1, 1, 1, 1}, latency = 8},
    cast = {per_cycle = {1, 1, 1, 1}, latency = 6},
    div = {per_cycle = {1 / 3, 1 / 3, 1 / 5, 1 / 10}, latency = 11},
    div64 = {per_cycle = {1 / 4, 1 / 4, 1 / 8, 1 / 16}, latency = 14},
    sqrt = {per_cycle = {1 / 3, 1 / 3, 1 / 6, 1 / 12}, latency = 12},
    sqrt64 = {per_cycle = {1 / 6, 1 / 6, 1 / 12, 1 / 24}, latency = 18},
    exp = {per_cycle = {1 / 12, 1 / 14, 1 / 16, 1 / 20}, latency = 40},
    exp64 = {per_cycle = {1 / 14, 1 / 16, 1 / 20, 1 / 26}, latency = 45},
    log = {per_cycle = {1 / 12, 1 / 16, 1 / 18, 1 / 22}, latency = 45},
    log64 = {per_cycle = {1 / 14, 1 / 22, 1 / 26, 1 / 34}, latency = 50},
    tanh = {per_cycle = {1 / 40, 1 / 24, 1 / 26, 1 / 32}, latency = 60},
    tanh64 = {per_cycle = {1 / 50, 1 / 34, 1 / 40, 1 / 48}, latency = 70},
    erf = {per_cycle = {1 / 30, 1 / 22, 1 / 24, 1 / 30}, latency = 50},
    erf64 = {per_cycle = {1 / 40, 1 / 30, 1 / 34, 1 / 44}, latency = 60},
    pow = {per_cycle = {1 / 30, 1 / 30, 1 / 34, 1 / 44}, latency = 60},
    pow64 = {per_cycle = {1 / 40, 1 / 60, 1 / 70, 1 / 90}, latency = 80},
    int = {per_cycle = {4, 3, 3, 3}, latency = 1},
    intmul = {per_cycle = {1, 1, 1, 1}, latency = 5},
    intdiv = {per_cycle = {1 / 10, 0, 0, 0}, latency = 20},
    shuffle = {per_cycle = {1, 1, 1, 1}, latency = 3},
    load = {per_cycle = 2},
    store = {per_cycle = 1},
  },
  gather = 1,
  scatter = 2,
  gather_least = 6,
  gather_instructions = 3,
  line_crossing = 1,
  page_crossing = 20,
  store_crossing = 3,
  alias_4k = 7,
  branch_miss = 16,
  caches = {
    cache {bytes = 32 << 10, ways = 8, line = 64, latency = 5, bytes_per_cycle = 64, back_per_cycle = 32},
    cache {bytes = 1 << 20, ways = 16, line = 64, latency = 14, bytes_per_cycle = 40, back_per_cycle = 32},
    cache {bytes = 32 << 20, ways = 16, line = 64, latency = 60, bytes_per_cycle = 12, back_per_cycle = 8, shared_by = 32},
  },
  memory = {bytes = 128 << 30, latency = 100, bandwidth = 14, bandwidth_all = 150, read_pj = energy.DRAM},
  teams = {
    {threads = 2, spawn = 1, barrier = 0.5},
    {threads = 8, spawn = 3, barrier = 1},
    {threads = 32, spawn = 8, barrier = 3},
  },
  energy = {static_watts = 1.25},
  sources = energy.sources(),
}

for name, value in pairs(energy.ops) do record.energy[name] = value end
record.sources[""] = "typical of such servers since 2017; not of a particular chip"
record.sources["energy.static_watts"] = "assumed: a third of 360 W over 96 cores"
record.sources["memory.read_pj"] = energy.DRAM_SOURCE
for n = 1, #record.caches do record.sources[("caches[%d].read_pj"):format(n)] = energy.CACHE_SOURCE end

return record
