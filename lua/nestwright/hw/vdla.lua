--- The record of VDLA, the accelerator of a lecture about TVM: a unit for products of 8 x 8 tiles, three buffers, and three units
--- with queues between them. The lecture gives no figures of time, so they are assumed.
return {
  name = "vdla",
  about = "the accelerator of the TVM lecture: products of 8 x 8 tiles, three buffers, load, compute and store",
  kind = "accelerator",
  clock = 0.1,
  memory = {bytes = 512 << 20, bandwidth = 1.6},
  accelerator = {
    rows = 8, columns = 8, input_bits = 8, weight_bits = 8, sum_bits = 32,
    load_per_cycle = 16, store_per_cycle = 16,
    buffers = {
      {name = "inp", bytes = 16 << 10, word_bits = 64},
      {name = "wgt", bytes = 16 << 10, word_bits = 64},
      {name = "acc", bytes = 32 << 10, word_bits = 256},
    },
    units = {{name = "load"}, {name = "compute"}, {name = "store"}},
    queues = {
      {from = "load", to = "compute"}, {from = "compute", to = "load"},
      {from = "compute", to = "store"}, {from = "store", to = "compute"},
    },
    instructions = {
      {name = "dma_copy2d", kind = "copy", unit = "load", from = "global", to = "inp wgt",
        latency = 8, bytes_per_cycle = 16, pads = true},
      {name = "dma_copy2d", kind = "copy", unit = "store", from = "acc", to = "global",
        latency = 8, bytes_per_cycle = 16},
      {name = "dma_copy2d", kind = "copy", unit = "compute", from = "global", to = "acc",
        latency = 8, bytes_per_cycle = 16},
      {name = "fill_zero", kind = "fill", unit = "compute", to = "acc", bytes_per_cycle = 32},
      {name = "gemm8x8", kind = "tensor", unit = "compute", from = "inp wgt", to = "acc", interval = 8, latency = 4,
        form = "km,kn->mn", m = 8, n = 8, k = 8},
      {name = "alu", kind = "alu", unit = "compute", from = "acc", to = "acc", lanes = 8},
    },
  },
  sources = {[""] = "assumed: the lecture shows the units and instructions, but no times"},
}
