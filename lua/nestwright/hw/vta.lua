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
      {name = "inp", bytes = 32 << 10, word_bits = 128, read_pj = energy.cache(32 << 10)},
      {name = "wgt", bytes = 256 << 10, word_bits = 2048, read_pj = energy.cache(256 << 10)},
      {name = "acc", bytes = 128 << 10, word_bits = 512, read_pj = energy.cache(128 << 10)},
      {name = "out", bytes = 32 << 10, word_bits = 128, read_pj = energy.cache(32 << 10)},
    },
    units = {{name = "load", queue = 512}, {name = "compute", queue = 512}, {name = "store", queue = 512}},
    queues = {
      {from = "load", to = "compute", tokens = 512}, {from = "compute", to = "load", tokens = 512},
      {from = "compute", to = "store", tokens = 512}, {from = "store", to = "compute", tokens = 512},
    },
    instructions = {
      {name = "dma_copy2d", kind = "copy", unit = "load", from = "global", to = "inp wgt",
        latency = 16, bytes_per_cycle = 8, pads = true},
      {name = "dma_copy2d", kind = "copy", unit = "compute", from = "global", to = "acc",
        latency = 16, bytes_per_cycle = 8, pads = true},
      {name = "dma_copy2d", kind = "copy", unit = "store", from = "out", to = "global",
        latency = 16, bytes_per_cycle = 8},
      {name = "fill_zero", kind = "fill", unit = "compute", to = "acc", bytes_per_cycle = 64},
      {name = "gemm", kind = "tensor", unit = "compute", from = "inp wgt", to = "acc", form = "mk,nk->mn", m = 1, n = 16, k = 16,
        interval = 1, latency = 4, loops = 2, micro_ops = 8192, pj = 256 * (0.2 + 0.1)},
      {name = "alu", kind = "alu", unit = "compute", from = "acc", to = "acc out",
        lanes = 16, interval = 2, pj = 0.1},
    },
  },
  energy = {intmul = {0.2, 0, 0, 0}, int = {0.03, 0, 0.1, 0}},
  sources = {
    [""] = "TVM's vta_config.json and hw_spec.h", clock = "assumed: an FPGA at 100 MHz", memory = "assumed: 64 bits at 100 MHz",
    ["memory.read_pj"] = energy.LPDDR4_SOURCE, ["accelerator.buffers"] = energy.CACHE_SOURCE, energy = energy.SOURCE,
    ["accelerator.load_per_cycle"] = "assumed: a port of 64 bits", ["accelerator.store_per_cycle"] = "assumed: a port of 64 bits",
    ["accelerator.queue"] = "assumed",
    ["accelerator.units"] = "assumed: 512 instructions", ["accelerator.queues"] = "assumed: 512 tokens",
    ["accelerator.instructions"] = "TVM's hw_spec.h; assumed: one product in a cycle, one operation of "
      .. "the ALU in two, 16 cycles before the first byte of a copy",
  },
}
