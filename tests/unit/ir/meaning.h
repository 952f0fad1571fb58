// Evaluates an expression by the rules of docs/language.md and ops.def. Uses no code of core/ir except the types of
// nodes.
//
// Integers wrap at their width. f32 and the halves are computed in f32. A half is rounded only by a store or a cast. A
// division by 0 and a read outside a buffer have no value. `and` and `or` evaluate both sides. A select evaluates only
// the branch that it takes.
//
// A read `A[e]` is memory.of[dtype][e]. A variable i, j, k or l is in memory.var.
#pragma once
#include "ir/expr/fold.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { MEMORY = 8, VARIABLES = 4 };

typedef struct value {
  bool none; // no value: a division by 0, or a read outside
  int64_t i; // the value of an integer or a bool
  double f; // the value of a float
} value;

typedef struct memory {
  value of[NW_DTYPE_COUNT][MEMORY];
  int64_t var[VARIABLES];
  bool overflow; // index arithmetic left the range of indices
} memory;

static inline bool is_half(nw_dtype t) { return t == NW_F16 || t == NW_BF16; }

static inline bool is_float(nw_dtype t) { return is_half(t) || t == NW_F32 || t == NW_F64; }

static inline bool is_integer(nw_dtype t) { return !is_float(t) && t != NW_BOOL; }

static inline bool is_unsigned(nw_dtype t) { return t == NW_U8 || t == NW_U16 || t == NW_U32 || t == NW_U64; }

static inline int width(nw_dtype t) {
  switch (t) {
  case NW_I8:
  case NW_U8: return 8;
  case NW_I16:
  case NW_U16: return 16;
  case NW_I32:
  case NW_U32: return 32;
  default: return 64;
  }
}

static inline int width_of_bits(nw_dtype t) { return is_half(t) ? 16 : t == NW_F32 ? 32 : t == NW_F64 ? 64 : width(t); }

static inline int64_t wrapped(nw_dtype t, uint64_t v) {
  int unused = 64 - width(t);
  if (t == NW_BOOL) return v != 0;
  return is_unsigned(t) ? (int64_t)(v << unused >> unused) : (int64_t)(v << unused) >> unused;
}

// Rounds `v` to a float with a significand of `bits` bits and a least exponent of `least`: to nearest, ties to even. A
// result above `most` becomes infinite.
static inline double rounded(double v, int bits, int least, double most) {
  if (v != v || isinf(v) || v == 0) return v;
  int e = ilogb(v) < least ? least : ilogb(v);
  double step = ldexp(1, e - (bits - 1)), r = rint(v / step) * step;
  return fabs(r) > most ? copysign(INFINITY, v) : copysign(r, v);
}

static inline double to_float(nw_dtype t, double v) {
  switch (t) {
  case NW_F16: return rounded(v, 11, -14, 65504);
  case NW_BF16: return rounded(v, 8, -126, 0x1.fep127);
  case NW_F32: return (double)(float)v;
  default: return v;
  }
}

static inline int64_t to_integer(nw_dtype t, double v) {
  if (t == NW_U64) return v >= 0x1p64 ? -1 : v > 0 ? (int64_t)(uint64_t)v : 0;
  int64_t most = is_unsigned(t) ? ((int64_t)1 << width(t)) - 1 : (int64_t)(~UINT64_C(0) >> (65 - width(t)));
  int64_t least = is_unsigned(t) ? 0 : -most - 1;
  if (v != v) return 0;
  if (v >= ldexp(1, width(t) - !is_unsigned(t))) return most;
  return v <= (double)least ? least : (int64_t)trunc(v);
}

static inline value number(int64_t i) { return (value){.i = i}; }

static inline value real(double f) { return (value){.f = f}; }

static inline value cast_value(nw_dtype from, nw_dtype to, value v) {
  if (is_float(from)) {
    if (is_float(to)) return real(to_float(to, v.f));
    return number(to == NW_BOOL ? v.f != 0 : to_integer(to, v.f));
  }
  if (!is_float(to)) return number(wrapped(to, (uint64_t)v.i));
  bool wide = from == NW_U64;
  if (to == NW_F64) return real(wide ? (double)(uint64_t)v.i : (double)v.i);
  return real(to_float(to, (double)(wide ? (float)(uint64_t)v.i : (float)v.i)));
}

static inline int64_t floor_quotient(int64_t a, int64_t b) {
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

// Shifts by n places, one place at a time. `a` is sign-extended or zero-extended to 64 bits.
static inline int64_t shifted(nw_op op, nw_dtype t, int64_t a, int64_t n) {
  if (n < 0 || n > width(t)) n = width(t);
  for (int64_t k = 0; k < n && t == NW_U64 && op == NW_OP_SHR; k++) a = (int64_t)((uint64_t)a / 2);
  for (int64_t k = 0; k < n && (t != NW_U64 || op == NW_OP_SHL); k++)
    a = op == NW_OP_SHL ? wrapped(t, 2 * (uint64_t)a) : floor_quotient(a, 2);
  return a;
}

static inline int ones_of(nw_dtype t, uint64_t v) {
  int n = 0;
  for (int k = 0; k < width(t); k++) n += v >> k & 1;
  return n;
}

// Evaluates the operations that depend on how 64 bits are ordered, for u64.
static inline value unsigned_op(nw_op op, uint64_t a, uint64_t b) {
  switch (op) {
  case NW_OP_FLOORDIV: return b ? number((int64_t)(a / b)) : (value){.none = true};
  case NW_OP_FLOORMOD: return b ? number((int64_t)(a % b)) : (value){.none = true};
  case NW_OP_MIN: return number((int64_t)(a < b ? a : b));
  case NW_OP_MAX: return number((int64_t)(a > b ? a : b));
  case NW_OP_ABS: return number((int64_t)a);
  case NW_OP_LT: return number(a < b);
  default: return number(a <= b);
  }
}

static inline bool orders(nw_op op) {
  return op == NW_OP_FLOORDIV || op == NW_OP_FLOORMOD || op == NW_OP_MIN || op == NW_OP_MAX || op == NW_OP_ABS ||
         op == NW_OP_LT || op == NW_OP_LE;
}

static inline value integer_op(nw_op op, nw_dtype t, int64_t a, int64_t b) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
  if (t == NW_U64 && orders(op)) return unsigned_op(op, ua, ub);
  switch (op) {
  case NW_OP_ADD: return number(wrapped(t, ua + ub));
  case NW_OP_SUB: return number(wrapped(t, ua - ub));
  case NW_OP_MUL: return number(wrapped(t, ua * ub));
  case NW_OP_FLOORDIV: return b ? number(wrapped(t, (uint64_t)floor_quotient(a, b))) : (value){.none = true};
  case NW_OP_FLOORMOD: return b ? number(wrapped(t, ua - ub * (uint64_t)floor_quotient(a, b))) : (value){.none = true};
  case NW_OP_MIN: return number(a < b ? a : b);
  case NW_OP_MAX: return number(a > b ? a : b);
  case NW_OP_NEG: return number(wrapped(t, 0 - ua));
  case NW_OP_ABS: return number(wrapped(t, a < 0 ? 0 - ua : ua));
  case NW_OP_BITAND: return number(wrapped(t, ua & ub));
  case NW_OP_BITOR: return number(wrapped(t, ua | ub));
  case NW_OP_BITXOR: return number(wrapped(t, ua ^ ub));
  case NW_OP_BITNOT: return number(wrapped(t, ~ua));
  case NW_OP_SHL:
  case NW_OP_SHR: return number(shifted(op, t, a, b));
  case NW_OP_POPCOUNT: return number(ones_of(t, ua));
  case NW_OP_LT: return number(a < b);
  case NW_OP_LE: return number(a <= b);
  case NW_OP_EQ: return number(a == b);
  case NW_OP_NE: return number(a != b);
  case NW_OP_AND: return number(a && b);
  case NW_OP_OR: return number(a || b);
  case NW_OP_NOT: return number(!a);
  default: abort();
  }
}

static inline double least_of(double a, double b) {
  if (a != a || b != b) return (double)NAN;
  return a < b || (a == b && signbit(a)) ? a : b;
}

static inline double greatest_of(double a, double b) {
  if (a != a || b != b) return (double)NAN;
  return a > b || (a == b && !signbit(a)) ? a : b;
}

// Returns the e with 2^(e - 1) <= |a| < 2^e, or 0 if there is none.
static inline int exponent_of(double a) { return a == 0 || a != a || isinf(a) ? 0 : ilogb(a) + 1; }

// Returns a*2^n, rounded to f32 or f64. `rounded` needs a number that f64 can represent, so f64 is scaled by the C library.
static inline value scaled(bool wide, double a, int64_t n) {
  int by = n > 3000 ? 3000 : n < -3000 ? -3000 : (int)n;
  return real(wide ? ldexp(a, by) : to_float(NW_F32, ldexp(a, by)));
}

// Returns the bits of a value of the float dtype t. Every NaN has the bits of the quiet NaN.
static inline uint64_t bits_of(nw_dtype t, double v) {
  int fraction = t == NW_F16    ? 10
                 : t == NW_BF16 ? 7
                 : t == NW_F32  ? 23
                                : 52,
      all = (1 << (width_of_bits(t) - 1 - fraction)) - 1;
  uint64_t sign = signbit(v) ? UINT64_C(1) << (width_of_bits(t) - 1) : 0;
  if (v != v) return (uint64_t)all << fraction | UINT64_C(1) << (fraction - 1);
  if (isinf(v)) return sign | (uint64_t)all << fraction;
  int e = v == 0 ? 0 : ilogb(v) + all / 2;
  if (e < 1) return sign | (uint64_t)ldexp(fabs(v), all / 2 - 1 + fraction);
  uint64_t significand = (uint64_t)ldexp(fabs(v), fraction - ilogb(v));
  return sign | (((uint64_t)e << fraction) + significand - (UINT64_C(1) << fraction));
}

// Returns the value of the float dtype t that has these bits.
static inline double of_bits(nw_dtype t, uint64_t bits) {
  int fraction = t == NW_F16    ? 10
                 : t == NW_BF16 ? 7
                 : t == NW_F32  ? 23
                                : 52,
      all = (1 << (width_of_bits(t) - 1 - fraction)) - 1;
  uint64_t m = bits & ((UINT64_C(1) << fraction) - 1);
  int e = (int)(bits >> fraction) & all;
  double v = e == all ? (m ? (double)NAN : (double)INFINITY)
                      : ldexp((double)(e ? m + (UINT64_C(1) << fraction) : m), (e ? e : 1) - all / 2 - fraction);
  return bits >> (width_of_bits(t) - 1) & 1 ? -v : v;
}

static inline value reinterpreted(nw_dtype from, nw_dtype to, value v) {
  uint64_t bits = is_float(from) ? bits_of(from, to_float(from, v.f)) : (uint64_t)v.i;
  return is_float(to) ? real(of_bits(to, bits)) : number(wrapped(to, bits));
}

static inline value float_op(nw_op op, bool wide, double a, double b, double c) {
  float x = (float)a, y = (float)b;
  switch (op) {
  case NW_OP_ADD: return real(wide ? a + b : (double)(x + y));
  case NW_OP_SUB: return real(wide ? a - b : (double)(x - y));
  case NW_OP_MUL: return real(wide ? a * b : (double)(x * y));
  case NW_OP_DIV: return real(wide ? a / b : (double)(x / y));
  case NW_OP_FMA: return real(wide ? fma(a, b, c) : (double)fmaf(x, y, (float)c));
  case NW_OP_MIN: return real(least_of(a, b));
  case NW_OP_MAX: return real(greatest_of(a, b));
  case NW_OP_NEG: return real(-a);
  case NW_OP_ABS: return real(fabs(a));
  case NW_OP_FLOOR: return real(floor(a));
  case NW_OP_CEIL: return real(ceil(a));
  case NW_OP_ROUND: return real(wide ? rint(a) : (double)rintf(x));
  case NW_OP_SQRT: return real(wide ? sqrt(a) : (double)sqrtf(x));
  case NW_OP_EXP: return real(wide ? exp(a) : (double)expf(x));
  case NW_OP_LOG: return real(wide ? log(a) : (double)logf(x));
  case NW_OP_TANH: return real(wide ? tanh(a) : (double)tanhf(x));
  case NW_OP_ERF: return real(wide ? erf(a) : (double)erff(x));
  case NW_OP_POW: return real(wide ? pow(a, b) : (double)powf(x, y));
  case NW_OP_MANTISSA: return real(ldexp(a, -exponent_of(a)));
  case NW_OP_EXPONENT: return number(exponent_of(a));
  case NW_OP_LT: return number(a < b);
  case NW_OP_LE: return number(a <= b);
  case NW_OP_EQ: return number(a == b);
  case NW_OP_NE: return number(a != b);
  default: abort();
  }
}

static inline value meaning(memory *m, const nw_expr *e, int lane);

static inline bool has_leaf(const nw_expr *e) {
  if (e->op == NW_OP_LOAD || e->op == NW_OP_VAR) return true;
  for (int i = 0; i < e->n; i++)
    if (has_leaf(e->arg[i])) return true;
  return false;
}

// Index arithmetic of a valid program has no values beyond 2^62. But a value that is computed from data, or from a
// variable that was cast to another dtype, may wrap around. from_data is true for such values, and beyond is true for
// results that are too large.
static inline bool from_data(const nw_expr *e) {
  if (e->op == NW_OP_LOAD) return true;
  bool converts = e->op == NW_OP_CAST || e->op == NW_OP_REINTERPRET;
  if (converts && e->arg[0]->type.dtype != e->type.dtype && has_leaf(e->arg[0])) return true;
  for (int i = 0; i < e->n; i++)
    if (from_data(e->arg[i])) return true;
  return false;
}

static inline bool beyond(nw_op op, int64_t a, int64_t b, int64_t r) {
  const int64_t most = INT64_C(1) << 62;
  int64_t v = r;
  bool lost = (op == NW_OP_ADD && __builtin_add_overflow(a, b, &v)) ||
              (op == NW_OP_SUB && __builtin_sub_overflow(a, b, &v)) ||
              (op == NW_OP_MUL && __builtin_mul_overflow(a, b, &v));
  bool grows = op == NW_OP_ADD || op == NW_OP_SUB || op == NW_OP_MUL || op == NW_OP_NEG || op == NW_OP_ABS ||
               op == NW_OP_FLOORDIV || op == NW_OP_SHL || op == NW_OP_BITNOT;
  if (op == NW_OP_SHL && b >= 0 && b < 64) lost = (int64_t)((uint64_t)a << b) >> b != a;
  return lost || (grows && (v > most || v < -most));
}

static inline value read_memory(memory *m, const nw_expr *e, int lane) {
  value at = meaning(m, e->arg[0], lane);
  if (at.none || at.i < 0 || at.i >= MEMORY) return (value){.none = true};
  return m->of[e->type.dtype][at.i];
}

static inline value vector_lane(memory *m, const nw_expr *e, int lane) {
  value a = meaning(m, e->arg[0], 0), b = meaning(m, e->arg[1], 0);
  if (a.none || b.none) return (value){.none = true};
  int64_t last = 0;
  bool lost = __builtin_mul_overflow(b.i, e->type.lanes, &last) || __builtin_add_overflow(a.i, last, &last);
  if (e->type.dtype == NW_INDEX && lost && !from_data(e)) m->overflow = true;
  return number(wrapped((nw_dtype)e->type.dtype, (uint64_t)a.i + (uint64_t)lane * (uint64_t)b.i));
}

// Returns the value of e in one lane. A scalar has the same value in each lane.
static inline value meaning(memory *m, const nw_expr *e, int lane) {
  switch (e->op) {
  case NW_OP_INT: return number(e->i);
  case NW_OP_FLOAT: return real(e->f);
  case NW_OP_VAR: return number(m->var[e->name[0] - 'i']);
  case NW_OP_LOAD: return read_memory(m, e, lane);
  case NW_OP_RAMP: return vector_lane(m, e, lane);
  case NW_OP_BROADCAST: return meaning(m, e->arg[0], 0);
  case NW_OP_SELECT: {
    value c = meaning(m, e->arg[0], lane);
    return c.none ? c : meaning(m, e->arg[c.i ? 1 : 2], lane);
  }
  }
  value v[3] = {{0}};
  for (int i = 0; i < e->n; i++) v[i] = meaning(m, e->arg[i], lane);
  for (int i = 0; i < e->n; i++)
    if (v[i].none) return v[i];
  nw_dtype t = (nw_dtype)e->type.dtype, of = (nw_dtype)e->arg[0]->type.dtype;
  if (e->op == NW_OP_CAST) return cast_value(of, t, v[0]);
  if (e->op == NW_OP_REINTERPRET) return reinterpreted(of, t, v[0]);
  if (e->op == NW_OP_LDEXP) return scaled(of == NW_F64, v[0].f, v[1].i);
  if (is_float(of)) return float_op((nw_op)e->op, of == NW_F64, v[0].f, v[1].f, v[2].f);
  value r = integer_op((nw_op)e->op, of == NW_BOOL ? NW_BOOL : t == NW_BOOL ? of : t, v[0].i, v[1].i);
  if (t == NW_INDEX && !r.none && beyond((nw_op)e->op, v[0].i, v[1].i, r.i) && !from_data(e)) m->overflow = true;
  return r;
}

// True if the bits are the same. All NaNs are equal, and -0 differs from 0.
static inline bool same_value(nw_dtype t, value a, value b) {
  if (a.none || b.none) return a.none == b.none;
  if (!is_float(t)) return a.i == b.i;
  return a.f != a.f ? b.f != b.f : a.f == b.f && signbit(a.f) == signbit(b.f);
}

// ---------------------------------------------------------------- values to try

static inline uint64_t next_random(uint64_t *seed) {
  uint64_t z = *seed += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
  return z ^ z >> 31;
}

static inline int64_t random_to(uint64_t *seed, int64_t n) { return (int64_t)(next_random(seed) % (uint64_t)n); }

// Returns the value of the 16-bit float of type `t` with these bits, without a table.
static inline double half_of_bits(nw_dtype t, unsigned bits) {
  int mantissa = t == NW_F16 ? 10 : 7, bias = t == NW_F16 ? 15 : 127, top = t == NW_F16 ? 31 : 255;
  int e = (int)(bits >> mantissa) & top, m = (int)(bits & ((1u << mantissa) - 1));
  double v = e == top ? (m ? (double)NAN : (double)INFINITY)
                      : ldexp(e ? m + (1 << mantissa) : m, (e ? e : 1) - bias - mantissa);
  return bits & 0x8000 ? -v : v;
}

static inline double random_float(uint64_t *seed, nw_dtype t) {
  static const double special[] = {
      0.0,        -0.0,     1,         -1,       2,       0.5,     -1.5,  3,      INFINITY,       -INFINITY,
      NAN,        0x1p-149, -0x1p-149, 0x1p-126, 0x1p-24, 0x1p-14, 65504, -65504, 0x1.fffffep127, 0x1p-1074,
      -0x1p-1022, DBL_MAX,  -DBL_MAX,  1e16,     7,       100,     -3};
  uint64_t r = next_random(seed);
  uint32_t bits = (uint32_t)(r >> 32);
  float f;
  double d;
  switch (r % 8) {
  case 0:
  case 1: return to_float(t, special[(r >> 8) % NW_COUNT(special)]);
  case 2:
  case 3: return to_float(t, (double)((int64_t)(r >> 8) % 200 - 100) / 8);
  case 4: return (r >> 8) & 1 ? -0.0 : 0.0;
  default: break;
  }
  if (is_half(t)) return half_of_bits(t, bits & 0xFFFF);
  if (t == NW_F32) return memcpy(&f, &bits, sizeof f), (double)f;
  r = next_random(seed);
  return memcpy(&d, &r, sizeof d), d;
}

static inline int64_t random_integer(uint64_t *seed, nw_dtype t) {
  static const int64_t special[] = {0, 1, -1, 2, -2, 3, 7, 8, 16, -16, 127, 128, 255};
  uint64_t r = next_random(seed);
  uint64_t top = UINT64_C(1) << (width(t) - 1);
  switch (r % 5) {
  case 0: return wrapped(t, (uint64_t)special[(r >> 8) % NW_COUNT(special)]);
  case 1: return wrapped(t, top + (r >> 8) % 5 - 2);
  case 2: return wrapped(t, (r >> 8) % 64);
  case 3: return wrapped(t, (UINT64_C(1) << (r >> 8) % (uint64_t)width(t)) - (r >> 20) % 2);
  default: return wrapped(t, next_random(seed));
  }
}

static inline value random_value(uint64_t *seed, nw_dtype t) {
  if (is_float(t)) return real(random_float(seed, t));
  return number(t == NW_BOOL ? random_to(seed, 2) : random_integer(seed, t));
}

static inline void print_value(nw_str *out, nw_dtype t, value v) {
  if (v.none)
    nw_str_add(out, "nothing");
  else if (is_float(t))
    nw_str_fmt(out, "%.17g", v.f);
  else
    nw_str_fmt(out, t == NW_U64 ? "%llu" : "%lld", (long long)v.i);
}
