--- The record of the Arm Mali-T860 with four cores. Its threads do not run in warps: each has vectors of its own.
return {
  name = "mali_t860",
  about = "Arm Mali-T860 MP4 in the Rockchip RK3399: Midgard, OpenCL 1.2; local memory is a part of the main memory",
  kind = "gpu",
  clock = 0.8,
  memory = {bytes = 4 << 30, bandwidth = 12.8},
  gpu = {
    sms = 4, lanes = 8, special_per_cycle = 2, warp = 1, warps = 256, blocks = 256, schedulers = 2,
    registers = 4096, registers_thread = 64, register_unit = 4,
    shared = 32 << 10, shared_block = 32 << 10, shared_reserved = 0, banks = 1, shared_per_cycle = 16,
    l1_bytes = 48 << 10, l1_per_cycle = 16, l2_bytes = 256 << 10, line = 64, sector = 64,
    launch = 50, host_bandwidth = 6.4,
    threads = 256, grid_y = 2147483647, grid_z = 2147483647, block_x = 256, block_y = 256, block_z = 256,
  },
  sources = {
    [""] = "Arm Mali Midgard OpenCL developer guide, Rockchip RK3399 TRM",
    ["gpu.lanes"] = "two pipelines with a multiplier and an adder of four f32 each",
    ["gpu.launch"] = "an estimate", ["gpu.host_bandwidth"] = "a copy in the same memory, an estimate",
    ["gpu.special_per_cycle"] = "one of each pipeline",
    ["gpu.registers"] = "1024 vectors of 128 bits: 256 threads with 4 each, or 64 threads with 16",
    ["gpu.l1_bytes"] = "a cache of 16 KiB; the 32 KiB of local memory are counted, although they are in the main memory",
  },
}
