--- The record of the NVIDIA T4.
return {
  name = "t4",
  about = "NVIDIA T4: Turing TU104, compute capability 7.5",
  kind = "gpu",
  clock = 1.59,
  memory = {bytes = 16 << 30, bandwidth = 320},
  gpu = {
    capability = 7.5,
    clock_base = 0.585, sms = 40, lanes = 64, lanes64 = 2, warps = 32, blocks = 16,
    shared = 64 << 10, shared_block = 64 << 10, shared_reserved = 0, shared_unit = 256, l1_bytes = 96 << 10,
    l1_per_cycle = 64, shared_per_cycle = 64,
    l2_latency = 188, l2_bandwidth = 1364, l2_bytes = 4 << 20,
    tensor_f16 = 65, tensor_int8 = 130,
  },
  sources = {
    [""] = "NVIDIA Turing GPU architecture whitepaper, T4 data sheet, CUDA programming guide (7.5)",
    ["gpu.l2_latency"] = "Jia et al., Dissecting the NVidia Turing T4 GPU, 2019",
    ["gpu.l2_bandwidth"] = "Jia et al., Dissecting the NVidia Turing T4 GPU, 2019: 1,270 GiB/s",
  },
}
