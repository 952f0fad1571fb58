--- The record of Arm's Neoverse N1, as in AWS Graviton2: 64 cores with two vector units of 128 bits each.
local energy = require "nestwright.hw.energy"

local MODEL = "LLVM 19's scheduling model neoverse-n1, made from Arm's Neoverse N1 Software Optimization Guide"
local MANUAL = "Arm Neoverse N1 Technical Reference Manual and Software Optimization Guide"

return {
  name = "neoverse_n1",
  extends = "x86_server",
  about = "Arm Neoverse N1 as in AWS Graviton2: two units of 128 bits",
  cores = 64,
  clock = 2.5,
  isa = "aarch64",
  cpu = "neoverse-n1",
  vector_bytes = 16,
  vector_registers = 32,
  dispatch = 4,
  ops = {
    fma = {per_cycle = 2, latency = 4},
    add = {per_cycle = 2, latency = 2},
    mul = {per_cycle = 2, latency = 3},
    minmax = {per_cycle = 2, latency = 2},
    round = {per_cycle = {1, 1 / 2, 0, 0}, latency = 3},
    cast = {per_cycle = {1, 1 / 2, 0, 0}, latency = 4},
    div = {per_cycle = {1 / 7, 1 / 7, 0, 0}, latency = 10},
    div64 = {per_cycle = {1 / 7, 1 / 7, 0, 0}, latency = 15},
    sqrt = {per_cycle = {1 / 7, 1 / 7, 0, 0}, latency = 10},
    sqrt64 = {per_cycle = {1 / 7, 1 / 7, 0, 0}, latency = 17},
    int = {per_cycle = {3, 2, 0, 0}, latency = 1},
    intmul = {per_cycle = {1 / 3, 1 / 2, 0, 0}, latency = 4},
    intdiv = {per_cycle = {1 / 5, 0, 0, 0}, latency = 12},
    shuffle = {per_cycle = 2, latency = 2},
    load = {per_cycle = 2},
    store = {per_cycle = {2, 1, 0, 0}},
  },
  gather = 2,
  branch_miss = 11,
  window = 128,
  caches = {
    {bytes = 64 << 10, ways = 4, line = 64, latency = 5, bytes_per_cycle = 32, back_per_cycle = 16,
      read_pj = energy.cache(64 << 10)},
    {bytes = 1 << 20, ways = 8, line = 64, latency = 11, bytes_per_cycle = 32, back_per_cycle = 32,
      read_pj = energy.cache(1 << 20)},
    {bytes = 32 << 20, ways = 16, line = 64, latency = 80, bytes_per_cycle = 16, back_per_cycle = 16, shared_by = 64,
      read_pj = energy.cache(32 << 20)},
  },
  memory = {bytes = 256 << 30, latency = 110, bandwidth = 20, bandwidth_all = 170},
  sources = {
    ops = MODEL, dispatch = MANUAL, window = MANUAL, vector_bytes = MANUAL, vector_registers = MANUAL, caches = MANUAL,
    branch_miss = MANUAL,
    gather = "there is no gather instruction: each lane needs a load and an insertion",
    cores = "AWS Graviton2", clock = "AWS Graviton2",
    ["caches[3]"] = "AWS Graviton2: 32 MB behind a mesh; the latency, the ways and the bandwidth are typical values",
    memory = "AWS Graviton2: eight channels of DDR4-3200 (205 GB/s); the achieved bandwidth and the latency are typical values",
    ["caches[1].read_pj"] = energy.CACHE_SOURCE, ["caches[2].read_pj"] = energy.CACHE_SOURCE,
    ["caches[3].read_pj"] = energy.CACHE_SOURCE,
  },
}
