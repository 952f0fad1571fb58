// Programs on bits.
#include "programs.h"

PROGRAM(hamming) { // distances of all pairs of codes; n: codes, words of a code
  const uint32_t *restrict a = p[0], *restrict b = p[1];
  int32_t *restrict d = p[2];
  for (long i = 0; i < n[0]; i++)
    for (long j = 0; j < n[0]; j++) {
      int32_t sum = 0;
      for (long k = 0; k < n[1]; k++) sum += __builtin_popcount(a[i * n[1] + k] ^ b[j * n[1] + k]);
      d[i * n[0] + j] = sum;
    }
}

PROGRAM(unpack4) { // two weights of four bits in a byte; n: rows, bytes of a row
  const uint8_t *restrict a = p[0];
  const float *restrict scale = p[1];
  float *restrict b = p[2];
  for (long i = 0; i < n[0]; i++)
    for (long j = 0; j < n[1]; j++)
      for (long h = 0; h < 2; h++)
        b[(i * 2 + h) * n[1] + j] = (float)((a[i * n[1] + j] >> (4 * h) & 15) - 8) * scale[i];
}

PROGRAM(xorshift) { // random numbers; n: times, generators
  const uint32_t *restrict first = p[0];
  uint32_t *restrict s = p[1];
  for (long x = 0; x < n[1]; x++) s[x] = first[x];
  for (long t = 1; t < n[0]; t++)
    for (long x = 0; x < n[1]; x++) {
      uint32_t v = s[(t - 1) * n[1] + x];
      v ^= v << 13;
      v ^= v >> 17;
      s[t * n[1] + x] = v ^ v << 5;
    }
}

PROGRAM(radix_count) { // how often each digit of four bits occurs; n: numbers
  const uint32_t *restrict a = p[0];
  int32_t *restrict count = p[1];
  for (long d = 0; d < 16; d++) count[d] = 0;
  for (long i = 0; i < n[0]; i++) count[a[i] >> 8 & 15]++;
}

PROGRAM(splitmix) { // hashes of 64 bits; n: numbers
  const uint64_t *restrict a = p[0];
  uint64_t *restrict h = p[1];
  for (long i = 0; i < n[0]; i++) {
    uint64_t z = a[i] + 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    h[i] = z ^ z >> 31;
  }
}

PROGRAM(own_exp) { // exp by a polynomial, and by the exponent in the bits; n: numbers
  const float *restrict x = p[0];
  float *restrict y = p[1];
  for (long i = 0; i < n[0]; i++) {
    float at = fminf(fmaxf(x[i], -87), 88), k = rintf(at * 0x1.715476p0f);
    float r = at - k * 0x1.62e4p-1f - k * 0x1.7f7d1cp-20f, sum = 1.0f / 5040, power;
    uint32_t bits = (uint32_t)((int32_t)k + 127) << 23;
    sum = sum * r + 1.0f / 720;
    sum = sum * r + 1.0f / 120;
    sum = sum * r + 1.0f / 24;
    sum = sum * r + 1.0f / 6;
    sum = sum * r + 0.5f;
    sum = sum * r + 1;
    sum = sum * r + 1;
    memcpy(&power, &bits, sizeof power);
    y[i] = sum * power;
  }
}
