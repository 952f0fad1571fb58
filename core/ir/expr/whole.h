// Evaluates operations on integers, as the columns of ops.def define them. The exact value is computed with 128 bits,
// which can hold the product of any two 64-bit numbers. Then it is wrapped to the dtype of the result. A caller that
// needs the exact value checks whether wrapping changed it.
#pragma once
#include "ir/expr/fold.h"
#include <math.h>

// Returns the quotient rounded towards minus infinity. b is not 0, and both numbers fit in 64 bits.
static inline __int128 nw_floor_quotient(__int128 a, __int128 b) {
  return b == -1 ? -a : nw_floordiv_i64((int64_t)a, (int64_t)b);
}

// Computes the exact value of an operation on integers or bools. Returns false if the operation has no value.
static inline bool nw_whole_value(nw_op op, __int128 a, __int128 b, __int128 *out) {
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

// Computes the value that the language defines, which is the exact value, wrapped to the dtype t of the result. Returns
// false if the operation has no value. If wrapping changed the value and `wraps` is not NULL, sets *wraps to true.
static inline bool nw_whole_op(nw_op op, nw_dtype t, int64_t a, int64_t b, int64_t *out, bool *wraps) {
  __int128 v = 0;
  if (!nw_whole_value(op, a, b, &v)) return false;
  *out = nw_wrap(t, (int64_t)v);
  if (wraps) *wraps |= *out != v;
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
