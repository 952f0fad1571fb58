--- The record of a systolic array of 16 x 16 units, with an instruction for each of two dataflows. Its times follow from its shape.
local N = 16
local FILL = 2 * N - 2 -- cycles until the last unit has its first operands

return {
  name = "systolic",
  about = "a systolic array of 16 x 16 units, weight-stationary or output-stationary, with load, compute and store",
  kind = "accelerator",
  clock = 0.7,
  memory = {bytes = 8 << 30, bandwidth = 22.4},
  accelerator = {
    rows = N, columns = N, input_bits = 8, weight_bits = 8, sum_bits = 32,
    load_per_cycle = 32, store_per_cycle = 32,
    buffers = {
      {name = "inp", bytes = 128 << 10, word_bits = 8 * N},
      {name = "wgt", bytes = 128 << 10, word_bits = 8 * N},
      {name = "acc", bytes = 128 << 10, word_bits = 32 * N},
    },
    units = {{name = "load", queue = 64}, {name = "compute", queue = 64}, {name = "store", queue = 64}},
    queues = {
      {from = "load", to = "compute", tokens = 64}, {from = "compute", to = "load", tokens = 64},
      {from = "compute", to = "store", tokens = 64}, {from = "store", to = "compute", tokens = 64},
    },
    instructions = {
      {name = "load", kind = "copy", unit = "load", from = "global", to = "inp wgt", latency = 20,
        bytes_per_cycle = 32, pads = true},
      {name = "store", kind = "copy", unit = "store", from = "acc", to = "global", latency = 20, bytes_per_cycle = 32},
      {name = "zero", kind = "fill", unit = "compute", to = "acc", bytes_per_cycle = 4 * N},
      -- A tile of weights is loaded into the array in N cycles. Then a row of inputs enters in each cycle.
      {name = "weight_stationary", kind = "tensor", unit = "compute", from = "inp wgt", to = "acc", form = "mk,kn->mn",
        m = 1, n = N, k = N, interval = 1, latency = N + FILL, loops = 1, micro_ops = 1024, stationary = "weight"},
      -- A column of inputs and a row of weights enter in each cycle. At the end, the sums leave the array in N cycles.
      {name = "output_stationary", kind = "tensor", unit = "compute", from = "inp wgt", to = "acc", form = "mk,kn->mn",
        m = N, n = N, k = 1, interval = 1, latency = N + FILL, loops = 1, micro_ops = 1024, stationary = "sum"},
      {name = "vector", kind = "alu", unit = "compute", from = "acc", to = "acc", lanes = N},
    },
  },
  sources = {
    [""] = "assumed: a small machine; cycles follow from the shape of the array", memory = "assumed: 32 bytes in a cycle",
  },
}
