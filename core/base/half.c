#include "base/half.h"
#include <string.h>

static uint32_t bits_of(float f) {
  uint32_t u;
  memcpy(&u, &f, 4);
  return u;
}

static float float_of(uint32_t u) {
  float f;
  memcpy(&f, &u, 4);
  return f;
}

// Returns m / 2^bits, rounded to nearest, ties to even.
static uint32_t shift_rne(uint32_t m, int bits) {
  uint32_t half = 1u << (bits - 1), low = m & ((1u << bits) - 1);
  uint32_t q = m >> bits;
  return q + (low > half || (low == half && (q & 1)));
}

float nw_f16_to_f32(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, m = h & 0x3ff;
  if (e == 31) return float_of(sign | 0x7f800000 | m << 13);
  if (e) return float_of(sign | (e + 112) << 23 | m << 13);
  float f = (float)m * 0x1p-24f; // zero or subnormal, exact
  return float_of(bits_of(f) | sign);
}

uint16_t nw_f32_to_f16(float f) {
  uint32_t u = bits_of(f);
  uint16_t sign = (uint16_t)(u >> 16 & 0x8000);
  int e = (int)(u >> 23 & 255);
  uint32_t m = u & 0x7fffff;
  if (e == 255) return (uint16_t)(sign | 0x7c00 | (m ? 0x200 | m >> 13 : 0));
  if (e >= 143) return sign | 0x7c00;
  if (e >= 113) return (uint16_t)(sign + shift_rne((uint32_t)(e - 112) << 23 | m, 13)); // rounding up may give infinity
  if (e < 102) return sign;
  return (uint16_t)(sign | shift_rne(m | 0x800000, 126 - e));
}

float nw_bf16_to_f32(uint16_t h) { return float_of((uint32_t)h << 16); }

uint16_t nw_f32_to_bf16(float f) {
  uint32_t u = bits_of(f);
  if (f != f) return (uint16_t)(u >> 16 | 0x40);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// Converts a double to a float, and rounds to odd: an inexact result gets an odd last bit. If this result is rounded
// again, to at most 22 bits, it has the same value as the double rounded once.
static float round_to_odd(double d) {
  float f = (float)d;
  if (d != d || (double)f == d) return f;
  uint32_t u = bits_of(f);
  if (u & 1) return f;
  double away = (double)f < 0 ? -(double)f : (double)f, size = d < 0 ? -d : d;
  if (f == 0 && d < 0) u |= 0x80000000u;
  return float_of(away > size ? u - 1 : u + 1);
}

uint16_t nw_f64_to_f16(double d) { return nw_f32_to_f16(round_to_odd(d)); }

uint16_t nw_f64_to_bf16(double d) { return nw_f32_to_bf16(round_to_odd(d)); }
