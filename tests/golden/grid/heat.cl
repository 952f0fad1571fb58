// Made by Nestwright 0.1.0. Tensors are row-major and must not overlap:
//   in  a0: f32[1, 1000]
//   out S: f32[20, 1000]
// S_kernel_1: 1, 1, 1 work-groups of 1, 1, 1 work-items
// S_kernel_2: 8, 1, 1 work-groups of 128, 1, 1 work-items
#pragma OPENCL FP_CONTRACT OFF
typedef int int32_t;
typedef long int64_t;

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void S_kernel_1(__global const float *restrict a0, __global float *restrict S) {
  for (int i = 0; i < 1000; i++) {
    S[i] = a0[i];
  }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void S_kernel_2(__global float *restrict S, int64_t t_1) {
  const int bx = (int)get_group_id(0);
  const int tx = (int)get_local_id(0);
  if (128 * bx + tx < 1000) {
    S[1000 * t_1 + 128 * bx + tx] = fma(0.25f, S[1000 * t_1 + min(128 * bx + tx + 1, 999) - 1000], fma(0.5f, S[1000 * t_1 + 128 * bx + tx - 1000], 0.25f * S[1000 * t_1 + max(128 * bx + tx - 1, 0) - 1000]));
  }
}