// Evaluates operations on integers, as the columns of ops.def define them. The exact value is computed with 128 bits,
// which can hold the product of any two 64-bit numbers. Then it is wrapped to the dtype of the result. A caller that
// needs the exact value checks whether wrapping changed it.
#pragma once
#include "base/half.h"
#include "ir/expr/fold.h"
#include <math.h>

// Returns the number that the 64 bits v stand for in the integer dtype t.
static inline __int128 nw_number(nw_dtype t, int64_t v) { return t == NW_U64 ? (__int128)(uint64_t)v : v; }

// Returns the quotient rounded towards minus infinity. b is not 0, and both numbers fit in 64 bits, with or without a sign.
static inline __int128 nw_floor_quotient(__int128 a, __int128 b) {
  if (a > INT64_MAX || b > INT64_MAX) return (__int128)((uint64_t)a / (uint64_t)b);
  return b == -1 ? -a : nw_floordiv_i64((int64_t)a, (int64_t)b);
}

// Returns the product of two numbers of 64 bits. A product of two large numbers of u64 wraps at 128 bits.
static inline __int128 nw_times(__int128 a, __int128 b) {
  return (__int128)((unsigned __int128)a * (unsigned __int128)b);
}

// ---- shifts: all bits are shifted out if the count is negative, or if it is not less than the width. The exact value
// has enough bits for every narrower integer, so these functions need no width.
static inline __int128 nw_shifted_left(__int128 a, __int128 n) { return n < 0 || n > 63 ? 0 : a * ((__int128)1 << n); }
static inline __int128 nw_shifted_right(__int128 a, __int128 n) { return a >> (n < 0 || n > 63 ? 64 : n); }

// Returns the number of ones among the bits of a, which is an integer of dtype t.
static inline int nw_ones(nw_dtype t, __int128 a) {
  return __builtin_popcountll((uint64_t)a & UINT64_MAX >> (64 - 8 * nw_dtype_bytes(t)));
}

// Computes the exact value of an operation on integers or bools of dtype t. Returns false if the operation has no value.
static inline bool nw_whole_value(nw_op op, nw_dtype t, __int128 a, __int128 b, __int128 *out) {
  (void)t;
  switch (op) {
#define VALUE(e) return *out = (e), true
#define NONZERO(e) return b != 0 && (*out = (e), true)
#define NONE return false
#define NW_OP(id, name, arity, types, sign, prec, whole, ...)                                                          \
  case NW_OP_##id:                                                                                                     \
    whole;
#include "ir/ops.def"
#undef VALUE
#undef NONZERO
#undef NONE
  default: return false;
  }
}

// Computes the value that the language defines for operands of dtype `of`, which is the exact value, wrapped to the dtype
// t of the result. Returns false if the operation has no value. If wrapping changed the value and `wraps` is not NULL,
// sets *wraps to true.
static inline bool nw_whole_op(nw_op op, nw_dtype of, nw_dtype t, int64_t a, int64_t b, int64_t *out, bool *wraps) {
  __int128 v = 0;
  if (!nw_whole_value(op, of, nw_number(of, a), nw_number(of, b), &v)) return false;
  *out = nw_wrap(t, (int64_t)v);
  if (wraps) *wraps |= nw_number(t, *out) != v;
  return true;
}

// ---- minimum and maximum of floats: NaN if an operand is NaN; -0 is less than +0

static inline float nw_leastf(float a, float b) {
  return isnan(a) ? a : isnan(b) ? b : a < b || (a == b && signbit(a)) ? a : b;
}
static inline float nw_mostf(float a, float b) {
  return isnan(a) ? a : isnan(b) ? b : a > b || (a == b && !signbit(a)) ? a : b;
}
static inline double nw_least(double a, double b) {
  return isnan(a) ? a : isnan(b) ? b : a < b || (a == b && signbit(a)) ? a : b;
}
static inline double nw_most(double a, double b) {
  return isnan(a) ? a : isnan(b) ? b : a > b || (a == b && !signbit(a)) ? a : b;
}

// ---- the parts of a float: x is mantissa*2^exponent, and the absolute value of the mantissa is in 0.5..1. The mantissa of
// 0, of an infinity and of NaN is the number itself, and the exponent is 0

static inline float nw_mantissaf(float a) {
  int e;
  return isfinite(a) ? frexpf(a, &e) : a;
}
static inline double nw_mantissa(double a) {
  int e;
  return isfinite(a) ? frexp(a, &e) : a;
}
static inline int nw_exponent(double a) {
  int e = 0;
  if (isfinite(a)) frexp(a, &e);
  return e;
}
static inline int nw_exponentf(float a) { return nw_exponent((double)a); }

// ---- bits of floats

// Returns the bits of a value of the float dtype t. All NaNs have the same bits.
static inline int64_t nw_float_bits(nw_dtype t, double v) {
  float f = (float)v;
  uint32_t single;
  int64_t wide;
  bool nan = isnan(v);
  switch (t) {
  case NW_F16: return nan ? 0x7e00 : nw_f32_to_f16(f);
  case NW_BF16: return nan ? 0x7fc0 : nw_f32_to_bf16(f);
  case NW_F32: return memcpy(&single, &f, sizeof f), nan ? 0x7fc00000 : single;
  default: return memcpy(&wide, &v, sizeof v), nan ? INT64_C(0x7ff8000000000000) : wide;
  }
}

// Returns the value of the float dtype t with these bits.
static inline double nw_bits_float(nw_dtype t, int64_t bits) {
  uint32_t single = (uint32_t)bits;
  float f;
  double d;
  switch (t) {
  case NW_F16: return (double)nw_f16_to_f32((uint16_t)bits);
  case NW_BF16: return (double)nw_bf16_to_f32((uint16_t)bits);
  case NW_F32: return memcpy(&f, &single, sizeof f), (double)f;
  default: return memcpy(&d, &bits, sizeof d), d;
  }
}
