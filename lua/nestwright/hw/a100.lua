--- The record of the NVIDIA A100-SXM with 80 GB.
return {
  name = "a100",
  about = "NVIDIA A100-SXM with 80 GB: Ampere GA100, compute capability 8.0",
  kind = "gpu",
  clock = 1.41,
  memory = {bytes = 80 << 30, bandwidth = 2039},
  gpu = {
    capability = 8.0,
    clock_base = 1.275, sms = 108, lanes = 64, lanes64 = 32, warps = 64, blocks = 32,
    shared = 164 << 10, shared_block = 163 << 10, l1_bytes = 192 << 10,
    l2_latency = 200, l2_bandwidth = 7219, l2_bytes = 40 << 20,
    tensor_f16 = 312, tensor_tf32 = 156, tensor_int8 = 624,
    host_bandwidth = 32,
  },
  sources = {
    [""] = "NVIDIA A100 Tensor Core GPU architecture whitepaper, data sheet, CUDA programming guide (8.0)",
    ["gpu.l2_latency"] = "Abdelkhalik et al., Demystifying the Nvidia Ampere Architecture, 2022",
    ["gpu.l2_bandwidth"] = "NVIDIA A100 whitepaper: 5,120 bytes per cycle, at 1.41 GHz",
  },
}
