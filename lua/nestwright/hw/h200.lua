--- The record of the NVIDIA H200-SXM.
return {
  name = "h200",
  about = "NVIDIA H200-SXM: Hopper GH100 with HBM3e, compute capability 9.0",
  kind = "gpu",
  clock = 1.98,
  memory = {bytes = 141 * 10 ^ 9 // 1, bandwidth = 4800},
  gpu = {
    capability = 9.0,
    clock_base = 1.59, sms = 132, lanes = 128, lanes64 = 64, warps = 64, blocks = 32,
    shared = 228 << 10, shared_block = 227 << 10, l1_bytes = 256 << 10,
    l2_bytes = 50 << 20,
    tensor_f16 = 990, tensor_tf32 = 495, tensor_int8 = 1979,
    host_bandwidth = 64,
  },
  sources = {[""] = "NVIDIA H100 architecture whitepaper, H200 data sheet, CUDA programming guide (9.0)"},
}
