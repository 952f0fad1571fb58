// Programs whose reductions have several results, or ranges that depend on data.
#include "programs.h"

PROGRAM(welford) { // mean and sum of squared differences in one pass; n: rows, columns
  const float *restrict a = p[0];
  float *restrict mean = p[1], *restrict square = p[2], *restrict count = p[3];
  for (long i = 0; i < n[0]; i++) {
    float m = 0, s = 0, c = 0;
    for (long k = 0; k < n[1]; k++) {
      float x = a[i * n[1] + k], d = x - m;
      c += 1;
      m += d / c;
      s += d * (x - m);
    }
    mean[i] = m, square[i] = s, count[i] = c;
  }
}

PROGRAM(online_softmax) { // the largest element and the sum of exponentials in one pass
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long i = 0; i < n[0]; i++) {
    float m = -3e38f, s = 0;
    for (long k = 0; k < n[1]; k++) {
      float x = a[i * n[1] + k], best = x > m ? x : m;
      s = s * expf(m - best) + expf(x - best);
      m = best;
    }
    for (long k = 0; k < n[1]; k++) b[i * n[1] + k] = expf(a[i * n[1] + k] - m) / s;
  }
}

PROGRAM(csr_spmv) { // n: rows, elements
  const int32_t *restrict row = p[0], *restrict col = p[1];
  const float *restrict v = p[2], *restrict x = p[3];
  float *restrict y = p[4];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long e = row[i]; e < row[i + 1]; e++) {
      long c = col[e];
      sum += v[e] * x[c < 0 ? 0 : c >= n[0] ? n[0] - 1 : c];
    }
    y[i] = sum;
  }
}

PROGRAM(segments) { // sums of ragged rows; n: rows, elements
  const int32_t *restrict row = p[0];
  const float *restrict v = p[1];
  float *restrict y = p[2];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long e = row[i]; e < row[i + 1]; e++) sum += v[e];
    y[i] = sum;
  }
}

PROGRAM(triangle) { // the product of two lower triangular matrices
  const float *restrict a = p[0], *restrict b = p[1];
  float *restrict c = p[2];
  long m = n[0];
  memset(c, 0, sizeof(float) * (size_t)(m * m));
  for (long i = 0; i < m; i++)
    for (long k = 0; k <= i; k++)
      for (long j = 0; j < m; j++) c[i * m + j] += a[i * m + k] * b[k * m + j];
}
