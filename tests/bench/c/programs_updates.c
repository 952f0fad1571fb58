// Programs that change elements of an array in place, in order.
#include "programs.h"

PROGRAM(lu) { // the factors of A without pivots, in one matrix; n: rows
  const float *restrict a = p[0];
  float *restrict f = p[1];
  long m = n[0];
  memcpy(f, a, sizeof(float) * (size_t)(m * m));
  for (long k = 0; k < m; k++) {
    for (long i = k + 1; i < m; i++) f[i * m + k] /= f[k * m + k];
    for (long i = k + 1; i < m; i++)
      for (long j = k + 1; j < m; j++) f[i * m + j] -= f[i * m + k] * f[k * m + j];
  }
}

PROGRAM(cholesky) { // the upper factor of a symmetric A; the elements below the diagonal stay as they are
  const float *restrict a = p[0];
  float *restrict f = p[1];
  long m = n[0];
  memcpy(f, a, sizeof(float) * (size_t)(m * m));
  for (long k = 0; k < m; k++) {
    f[k * m + k] = sqrtf(f[k * m + k]);
    for (long j = k + 1; j < m; j++) f[k * m + j] /= f[k * m + k];
    for (long i = k + 1; i < m; i++)
      for (long j = i; j < m; j++) f[i * m + j] -= f[k * m + i] * f[k * m + j];
  }
}

PROGRAM(substitution) { // L X = B, row by row in the place of B; n: rows, right-hand sides
  const float *restrict l = p[0], *restrict b = p[1];
  float *restrict x = p[2];
  long m = n[1];
  memcpy(x, b, sizeof(float) * (size_t)(n[0] * m));
  for (long i = 0; i < n[0]; i++) {
    for (long k = 0; k < i; k++)
      for (long j = 0; j < m; j++) x[i * m + j] -= l[i * n[0] + k] * x[k * m + j];
    for (long j = 0; j < m; j++) x[i * m + j] /= l[i * n[0] + i];
  }
}

PROGRAM(gauss_seidel) { // one sweep of the average of four neighbours; the border is fixed
  const float *restrict a = p[0];
  float *restrict u = p[1];
  long w = n[1];
  memcpy(u, a, sizeof(float) * (size_t)(n[0] * w));
  for (long i = 1; i < n[0] - 1; i++)
    for (long j = 1; j < w - 1; j++) {
      float *m = u + i * w + j;
      m[0] = 0.25f * (m[-w] + m[w] + m[1] + m[-1]);
    }
}

PROGRAM(row_sums) { // the sums of the prefixes of each row, in place; n: rows, columns
  const float *restrict a = p[0];
  float *restrict s = p[1];
  memcpy(s, a, sizeof(float) * (size_t)(n[0] * n[1]));
  for (long i = 0; i < n[0]; i++)
    for (long j = 1; j < n[1]; j++) s[i * n[1] + j] += s[i * n[1] + j - 1];
}

PROGRAM(histogram) { // n: bytes
  const uint8_t *restrict x = p[0];
  int32_t *restrict h = p[1];
  for (long b = 0; b < 256; b++) h[b] = 0;
  for (long i = 0; i < n[0]; i++) h[x[i]]++;
}

PROGRAM(histogram_atomic) { // each addition is atomic, as in a loop of several threads
  const uint8_t *restrict x = p[0];
  int32_t *restrict h = p[1];
  for (long b = 0; b < 256; b++) h[b] = 0;
  for (long i = 0; i < n[0]; i++) __atomic_fetch_add(&h[x[i]], 1, __ATOMIC_RELAXED);
}

PROGRAM(radix_offsets) { // where the numbers of each digit end, after a sort by this digit of eight bits; n: numbers
  const uint32_t *restrict a = p[0];
  int32_t *restrict end = p[1];
  for (long d = 0; d < 256; d++) end[d] = 0;
  for (long i = 0; i < n[0]; i++) end[a[i] >> 8 & 255]++;
  for (long d = 1; d < 256; d++) end[d] += end[d - 1];
}

PROGRAM(scatter_add) { // the gradient of an embedding; n: tokens, words, columns
  const int32_t *restrict word = p[0];
  const float *restrict g = p[1];
  float *restrict e = p[2];
  memset(e, 0, sizeof(float) * (size_t)(n[1] * n[2]));
  for (long i = 0; i < n[0]; i++) {
    long w = word[i] < 0 ? 0 : word[i] >= n[1] ? n[1] - 1 : word[i];
    for (long j = 0; j < n[2]; j++) e[w * n[2] + j] += g[i * n[2] + j];
  }
}
