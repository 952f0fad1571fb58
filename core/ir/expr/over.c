// Bounds an expression while some variables run through their ranges. An expression is called fixed if it uses none of
// these variables. Bounds are fixed expressions; NULL means that no bound was found. `sign` is -1 for a lower bound and
// 1 for an upper bound. An expression may have a bound although its operand has none: max(x, 0) is at least 0 for every
// x. Such bounds are needed for gathers with clamped indices.
#include "ir/expr/bound.h"
#include <stdlib.h>

typedef struct over {
  const nw_ranges *r;
  int n;
  const char *const *var;
} over;

static const nw_expr *bound(const over *o, const nw_expr *e, int sign);

static bool is_over(const over *o, const char *name) {
  for (int i = 0; i < o->n; i++)
    if (strcmp(o->var[i], name) == 0) return true;
  return false;
}

static bool uses_over(const over *o, const nw_expr *e) {
  for (int i = 0; i < o->n; i++)
    if (nw_uses_var(e, o->var[i])) return true;
  return false;
}

static const nw_range *range_of(const over *o, const char *name) {
  for (int i = o->r->n - 1; i >= 0; i--)
    if (strcmp(o->r->at[i].var, name) == 0) return &o->r->at[i];
  return NULL;
}

static bool is_positive(const over *o, const nw_expr *e) {
  return nw_is_index(e) && nw_prove(o->r, nw_lt(o->r->pool, nw_index(o->r->pool, 0), e));
}

// A quotient by a positive, fixed divisor grows with the dividend. If the dividend is at most q*c - 1, the quotient is at
// most q - 1, which has no division even if c is a size.
static const nw_expr *bound_quotient(const over *o, const nw_expr *e, int sign) {
  nw_pool *p = o->r->pool;
  const nw_expr *c = e->arg[1], *one = nw_index(p, 1);
  if (uses_over(o, c) || !is_positive(o, c)) return NULL;
  const nw_expr *x = bound(o, e->arg[0], sign);
  if (!x) return NULL;
  nw_sum next;
  nw_sum_init(&next, p, NW_INDEX);
  nw_sum_add(&next, 1, x);
  nw_sum_add(&next, 1, one);
  const nw_expr *end = next.wraps && !NW_MUTATED(bound_end_wraps) ? NULL : nw_sum_expr(&next),
                *q = end ? nw_floordiv(p, end, c) : NULL;
  nw_sum_free(&next);
  return q && sign > 0 && nw_mul(p, q, c) == end ? nw_sub(p, q, one) : nw_floordiv(p, x, c);
}

// If x // c is the same for the lower and the upper bound of x, then x % c is x minus a fixed multiple of c. Otherwise,
// x % c may be any number from 0 to c - 1.
static const nw_expr *bound_remainder(const over *o, const nw_expr *e, int sign) {
  nw_pool *p = o->r->pool;
  const nw_expr *c = e->arg[1];
  if (uses_over(o, c) || !is_positive(o, c)) return NULL;
  const nw_expr *lo = bound(o, e->arg[0], -1), *hi = bound(o, e->arg[0], 1);
  if (lo && hi && nw_prove(o->r, nw_eq(p, nw_floordiv(p, lo, c), nw_floordiv(p, hi, c))))
    return nw_floormod(p, sign < 0 ? lo : hi, c);
  return sign < 0 ? nw_index(p, 0) : nw_sub(p, c, nw_index(p, 1));
}

// A lower bound of min needs bounds of both operands, but a lower bound of max needs a bound of only one operand. For
// an upper bound, min needs the bound of one operand, and max needs the bounds of both.
static const nw_expr *bound_extremum(const over *o, const nw_expr *e, int sign) {
  bool both = (e->op == NW_OP_MIN) == (sign < 0);
  const nw_expr *a = bound(o, e->arg[0], sign), *b = bound(o, e->arg[1], sign);
  if (a && b) return nw_make2(o->r->pool, (nw_op)e->op, a, b);
  return both ? NULL : a ? a : b;
}

static bool safe_anywhere(void *env, const nw_expr *e) {
  const over *o = env;
  if (e->op == NW_OP_LOAD) return NW_MUTATED(bound_reads_anywhere);
  if (e->op != NW_OP_FLOORDIV && e->op != NW_OP_FLOORMOD) return true;
  return e->arg[1]->op == NW_OP_INT ? e->arg[1]->i != 0 : is_positive(o, e->arg[1]);
}

// The bound evaluates both branches. So a branch must not contain a read that may be out of bounds, nor a divisor that
// is nonzero only under the condition.
static const nw_expr *bound_select(const over *o, const nw_expr *e, int sign) {
  const nw_expr *a = bound(o, e->arg[1], sign), *b = bound(o, e->arg[2], sign);
  if (!nw_visit(a, safe_anywhere, (void *)o) || !nw_visit(b, safe_anywhere, (void *)o) || !a || !b) return NULL;
  return nw_make2(o->r->pool, sign < 0 ? NW_OP_MIN : NW_OP_MAX, a, b);
}

// If x is fixed and not negative, x*y grows with y.
static const nw_expr *bound_product(const over *o, const nw_expr *e, int sign) {
  nw_pool *p = o->r->pool;
  const nw_expr *a = e->arg[0], *b = e->arg[1];
  if (uses_over(o, a)) {
    const nw_expr *t = a;
    a = b;
    b = t;
  }
  if (uses_over(o, a) || !nw_prove(o->r, nw_le(p, nw_index(p, 0), a))) return NULL;
  const nw_expr *y = bound(o, b, sign);
  return y ? nw_mul(p, a, y) : NULL;
}

static const nw_expr *bound_constant(const over *o, const nw_expr *e, int sign) {
  int64_t v;
  bool ok = sign < 0 ? nw_const_lower(o->r, e, &v) : nw_const_upper(o->r, e, &v);
  return ok ? nw_index(o->r->pool, v) : NULL;
}

static const nw_expr *bound_atom(const over *o, const nw_expr *e, int sign) {
  if (!uses_over(o, e)) return e;
  switch (e->op) {
  case NW_OP_FLOORDIV: return bound_quotient(o, e, sign);
  case NW_OP_FLOORMOD: return bound_remainder(o, e, sign);
  case NW_OP_MIN:
  case NW_OP_MAX: return bound_extremum(o, e, sign);
  case NW_OP_SELECT: return bound_select(o, e, sign);
  case NW_OP_MUL: return bound_product(o, e, sign);
  case NW_OP_VAR: return NULL;
  default: return bound_constant(o, e, sign);
  }
}

// Picks the next term to replace: a term with the innermost of the variables. A compound term that contains this
// variable is replaced before the variable itself.
static int pick(const over *o, const nw_sum *s) {
  int best = -1, best_rank = -1;
  for (int i = 0; i < s->n; i++) {
    const nw_expr *e = s->term[i].atom;
    if (s->term[i].coef == 0 || !uses_over(o, e)) continue;
    int rank = 2 * nw_range_place(o->r, e) + 2 + (e->op != NW_OP_VAR);
    if (rank <= best_rank) continue;
    best_rank = rank;
    best = i;
  }
  return best;
}

static const nw_expr *replacement(const over *o, const nw_expr *e, int sign) {
  if (e->op != NW_OP_VAR) return bound_atom(o, e, sign);
  const nw_range *r = is_over(o, e->name) ? range_of(o, e->name) : NULL;
  return !r ? NULL : sign < 0 ? r->lo : r->hi;
}

static const nw_expr *bound(const over *o, const nw_expr *e, int sign) {
  nw_sum s;
  nw_sum_init(&s, o->r->pool, NW_INDEX);
  nw_sum_add(&s, 1, e);
  const nw_expr *out = NULL;
  int t, steps = 0;
  while ((t = pick(o, &s)) >= 0 && steps++ < 200) {
    nw_term v = s.term[t];
    const nw_expr *by = replacement(o, v.atom, v.coef > 0 ? sign : -sign);
    if (!by) break;
    s.term[t].coef = 0;
    nw_sum_add(&s, v.coef, by);
  }
  if (t < 0 && !s.wraps) out = nw_sum_expr(&s);
  nw_sum_free(&s);
  return out;
}

static const nw_expr *bound_over(const nw_ranges *r, const nw_expr *e, int n, const char *const *names, int sign) {
  if (!e || !nw_is_index(e) || !nw_is_exact(e)) return NULL;
  over o = {r, n, names};
  const nw_expr *b = bound(&o, nw_import(r->pool, e), sign);
  return b && nw_is_exact(b) ? nw_simplify(r, b) : NULL;
}

const nw_expr *nw_lower_over(const nw_ranges *r, const nw_expr *e, int n, const char *const *names) {
  return bound_over(r, e, n, names, -1);
}

const nw_expr *nw_upper_over(const nw_ranges *r, const nw_expr *e, int n, const char *const *names) {
  return bound_over(r, e, n, names, 1);
}
