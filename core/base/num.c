// Computes hashes, random numbers and integer arithmetic. The result of the arithmetic is defined for all operands
// except a zero divisor.
#include "base/base.h"

uint64_t nw_hash_mix(uint64_t h, uint64_t x) {
  unsigned __int128 m = (unsigned __int128)(h ^ x ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
  return (uint64_t)(m >> 64) ^ (uint64_t)m * 0xff51afd7ed558ccdu;
}

uint64_t nw_hash_bytes(const void *p, size_t n) {
  const unsigned char *s = p;
  uint64_t h = n;
  for (; n >= 8; n -= 8, s += 8) {
    uint64_t word;
    memcpy(&word, s, 8);
    h = nw_hash_mix(h, word);
  }
  uint64_t rest = 0;
  memcpy(&rest, s, n);
  return nw_hash_mix(h, rest);
}

uint64_t nw_draw(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

// The quotient of INT64_MIN by -1 wraps to INT64_MIN, as negation does.
int64_t nw_floordiv_i64(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a % b < 0) != (b < 0));
}

int64_t nw_floormod_i64(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

int64_t nw_gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t t = x % y;
    x = y;
    y = t;
  }
  return x > INT64_MAX ? 1 : (int64_t)x;
}
