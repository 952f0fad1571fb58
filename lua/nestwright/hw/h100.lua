--- The record of the NVIDIA H100-SXM with 80 GB.
return {
  name = "h100",
  about = "NVIDIA H100-SXM: Hopper GH100 with 80 GB of HBM3, compute capability 9.0",
  kind = "gpu",
  clock = 1.98,
  memory = {bytes = 80 << 30, bandwidth = 3350},
  gpu = {
    capability = 9.0,
    clock_base = 1.59, sms = 132, lanes = 128, lanes64 = 64, warps = 64, blocks = 32,
    shared = 228 << 10, shared_block = 227 << 10, l1_bytes = 256 << 10,
    l2_bytes = 50 << 20,
    tensor_f16 = 989, tensor_tf32 = 494, tensor_int8 = 1979,
    host_bandwidth = 64,
  },
  sources = {[""] = "NVIDIA H100 architecture whitepaper, H100 data sheet, CUDA programming guide (9.0)"},
}
