// Made by Nestwright 0.1.0. Tensors are row-major and must not overlap:
//   in  a0: f32[1, 1000]
//   out S: f32[20, 1000]
// S_kernel_1: 1, 1, 1 work-groups of 1, 1, 1 work-items
// S_kernel_2: 8, 1, 1 work-groups of 128, 1, 1 work-items
#pragma OPENCL FP_CONTRACT OFF
typedef int int32_t;
typedef long int64_t;
typedef char int8_t;
typedef uchar uint8_t;
typedef short int16_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#define INT64_C(x) x##L
#define UINT64_C(x) x##UL
#define INT8_MIN CHAR_MIN
#define INT8_MAX CHAR_MAX
#define UINT8_MAX UCHAR_MAX
#define INT16_MIN SHRT_MIN
#define INT16_MAX SHRT_MAX
#define UINT16_MAX USHRT_MAX
#define INT32_MIN INT_MIN
#define INT32_MAX INT_MAX
#define UINT32_MAX UINT_MAX
#define INT64_MIN LONG_MIN
#define INT64_MAX LONG_MAX
#define UINT64_MAX ULONG_MAX
#define __builtin_popcount(x) ((int)popcount(x))
#define __builtin_popcountll(x) ((int)popcount(x))
static inline int64_t nw_min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t nw_max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void S_kernel_1(__global const float *restrict a0, __global float *restrict S) {
  for (int i = 0; i < 1000; i++) {
    S[i] = a0[i];
  }
}

__kernel __attribute__((reqd_work_group_size(128, 1, 1))) void S_kernel_2(__global float *restrict S, int64_t t_1) {
  const int bx = (int)get_group_id(0);
  const int tx = (int)get_local_id(0);
  if (128 * bx + tx < 1000) {
    S[1000 * t_1 + 128 * bx + tx] = fma(0.25f, S[1000 * t_1 + nw_min_i64(128 * bx + tx + 1, 999) - 1000], fma(0.5f, S[1000 * t_1 + 128 * bx + tx - 1000], 0.25f * S[1000 * t_1 + nw_max_i64(128 * bx + tx - 1, 0) - 1000]));
  }
}