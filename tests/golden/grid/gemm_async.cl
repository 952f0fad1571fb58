// Made by Nestwright 0.1.0. Tensors are row-major and must not overlap:
//   in  A: f32[128, 128]
//   in  B: f32[128, 128]
//   out C: f32[128, 128]
// C_kernel: 2, 2, 1 work-groups of 16, 16, 1 work-items
#pragma OPENCL FP_CONTRACT OFF
typedef int int32_t;
typedef long int64_t;

__kernel __attribute__((reqd_work_group_size(16, 16, 1))) void C_kernel(__global const float *restrict A, __global const float *restrict B, __global float *restrict C) {
  const int bx = (int)get_group_id(0);
  const int by = (int)get_group_id(1);
  const int tx = (int)get_local_id(0);
  const int ty = (int)get_local_id(1);
  __local __attribute__((aligned(16))) float A_shared[2048];
  __local __attribute__((aligned(16))) float B_shared[2048];
  float C_local[16];
  *(__local float4 *)&A_shared[128 * ty + 32 * (tx / 4) + 4 * (tx % 4)] = *(__global const float4 *)&A[8192 * by + 512 * ty + 128 * (tx / 4) + 4 * (tx % 4)];
  *(__local float4 *)&B_shared[64 * ty + 4 * tx] = *(__global const float4 *)&B[128 * ty + 64 * bx + 4 * tx];
  #pragma unroll
  for (int i_1 = 0; i_1 < 4; i_1++) {
    #pragma unroll
    for (int j_1 = 0; j_1 < 4; j_1++) {
      C_local[4 * i_1 + j_1] = 0.0f;
    }
  }
  for (int k_o = 0; k_o < 7; k_o++) {
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
    *(__local float4 *)&A_shared[128 * ty + 32 * (tx / 4) + 16 * ((k_o + 1) % 2) + 4 * (tx % 4)] = *(__global const float4 *)&A[8192 * by + 512 * ty + 128 * (tx / 4) + 16 * k_o + 4 * (tx % 4) + 16];
    *(__local float4 *)&B_shared[1024 * ((k_o + 1) % 2) + 64 * ty + 4 * tx] = *(__global const float4 *)&B[2048 * k_o + 128 * ty + 64 * bx + 4 * tx + 2048];
    for (int k_i = 0; k_i < 16; k_i++) {
      #pragma unroll
      for (int i = 0; i < 4; i++) {
        #pragma unroll
        for (int j = 0; j < 4; j++) {
          C_local[4 * i + j] = fma(A_shared[128 * ty + 32 * i + 16 * (k_o % 2) + k_i], B_shared[1024 * (k_o % 2) + 64 * k_i + 4 * tx + j], C_local[4 * i + j]);
        }
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
  for (int k_o_tail_k_i = 0; k_o_tail_k_i < 16; k_o_tail_k_i++) {
    #pragma unroll
    for (int k_o_tail_i = 0; k_o_tail_i < 4; k_o_tail_i++) {
      #pragma unroll
      for (int k_o_tail_j = 0; k_o_tail_j < 4; k_o_tail_j++) {
        C_local[4 * k_o_tail_i + k_o_tail_j] = fma(A_shared[128 * ty + 32 * k_o_tail_i + k_o_tail_k_i + 16], B_shared[64 * k_o_tail_k_i + 4 * tx + k_o_tail_j + 1024], C_local[4 * k_o_tail_i + k_o_tail_j]);
      }
    }
  }
  for (int i_i_i = 0; i_i_i < 4; i_i_i++) {
    for (int j_i_i = 0; j_i_i < 4; j_i_i++) {
      C[8192 * by + 512 * ty + 128 * i_i_i + 64 * bx + 4 * tx + j_i_i] = C_local[4 * i_i_i + j_i_i];
    }
  }
}