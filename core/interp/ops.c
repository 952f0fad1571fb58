// What each op does to cells. Integers wrap to their dtype; nothing is contracted or reordered.
#include "interp/node.h"
#include <math.h>

#define NW_UNARY(name, member, value)                                                                                  \
  static void name(nwi_run *r, nwi_node *n) {                                                                          \
    const nwi_cell *a = nwi_get(r, n->arg[0]);                                                                         \
    for (int l = 0; l < n->lanes; l++) n->v[l].member = (value);                                                       \
  }
#define NW_BINARY(name, member, value)                                                                                 \
  static void name(nwi_run *r, nwi_node *n) {                                                                          \
    const nwi_cell *a = nwi_get(r, n->arg[0]), *b = nwi_get(r, n->arg[1]);                                             \
    for (int l = 0; l < n->lanes; l++) n->v[l].member = (value);                                                       \
  }
#define NW_WRAPPED(e) nw_wrap((nw_dtype)n->dtype, (int64_t)(e))
#define NW_U(x) ((uint64_t)(x))

// ---- integers

NW_BINARY(add_i, i, NW_WRAPPED(NW_U(a[l].i) + NW_U(b[l].i)))
NW_BINARY(sub_i, i, NW_WRAPPED(NW_U(a[l].i) - NW_U(b[l].i)))
NW_BINARY(mul_i, i, NW_WRAPPED(NW_U(a[l].i) * NW_U(b[l].i)))
NW_BINARY(min_i, i, a[l].i < b[l].i ? a[l].i : b[l].i)
NW_BINARY(max_i, i, a[l].i > b[l].i ? a[l].i : b[l].i)
NW_UNARY(neg_i, i, NW_WRAPPED(-NW_U(a[l].i)))
NW_UNARY(abs_i, i, NW_WRAPPED(a[l].i < 0 ? -NW_U(a[l].i) : NW_U(a[l].i)))
NW_BINARY(lt_i, i, a[l].i < b[l].i)
NW_BINARY(le_i, i, a[l].i <= b[l].i)
NW_BINARY(eq_i, i, a[l].i == b[l].i)
NW_BINARY(ne_i, i, a[l].i != b[l].i)
NW_BINARY(and_i, i, a[l].i &b[l].i)
NW_BINARY(or_i, i, a[l].i | b[l].i)
NW_UNARY(not_i, i, !a[l].i)

static int64_t divide(nwi_run *r, int64_t a, int64_t b) {
  if (b == 0) return nwi_fail(r, NW_ERANGE, "an integer is divided by zero"), 0;
  return b == -1 ? (int64_t)-NW_U(a) : nw_floordiv_i64(a, b);
}

static int64_t modulo(nwi_run *r, int64_t a, int64_t b) {
  if (b == 0) return nwi_fail(r, NW_ERANGE, "an integer is divided by zero"), 0;
  return b == -1 ? 0 : nw_floormod_i64(a, b);
}

NW_BINARY(floordiv_i, i, NW_WRAPPED(divide(r, a[l].i, b[l].i)))
NW_BINARY(floormod_i, i, NW_WRAPPED(modulo(r, a[l].i, b[l].i)))

nwi_eval nwi_int_op(nw_op op) {
  switch (op) {
  case NW_OP_ADD: return add_i;
  case NW_OP_SUB: return sub_i;
  case NW_OP_MUL: return mul_i;
  case NW_OP_FLOORDIV: return floordiv_i;
  case NW_OP_FLOORMOD: return floormod_i;
  case NW_OP_MIN: return min_i;
  case NW_OP_MAX: return max_i;
  case NW_OP_NEG: return neg_i;
  case NW_OP_ABS: return abs_i;
  case NW_OP_LT: return lt_i;
  case NW_OP_LE: return le_i;
  case NW_OP_EQ: return eq_i;
  case NW_OP_NE: return ne_i;
  case NW_OP_AND: return and_i;
  case NW_OP_OR: return or_i;
  case NW_OP_NOT: return not_i;
  default: return NULL;
  }
}

// ---- floats

// NaN if either is; -0 is less than +0.
static float least_f(float a, float b) { return isnan(a) ? a : isnan(b) ? b : a < b || (a == b && signbit(a)) ? a : b; }
static float most_f(float a, float b) { return isnan(a) ? a : isnan(b) ? b : a > b || (a == b && !signbit(a)) ? a : b; }
static double least_d(double a, double b) {
  return isnan(a) ? a : isnan(b) ? b : a < b || (a == b && signbit(a)) ? a : b;
}
static double most_d(double a, double b) {
  return isnan(a) ? a : isnan(b) ? b : a > b || (a == b && !signbit(a)) ? a : b;
}

#define NW_FLOATS(s, m, least, most, floor_of, ceil_of, sqrt_of, abs_of)                                               \
  NW_BINARY(add_##s, m, a[l].m + b[l].m)                                                                               \
  NW_BINARY(sub_##s, m, a[l].m - b[l].m)                                                                               \
  NW_BINARY(mul_##s, m, a[l].m *b[l].m)                                                                                \
  NW_BINARY(div_##s, m, a[l].m / b[l].m)                                                                               \
  NW_BINARY(floordiv_##s, m, floor_of(a[l].m / b[l].m))                                                                \
  NW_BINARY(floormod_##s, m, a[l].m - b[l].m * floor_of(a[l].m / b[l].m))                                              \
  NW_BINARY(min_##s, m, least(a[l].m, b[l].m))                                                                         \
  NW_BINARY(max_##s, m, most(a[l].m, b[l].m))                                                                          \
  NW_UNARY(neg_##s, m, -a[l].m)                                                                                        \
  NW_UNARY(abs_##s, m, abs_of(a[l].m))                                                                                 \
  NW_UNARY(floor_##s, m, floor_of(a[l].m))                                                                             \
  NW_UNARY(ceil_##s, m, ceil_of(a[l].m))                                                                               \
  NW_UNARY(sqrt_##s, m, sqrt_of(a[l].m))                                                                               \
  NW_BINARY(lt_##s, i, a[l].m < b[l].m)                                                                                \
  NW_BINARY(le_##s, i, a[l].m <= b[l].m)                                                                               \
  NW_BINARY(eq_##s, i, a[l].m == b[l].m)                                                                               \
  NW_BINARY(ne_##s, i, a[l].m != b[l].m)
NW_FLOATS(f, f, least_f, most_f, floorf, ceilf, sqrtf, fabsf)
NW_FLOATS(d, d, least_d, most_d, floor, ceil, sqrt, fabs)

static void fma_f(nwi_run *r, nwi_node *n) {
  const nwi_cell *a = nwi_get(r, n->arg[0]), *b = nwi_get(r, n->arg[1]), *c = nwi_get(r, n->arg[2]);
  for (int l = 0; l < n->lanes; l++) n->v[l].f = fmaf(a[l].f, b[l].f, c[l].f);
}

static void fma_d(nwi_run *r, nwi_node *n) {
  const nwi_cell *a = nwi_get(r, n->arg[0]), *b = nwi_get(r, n->arg[1]), *c = nwi_get(r, n->arg[2]);
  for (int l = 0; l < n->lanes; l++) n->v[l].d = fma(a[l].d, b[l].d, c[l].d);
}

#define NW_ROW(id, name) [NW_OP_##id] = {name##_f, name##_d}
static const nwi_eval float_op[NW_OP_COUNT][2] = {
    NW_ROW(ADD, add),
    NW_ROW(SUB, sub),
    NW_ROW(MUL, mul),
    NW_ROW(DIV, div),
    NW_ROW(FLOORDIV, floordiv),
    NW_ROW(FLOORMOD, floormod),
    NW_ROW(MIN, min),
    NW_ROW(MAX, max),
    NW_ROW(NEG, neg),
    NW_ROW(ABS, abs),
    NW_ROW(FLOOR, floor),
    NW_ROW(CEIL, ceil),
    NW_ROW(SQRT, sqrt),
    NW_ROW(LT, lt),
    NW_ROW(LE, le),
    NW_ROW(EQ, eq),
    NW_ROW(NE, ne),
    NW_ROW(FMA, fma),
};

nwi_eval nwi_float_op(nw_op op, nw_dtype t) {
  if (nw_op_has(op, 'M')) return nwi_eval_math;
  return float_op[op][t == NW_F64];
}

// The plan's rows, each on its piece of the lanes. Halves are computed in f32.
void nwi_eval_math(nwi_run *r, nwi_node *n) {
  const nwi_cell *a = nwi_get(r, n->arg[0]), *b = n->nargs > 1 ? nwi_get(r, n->arg[1]) : NULL;
  int at = 0;
  for (int k = 0; k < n->nrows; k++) {
    const nw_math_row *row = n->row[k];
    float fa[16], fb[16], fo[16];
    double da[8], db[8], dout[8];
    bool wide = row->dtype == NW_F64;
    for (int l = 0; l < row->lanes; l++) {
      if (wide)
        da[l] = a[at + l].d, db[l] = b ? b[at + l].d : 0;
      else
        fa[l] = a[at + l].f, fb[l] = b ? b[at + l].f : 0;
    }
    if (wide)
      row->apply(dout, da, db);
    else
      row->apply(fo, fa, fb);
    for (int l = 0; l < row->lanes; l++) {
      if (wide)
        n->v[at + l].d = dout[l];
      else
        n->v[at + l].f = fo[l];
    }
    at += row->lanes;
  }
}
