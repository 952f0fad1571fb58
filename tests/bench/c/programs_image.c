// Programs on images.
#include "programs.h"

PROGRAM(gauss) { // 5 x 5, separable; the input has a border of two
  static const float weight[5] = {0.0625f, 0.25f, 0.375f, 0.25f, 0.0625f};
  const float *restrict a = p[0];
  float *restrict b = p[1], *restrict t = p[2];
  long h = n[0], w = n[1], row = w + 4;
  for (long y = 0; y < h + 4; y++)
    for (long x = 0; x < w; x++) {
      float sum = 0;
      for (long d = 0; d < 5; d++) sum += weight[d] * a[y * row + x + d];
      t[y * w + x] = sum;
    }
  for (long y = 0; y < h; y++)
    for (long x = 0; x < w; x++) {
      float sum = 0;
      for (long d = 0; d < 5; d++) sum += weight[d] * t[(y + d) * w + x];
      b[y * w + x] = sum;
    }
}

PROGRAM(box_filter) { // sums of columns as prefix sums, then windows of 9 rows; n: height, width
  const float *restrict a = p[0];
  float *restrict b = p[1], *restrict s = p[2];
  long h = n[0], w = n[1];
  for (long x = 0; x < w; x++) s[x] = 0;
  for (long y = 0; y < h; y++)
    for (long x = 0; x < w; x++) s[(y + 1) * w + x] = s[y * w + x] + a[y * w + x];
  for (long y = 0; y < h - 8; y++)
    for (long x = 0; x < w; x++) b[y * w + x] = (s[(y + 9) * w + x] - s[y * w + x]) * (1.0f / 9);
}

PROGRAM(sobel) { // the input has a border
  const float *restrict a = p[0];
  float *restrict b = p[1];
  long w = n[1], row = w + 2;
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < w; x++) {
      const float *u = a + y * row + x, *m = u + row, *d = m + row;
      float gx = u[2] - u[0] + 2 * (m[2] - m[0]) + (d[2] - d[0]);
      float gy = d[0] - u[0] + 2 * (d[1] - u[1]) + (d[2] - u[2]);
      b[y * w + x] = sqrtf(gx * gx + gy * gy);
    }
}

PROGRAM(erosion) { // the least of 3 x 3 pixels; the input has a border
  const uint8_t *restrict a = p[0];
  uint8_t *restrict b = p[1];
  long w = n[1], row = w + 2;
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < w; x++) {
      uint8_t least = 255;
      for (long dy = 0; dy < 3; dy++)
        for (long dx = 0; dx < 3; dx++) {
          uint8_t v = a[(y + dy) * row + x + dx];
          least = v < least ? v : least;
        }
      b[y * w + x] = least;
    }
}

PROGRAM(grey) { // planes of red, green and blue
  const uint8_t *restrict a = p[0];
  uint8_t *restrict b = p[1];
  for (long i = 0; i < n[0]; i++) b[i] = (uint8_t)((77 * a[i] + 150 * a[n[0] + i] + 29 * a[2 * n[0] + i]) / 256);
}

PROGRAM(lookup) { // a table of 256 values
  const uint8_t *restrict a = p[0];
  const float *restrict t = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++) b[i] = t[a[i]];
}

PROGRAM(resize) { // bilinear, twice as large; the input has one more row and column
  const float *restrict a = p[0];
  float *restrict b = p[1];
  long w = n[1], row = w / 2 + 1;
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < w; x++) {
      const float *u = a + y / 2 * row + x / 2;
      float fx = 0.5f * (float)(x % 2), fy = 0.5f * (float)(y % 2);
      float top = u[0] * (1 - fx) + u[1] * fx, low = u[row] * (1 - fx) + u[row + 1] * fx;
      b[y * w + x] = top * (1 - fy) + low * fy;
    }
}

PROGRAM(downsample) { // the mean of 2 x 2 pixels
  const float *restrict a = p[0];
  float *restrict b = p[1];
  long w = n[1];
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < w; x++) {
      const float *u = a + 2 * y * 2 * w + 2 * x;
      b[y * w + x] = (u[0] + u[1] + u[2 * w] + u[2 * w + 1]) * 0.25f;
    }
}

PROGRAM(upsample) { // each pixel twice in both directions
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < n[1]; x++) b[y * n[1] + x] = a[y / 2 * (n[1] / 2) + x / 2];
}

PROGRAM(life) { // one step of the Game of Life; the board has a border
  const uint8_t *restrict a = p[0];
  uint8_t *restrict b = p[1];
  long w = n[1], row = w + 2;
  for (long y = 0; y < n[0]; y++)
    for (long x = 0; x < w; x++) {
      const uint8_t *u = a + y * row + x, *m = u + row, *d = m + row;
      uint8_t alive = (uint8_t)(u[0] + u[1] + u[2] + m[0] + m[2] + d[0] + d[1] + d[2]);
      b[y * w + x] = alive == 3 || (alive == 2 && m[1] == 1);
    }
}

PROGRAM(integral) { // sums of columns: one direction of the integral image
  const int32_t *restrict a = p[0];
  int32_t *restrict s = p[1];
  for (long x = 0; x < n[1]; x++) s[x] = a[x];
  for (long y = 1; y < n[0]; y++)
    for (long x = 0; x < n[1]; x++) s[y * n[1] + x] = s[(y - 1) * n[1] + x] + a[y * n[1] + x];
}

PROGRAM(blend) { // a + (b - a) * alpha / 256
  const uint8_t *restrict a = p[0], *restrict b = p[1], *restrict alpha = p[2];
  uint8_t *restrict c = p[3];
  for (long i = 0; i < n[0]; i++) c[i] = (uint8_t)((a[i] * (256 - alpha[i]) + b[i] * alpha[i]) / 256);
}
