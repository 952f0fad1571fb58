// Made by Nestwright 0.1.0. Tensors are row-major and must not overlap:
//   in  A: f32[10, 1000]
//   out R: f32[10]
// R_kernel: 10, 1, 1 work-groups of 256, 1, 1 work-items
#pragma OPENCL FP_CONTRACT OFF
typedef int int32_t;
typedef long int64_t;

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void R_kernel(__global const float *restrict A, __global float *restrict R) {
  const int bx = (int)get_group_id(0);
  const int tx = (int)get_local_id(0);
  __local __attribute__((aligned(16))) float R_part[256];
  R_part[tx] = 0.0f;
  for (int k_o = 0; k_o < 4; k_o++) {
    R_part[tx] = R_part[tx] + (256 * k_o + tx < 1000 ? A[1000 * bx + 256 * k_o + tx] : 0.0f);
  }
  if (tx == 0) {
    R[bx] = 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx == 0) {
    for (int k_i_1 = 0; k_i_1 < 256; k_i_1++) {
      R[bx] = R[bx] + R_part[k_i_1];
    }
  }
}