--- The record of Zen 5, the core of an EPYC 9005.
local energy = require "nestwright.hw.energy"

local MANUAL = "AMD, Software Optimization Guide for the Zen 5 Microarchitecture (58455)"
local MODEL = "LLVM 19's scheduling model znver4"
local WIDER = MODEL .. ", but twice its rate at 64 bytes, because Zen 5's units have full width"
local MEASURED = "measured on an EPYC 9005 (AuthenticAMD family 26) by loops such as nw.calibrate's"

return {
  name = "zen5",
  extends = "x86_server",
  about = "AMD Zen 5 as in an EPYC 9005: full-width AVX-512, 8 cores share a last level",
  cores = 16,
  clock = 4.2,
  cpu = "znver4",
  vector_bytes = 64,
  vector_registers = 32,
  dispatch = 8,
  ops = {
    fma = {per_cycle = 2, latency = 4},
    add = {per_cycle = 2, latency = 3},
    mul = {per_cycle = 2, latency = 3},
    minmax = {per_cycle = 2, latency = 2},
    round = {per_cycle = 2, latency = 3},
    cast = {per_cycle = 2, latency = 3},
    div = {per_cycle = {1 / 3, 1 / 3, 1 / 3, 1 / 6}, latency = 11},
    div64 = {per_cycle = {1 / 5, 1 / 5, 1 / 5, 1 / 10}, latency = 13},
    sqrt = {per_cycle = {1 / 5, 1 / 5, 1 / 5, 1 / 10}, latency = 15},
    sqrt64 = {per_cycle = {1 / 9, 1 / 9, 1 / 9, 1 / 18}, latency = 21},
    intmul = {per_cycle = {1, 2, 2, 2}, latency = 3},
    shuffle = {per_cycle = {2, 2, 1, 1}, latency = 5},
    int = {per_cycle = {6, 4, 4, 4}, latency = 1},
    load = {per_cycle = {4, 2, 2, 2}},
    store = {per_cycle = {2, 2, 2, 1}},
  },
  caches = {
    {bytes = 48 << 10, ways = 12, line = 64, latency = 4, bytes_per_cycle = 128, back_per_cycle = 64,
      read_pj = energy.cache(48 << 10)},
    {bytes = 1 << 20, ways = 16, line = 64, latency = 14, bytes_per_cycle = 62, back_per_cycle = 62,
      read_pj = energy.cache(1 << 20)},
    {bytes = 32 << 20, ways = 16, line = 64, latency = 48, bytes_per_cycle = 29, back_per_cycle = 29, shared_by = 16,
      read_pj = energy.cache(32 << 20)},
  },
  window = 448,
  memory = {bytes = 128 << 30, latency = 155, bandwidth = 40, bandwidth_all = 70},
  sources = {
    [""] = MANUAL, clock = MEASURED, cores = "assumed", memory = MEASURED, ["memory.bytes"] = "assumed",
    ["ops.fma"] = MEASURED,
    ["ops.minmax"] = WIDER, ["ops.round"] = WIDER, ["ops.cast"] = WIDER, ["ops.intmul"] = WIDER, ["ops.div"] = MODEL,
    ["ops.div64"] = MODEL, ["ops.sqrt"] = MODEL, ["ops.sqrt64"] = MODEL, ["ops.shuffle"] = MODEL, ["caches[3]"] = MEASURED,
    ["caches[1].read_pj"] = energy.CACHE_SOURCE, ["caches[2].read_pj"] = energy.CACHE_SOURCE,
    ["caches[3].read_pj"] = energy.CACHE_SOURCE,
    ["caches[1].bytes_per_cycle"] = MEASURED, ["caches[2].bytes_per_cycle"] = MEASURED, ["caches[1].latency"] = MEASURED,
    ["caches[2].latency"] = MEASURED, ["caches[3].bytes"] = MANUAL, ["caches[3].ways"] = MANUAL,
    ["caches[3].line"] = MANUAL, ["caches[3].shared_by"] = MANUAL,
  },
}
