--- The record of the NVIDIA GeForce RTX 4090.
return {
  name = "rtx_4090",
  about = "NVIDIA GeForce RTX 4090: Ada Lovelace AD102, compute capability 8.9; half of its lanes compute f32 or integers",
  kind = "gpu",
  clock = 2.52,
  memory = {bytes = 24 << 30, bandwidth = 1008},
  gpu = {
    capability = 8.9,
    clock_base = 2.235, sms = 128, lanes = 128, lanes_shared = 64, lanes64 = 2, warps = 48, blocks = 24,
    shared = 100 << 10, shared_block = 99 << 10, l1_bytes = 128 << 10, l1_per_cycle = 64,
    l2_latency = 280, l2_bytes = 72 << 20,
    tensor_f16 = 165.2, tensor_tf32 = 82.6, tensor_int8 = 660.6,
    host_bandwidth = 32,
  },
  sources = {
    [""] = "NVIDIA Ada GPU architecture whitepaper, CUDA programming guide (8.9)",
    ["gpu.l2_latency"] = "measurements of AD102 that were published",
  },
}
