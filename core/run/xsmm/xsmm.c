// Implements the functions of the intrinsics that compute small matrix products with libxsmm. This file becomes a
// separate module, nestwright-xsmm.so.
//
// The functions compute C[m, n] = A[m, k]*B[k, n], or add the product to C. The elements of a row are contiguous. The
// distance between rows is arbitrary. libxsmm is column-major, so it computes the transposed product on the same
// memory, with B before A. It does not support rows that overlap or are in reverse order. In these cases, plain loops
// compute the product, so that the functions work for every stride that their intrinsics allow.
#include <libxsmm.h>
#include <stdint.h>
#include <stdlib.h>

// libxsmm sets OMP_PROC_BIND in the environment. Then each program that this process starts, such as another nestwright,
// would have only one core.
__attribute__((constructor)) static void start(void) {
  const char *bound = getenv("OMP_PROC_BIND");
  libxsmm_init();
  if (!bound) unsetenv("OMP_PROC_BIND");
}

enum { LDA, LDB, LDC, M, N, K, ACCUMULATE };

static int usual(const int64_t *w) {
  return w[LDA] >= w[K] && w[LDB] >= w[N] && w[LDC] >= w[N] && w[LDA] < INT32_MAX && w[LDB] < INT32_MAX &&
         w[LDC] < INT32_MAX;
}

#define PRODUCT(T, suffix, dispatch, kernel_type)                                                                      \
  static kernel_type kernel_##suffix(const int64_t *w) {                                                               \
    const libxsmm_blasint lda = (libxsmm_blasint)w[LDB], ldb = (libxsmm_blasint)w[LDA], ldc = (libxsmm_blasint)w[LDC]; \
    const T alpha = 1, beta = w[ACCUMULATE] ? 1 : 0;                                                                   \
    const int flags = LIBXSMM_GEMM_FLAG_NONE, prefetch = LIBXSMM_GEMM_PREFETCH_NONE;                                   \
    if (!usual(w)) return 0;                                                                                           \
    return dispatch((libxsmm_blasint)w[N], (libxsmm_blasint)w[M], (libxsmm_blasint)w[K], &lda, &ldb, &ldc, &alpha,     \
                    &beta, &flags, &prefetch);                                                                         \
  }                                                                                                                    \
                                                                                                                       \
  static void loops_##suffix(const T *A, const T *B, T *C, const int64_t *w) {                                         \
    for (int64_t i = 0; i < w[M]; i++)                                                                                 \
      for (int64_t j = 0; j < w[N]; j++) {                                                                             \
        T sum = w[ACCUMULATE] ? C[i * w[LDC] + j] : 0;                                                                 \
        for (int64_t k = 0; k < w[K]; k++) sum += A[i * w[LDA] + k] * B[k * w[LDB] + j];                               \
        C[i * w[LDC] + j] = sum;                                                                                       \
      }                                                                                                                \
  }                                                                                                                    \
                                                                                                                       \
  void nw_xsmm_gemm_##suffix(const T *B, const T *A, T *C, int64_t ldb, int64_t lda, int64_t ldc, int64_t m,           \
                             int64_t n, int64_t k, int64_t accumulate);                                                \
  void nw_xsmm_gemm_##suffix(const T *B, const T *A, T *C, int64_t ldb, int64_t lda, int64_t ldc, int64_t m,           \
                             int64_t n, int64_t k, int64_t accumulate) {                                               \
    const int64_t w[] = {lda, ldb, ldc, m, n, k, accumulate};                                                          \
    kernel_type f = kernel_##suffix(w);                                                                                \
    if (f)                                                                                                             \
      f(B, A, C);                                                                                                      \
    else                                                                                                               \
      loops_##suffix(A, B, C, w);                                                                                      \
  }                                                                                                                    \
                                                                                                                       \
  /* words: the strides and constants in the order of the function above: ldb, lda, ldc, m, n, k, accumulate. */       \
  void *nw_xsmm_make_##suffix(const int64_t *words);                                                                   \
  void *nw_xsmm_make_##suffix(const int64_t *words) {                                                                  \
    const int64_t w[] = {words[1], words[0], words[2], words[3], words[4], words[5], words[6]};                        \
    return (void *)(uintptr_t)kernel_##suffix(w);                                                                      \
  }

PRODUCT(float, f32, libxsmm_smmdispatch, libxsmm_smmfunction)
PRODUCT(double, f64, libxsmm_dmmdispatch, libxsmm_dmmfunction)
