// Stencils, particles, transforms and formulas.
#include "programs.h"

PROGRAM(jacobi) { // one step; the grid has a border
  const float *restrict a = p[0];
  float *restrict b = p[1];
  long w = n[1], row = w + 2;
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < w; x++) {
      const float *m = a + (y + 1) * row + x + 1;
      b[y * w + x] = 0.25f * (m[-1] + m[1] + m[-row] + m[row]);
    }
}

PROGRAM(heat3d) { // one step; the grid has a border
  const float *restrict a = p[0];
  float *restrict b = p[1];
  long m = n[0], row = m + 2, page = row * row;
  for (long z = 0; z < m; z++)
    for (long y = 0; y < m; y++)
      for (long x = 0; x < m; x++) {
        const float *o = a + (z + 1) * page + (y + 1) * row + x + 1;
        b[(z * m + y) * m + x] = o[0] + 0.1f * (o[-1] + o[1] + o[-row] + o[row] + o[-page] + o[page] - 6 * o[0]);
      }
}

PROGRAM(nbody) { // the accelerations along x
  const float *restrict x = p[0], *restrict y = p[1], *restrict z = p[2];
  float *restrict a = p[3];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long j = 0; j < n[0]; j++) {
      float dx = x[j] - x[i], dy = y[j] - y[i], dz = z[j] - z[i];
      float by = 1 / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
      sum += dx * by * by * by;
    }
    a[i] = sum;
  }
}

static float normal(float x) { return 0.5f * (1 + erff(x * 0.70710678f)); }

PROGRAM(black_scholes) {
  const float *restrict spot = p[0], *restrict strike = p[1], *restrict years = p[2];
  float *restrict call = p[3];
  for (long i = 0; i < n[0]; i++) {
    float root = 0.3f * sqrtf(years[i]);
    float d1 = (logf(spot[i] / strike[i]) + (0.02f + 0.045f) * years[i]) / root, d2 = d1 - root;
    call[i] = spot[i] * normal(d1) - strike[i] * expf(-0.02f * years[i]) * normal(d2);
  }
}

PROGRAM(mandelbrot) { // the distance after 12 steps, limited
  const float *restrict re = p[0], *restrict im = p[1];
  float *restrict b = p[2];
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < n[1]; x++) {
      float u = 0, v = 0;
      for (int t = 0; t < 12; t++) {
        float next = u * u - v * v + re[x];
        v = 2 * u * v + im[y];
        u = next < -4 ? -4 : next > 4 ? 4 : next;
        v = v < -4 ? -4 : v > 4 ? 4 : v;
      }
      b[y * n[1] + x] = u * u + v * v;
    }
}

PROGRAM(horner) { // a polynomial of degree 11
  const float *restrict x = p[0];
  float *restrict y = p[1];
  for (long i = 0; i < n[0]; i++) {
    float v = 1;
    for (int d = 11; d >= 1; d--) v = v * x[i] + 1 / (float)d;
    y[i] = v;
  }
}

PROGRAM(fft_stage) { // butterflies of distance n[1] over complex pairs; n: half of the points, distance
  const float *restrict a = p[0], *restrict w = p[1];
  float *restrict re = p[2], *restrict im = p[3];
  long m = n[1];
  for (long i = 0; i < 2 * n[0]; i++) {
    long block = i / (2 * m), at = i % (2 * m), k = at % m;
    const float *u = a + 2 * (block * 2 * m + k), *v = u + 2 * m, *t = w + 2 * k;
    float x = v[0] * t[0] - v[1] * t[1], y = v[0] * t[1] + v[1] * t[0];
    re[i] = at < m ? u[0] + x : u[0] - x;
    im[i] = at < m ? u[1] + y : u[1] - y;
  }
}

PROGRAM(bitonic) { // one step of a bitonic sort; n: numbers, distance, length of the ordered runs
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long i = 0; i < n[0]; i++) {
    float x = a[i], y = a[i / (2 * n[1]) * (2 * n[1]) + (i + n[1]) % (2 * n[1])];
    int low = i % (2 * n[1]) < n[1], up = i / n[2] % 2 == 0;
    b[i] = low == up ? (x < y ? x : y) : (x < y ? y : x);
  }
}

PROGRAM(moving_max) { // the largest of 16 neighbours
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long i = 0; i < n[0]; i++) {
    float best = a[i];
    for (long d = 1; d < 16; d++) best = a[i + d] > best ? a[i + d] : best;
    b[i] = best;
  }
}
