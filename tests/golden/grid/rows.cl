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
  __local __attribute__((aligned(16))) float R_upper[128];
  __local __attribute__((aligned(16))) float R_upper_1[64];
  __local __attribute__((aligned(16))) float R_upper_2[32];
  __local __attribute__((aligned(16))) float R_upper_3_all[128];
  __local float *const R_upper_3 = R_upper_3_all + 16 * (tx / 32);
  __local __attribute__((aligned(16))) float R_upper_4_all[64];
  __local float *const R_upper_4 = R_upper_4_all + 8 * (tx / 32);
  __local __attribute__((aligned(16))) float R_upper_5_all[32];
  __local float *const R_upper_5 = R_upper_5_all + 4 * (tx / 32);
  __local __attribute__((aligned(16))) float R_upper_6_all[16];
  __local float *const R_upper_6 = R_upper_6_all + 2 * (tx / 32);
  __local __attribute__((aligned(16))) float R_upper_7_all[8];
  __local float *const R_upper_7 = R_upper_7_all + 1 * (tx / 32);
  float R_part;
  R_part = 0.0f;
  for (int k_o = 0; k_o < 4; k_o++) {
    R_part = R_part + (256 * k_o + tx < 1000 ? A[1000 * bx + 256 * k_o + tx] : 0.0f);
  }
  float R_part_1;
  if (128 <= tx) {
    R_upper[tx - 128] = R_part;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx < 128) {
    R_part_1 = R_part + R_upper[tx];
  }
  float R_part_2;
  if (tx < 128 && 64 <= tx) {
    R_upper_1[tx - 64] = R_part_1;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx < 64) {
    R_part_2 = R_part_1 + R_upper_1[tx];
  }
  float R_part_3;
  if (tx < 64 && 32 <= tx) {
    R_upper_2[tx - 32] = R_part_2;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx < 32) {
    R_part_3 = R_part_2 + R_upper_2[tx];
  }
  float R_part_4;
  if (tx < 32 && 16 <= tx) {
    R_upper_3[tx - 16] = R_part_3;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx < 16) {
    R_part_4 = R_part_3 + R_upper_3[tx];
  }
  float R_part_5;
  if (tx < 32 && tx < 16 && 8 <= tx) {
    R_upper_4[tx - 8] = R_part_4;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx < 8) {
    R_part_5 = R_part_4 + R_upper_4[tx];
  }
  float R_part_6;
  if (tx < 32 && tx < 8 && 4 <= tx) {
    R_upper_5[tx - 4] = R_part_5;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx < 4) {
    R_part_6 = R_part_5 + R_upper_5[tx];
  }
  float R_part_7;
  if (tx < 32 && tx < 4 && 2 <= tx) {
    R_upper_6[tx - 2] = R_part_6;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx < 2) {
    R_part_7 = R_part_6 + R_upper_6[tx];
  }
  float R_part_8;
  if (tx < 32 && tx < 2 && 1 <= tx) {
    R_upper_7[tx - 1] = R_part_7;
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  if (tx == 0) {
    R_part_8 = R_part_7 + R_upper_7[tx];
  }
  if (tx == 0) {
    R[bx] = 0.0f;
    R[bx] = R[bx] + R_part_8;
  }
}