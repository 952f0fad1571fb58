// This file is compiled with gcc -O3 -march=native, without fast-math.
#include "peers.h"
#include <string.h>

// Computes a full convolution, whose output has n + taps - 1 elements. Every input is added to the outputs to which it
// contributes.
void peer_conv1d_scatter(int n, int taps, const float *restrict a, const float *restrict w, float *restrict out) {
  memset(out, 0, (size_t)(n + taps - 1) * sizeof *out);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < taps; j++) out[i + j] += a[i] * w[j];
}

void peer_gemm_ijk(int n, const float *restrict a, const float *restrict b, float *restrict c) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      float sum = 0;
      for (int k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
      c[i * n + j] = sum;
    }
}
