// Two kinds of integers share the dtype i64. Index arithmetic, on loop variables and sizes, does not overflow: a tensor
// that is too large for a 64-bit index cannot exist. Data arithmetic wraps. An expression is exact if it does not wrap.
// Some rewrites are valid only for exact expressions, for example from x*2 // 2 to x. Such rewrites use the test in
// this file.
//
// A value read from data can be any value of its type. An expression that contains such a value is exact only if its
// range, derived from the types alone, fits in its type. The values of loop variables and sizes are not known here.
// Their absolute values are assumed to be at most 2^47, which is the limit of addresses. The absolute value of a result
// of index arithmetic is assumed to be at most 2^62. This is not assumed for a product with a large constant, since
// addresses do not contain such products, and the constant may come from data.
#include "ir/expr/range.h"
#include "ir/expr/whole.h"

#define VARIABLE ((__int128)1 << 47)
#define LARGEST 200 // number of nodes; an expression of data with more nodes is assumed to wrap
#define INDEX ((__int128)1 << 62)
#define LARGE_FACTOR (INT64_C(1) << 31)

typedef struct span {
  __int128 lo, hi;
} span;

static bool exact(const nw_expr *e, span *out);

static span of_dtype(nw_dtype t) {
  int bits = t == NW_BOOL ? 1 : 8 * nw_dtype_bytes(t);
  bool sign = nw_dtype_is_signed(t);
  __int128 most = ((__int128)1 << (bits - sign)) - 1;
  return (span){sign ? -most - 1 : 0, most};
}

static span of_constant(const nw_expr *e) {
  __int128 v = nw_number((nw_dtype)e->type.dtype, e->i);
  return (span){v, v};
}

static __int128 least(__int128 a, __int128 b) { return a < b ? a : b; }
static __int128 most(__int128 a, __int128 b) { return a > b ? a : b; }

static __int128 clamped(__int128 v) { return v < -INDEX ? -INDEX : v > INDEX ? INDEX : v; }

static bool is_large(const nw_expr *e) { return e->op == NW_OP_INT && (e->i > LARGE_FACTOR || e->i < -LARGE_FACTOR); }

// True if the result of e can be assumed to be in the range of indices. This is not assumed for data, nor for a product
// with a large constant. The assumption is not needed for min, max and select, since their result is the value of an
// operand.
static bool is_index_arithmetic(const nw_expr *e) {
  if (e->data || e->op == NW_OP_MIN || e->op == NW_OP_MAX || e->op == NW_OP_SELECT) return false;
  return e->op != NW_OP_MUL || !(is_large(e->arg[0]) || is_large(e->arg[1]));
}

// Returns the range -2^n..2^n - 1 with the least n that contains both ranges. Without negative numbers, returns 0..2^n - 1.
// An operation on the bits of two integers stays in this range.
static span of_bits(span a, span b) {
  __int128 top = most(most(a.hi, b.hi), most(~a.lo, ~b.lo)), all = 0;
  while (all < top) all = 2 * all + 1;
  return (span){a.lo < 0 || b.lo < 0 ? ~all : 0, all};
}

static int bits_of(__int128 v) {
  int n = 0;
  while (v >> n) n++;
  return n;
}

// A count out of range gives 0. No count is greater than 62.
static span shifted_left(span a, span n) {
  __int128 by = (__int128)1 << most(n.hi, 0);
  return (span){least(least(a.lo, a.lo * by), 0), most(most(a.hi, a.hi * by), 0)};
}

static span shifted_right(span a, span n) {
  int by = n.lo < 0 ? 0 : n.lo > 64 ? 64 : (int)n.lo;
  return (span){least(a.lo >> by, 0), a.hi < 0 ? -1 : a.hi >> by};
}

// Computes the range of the result of an op from the ranges a and b of its operands. The operands fit in 64 bits, with or
// without a sign, so nothing overflows here. Returns false for an op that is not in the list.
static bool arithmetic(nw_op op, span a, span b, span *out) {
  switch (op) {
  case NW_OP_ADD: *out = (span){a.lo + b.lo, a.hi + b.hi}; return true;
  case NW_OP_SUB: *out = (span){a.lo - b.hi, a.hi - b.lo}; return true;
  case NW_OP_NEG: *out = (span){-a.hi, -a.lo}; return true;
  case NW_OP_ABS:
    *out = (span){a.lo > 0 ? a.lo : a.hi < 0 ? -a.hi : 0, NW_MUTATED(abs_fits) ? a.hi : most(-a.lo, a.hi)};
    return true;
  case NW_OP_MIN: *out = (span){least(a.lo, b.lo), least(a.hi, b.hi)}; return true;
  case NW_OP_MAX: *out = (span){most(a.lo, b.lo), most(a.hi, b.hi)}; return true;
  case NW_OP_SELECT: *out = (span){least(a.lo, b.lo), most(a.hi, b.hi)}; return true;
  case NW_OP_MUL: {
    if (a.hi > INT64_MAX && b.hi > INT64_MAX) return false; // the product may need more than 127 bits
    __int128 p[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    *out = (span){least(least(p[0], p[1]), least(p[2], p[3])), most(most(p[0], p[1]), most(p[2], p[3]))};
    if (NW_MUTATED(products_fit)) *out = a;
    return true;
  }
  case NW_OP_FLOORDIV: // the divisor is a whole number other than 0
    *out = (span){-most(-a.lo, a.hi), most(-a.lo, a.hi)};
    return true;
  case NW_OP_FLOORMOD: *out = (span){least(b.lo, 0), most(b.hi, 0)}; return true;
  case NW_OP_BITAND:
    *out = of_bits(a, b);
    if (a.lo >= 0 || b.lo >= 0) *out = (span){0, a.lo < 0 ? b.hi : b.lo < 0 ? a.hi : least(a.hi, b.hi)};
    if (NW_MUTATED(mask_is_signed)) *out = b;
    return true;
  case NW_OP_BITOR:
  case NW_OP_BITXOR: *out = of_bits(a, b); return true;
  case NW_OP_BITNOT: *out = (span){~a.hi, ~a.lo}; return true;
  case NW_OP_SHL: return b.hi <= 62 && (*out = shifted_left(a, b), true);
  case NW_OP_SHR: *out = shifted_right(a, b); return true;
  case NW_OP_POPCOUNT: *out = (span){0, a.lo < 0 ? 64 : bits_of(a.hi)}; return true;
  default: return false;
  }
}

// True if e is exact; *out is then its range.
static bool exact(const nw_expr *e, span *out) {
  span a = {0}, b = {0}, type = of_dtype((nw_dtype)e->type.dtype);
  *out = type;
  switch (e->op) {
  case NW_OP_INT: *out = of_constant(e); return true;
  case NW_OP_VAR: *out = e->type.dtype == NW_INDEX && !e->data ? (span){-VARIABLE, VARIABLE} : type; return true;
  case NW_OP_CAST: // the value is in the range of its type for every operand
    if (nw_dtype_is_int((nw_dtype)e->arg[0]->type.dtype) || e->arg[0]->type.dtype == NW_BOOL) {
      a = of_dtype((nw_dtype)e->arg[0]->type.dtype);
      if (a.lo >= type.lo && a.hi <= type.hi) *out = a;
    }
    return true;
  case NW_OP_LOAD:
  case NW_OP_REDUCE: return true;
  case NW_OP_BROADCAST: return exact(e->arg[0], out);
  case NW_OP_RAMP: return !e->data;
  default: break;
  }
  int first = e->op == NW_OP_SELECT;
  if (e->n - first < 1 || e->n - first > 2) return !e->data;
  if (!exact(e->arg[first], &a) || (e->n - first == 2 && !exact(e->arg[first + 1], &b))) return false;
  if (!arithmetic((nw_op)e->op, a, b, out)) return !e->data;
  if (is_index_arithmetic(e)) *out = (span){clamped(out->lo), clamped(out->hi)};
  return out->lo >= type.lo && out->hi <= type.hi;
}

bool nw_is_exact(const nw_expr *e) {
  span s;
  return !e->data || NW_MUTATED(data_is_index) || (e->size <= LARGEST && exact(e, &s));
}

// ---- the values of an expression of data

// Returns a range that contains all values of e, which is an integer or a bool. If arithmetic may wrap, this is the
// range of its type. If r is NULL, only the types are known.
static span values_of(const nw_ranges *r, const nw_expr *e) {
  span type = of_dtype((nw_dtype)e->type.dtype), a = {0}, b = {0}, out = type;
  int64_t lo, hi;
  int first = e->op == NW_OP_SELECT;
  if (r && !e->data && nw_const_range(r, e, &lo, &hi)) return (span){lo, hi};
  if (e->op == NW_OP_INT) return of_constant(e);
  if (e->op == NW_OP_LOAD || e->op == NW_OP_REDUCE || e->n - first < 1 || e->n - first > 2) return type;
  if (nw_dtype_is_float((nw_dtype)e->arg[first]->type.dtype)) return type;
  a = values_of(r, e->arg[first]);
  if (e->n - first == 2) b = values_of(r, e->arg[first + 1]);
  if (e->op == NW_OP_CAST)
    out = a;
  else if (!arithmetic((nw_op)e->op, a, b, &out))
    return type;
  return out.lo < type.lo || out.hi > type.hi ? type : out;
}

bool nw_value_range(const nw_expr *e, int64_t *lo, int64_t *hi) {
  if (e->size > LARGEST || nw_dtype_is_float((nw_dtype)e->type.dtype)) return false;
  span v = values_of(NULL, e);
  *lo = (int64_t)v.lo;
  *hi = (int64_t)v.hi;
  return v.lo >= INT64_MIN && v.hi <= INT64_MAX;
}

// Returns the number of bits of the significand of a float dtype.
static int significand_bits(nw_dtype t) { return t == NW_F64 ? 53 : t == NW_F32 ? 24 : t == NW_F16 ? 11 : 8; }

static bool number_is_in(double v, nw_dtype t) {
  if (nw_dtype_is_float(t)) return v != v || nw_round(t, v) == v;
  span type = of_dtype(t);
  bool whole = v >= (double)type.lo && v < (double)type.hi + 1 && v == trunc(v);
  return whole && !(v == 0 && signbit(v));
}

static bool all_in(const nw_ranges *r, const nw_expr *e, nw_dtype t) {
  nw_dtype from = nw_is_rounded(e) ? (nw_dtype)e->type.dtype : NW_F32; // halves are computed in f32
  if (from == t || nw_dtype_widens(from, t)) return true;
  if (!nw_dtype_is_float(from)) {
    span v = values_of(r, e), type = of_dtype(t);
    if (nw_dtype_is_float(t)) type.hi = (__int128)1 << significand_bits(t), type.lo = -type.hi;
    return v.lo >= type.lo && v.hi <= type.hi;
  }
  switch (e->op) {
  case NW_OP_FLOAT: return number_is_in(e->f, t);
  case NW_OP_CAST: return all_in(r, e->arg[0], from) && all_in(r, e->arg[0], t); // then the cast changes no value
  case NW_OP_NEG:
  case NW_OP_ABS: return nw_dtype_is_float(t) && all_in(r, e->arg[0], t);
  case NW_OP_SELECT: return all_in(r, e->arg[1], t) && all_in(r, e->arg[2], t);
  case NW_OP_MIN:
  case NW_OP_MAX: return all_in(r, e->arg[0], t) && all_in(r, e->arg[1], t);
  default: return false;
  }
}

bool nw_all_in(const nw_ranges *r, const nw_expr *e, nw_dtype t) { return e->size <= LARGEST && all_in(r, e, t); }
