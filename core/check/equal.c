// Tests whether two expressions have the same values, on corner values and on random values. Both are evaluated by the
// interpreter.
//
// Integers must agree exactly. Floats are compared in f64, where an equality of real numbers holds up to rounding: the
// difference must be small relative to the largest number that occurs in either expression. A point at which a number
// leaves the range of f64 tells nothing about the equality, so it is not compared. Both expressions are also evaluated in
// their own dtype, to find points at which only the new expression overflows.
//
// An identity of real numbers need not hold for NaN: select(0 < x, x, 0) is 0, but max(x, 0) is NaN. So points with NaN
// do not count, but one at which the values differ is reported.
#include "check/check.h"
#include "interp/values.h"
#include "ir/expr/fold.h"
#include "ir/expr/trial.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { POINTS = 1000, CORNERS = 400, NANS = 100, MOST = 64 };

// ---- expressions in f64

// Returns the expression in f64. A cast that narrows a float keeps its rounding.
static const nw_expr *in_f64(nw_pool *p, const nw_expr *e) {
  bool real = nw_dtype_is_float((nw_dtype)e->type.dtype);
  const nw_expr *arg[3];
  if (e->op == NW_OP_FLOAT) return nw_float(p, NW_F64, e->f);
  if (e->op == NW_OP_VAR && real) {
    nw_str s = {0};
    nw_str_fmt(&s, "%s'", e->name);
    const nw_expr *v = nw_var_of(p, s.s, nw_scalar(NW_F64));
    nw_str_free(&s);
    return v;
  }
  if (!e->n) return e;
  for (int i = 0; i < e->n; i++) arg[i] = in_f64(p, e->arg[i]);
  if (e->op == NW_OP_CAST) {
    nw_dtype to = (nw_dtype)e->type.dtype, from = (nw_dtype)e->arg[0]->type.dtype;
    bool narrows = real && nw_dtype_is_float(from) && !nw_dtype_widens(from, to);
    return nw_cast(p, real ? NW_F64 : to, narrows ? nw_cast(p, to, arg[0]) : arg[0]);
  }
  if (e->op == NW_OP_REINTERPRET) { // the bits of a number are those in its own dtype
    nw_dtype from = (nw_dtype)e->arg[0]->type.dtype;
    const nw_expr *own = nw_dtype_is_float(from) ? nw_cast(p, from, arg[0]) : arg[0];
    const nw_expr *bits = nw_reinterpret(p, (nw_dtype)e->type.dtype, own);
    return real ? nw_cast(p, NW_F64, bits) : bits;
  }
  return nw_make(p, (nw_op)e->op, real ? nw_scalar(NW_F64) : e->type, e->n, arg);
}

// ---- points

static uint64_t next(uint64_t *seed) {
  *seed += 0x9e3779b97f4a7c15u;
  return nw_hash_mix(0, *seed);
}

static double unit(uint64_t *seed) { return (double)(next(seed) >> 11) * 0x1p-53; }

static double random_real(uint64_t *seed, bool corner) {
  static const double corners[] = {0,     1,      -1, 2,   -2,  0.5,  -0.5, 1e30, -1e30,
                                   1e-30, -1e-30, 90, -90, 1e6, 1e-6, 3,    65000};
  if (corner) return corners[next(seed) % NW_COUNT(corners)];
  double sign = next(seed) & 1 ? 1 : -1;
  switch (next(seed) % 4) {
  case 0: return sign * 100 * unit(seed);
  case 1: return sign * pow(10, 12 * unit(seed) - 6);
  default: return sign * 2 * unit(seed);
  }
}

static int64_t random_whole(uint64_t *seed, const nw_trial_var *v, bool corner) {
  const int64_t corners[] = {0, 1, -1, 2, -2, v->lo, v->hi, v->lo / 2, v->hi / 2};
  uint64_t span = (uint64_t)v->hi - (uint64_t)v->lo;
  int64_t small = (int64_t)(next(seed) % 21) - 10;
  int64_t x = corner ? corners[next(seed) % NW_COUNT(corners)] : small;
  bool inside = x >= v->lo && x <= v->hi;
  if (inside && (corner || next(seed) & 1)) return x;
  return (int64_t)((uint64_t)v->lo + (span == UINT64_MAX ? next(seed) : next(seed) % (span + 1)));
}

static void set_real(nw_dtype t, double x, nwi_cell *c) {
  x = nw_round(t, x);
  if (isinf(x)) x = x < 0 ? -1 : 1; // the corner is not a number of this dtype
  *c = (nwi_cell){.i = 0};
  t == NW_F64 ? (c->d = x) : (c->f = (float)x);
}

// Draws a point: the values of the variables in `at`, and as f64 in `wide`. Now and then two values are equal.
static void draw(const nw_trial *t, uint64_t *seed, bool corner, nwi_cell *at, nwi_cell *wide) {
  for (int i = 0; i < t->n; i++) {
    nw_dtype type = (nw_dtype)t->var[i].var->type.dtype;
    bool real = nw_dtype_is_float(type), again = i && next(seed) % 8 == 0;
    again = again && t->var[i - 1].var->type.dtype == type && (real || t->var[i - 1].lo == t->var[i].lo) &&
            (real || t->var[i - 1].hi == t->var[i].hi);
    if (again)
      at[i] = at[i - 1];
    else if (real)
      set_real(type, random_real(seed, corner), &at[i]);
    else
      at[i] = (nwi_cell){.i = random_whole(seed, &t->var[i], corner)};
    wide[i] = at[i];
    if (real) wide[i].d = nwi_number(type, &at[i]);
  }
}

// ---- one point

typedef struct both {
  nw_trial *t;
  nwi_values own, wide; // in the dtypes of the expressions, and in f64
  nwi_node *cond, *was, *is, *wide_was, *wide_is;
  bool nan; // true if a variable is NaN at this point
  double least; // the burden of the point that the trial describes
} both;

static double value_of(const nwi_node *n) { return nwi_number((nw_dtype)n->dtype, n->v); }

// True if the value of a node is not near the real number that its operation gives, because that number is too large or
// too small for f64. With `vanish`, a number that is too small is near 0.
static bool leaves_range(const nwi_node *n, bool vanish) {
  double v = value_of(n), a = n->nargs ? value_of(n->arg[0]) : 0, b = n->nargs > 1 ? value_of(n->arg[1]) : 1;
  if (!n->nargs || !isfinite(a) || !isfinite(b)) return false;
  bool tiny = fabs(v) < 1e-290 && !vanish;
  switch (n->expr->op) {
  case NW_OP_EXP: return isinf(v) || tiny;
  case NW_OP_LDEXP: return isinf(v) || (tiny && a != 0);
  case NW_OP_MUL: return isinf(v) || (tiny && a != 0 && b != 0);
  case NW_OP_DIV: return b != 0 && (isinf(v) || (tiny && a != 0));
  case NW_OP_POW: return a != 0 && (isinf(v) || tiny);
  case NW_OP_ADD:
  case NW_OP_SUB: return isinf(v);
  default: return false;
  }
}

// Finds the greatest absolute value of a float in the two expressions at this point. Returns false if the point cannot
// be compared.
static bool largest(const both *b, double *out) {
  *out = 0;
  for (int i = 0; i < b->wide.scope.node.n; i++) {
    const nwi_node *n = b->wide.scope.node.at[i];
    if (!nwi_values_done(&b->wide, n) || !nw_dtype_is_float((nw_dtype)n->dtype)) continue;
    if (leaves_range(n, b->t->vanish)) return false;
    double v = fabs(value_of(n));
    if (isfinite(v) && v > *out) *out = v;
  }
  return true;
}

static double tolerance(nw_dtype t) {
  return t == NW_F64 ? 1e-9 : t == NW_F32 ? 16 * (double)FLT_EPSILON : t == NW_F16 ? 16 * 0x1p-10 : 16 * 0x1p-7;
}

static bool near(nw_dtype t, double a, double b, double scale) {
  if (a == b || (isnan(a) && isnan(b))) return true;
  return isfinite(a) && isfinite(b) && fabs(a - b) <= tolerance(t) * scale;
}

static char *shown(nw_dtype t, const nwi_cell *c) {
  nw_str s = {0};
  if (nw_dtype_is_float(t) && isnan(nwi_number(t, c)))
    nw_str_add(&s, "nan");
  else if (nw_dtype_is_float(t))
    nw_str_fmt(&s, "%.9g", nwi_number(t, c));
  else
    nw_str_fmt(&s, t == NW_U64 ? "%llu" : "%lld", (long long)c->i);
  return nw_str_take(&s);
}

// Returns a measure of how easily a person computes with a number: whole and small numbers are the easiest.
static double burden(double v) { return fabs(v) + (v == rint(v) ? 0 : 100); }

// Keeps the simplest point in b->t->nan if b->nan is true, otherwise in b->t->at.
static void describe(both *b, const nwi_cell *at, nw_dtype type, const nwi_cell *old, const nwi_cell *new) {
  nw_trial *t = b->t;
  nw_trial_point *out = b->nan ? &t->nan : &t->at;
  nw_str s = {0};
  double sum = 0;
  for (int i = 0; i < t->n; i++) {
    double v = nwi_number((nw_dtype)t->var[i].var->type.dtype, &at[i]);
    sum += isnan(v) ? 0 : burden(v);
  }
  if (out->point && sum >= b->least) return;
  b->least = sum;
  for (int i = 0; i < t->n; i++) {
    char *v = shown((nw_dtype)t->var[i].var->type.dtype, &at[i]);
    nw_str_fmt(&s, "%s%s = %s", i ? ", " : "", t->var[i].shown, v);
    free(v);
  }
  free(out->point), free(out->old), free(out->new);
  out->point = nw_str_take(&s), out->old = shown(type, old);
  out->new = new ? shown(type, new) : nw_xstrdup("a division by zero");
}

// Records that the values differ at a point. `new` is NULL if the new expression divides by zero.
static void differs(both *b, const nwi_cell *at, nw_dtype type, const nwi_cell *old, const nwi_cell *new) {
  nw_trial *t = b->t;
  if (b->nan) return describe(b, at, type, old, new);
  if (!t->differs) free(t->at.point), t->at.point = NULL;
  t->differs = true;
  describe(b, at, type, old, new);
}

// Compares floats in f64.
static void compare_reals(both *b, const nwi_cell *at, const nwi_cell *old, const nwi_cell *new) {
  nw_trial *t = b->t;
  nw_dtype type = (nw_dtype)t->was->type.dtype;
  nwi_cell wide_old, wide_new;
  double scale;
  if (!nwi_values_at(&b->wide, b->wide_was, &wide_old) || !nwi_values_at(&b->wide, b->wide_is, &wide_new)) return;
  bool within = largest(b, &scale);
  if (!b->nan) within ? t->compared++ : t->beyond++;
  if (within && !near(type, wide_old.d, wide_new.d, scale)) return differs(b, at, NW_F64, &wide_old, &wide_new);
  if (b->nan || t->differs || !isfinite(nwi_number(type, old)) || isfinite(nwi_number(type, new))) return;
  t->lost++;
  describe(b, at, type, old, new);
}

// If the old expression divides by zero, the program does not reach the point.
static void compare(both *b, const nwi_cell *at) {
  nw_trial *t = b->t;
  nw_dtype type = (nw_dtype)t->was->type.dtype;
  nwi_cell old, new;
  bool defined = nwi_values_at(&b->own, b->was, &old), divides = !nwi_values_at(&b->own, b->is, &new);
  if (!defined) return;
  if (divides) return differs(b, at, type, &old, NULL);
  if (nw_dtype_is_float(type)) return compare_reals(b, at, &old, &new);
  if (!b->nan) t->compared++;
  if (old.i != new.i) differs(b, at, type, &old, &new);
}

// Makes one of the floats NaN. Returns false if there are no floats.
static bool put_nan(const nw_trial *t, uint64_t *seed, nwi_cell *at, nwi_cell *wide) {
  int float_at[MOST], n = 0;
  for (int i = 0; i < t->n; i++)
    if (nw_dtype_is_float((nw_dtype)t->var[i].var->type.dtype)) float_at[n++] = i;
  if (!n) return false;
  int i = float_at[next(seed) % (uint64_t)n];
  t->var[i].var->type.dtype == NW_F64 ? (at[i].d = NAN) : (at[i].f = NAN);
  wide[i].d = NAN;
  return true;
}

static void at_point(both *b, uint64_t *seed, bool corner) {
  nwi_cell at[MOST], wide[MOST], holds;
  draw(b->t, seed, corner, at, wide);
  if (b->nan && !put_nan(b->t, seed, at, wide)) return;
  nwi_values_point(&b->own, at);
  nwi_values_point(&b->wide, wide);
  if (nwi_values_at(&b->own, b->cond, &holds) && holds.i) compare(b, at);
}

static bool prepare(both *b, nw_ctx *c) {
  nw_trial *t = b->t;
  const nw_expr *var[MOST], *wide[MOST];
  for (int i = 0; i < t->n; i++) var[i] = t->var[i].var, wide[i] = in_f64(t->pool, var[i]);
  nwi_values_open(&b->own, c, t->n, var);
  nwi_values_open(&b->wide, c, t->n, wide);
  b->cond = nwi_make(&b->own.scope, t->cond);
  b->was = nwi_make(&b->own.scope, t->was);
  b->is = nwi_make(&b->own.scope, t->is);
  b->wide_was = nwi_make(&b->wide.scope, in_f64(t->pool, t->was));
  b->wide_is = nwi_make(&b->wide.scope, in_f64(t->pool, t->is));
  return b->cond && b->was && b->is && b->wide_was && b->wide_is;
}

static bool trial(nw_ctx *c, nw_trial *t) {
  both b = {.t = t};
  uint64_t seed = 1;
  if (t->n > MOST) return nw_fail(c, NW_ELIMIT, NULL, "an equality with more than %d values cannot be tested", MOST);
  bool ok = prepare(&b, c);
  for (int i = 0; ok && i < POINTS; i++) at_point(&b, &seed, i < CORNERS);
  b.nan = true;
  for (int i = 0; ok && i < NANS; i++) at_point(&b, &seed, i % 2);
  nwi_values_close(&b.own);
  nwi_values_close(&b.wide);
  return ok;
}

void nw_provide_trials(nw_ctx *c) { c->trial = trial; }
