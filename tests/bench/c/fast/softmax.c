// This file is compiled with gcc -O3 -march=native -ffast-math, so that expf is called for whole vectors.
#include "../peers.h"
#include <math.h>

// Computes the softmax of each row.
void peer_softmax(int rows, int n, const float *restrict in, float *restrict out) {
  for (int i = 0; i < rows; i++) {
    const float *x = in + (long)i * n;
    float *y = out + (long)i * n, most = x[0], sum = 0;
    for (int j = 0; j < n; j++) most = x[j] > most ? x[j] : most;
    for (int j = 0; j < n; j++) {
      y[j] = expf(x[j] - most);
      sum += y[j];
    }
    for (int j = 0; j < n; j++) y[j] /= sum;
  }
}
