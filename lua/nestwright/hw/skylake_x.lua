--- The record of Intel's Skylake-SP, as in a Xeon Gold 6148: 20 cores with AVX-512 and two vector units each.
local energy = require "nestwright.hw.energy"

local MODEL = "LLVM 19's scheduling model skylake-avx512"
local MANUAL = "Intel 64 and IA-32 Architectures Optimization Reference Manual, Skylake Server"

return {
  name = "skylake_x",
  extends = "x86_server",
  about = "Intel Skylake-SP as in a Xeon Gold 6148: AVX-512 with two units",
  cores = 20,
  clock = 2.4,
  cpu = "skylake-avx512",
  vector_bytes = 64,
  vector_registers = 32,
  dispatch = 4,
  ops = {
    fma = {per_cycle = 2, latency = 4},
    add = {per_cycle = 2, latency = 4},
    mul = {per_cycle = 2, latency = 4},
    minmax = {per_cycle = 2, latency = 4},
    round = {per_cycle = 1, latency = 8},
    cast = {per_cycle = {2, 2, 2, 2}, latency = 4},
    div = {per_cycle = {1 / 3, 1 / 3, 1 / 5, 1 / 10}, latency = 11},
    div64 = {per_cycle = {1 / 4, 1 / 4, 1 / 8, 1 / 16}, latency = 14},
    sqrt = {per_cycle = {1 / 3, 1 / 3, 1 / 6, 1 / 12}, latency = 12},
    sqrt64 = {per_cycle = {1 / 6, 1 / 6, 1 / 12, 1 / 24}, latency = 18},
    int = {per_cycle = {4, 3, 3, 2}, latency = 1},
    intmul = {per_cycle = {1, 1, 1, 1}, latency = 10},
    intdiv = {per_cycle = {1 / 16.5, 0, 0, 0}, latency = 26},
    shuffle = {per_cycle = {1, 1, 1, 1}, latency = 3},
    load = {per_cycle = 2},
    store = {per_cycle = 1},
  },
  gather = 0.625,
  combine = "ecm",
  window = 224,
  caches = {
    {bytes = 32 << 10, ways = 8, line = 64, latency = 5, bytes_per_cycle = 128, back_per_cycle = 64,
      read_pj = energy.cache(32 << 10)},
    {bytes = 1 << 20, ways = 16, line = 64, latency = 14, bytes_per_cycle = 64, back_per_cycle = 64,
      read_pj = energy.cache(1 << 20)},
    {bytes = 20 * 1408 << 10, ways = 11, line = 64, latency = 70, bytes_per_cycle = 16, back_per_cycle = 16, shared_by = 20,
      read_pj = energy.cache(20 * 1408 << 10)},
  },
  memory = {bytes = 96 << 30, latency = 85, bandwidth = 13, bandwidth_all = 105},
  sources = {
    ops = MODEL, ["ops.load"] = MANUAL, ["ops.store"] = MANUAL, gather = "half a cycle for each load of a gather in " .. MODEL,
    dispatch = MANUAL, window = MANUAL, vector_bytes = MANUAL, vector_registers = MANUAL, caches = MANUAL,
    clock = "Xeon Gold 6148's base clock (Intel's data sheet)", cores = "Xeon Gold 6148 (Intel's data sheet)",
    combine = "Kerncraft's machine files: transfers of Intel's cores up to Cascade Lake do not overlap",
    memory = "six channels of DDR4-2666 (128 GB/s); four fifths of this bandwidth are achieved, and the latency is a typical value",
    ["caches[1].read_pj"] = energy.CACHE_SOURCE, ["caches[2].read_pj"] = energy.CACHE_SOURCE,
    ["caches[3].read_pj"] = energy.CACHE_SOURCE, ["ops.intdiv.latency"] = "typical",
    ["caches[3].bytes_per_cycle"] = "Kerncraft's machine file for Skylake-SP", ["caches[3].latency"] = "a typical value",
  },
}
