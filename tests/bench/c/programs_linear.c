// Programs of linear algebra.
#include "programs.h"

PROGRAM(axpy) {
  const float *restrict x = p[0], *restrict y = p[1];
  float *restrict z = p[2];
  for (long i = 0; i < n[0]; i++) z[i] = 2.5f * x[i] + y[i];
}

PROGRAM(dot_rows) {
  const float *restrict x = p[0], *restrict y = p[1];
  float *restrict z = p[2];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long k = 0; k < n[1]; k++) sum += x[i * n[1] + k] * y[i * n[1] + k];
    z[i] = sum;
  }
}

PROGRAM(gemv) {
  const float *restrict a = p[0], *restrict x = p[1];
  float *restrict y = p[2];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long k = 0; k < n[1]; k++) sum += a[i * n[1] + k] * x[k];
    y[i] = sum;
  }
}

PROGRAM(gemv_t) {
  const float *restrict a = p[0], *restrict x = p[1];
  float *restrict y = p[2];
  for (long j = 0; j < n[1]; j++) y[j] = 0;
  for (long i = 0; i < n[0]; i++)
    for (long j = 0; j < n[1]; j++) y[j] += a[i * n[1] + j] * x[i];
}

PROGRAM(ger) {
  const float *restrict a = p[0], *restrict x = p[1], *restrict y = p[2];
  float *restrict b = p[3];
  for (long i = 0; i < n[0]; i++)
    for (long j = 0; j < n[1]; j++) b[i * n[1] + j] = a[i * n[1] + j] + x[i] * y[j];
}

PROGRAM(gemm) {
  const float *restrict a = p[0], *restrict b = p[1];
  float *restrict c = p[2];
  memset(c, 0, sizeof(float) * (size_t)(n[0] * n[1]));
  for (long i = 0; i < n[0]; i++)
    for (long k = 0; k < n[2]; k++)
      for (long j = 0; j < n[1]; j++) c[i * n[1] + j] += a[i * n[2] + k] * b[k * n[1] + j];
}

PROGRAM(batched_gemm) { // n: batch, size
  const float *restrict a = p[0], *restrict b = p[1];
  float *restrict c = p[2];
  long m = n[1];
  memset(c, 0, sizeof(float) * (size_t)(n[0] * m * m));
  for (long l = 0; l < n[0]; l++)
    for (long i = 0; i < m; i++)
      for (long k = 0; k < m; k++)
        for (long j = 0; j < m; j++) c[(l * m + i) * m + j] += a[(l * m + i) * m + k] * b[(l * m + k) * m + j];
}

PROGRAM(syrk) { // C = A^T A
  const float *restrict a = p[0];
  float *restrict c = p[1];
  memset(c, 0, sizeof(float) * (size_t)(n[1] * n[1]));
  for (long k = 0; k < n[0]; k++)
    for (long i = 0; i < n[1]; i++)
      for (long j = 0; j < n[1]; j++) c[i * n[1] + j] += a[k * n[1] + i] * a[k * n[1] + j];
}

PROGRAM(trmv) { // the lower triangle of A times x
  const float *restrict a = p[0], *restrict x = p[1];
  float *restrict y = p[2];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long k = 0; k <= i; k++) sum += a[i * n[0] + k] * x[k];
    y[i] = sum;
  }
}

PROGRAM(tri_solve) { // L X = B, where L is unit lower triangular
  const float *restrict l = p[0], *restrict b = p[1];
  float *restrict x = p[2];
  for (long i = 0; i < n[0]; i++) {
    for (long j = 0; j < n[1]; j++) x[i * n[1] + j] = b[i * n[1] + j];
    for (long k = 0; k < i; k++)
      for (long j = 0; j < n[1]; j++) x[i * n[1] + j] -= l[i * n[0] + k] * x[k * n[1] + j];
  }
}

PROGRAM(complex_gemv) { // complex numbers are pairs
  const float *restrict a = p[0], *restrict x = p[1];
  float *restrict re = p[2], *restrict im = p[3];
  for (long i = 0; i < n[0]; i++) {
    float r = 0, m = 0;
    for (long k = 0; k < n[1]; k++) {
      const float *u = a + 2 * (i * n[1] + k), *v = x + 2 * k;
      r += u[0] * v[0] - u[1] * v[1];
      m += u[0] * v[1] + u[1] * v[0];
    }
    re[i] = r, im[i] = m;
  }
}

PROGRAM(covariance) { // n: samples, variables
  const float *restrict a = p[0];
  float *restrict c = p[1];
  float mean[1024];
  for (long j = 0; j < n[1]; j++) mean[j] = 0;
  for (long k = 0; k < n[0]; k++)
    for (long j = 0; j < n[1]; j++) mean[j] += a[k * n[1] + j];
  for (long j = 0; j < n[1]; j++) mean[j] /= (float)n[0];
  memset(c, 0, sizeof(float) * (size_t)(n[1] * n[1]));
  for (long k = 0; k < n[0]; k++)
    for (long i = 0; i < n[1]; i++)
      for (long j = 0; j < n[1]; j++) c[i * n[1] + j] += (a[k * n[1] + i] - mean[i]) * (a[k * n[1] + j] - mean[j]);
}

PROGRAM(kronecker) { // n: rows of A and of B (both square)
  const float *restrict a = p[0], *restrict b = p[1];
  float *restrict c = p[2];
  long m = n[0] * n[1];
  for (long i = 0; i < m; i++)
    for (long j = 0; j < m; j++) c[i * m + j] = a[i / n[1] * n[0] + j / n[1]] * b[i % n[1] * n[1] + j % n[1]];
}

PROGRAM(distances) { // squared distances of all pairs; n: points, dimensions
  const float *restrict a = p[0], *restrict b = p[1];
  float *restrict d = p[2];
  for (long i = 0; i < n[0]; i++)
    for (long j = 0; j < n[0]; j++) {
      float sum = 0;
      for (long k = 0; k < n[1]; k++) {
        float e = a[i * n[1] + k] - b[j * n[1] + k];
        sum += e * e;
      }
      d[i * n[0] + j] = sum;
    }
}

PROGRAM(transpose) {
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long i = 0; i < n[0]; i++)
    for (long j = 0; j < n[0]; j++) b[i * n[0] + j] = a[j * n[0] + i];
}

PROGRAM(ell_spmv) { // a sparse matrix with the same number of entries in each row; n: rows, entries
  const float *restrict a = p[0], *restrict x = p[2];
  const int32_t *restrict col = p[1];
  float *restrict y = p[3];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long k = 0; k < n[1]; k++) {
      long c = col[i * n[1] + k];
      sum += a[i * n[1] + k] * x[c < 0 ? 0 : c >= n[0] ? n[0] - 1 : c];
    }
    y[i] = sum;
  }
}

PROGRAM(floyd_warshall) { // p[1] has all steps
  const float *restrict w = p[0];
  float *restrict d = p[1];
  long m = n[0], page = m * m;
  memcpy(d, w, sizeof(float) * (size_t)page);
  for (long t = 1; t <= m; t++)
    for (long i = 0; i < m; i++)
      for (long j = 0; j < m; j++) {
        const float *o = d + (t - 1) * page;
        float via = o[i * m + t - 1] + o[(t - 1) * m + j];
        d[t * page + i * m + j] = via < o[i * m + j] ? via : o[i * m + j];
      }
}

PROGRAM(pagerank) { // one step: 0.15/n + 0.85 A x
  const float *restrict a = p[0], *restrict x = p[1];
  float *restrict y = p[2];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long k = 0; k < n[0]; k++) sum += a[i * n[0] + k] * x[k];
    y[i] = 0.15f / (float)n[0] + 0.85f * sum;
  }
}
