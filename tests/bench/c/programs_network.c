// Programs of neural networks and of learning.
#include "programs.h"

static float largest(const float *x, long n) {
  float best = x[0];
  for (long i = 1; i < n; i++) best = x[i] > best ? x[i] : best;
  return best;
}

PROGRAM(softmax) {
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long i = 0; i < n[0]; i++) {
    float best = largest(a + i * n[1], n[1]), sum = 0;
    for (long j = 0; j < n[1]; j++) sum += b[i * n[1] + j] = expf(a[i * n[1] + j] - best);
    for (long j = 0; j < n[1]; j++) b[i * n[1] + j] /= sum;
  }
}

PROGRAM(log_softmax) {
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long i = 0; i < n[0]; i++) {
    float best = largest(a + i * n[1], n[1]), sum = 0;
    for (long j = 0; j < n[1]; j++) sum += expf(a[i * n[1] + j] - best);
    float by = best + logf(sum);
    for (long j = 0; j < n[1]; j++) b[i * n[1] + j] = a[i * n[1] + j] - by;
  }
}

PROGRAM(cross_entropy) {
  const float *restrict a = p[0];
  const int32_t *restrict label = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++) {
    float best = largest(a + i * n[1], n[1]), sum = 0;
    for (long j = 0; j < n[1]; j++) sum += expf(a[i * n[1] + j] - best);
    long at = label[i] < 0 ? 0 : label[i] >= n[1] ? n[1] - 1 : label[i];
    b[i] = best + logf(sum) - a[i * n[1] + at];
  }
}

PROGRAM(layernorm) {
  const float *restrict a = p[0], *restrict g = p[1], *restrict h = p[2];
  float *restrict b = p[3];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0, square = 0;
    for (long j = 0; j < n[1]; j++) sum += a[i * n[1] + j];
    float mean = sum / (float)n[1];
    for (long j = 0; j < n[1]; j++) square += (a[i * n[1] + j] - mean) * (a[i * n[1] + j] - mean);
    float by = 1 / sqrtf(square / (float)n[1] + 1e-5f);
    for (long j = 0; j < n[1]; j++) b[i * n[1] + j] = (a[i * n[1] + j] - mean) * by * g[j] + h[j];
  }
}

PROGRAM(rmsnorm) {
  const float *restrict a = p[0], *restrict g = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++) {
    float square = 0;
    for (long j = 0; j < n[1]; j++) square += a[i * n[1] + j] * a[i * n[1] + j];
    float by = 1 / sqrtf(square / (float)n[1] + 1e-5f);
    for (long j = 0; j < n[1]; j++) b[i * n[1] + j] = a[i * n[1] + j] * by * g[j];
  }
}

PROGRAM(gelu) {
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long i = 0; i < n[0]; i++) b[i] = 0.5f * a[i] * (1 + erff(a[i] * 0.70710678f));
}

PROGRAM(gated) { // x * sigmoid(x) * y
  const float *restrict a = p[0], *restrict g = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++) b[i] = a[i] * (1 / (1 + expf(-a[i]))) * g[i];
}

PROGRAM(bias_relu) {
  const float *restrict a = p[0], *restrict h = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++)
    for (long j = 0; j < n[1]; j++) {
      float v = a[i * n[1] + j] + h[j];
      b[i * n[1] + j] = v > 0 ? v : 0;
    }
}

PROGRAM(batchnorm) { // n: channels, pixels
  const float *restrict a = p[0], *restrict mean = p[1], *restrict var = p[2], *restrict g = p[3], *restrict h = p[4];
  float *restrict b = p[5];
  for (long c = 0; c < n[0]; c++)
    for (long x = 0; x < n[1]; x++) b[c * n[1] + x] = (a[c * n[1] + x] - mean[c]) / sqrtf(var[c] + 1e-5f) * g[c] + h[c];
}

PROGRAM(attention) { // causal, one head; n: tokens, width
  const float *restrict q = p[0], *restrict k = p[1], *restrict v = p[2];
  float *restrict o = p[3], score[2048];
  for (long i = 0; i < n[0]; i++) {
    float best = -INFINITY, sum = 0;
    for (long j = 0; j <= i; j++) {
      score[j] = 0;
      for (long d = 0; d < n[1]; d++) score[j] += q[i * n[1] + d] * k[j * n[1] + d];
      score[j] *= 0.125f;
      best = score[j] > best ? score[j] : best;
    }
    for (long j = 0; j <= i; j++) sum += score[j] = expf(score[j] - best);
    for (long d = 0; d < n[1]; d++) o[i * n[1] + d] = 0;
    for (long j = 0; j <= i; j++)
      for (long d = 0; d < n[1]; d++) o[i * n[1] + d] += score[j] / sum * v[j * n[1] + d];
  }
}

PROGRAM(rope) { // rotary position embedding; n: tokens, half of the width
  const float *restrict a = p[0], *restrict c = p[1], *restrict s = p[2];
  float *restrict b = p[3];
  for (long i = 0; i < n[0]; i++)
    for (long h = 0; h < 2; h++)
      for (long j = 0; j < n[1]; j++) {
        float x = a[(i * 2 + h) * n[1] + j], y = a[(i * 2 + 1 - h) * n[1] + j];
        float turned = h == 0 ? -y * s[i * n[1] + j] : y * s[i * n[1] + j];
        b[(i * 2 + h) * n[1] + j] = x * c[i * n[1] + j] + turned;
      }
}

PROGRAM(embedding) { // n: tokens, width, words
  const float *restrict table = p[0];
  const int32_t *restrict word = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++) {
    long w = word[i] < 0 ? 0 : word[i] >= n[2] ? n[2] - 1 : word[i];
    for (long j = 0; j < n[1]; j++) b[i * n[1] + j] = table[w * n[1] + j];
  }
}

PROGRAM(conv2d) { // n: channels out, channels in, height, width; 3 x 3, the input has a border
  const float *restrict a = p[0], *restrict w = p[1];
  float *restrict b = p[2];
  long h = n[2], x1 = n[3], row = x1 + 2;
  for (long o = 0; o < n[0]; o++) {
    for (long i = 0; i < h * x1; i++) b[o * h * x1 + i] = 0;
    for (long c = 0; c < n[1]; c++)
      for (long dy = 0; dy < 3; dy++)
        for (long dx = 0; dx < 3; dx++)
          for (long y = 0; y < h; y++)
            for (long x = 0; x < x1; x++)
              b[(o * h + y) * x1 + x] +=
                  a[(c * (h + 2) + y + dy) * row + x + dx] * w[((o * n[1] + c) * 3 + dy) * 3 + dx];
  }
}

PROGRAM(depthwise3) { // n: channels, height, width; the input has a border
  const float *restrict a = p[0], *restrict w = p[1];
  float *restrict b = p[2];
  for (long c = 0; c < n[0]; c++)
    for (long y = 0; y < n[1]; y++)
      for (long x = 0; x < n[2]; x++) {
        float sum = 0;
        for (long dy = 0; dy < 3; dy++)
          for (long dx = 0; dx < 3; dx++)
            sum += a[(c * (n[1] + 2) + y + dy) * (n[2] + 2) + x + dx] * w[(c * 3 + dy) * 3 + dx];
        b[(c * n[1] + y) * n[2] + x] = sum;
      }
}

PROGRAM(pointwise) { // n: channels out, channels in, pixels
  const float *restrict a = p[0], *restrict w = p[1];
  float *restrict b = p[2];
  memset(b, 0, sizeof(float) * (size_t)(n[0] * n[2]));
  for (long o = 0; o < n[0]; o++)
    for (long c = 0; c < n[1]; c++)
      for (long x = 0; x < n[2]; x++) b[o * n[2] + x] += w[o * n[1] + c] * a[c * n[2] + x];
}

PROGRAM(maxpool) { // 2 x 2; n: channels, height, width of the result
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long c = 0; c < n[0]; c++)
    for (long y = 0; y < n[1]; y++)
      for (long x = 0; x < n[2]; x++) {
        float best = -INFINITY;
        for (long dy = 0; dy < 2; dy++)
          for (long dx = 0; dx < 2; dx++) {
            float v = a[(c * 2 * n[1] + 2 * y + dy) * 2 * n[2] + 2 * x + dx];
            best = v > best ? v : best;
          }
        b[(c * n[1] + y) * n[2] + x] = best;
      }
}

PROGRAM(avgpool) { // the mean of each channel
  const float *restrict a = p[0];
  float *restrict b = p[1];
  for (long c = 0; c < n[0]; c++) {
    float sum = 0;
    for (long x = 0; x < n[1]; x++) sum += a[c * n[1] + x];
    b[c] = sum / (float)n[1];
  }
}

PROGRAM(gemm_i8) {
  const int8_t *restrict a = p[0], *restrict b = p[1];
  int32_t *restrict c = p[2];
  memset(c, 0, sizeof(int32_t) * (size_t)(n[0] * n[1]));
  for (long i = 0; i < n[0]; i++)
    for (long k = 0; k < n[2]; k++)
      for (long j = 0; j < n[1]; j++) c[i * n[1] + j] += (int32_t)a[i * n[2] + k] * b[k * n[1] + j];
}

PROGRAM(argmax_rows) {
  const float *restrict a = p[0];
  float *restrict value = p[1];
  int64_t *restrict index = p[2];
  for (long i = 0; i < n[0]; i++) {
    value[i] = a[i * n[1]], index[i] = 0;
    for (long j = 1; j < n[1]; j++)
      if (a[i * n[1] + j] > value[i]) value[i] = a[i * n[1] + j], index[i] = j;
  }
}

PROGRAM(kmeans) { // the nearest centre of each point; n: points, centres, dimensions
  const float *restrict a = p[0], *restrict c = p[1];
  float *restrict value = p[2];
  int64_t *restrict index = p[3];
  for (long i = 0; i < n[0]; i++) {
    value[i] = INFINITY, index[i] = -1;
    for (long j = 0; j < n[1]; j++) {
      float sum = 0;
      for (long d = 0; d < n[2]; d++) {
        float e = a[i * n[2] + d] - c[j * n[2] + d];
        sum += e * e;
      }
      if (sum < value[i]) value[i] = sum, index[i] = j;
    }
  }
}

PROGRAM(ragged_mean) { // the mean of the first length[i] entries of each row
  const float *restrict a = p[0];
  const int32_t *restrict length = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++) {
    float sum = 0;
    for (long j = 0; j < n[1] && j < length[i]; j++) sum += a[i * n[1] + j];
    b[i] = sum / (float)(length[i] > 1 ? length[i] : 1);
  }
}
