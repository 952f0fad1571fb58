// Made by Nestwright 0.1.0. Tensors are row-major and must not overlap:
//   in  A: f32[64, 64]
//   in  B: f32[64, 64]
//   out C: f32[64, 64]
// C_kernel: 4, 4, 1 work-groups of 16, 16, 1 work-items
#pragma OPENCL FP_CONTRACT OFF
typedef int int32_t;
typedef long int64_t;

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void C_kernel(__global const float *restrict A, __global const float *restrict B, __global float *restrict C) {
  const int bx = (int)get_group_id(0);
  const int by = (int)get_group_id(1);
  const int tx = (int)get_local_id(0);
  const int ty = (int)get_local_id(1);
  __local __attribute__((aligned(16))) float A_shared[256];
  __local __attribute__((aligned(16))) float B_shared[256];
  float C_local;
  C_local = 0.0f;
  for (int k_o = 0; k_o < 4; k_o++) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    A_shared[16 * ty + tx] = A[1024 * by + 64 * ty + 16 * k_o + tx];
    B_shared[16 * ty + tx] = B[1024 * k_o + 64 * ty + 16 * bx + tx];
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    for (int k_i = 0; k_i < 16; k_i++) {
      C_local = fma(A_shared[16 * ty + k_i], B_shared[16 * k_i + tx], C_local);
    }
  }
  C[1024 * by + 64 * ty + 16 * bx + tx] = C_local;
}