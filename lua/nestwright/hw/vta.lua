--- The record of VTA, the accelerator of TVM, in its default configuration.
local energy = require "nestwright.hw.energy"

return {
  name = "vta",
  about = "TVM's VTA as configured by default: a 16 x 16 array, int8, three modules with queues between them",
  kind = "accelerator",
  clock = 0.1,
  memory = {bytes = 512 << 20, bandwidth = 0.8, read_pj = energy.LPDDR4},
  accelerator = {
    rows = 16, columns = 16, depth = 1,
    input_bits = 8, weight_bits = 8, sum_bits = 32,
    queue = 512,
    load_per_cycle = 8, store_per_cycle = 8,
    buffers = {
      {name = "input", bytes = 32 << 10, word_bits = 128},
      {name = "weight", bytes = 256 << 10, word_bits = 2048},
      {name = "accumulator", bytes = 128 << 10, word_bits = 512},
      {name = "uop", bytes = 32 << 10, word_bits = 32},
    },
  },
  energy = {intmul = {0.2, 0, 0, 0}, int = {0.03, 0, 0.1, 0}},
  sources = {
    [""] = "TVM's vta_config.json and hw_spec.h", clock = "assumed: an FPGA at 100 MHz", memory = "assumed: 64 bits at 100 MHz",
    ["memory.read_pj"] = energy.LPDDR4_SOURCE, energy = energy.SOURCE,
    ["accelerator.load_per_cycle"] = "assumed: a port of 64 bits", ["accelerator.store_per_cycle"] = "assumed: a port of 64 bits",
    ["accelerator.queue"] = "assumed",
  },
}
