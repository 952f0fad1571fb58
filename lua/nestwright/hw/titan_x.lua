--- The record of the NVIDIA GeForce GTX TITAN X of 2015. Its L1 cache is not a part of its shared memory.
return {
  name = "titan_x",
  about = "NVIDIA GeForce GTX TITAN X: Maxwell GM200, compute capability 5.2; its lanes compute f32 or integers",
  kind = "gpu",
  clock = 1.075,
  memory = {bytes = 12 << 30, bandwidth = 336.5},
  gpu = {
    capability = 5.2,
    clock_base = 1.0, sms = 24, lanes = 128, lanes_shared = 128, lanes64 = 4, special_per_cycle = 32, warps = 64, blocks = 32,
    shared = 96 << 10, shared_block = 48 << 10, shared_reserved = 0, shared_unit = 256, l1_bytes = 144 << 10,
    l2_bytes = 3 << 20,
  },
  sources = {
    [""] = "NVIDIA Maxwell tuning guide, GeForce GTX TITAN X specifications, CUDA programming guide (5.2)",
    ["gpu.l1_bytes"] = "96 KiB of shared memory and two caches of 24 KiB next to it (Maxwell tuning guide)",
  },
}
