// The evaluator of operations, made from the columns of ops.def. It computes with unbounded numbers (64 bits times 64 bits fit), so
// there is one rule: the result wraps to its dtype, and callers that must not wrap test for it.
#pragma once
#include "ir/expr/fold.h"
#include <math.h>

// Rounded towards minus infinity; b is not 0. Both fit 64 bits.
static inline __int128 nw_floor_quotient(__int128 a, __int128 b) {
  return b == -1 ? -a : nw_floordiv_i64((int64_t)a, (int64_t)b);
}

// The unbounded value of an operation on integers or bools; false if it has none.
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

// The value in the language: wrapped to t, the dtype of the result. wraps (may be NULL): true if wrapping changed it.
static inline bool nw_whole_op(nw_op op, nw_dtype t, int64_t a, int64_t b, int64_t *out, bool *wraps) {
  __int128 v = 0;
  if (!nw_whole_value(op, a, b, &v)) return false;
  *out = nw_wrap(t, (int64_t)v);
  if (wraps) *wraps |= *out != v;
  return true;
}

// ---- floats: NaN if either is; -0 is less than +0

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
