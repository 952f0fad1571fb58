--- The record of the NVIDIA RTX A6000.
return {
  name = "rtx_a6000",
  about = "NVIDIA RTX A6000: Ampere GA102, compute capability 8.6; half of its lanes compute f32 or integers",
  kind = "gpu",
  clock = 1.80,
  memory = {bytes = 48 << 30, bandwidth = 768},
  gpu = {
    capability = 8.6,
    clock_base = 1.41, sms = 84, lanes = 128, lanes_shared = 64, lanes64 = 2, warps = 48, blocks = 16,
    shared = 100 << 10, shared_block = 99 << 10, l1_bytes = 128 << 10, l1_per_cycle = 64,
    l2_latency = 250, l2_bytes = 6 << 20,
    tensor_f16 = 154.8, tensor_tf32 = 77.4, tensor_int8 = 309.7,
    host_bandwidth = 32,
  },
  sources = {
    [""] = "NVIDIA Ampere GA102 GPU architecture whitepaper, RTX A6000 data sheet, CUDA programming guide (8.6)",
    ["gpu.l2_latency"] = "measurements of GA102 that were published: about 140 ns",
  },
}
