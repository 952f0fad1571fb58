--- The record of an accelerator like Eyeriss: 168 units with register files and a shared buffer. All energies are relative to the
--- energy of a multiply-add, as in the Eyeriss paper.
local MAC = 1.0 -- pJ of a 16-bit multiply-add; only the ratios matter
local WORD = 2 -- bytes of a word

return {
  name = "eyeriss",
  about = "like Eyeriss: 12 x 14 units of 16 bits with register files of 0.5 KB, a buffer of 108 KB",
  kind = "accelerator",
  clock = 0.2,
  memory = {bytes = 512 << 20, bandwidth = 1.6, read_pj = 200 * MAC / WORD},
  accelerator = {
    rows = 12, columns = 14, depth = 1,
    input_bits = 16, weight_bits = 16, sum_bits = 16,
    load_per_cycle = 8, store_per_cycle = 8,
    network_pj = 2 * MAC / WORD,
    buffers = {
      {name = "register_file", bytes = 512, count = 168, word_bits = 16, read_pj = MAC / WORD},
      {name = "shared_buffer", bytes = 108 << 10, word_bits = 64, read_pj = 6 * MAC / WORD},
    },
  },
  energy = {fma = {0, MAC, 0, 0}},
  sources = {
    [""] = "Chen, Emer, Sze, \"Eyeriss\", ISCA 2016 and JSSC 2017",
    energy = "Eyeriss, ISCA 2016: ratios to a multiply-add of 16 bits, which is taken to be 1 pJ",
    ["memory.bandwidth"] = "assumed: 64 bits at 200 MHz",
    ["accelerator.load_per_cycle"] = "assumed: a port of 64 bits", ["accelerator.store_per_cycle"] = "assumed: a port of 64 bits",
  },
}
