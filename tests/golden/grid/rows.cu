// Made by Nestwright 0.1.0. Tensors are row-major and must not overlap:
//   in  A: f32[10, 1000]
//   out R: f32[10]
// Compile it with: nvcc -O3 -fmad=false. Multiplications and additions then round as in the program.
#include <math.h>
#include <stdint.h>

extern "C" __global__ void __launch_bounds__(256) R_kernel(const float *__restrict__ A, float *__restrict__ R) {
  const int bx = blockIdx.x;
  const int tx = threadIdx.x;
  __shared__ __align__(16) float R_upper[128];
  __shared__ __align__(16) float R_upper_1[64];
  __shared__ __align__(16) float R_upper_2[32];
  float R_part;
  R_part = 0.0f;
  for (int k_o = 0; k_o < 4; k_o++) {
    R_part = R_part + (256 * k_o + tx < 1000 ? A[1000 * bx + 256 * k_o + tx] : 0.0f);
  }
  float R_part_1;
  if (128 <= tx) {
    R_upper[tx - 128] = R_part;
  }
  __syncthreads();
  if (tx < 128) {
    R_part_1 = R_part + R_upper[tx];
  }
  float R_part_2;
  if (tx < 128 && 64 <= tx) {
    R_upper_1[tx - 64] = R_part_1;
  }
  __syncthreads();
  if (tx < 64) {
    R_part_2 = R_part_1 + R_upper_1[tx];
  }
  float R_part_3 = 0;
  if (tx < 64 && 32 <= tx) {
    R_upper_2[tx - 32] = R_part_2;
  }
  __syncthreads();
  if (tx < 32) {
    R_part_3 = R_part_2 + R_upper_2[tx];
  }
  float R_part_4 = 0;
  float R_upper_3 = 0;
  if (tx < 32) {
    R_upper_3 = __shfl_down_sync(0xffffffffu, R_part_3, 16);
  }
  if (tx < 16) {
    R_part_4 = R_part_3 + R_upper_3;
  }
  float R_part_5 = 0;
  float R_upper_4 = 0;
  if (tx < 32) {
    R_upper_4 = __shfl_down_sync(0xffffffffu, R_part_4, 8);
  }
  if (tx < 8) {
    R_part_5 = R_part_4 + R_upper_4;
  }
  float R_part_6 = 0;
  float R_upper_5 = 0;
  if (tx < 32) {
    R_upper_5 = __shfl_down_sync(0xffffffffu, R_part_5, 4);
  }
  if (tx < 4) {
    R_part_6 = R_part_5 + R_upper_5;
  }
  float R_part_7 = 0;
  float R_upper_6 = 0;
  if (tx < 32) {
    R_upper_6 = __shfl_down_sync(0xffffffffu, R_part_6, 2);
  }
  if (tx < 2) {
    R_part_7 = R_part_6 + R_upper_6;
  }
  float R_part_8;
  float R_upper_7 = 0;
  if (tx < 32) {
    R_upper_7 = __shfl_down_sync(0xffffffffu, R_part_7, 1);
  }
  if (tx == 0) {
    R_part_8 = R_part_7 + R_upper_7;
  }
  if (tx == 0) {
    R[bx] = 0.0f;
    R[bx] = R[bx] + R_part_8;
  }
}

// Launches the kernels. The pointers are those of arrays in the memory of the device. Returns 0; 1 when memory runs
// out; 2 when a size does not meet the assumptions of the code; 3 when it is too large; otherwise 100 plus a
// cudaError_t.
extern "C" int launch_R(const float *A, float *R) {
  R_kernel<<<dim3(10, 1, 1), dim3(256, 1, 1)>>>(A, R);
  int nw_error = (int)cudaGetLastError();
  return nw_error ? 100 + nw_error : 0;
}