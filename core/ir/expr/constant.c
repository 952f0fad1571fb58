// Computes operations on constants as a running program does: integers wrap, floats round to their dtype, integer
// division rounds down, min and max propagate NaN, and casts from floats to integers saturate.
#include "base/half.h"
#include "ir/expr/whole.h"

int64_t nw_wrap(nw_dtype t, int64_t v) {
  switch (t) {
  case NW_BOOL: return v != 0;
  case NW_I8: return (int8_t)v;
  case NW_I16: return (int16_t)v;
  case NW_I32: return (int32_t)v;
  case NW_U8: return (uint8_t)v;
  case NW_U16: return (uint16_t)v;
  case NW_U32: return (uint32_t)v;
  default: return v;
  }
}

bool nw_fits(nw_dtype t, int64_t v) { return t == NW_BOOL ? v == 0 || v == 1 : nw_wrap(t, v) == v; }

double nw_round(nw_dtype t, double v) {
  if (v != v) return (double)NAN;
  switch (t) {
  case NW_F16: return (double)nw_f16_to_f32(nw_f64_to_f16(v));
  case NW_BF16: return (double)nw_bf16_to_f32(nw_f64_to_bf16(v));
  case NW_F32: return (double)(float)v;
  default: return v;
  }
}

static void int_limits(nw_dtype t, int64_t *lo, int64_t *hi) {
  int bits = 8 * nw_dtype_bytes(t);
  bool sign = nw_dtype_is_signed(t);
  *hi = (int64_t)(~(uint64_t)0 >> (64 - bits + sign));
  *lo = sign ? -*hi - 1 : 0;
}

int64_t nw_saturate(nw_dtype t, double v) {
  int64_t lo, hi;
  if (v != v) return 0;
  if (t == NW_U64) return v <= 0 ? 0 : v >= 0x1p64 ? -1 : (int64_t)(uint64_t)v;
  int_limits(t, &lo, &hi);
  if (v <= (double)lo) return lo;
  return v >= (double)hi ? hi : (int64_t)v;
}

static double int_to_float(nw_dtype from, nw_dtype t, int64_t v) {
  uint64_t u = (uint64_t)v;
  if (t == NW_F64) return from == NW_U64 ? (double)u : (double)v;
  return nw_round(t, (double)(from == NW_U64 ? (float)u : (float)v));
}

const nw_expr *nw_constant_cast(nw_pool *p, nw_dtype t, const nw_expr *c) {
  if (c->op == NW_OP_INT) {
    if (!nw_dtype_is_float(t)) return nw_int(p, t, c->i);
    return nw_float(p, t, int_to_float((nw_dtype)c->type.dtype, t, c->i));
  }
  if (nw_dtype_is_float(t)) return nw_float(p, t, c->f);
  return t == NW_BOOL ? nw_int(p, t, c->f != 0) : nw_int(p, t, nw_saturate(t, c->f));
}

// Computes an operation in f64. The caller then rounds the result to its dtype. For f32 and narrower floats, this gives
// the correctly rounded result, since an f64 has more than twice as many significant bits. Returns false if the result
// in f64 may be different, or if the operation is not defined on floats.
static bool float_op(nw_op op, double a, double b, double *r, int64_t *number) {
  if (NW_MUTATED(zeros_alike) && op == NW_OP_MAX) return *r = a < b ? b : a, true;
  switch (op) {
#define F(name) name
#define VALUE(e) return *r = (e), true
#define WHOLE(e) return *number = (e), true
#define TYPED(e) return false
#define NONE return false
#define NW_OP(id, name, arity, types, sign, prec, whole, real, ...)                                                    \
  case NW_OP_##id: {                                                                                                   \
    real;                                                                                                              \
  }
#include "ir/ops.def"
  default: return false;
  }
}

// True if f is the result of an operation on halves (f16 or bf16) and must not be rounded here. Halves are computed in
// f32. A result that f32 can represent but a half cannot is rounded when it is stored.
static bool rounds_later(nw_dtype t, double f) {
  if (t != NW_F16 && t != NW_BF16) return false;
  float single = (float)f;
  return single == single && nw_round(t, (double)single) != (double)single;
}

const nw_expr *nw_constant_op(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  if (n < 1 || n > 2 || t.lanes != 1) return NULL;
  for (int i = 0; i < n; i++)
    if (!nw_is_constant(args[i])) return NULL;
  int64_t r = 0;
  double f = 0;
  if (args[0]->op == NW_OP_INT)
    return nw_whole_op(op, (nw_dtype)args[0]->type.dtype, (nw_dtype)t.dtype, args[0]->i, n == 2 ? args[1]->i : 0, &r,
                       NULL)
               ? NW_BY(constant_integers, nw_int(p, t.dtype, r))
               : NULL;
  if (!float_op(op, args[0]->f, n == 2 ? args[1]->f : 0, &f, &r)) return NULL;
  if (!nw_dtype_is_float((nw_dtype)t.dtype)) return NW_BY(constant_floats, nw_int(p, (nw_dtype)t.dtype, r));
  bool later = rounds_later(t.dtype, f) && !NW_MUTATED(halves_folded);
  return later ? NULL : NW_BY(constant_floats, nw_float(p, t.dtype, f));
}

// ldexp of an f32 in f64 is exact, or far below the least f32. So rounding it to f32 gives the same value as rounding once.
const nw_expr *nw_constant_ldexp(nw_pool *p, nw_dtype t, const nw_expr *x, const nw_expr *n) {
  int64_t count = n->i < -NW_MOST_SCALE ? -NW_MOST_SCALE : n->i > NW_MOST_SCALE ? NW_MOST_SCALE : n->i;
  double v = ldexp(x->f, (int)count);
  return rounds_later(t, v) ? NULL : nw_float(p, t, v);
}

const nw_expr *nw_constant_bits(nw_pool *p, nw_dtype t, const nw_expr *c) {
  if (c->op == NW_OP_FLOAT) return nw_int(p, t, nw_float_bits((nw_dtype)c->type.dtype, c->f));
  return nw_float(p, t, nw_bits_float(t, c->i));
}
