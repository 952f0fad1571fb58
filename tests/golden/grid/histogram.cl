// Made by Nestwright 0.1.0. Tensors are row-major and must not overlap:
//   in  X: i32[10000]
//   out H: i32[10]
// H_kernel_1: 1, 1, 1 work-groups of 1, 1, 1 work-items
// H_kernel_2: 40, 1, 1 work-groups of 256, 1, 1 work-items
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

__kernel __attribute__((reqd_work_group_size(1, 1, 1))) void H_kernel_1(__global int32_t *restrict H) {
  for (int b_init = 0; b_init < 10; b_init++) {
    H[b_init] = 0;
  }
}

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void H_kernel_2(__global const int32_t *restrict X, __global int32_t *restrict H) {
  const int bx = (int)get_group_id(0);
  const int tx = (int)get_local_id(0);
  if (256 * bx + tx < 10000) {
    for (int b = 0; b < 10; b++) {
      atomic_add(&H[b], b == (int64_t)X[256 * bx + tx] ? 1 : 0);
    }
  }
}