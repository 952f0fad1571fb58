// Recurrences: sums, filters and dynamic programming.
#include "programs.h"

PROGRAM(prefix_sum) { // n: length, independent series
  const float *restrict a = p[0];
  float *restrict s = p[1];
  for (long x = 0; x < n[1]; x++) s[x] = a[x];
  for (long t = 1; t < n[0]; t++)
    for (long x = 0; x < n[1]; x++) s[t * n[1] + x] = s[(t - 1) * n[1] + x] + a[t * n[1] + x];
}

PROGRAM(running_max) {
  const float *restrict a = p[0];
  float *restrict s = p[1];
  for (long x = 0; x < n[1]; x++) s[x] = a[x];
  for (long t = 1; t < n[0]; t++)
    for (long x = 0; x < n[1]; x++) {
      float o = s[(t - 1) * n[1] + x], v = a[t * n[1] + x];
      s[t * n[1] + x] = v > o ? v : o;
    }
}

PROGRAM(moving_average) { // exponential
  const float *restrict a = p[0];
  float *restrict s = p[1];
  for (long x = 0; x < n[1]; x++) s[x] = a[x];
  for (long t = 1; t < n[0]; t++)
    for (long x = 0; x < n[1]; x++) s[t * n[1] + x] = 0.9f * s[(t - 1) * n[1] + x] + 0.1f * a[t * n[1] + x];
}

static int32_t most(int32_t a, int32_t b) { return a > b ? a : b; }
static int32_t least(int32_t a, int32_t b) { return a < b ? a : b; }

PROGRAM(smith_waterman) { // n: lengths of both texts plus one
  const int32_t *restrict a = p[0], *restrict b = p[1];
  int32_t *restrict s = p[2];
  long w = n[1];
  for (long x = 0; x < w; x++) s[x] = 0;
  for (long t = 1; t < n[0]; t++)
    for (long x = 0; x < w; x++) {
      if (x == 0) {
        s[t * w] = 0;
        continue;
      }
      int32_t diagonal = s[(t - 1) * w + x - 1] + (a[t] == b[x] ? 2 : -1);
      s[t * w + x] = most(0, most(diagonal, most(s[(t - 1) * w + x], s[t * w + x - 1]) - 1));
    }
}

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

PROGRAM(lstm) { // n: steps of time, elements of the state
  const float *restrict x = p[0], *restrict weight = p[1], *restrict back = p[2];
  float *restrict c = p[3], *restrict h = p[4], *restrict gate = p[5];
  long m = n[1], all = 4 * m;
  for (long j = 0; j < m; j++) c[j] = h[j] = 0;
  for (long t = 1; t < n[0]; t++) {
    for (long j = 0; j < all; j++) gate[j] = 0;
    for (long k = 0; k < m; k++)
      for (long j = 0; j < all; j++) gate[j] += x[t * m + k] * weight[k * all + j];
    for (long k = 0; k < m; k++)
      for (long j = 0; j < all; j++) gate[j] += h[(t - 1) * m + k] * back[k * all + j];
    for (long j = 0; j < m; j++) {
      float next = sigmoid(gate[m + j]) * c[(t - 1) * m + j] + sigmoid(gate[j]) * tanhf(gate[2 * m + j]);
      c[t * m + j] = next;
      h[t * m + j] = sigmoid(gate[3 * m + j]) * tanhf(next);
    }
  }
}

PROGRAM(levenshtein) {
  const int32_t *restrict a = p[0], *restrict b = p[1];
  int32_t *restrict s = p[2];
  long w = n[1];
  for (long x = 0; x < w; x++) s[x] = (int32_t)x;
  for (long t = 1; t < n[0]; t++) {
    s[t * w] = (int32_t)t;
    for (long x = 1; x < w; x++) {
      int32_t change = s[(t - 1) * w + x - 1] + (a[t] == b[x] ? 0 : 1);
      s[t * w + x] = least(change, least(s[(t - 1) * w + x], s[t * w + x - 1]) + 1);
    }
  }
}

PROGRAM(subsequence) { // the longest common subsequence
  const int32_t *restrict a = p[0], *restrict b = p[1];
  int32_t *restrict s = p[2];
  long w = n[1];
  for (long x = 0; x < w; x++) s[x] = 0;
  for (long t = 1; t < n[0]; t++) {
    s[t * w] = 0;
    for (long x = 1; x < w; x++)
      s[t * w + x] = a[t] == b[x] ? s[(t - 1) * w + x - 1] + 1 : most(s[(t - 1) * w + x], s[t * w + x - 1]);
  }
}

PROGRAM(viterbi) { // n: times, states
  const float *restrict first = p[0], *restrict step = p[1], *restrict seen = p[2];
  float *restrict s = p[3];
  long m = n[1];
  for (long j = 0; j < m; j++) s[j] = first[j];
  for (long t = 1; t < n[0]; t++)
    for (long j = 0; j < m; j++) {
      float best = -INFINITY;
      for (long k = 0; k < m; k++) {
        float v = s[(t - 1) * m + k] + step[k * m + j] + seen[t * m + j];
        best = v > best ? v : best;
      }
      s[t * m + j] = best;
    }
}

PROGRAM(knapsack) { // n: things plus one, capacity plus one
  const int32_t *restrict weight = p[0], *restrict value = p[1];
  int32_t *restrict s = p[2];
  long m = n[1];
  for (long w = 0; w < m; w++) s[w] = 0;
  for (long t = 1; t < n[0]; t++)
    for (long w = 0; w < m; w++) {
      int32_t without = s[(t - 1) * m + w];
      s[t * m + w] = w >= weight[t] ? most(without, s[(t - 1) * m + w - weight[t]] + value[t]) : without;
    }
}

PROGRAM(wave) { // n: times, points
  const float *restrict first = p[0];
  float *restrict s = p[1];
  long m = n[1];
  for (long x = 0; x < m; x++) s[x] = s[m + x] = first[x];
  for (long t = 2; t < n[0]; t++)
    for (long x = 0; x < m; x++) {
      const float *o = s + (t - 1) * m;
      float left = o[x > 0 ? x - 1 : 0], right = o[x < m - 1 ? x + 1 : m - 1];
      s[t * m + x] = 2 * o[x] - s[(t - 2) * m + x] + 0.25f * (left - 2 * o[x] + right);
    }
}

PROGRAM(logistic) { // the logistic map; n: times, starts
  const float *restrict first = p[0];
  float *restrict s = p[1];
  for (long x = 0; x < n[1]; x++) s[x] = first[x];
  for (long t = 1; t < n[0]; t++)
    for (long x = 0; x < n[1]; x++) {
      float o = s[(t - 1) * n[1] + x];
      s[t * n[1] + x] = 3.5f * o * (1 - o);
    }
}
