// The one evaluator of operations, from the columns of ops.def. Numbers are computed without end (64 bits times 64 bits fit), so
// there is one rule: the result wraps to its dtype, and whoever holds that it must not asks whether it did.
#pragma once
#include "ir/expr/fold.h"
#include <math.h>

// Rounded towards minus infinity; b is not 0. Both fit 64 bits.
static inline __int128 nw_floor_quotient(__int128 a, __int128 b) {
  return b == -1 ? -a : nw_floordiv_i64((int64_t)a, (int64_t)b);
}

// The value without end of an operation on integers or bools; false where it has none.
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

// The same as the language has it: wrapped to t, the dtype of the result. wraps (may be NULL) is set where that changed it.
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
