--- The record of an accelerator like Eyeriss, in the numbers of a published reference design: 168 units with memories of their own,
--- which a network feeds from a shared buffer. A unit multiplies an input by a weight, and adds the product to one of its sums.
local ROWS, COLUMNS, KERNEL = 12, 14, 3
local USED = COLUMNS * KERNEL * KERNEL -- units of a tile: a column for each pixel, a row for each input of a row of the kernel

-- Returns the row of a memory: `count` of them, with words of `word` bytes, and the energies in pJ to read and to write a word.
local function memory(name, bytes, count, word, read, write)
  return {name = name, bytes = bytes, count = count, word_bits = 8 * word, read_pj = read / word, write_pj = write / word}
end

local function copy(unit, from, to, more)
  local row = {name = "copy", kind = "copy", unit = unit, from = from, to = to, bytes_per_cycle = 16, dims = 4}
  for key, value in pairs(more or {}) do row[key] = value end
  return row
end

local function product(name, form)
  return {name = name, kind = "tensor", unit = "array", from = "ifmap weights psum", to = "psum", form = form, m = COLUMNS,
    n = KERNEL, k = KERNEL, sum = "i16", interval = 1, loops = 2, pj = USED * 0.207692}
end

local queues = {}
for _, q in ipairs {{"load_inputs", "feed"}, {"load_weights", "array"}, {"feed", "array"}, {"array", "collect"},
  {"collect", "store"}} do
  queues[#queues + 1], queues[#queues + 2] = {from = q[1], to = q[2]}, {from = q[2], to = q[1]}
end

return {
  name = "eyeriss", kind = "accelerator", clock = 1,
  about = "like Eyeriss: 12 x 14 units with memories for inputs, weights and sums, and a shared buffer of 128 KB",
  memory = {bytes = 512 << 20, bandwidth = 1024, read_pj = 512 / 8},
  accelerator = {
    rows = ROWS, columns = COLUMNS, input_bits = 8, weight_bits = 8, sum_bits = 16, load_per_cycle = 16,
    buffers = {
      memory("glb", 128 << 10, 1, 8, 18.183829, 14.137929), memory("ifmap", 24, ROWS * COLUMNS, 2, 0.202442, 0.176713),
      memory("weights", 384, ROWS * COLUMNS, 2, 1.976602, 1.881657), memory("psum", 32, ROWS * COLUMNS, 2, 0.2513, 0.2191),
    },
    units = {{name = "load_inputs"}, {name = "load_weights"}, {name = "feed"}, {name = "array"}, {name = "collect"},
      {name = "store"}},
    queues = queues,
    instructions = {
      copy("load_inputs", "global", "glb"), copy("load_weights", "global", "weights", {multicast = true}),
      copy("feed", "glb", "ifmap"), copy("store", "glb", "global", {uncounted = "glb"}),
      product("multiply", "mnk,mnk=mnk"), product("multiply_add", "mnk,mnk,mnk=mnk"),
      -- The sums of a column move through its units, each of which adds its own: there is a result in each cycle.
      {name = "collect", kind = "alu", unit = "collect", from = "psum", to = "glb", lanes = COLUMNS,
        interval = 1 / (KERNEL * KERNEL - 1), uncounted = "psum"},
    },
  },
  energy = {fma = {0.207692, 0, 0, 0}, static_watts = (USED * (0.000134 + 0.001592 + 0.000101) + 0.005652) * 1e-3},
  sources = {
    [""] = "Timeloop and Accelergy exercises, design eyeriss_like, 65 nm; the read of a sum that leaves a memory is not counted",
    clock = "assumed there", ["memory.bandwidth"] = "assumed; there, it has no limit",
    ["energy.static_watts"] = "the same, for 126 units; the others are switched off",
    ["accelerator.units"] = "assumed", ["accelerator.queues"] = "assumed: no limits",
  },
}
