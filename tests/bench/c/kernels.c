// These kernels are written as a careful programmer writes them in C. They are compiled with gcc -O3 -march=native,
// without fast-math.
#include "peers.h"
#include <string.h>

// Computes a depthwise 3x3 convolution with padding that keeps the shape. The loop over channels is outermost. The
// innermost loop checks the bounds.
void peer_depthwise(int channels, int h, int w, const float *restrict in, const float *restrict k,
                    float *restrict out) {
  for (int c = 0; c < channels; c++)
    for (int y = 0; y < h; y++)
      for (int x = 0; x < w; x++) {
        float sum = 0;
        for (int dy = 0; dy < 3; dy++)
          for (int dx = 0; dx < 3; dx++) {
            int yy = y + dy - 1, xx = x + dx - 1;
            if (yy >= 0 && yy < h && xx >= 0 && xx < w) sum += in[(c * h + yy) * w + xx] * k[(c * 3 + dy) * 3 + dx];
          }
        out[(c * h + y) * w + x] = sum;
      }
}

// Blurs an image with a border of one pixel by a separable 3x3 filter in two passes. The first pass writes to `tmp`.
void peer_blur_u16(int h, int w, const uint16_t *restrict in, uint16_t *restrict tmp, uint16_t *restrict out) {
  int row = w + 2;
  for (int y = 0; y < h + 2; y++)
    for (int x = 0; x < w; x++)
      tmp[y * w + x] = (uint16_t)(in[y * row + x] + in[y * row + x + 1] + in[y * row + x + 2]) / 3;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++)
      out[y * w + x] = (uint16_t)(tmp[y * w + x] + tmp[(y + 1) * w + x] + tmp[(y + 2) * w + x]) / 3;
}

void peer_blur_f32(int h, int w, const float *restrict in, float *restrict tmp, float *restrict out) {
  const float third = 1.0f / 3;
  int row = w + 2;
  for (int y = 0; y < h + 2; y++)
    for (int x = 0; x < w; x++) tmp[y * w + x] = (in[y * row + x] + in[y * row + x + 1] + in[y * row + x + 2]) * third;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) out[y * w + x] = (tmp[y * w + x] + tmp[(y + 1) * w + x] + tmp[(y + 2) * w + x]) * third;
}

// Computes the triad of the STREAM benchmark with ordinary stores.
void peer_triad(long n, const float *restrict b, const float *restrict c, float *restrict a) {
  for (long i = 0; i < n; i++) a[i] = b[i] + 3.0f * c[i];
}

void peer_copy(long bytes, const void *restrict from, void *restrict to) { memcpy(to, from, (size_t)bytes); }
