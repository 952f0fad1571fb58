// Computes the bounds of loops in a new order, by Fourier-Motzkin elimination. The bounds of a loop can depend on other
// loops.
//
// The bounds of the nest are a system of inequalities in its variables. The innermost loop of the new order gets its
// bounds from the inequalities that contain its variable. Eliminating this variable gives a system for the other loops,
// and the same is done for the next loop outwards. No inequality is lost. Therefore the set of points does not change.
// If an outer loop gets additional iterations, the inner loops are empty in these iterations.
#include "sched/bounds.h"
#include "ir/expr/apart.h"
#include "ir/expr/fold.h"
#include "sched/tree.h"
#include <stdlib.h>

bool nw_loop_depends(const nw_stmt *loop, const nw_stmt *on) {
  return nw_uses_var(loop->loop.begin, on->loop.var->name) || nw_uses_var(loop->loop.extent, on->loop.var->name);
}

bool nw_begin_varies(const nw_path *path) {
  const nw_stmt *loop = path->at[path->n - 1];
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && nw_uses_var(loop->loop.begin, path->at[i]->loop.var->name)) return true;
  return false;
}

// ---- a system of inequalities

// Represents the inequality coef[0]*var[0] + coef[1]*var[1] + ... + rest >= 0.
typedef struct row {
  int64_t coef[NW_MAX_DEPTH]; // one coefficient for each loop, in the old order
  const nw_expr *rest;
} row;

typedef struct bounds_system {
  nw_step *st;
  nw_pool *pool;
  nw_ranges known; // ranges and facts outside the nest
  int n;
  const char *var[NW_MAX_DEPTH];
  nw_vec row; // row*, in the step's scratch
} bounds_system;

enum { MAX_ROWS = 400, MAX_COEF = 1 << 30 };

static bool in_nest(const bounds_system *x, const nw_expr *e) { return nw_uses_any(e, x->n, x->var); }

// ---- conditions e >= 0 (if e contains min, max or //, the condition is replaced by several simpler conditions)

// True for a quotient, and for a min or max that uses the loops of the nest. A condition that contains one of these
// terms is replaced by simpler conditions. Quotients of sizes are also removed, because nested divisions slow down all
// later proofs.
static bool is_knot(void *env, const nw_expr *e) {
  return e->op == NW_OP_FLOORDIV || ((e->op == NW_OP_MIN || e->op == NW_OP_MAX) && in_nest(env, e));
}

static bool add_row(bounds_system *x, const nw_expr *e) {
  row *r = NW_NEW(x->st->scratch, row);
  if (!nw_affine(x->pool, e, x->n, x->var, r->coef, &r->rest)) return false;
  nw_vec_push(&x->row, r);
  return true;
}

static bool add_condition(bounds_system *x, const nw_expr *e);

// Adds a condition that contains the quotient a // c. The letter r stands for the other terms of the sum:
// * a // c + r >= 0 becomes a + c*r >= 0;
// * r - a // c >= 0 becomes c*r + c - 1 - a >= 0.
static bool add_quotient(bounds_system *x, const nw_expr *e, const nw_expr *div, int64_t coef) {
  int64_t c;
  nw_pool *pool = x->pool;
  if (!nw_is_int(div->arg[1], &c) || c < 1 || c > MAX_COEF || (coef != 1 && coef != -1))
    return !in_nest(x, div) && add_row(x, e);
  const nw_expr *r = nw_mul(pool, nw_index(pool, c), nw_sum_replace(pool, e, div, nw_index(pool, 0)));
  if (coef == 1) return add_condition(x, nw_add(pool, div->arg[0], r));
  return add_condition(x, nw_sub(pool, nw_add(pool, r, nw_index(pool, c - 1)), div->arg[0]));
}

static bool add_condition(bounds_system *x, const nw_expr *e) {
  int64_t coef;
  const nw_expr *part = nw_sum_part(e, is_knot, x, &coef);
  if (!part) return add_row(x, e);
  if (part->op == NW_OP_FLOORDIV) return add_quotient(x, e, part, coef);
  if ((part->op == NW_OP_MIN) != (coef > 0)) return false;
  return add_condition(x, nw_sum_replace(x->pool, e, part, part->arg[0])) &&
         add_condition(x, nw_sum_replace(x->pool, e, part, part->arg[1]));
}

// Replaces an extent max(n, 0) by n, because a loop with a negative extent has no iterations either.
static const nw_expr *plain_extent(const nw_expr *extent) {
  if (extent->op != NW_OP_MAX) return extent;
  return nw_is_const(extent->arg[0], 0) ? extent->arg[1] : nw_is_const(extent->arg[1], 0) ? extent->arg[0] : extent;
}

static bool add_loop(bounds_system *x, const nw_stmt *loop) {
  nw_pool *pool = x->pool;
  const nw_expr *begin = loop->loop.begin, *v = loop->loop.var;
  const nw_expr *last = nw_sub(pool, nw_add(pool, begin, plain_extent(loop->loop.extent)), nw_index(pool, 1));
  return add_condition(x, nw_sub(pool, v, begin)) && add_condition(x, nw_sub(pool, last, v));
}

// ---- combinations of rows, and redundant rows

static int64_t common(const row *r, int n) {
  int64_t g = 0;
  for (int i = 0; i < n; i++)
    if (r->coef[i]) g = g ? nw_gcd(g, r->coef[i]) : llabs(r->coef[i]);
  return g;
}

static bool same_direction(const row *a, const row *b, int n) {
  return !memcmp(a->coef, b->coef, (size_t)n * sizeof *a->coef);
}

static bool weaker(const bounds_system *x, const row *a, const row *b) {
  return same_direction(a, b, x->n) && nw_prove(&x->known, nw_le(x->pool, b->rest, a->rest));
}

static bool put(bounds_system *x, row *r) {
  int64_t g = common(r, x->n), c;
  if (!g) return true; // the row uses no variable of the nest; if it is false, other rows already make the loops empty
  // a rest that is not constant is not divided, because this adds a division to the bounds
  if (nw_is_int(r->rest, &c)) {
    for (int i = 0; i < x->n; i++) r->coef[i] /= g;
    r->rest = nw_floordiv(x->pool, r->rest, nw_index(x->pool, g));
  }
  for (int i = 0; i < x->n; i++)
    if (llabs(r->coef[i]) > MAX_COEF) return false;
  for (int i = x->row.n - 1; i >= 0; i--) {
    if (weaker(x, r, x->row.at[i])) return true;
    if (weaker(x, x->row.at[i], r)) nw_vec_remove(&x->row, i);
  }
  nw_vec_push(&x->row, r);
  return x->row.n <= MAX_ROWS;
}

static row *joined(bounds_system *x, const row *low, const row *high, int v) {
  nw_pool *pool = x->pool;
  row *r = NW_NEW(x->st->scratch, row);
  int64_t a = -high->coef[v], b = low->coef[v];
  for (int i = 0; i < x->n; i++) r->coef[i] = a * low->coef[i] + b * high->coef[i];
  r->rest = nw_add(pool, nw_mul(pool, nw_index(pool, a), low->rest), nw_mul(pool, nw_index(pool, b), high->rest));
  return r;
}

// Moves the rows that contain variable v into `own`, and adds the combinations of these rows that do not contain v.
// Returns false if the system becomes too large.
static bool eliminate(bounds_system *x, int v, nw_vec *own) {
  nw_vec all = x->row;
  x->row = (nw_vec){0};
  bool ok = true;
  for (int i = 0; i < all.n; i++) {
    row *r = all.at[i];
    nw_vec_push(r->coef[v] ? own : &x->row, r);
  }
  for (int i = 0; i < own->n && ok; i++)
    for (int j = 0; j < own->n && ok; j++) {
      const row *low = own->at[i], *high = own->at[j];
      if (low->coef[v] > 0 && high->coef[v] < 0) ok = put(x, joined(x, low, high, v));
    }
  nw_vec_free(&all);
  return ok;
}

// ---- a loop's bounds from its rows

static const nw_expr *others(const bounds_system *x, const row *r, int v) {
  const nw_expr *sum = r->rest;
  for (int i = 0; i < x->n; i++)
    if (i != v && r->coef[i])
      sum = nw_add(x->pool, sum, nw_mul(x->pool, nw_index(x->pool, r->coef[i]), nw_var(x->pool, x->var[i])));
  return sum;
}

// Returns the bound of the variable v that a row implies. Let a and b be positive, and let e be the other terms:
// * a*v + e >= 0 means that v >= ceil(-e/a);
// * e - b*v >= 0 means that v <= floor(e/b).
static const nw_expr *end_of_row(const bounds_system *x, const row *r, int v) {
  nw_pool *pool = x->pool;
  int64_t a = r->coef[v];
  const nw_expr *e = others(x, r, v);
  if (a > 0) return nw_floordiv(pool, nw_sub(pool, nw_index(pool, a - 1), e), nw_index(pool, a));
  return nw_floordiv(pool, e, nw_index(pool, -a));
}

static const nw_expr *join(const bounds_system *x, const nw_expr *a, const nw_expr *b, bool greatest) {
  if (!a || a == b) return b;
  if (nw_prove(&x->known, nw_le(x->pool, a, b))) return greatest ? b : a;
  if (nw_prove(&x->known, nw_le(x->pool, b, a))) return greatest ? a : b;
  return greatest ? nw_max(x->pool, a, b) : nw_min(x->pool, a, b);
}

static void set_bounds(bounds_system *x, int v, const nw_vec *own, nw_stmt *loop) {
  nw_pool *pool = x->pool;
  const nw_expr *begin = NULL, *last = NULL;
  for (int i = 0; i < own->n; i++) {
    const row *r = own->at[i];
    const nw_expr *e = nw_simplify(&x->known, end_of_row(x, r, v));
    *(r->coef[v] > 0 ? &begin : &last) = join(x, r->coef[v] > 0 ? begin : last, e, r->coef[v] > 0);
  }
  const nw_expr *extent = nw_simplify(&x->known, nw_add(pool, nw_sub(pool, last, begin), nw_index(pool, 1)));
  const nw_expr *zero = nw_index(pool, 0);
  loop->loop.begin = begin;
  loop->loop.extent = nw_prove(&x->known, nw_le(pool, zero, extent)) ? extent : nw_max(pool, extent, zero);
  loop->loop.nfused = 0;
  loop->step = x->st->p->step;
}

// ---- the whole nest

static bool keeps_bounds(int n, nw_stmt *const *now) {
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      if (nw_loop_depends(now[i], now[j])) return false;
  return true;
}

static int position(const bounds_system *x, const nw_stmt *loop) {
  int v = 0;
  while (strcmp(x->var[v], loop->loop.var->name)) v++;
  return v;
}

static bool read_system(bounds_system *x, int n, nw_stmt *const *was) {
  for (int i = 0; i < n; i++) x->var[x->n++] = was[i]->loop.var->name;
  for (int i = 0; i < n; i++)
    if (!add_loop(x, was[i]))
      return nw_step_refuse(x->st, "new bounds can be computed from affine bounds only", was[i],
                            "the bounds of %s are not affine in the enclosing loops", was[i]->loop.var->name);
  return true;
}

// Finds the rows of each loop, innermost loop first. Then finds the bounds of each loop, outermost loop first, because
// the bounds of a loop may use the loops around it.
static bool solve(bounds_system *x, int n, nw_stmt *const *now) {
  nw_vec *own = NW_NEW_N(x->st->scratch, nw_vec, n);
  bool ok = true;
  for (int i = n - 1; i >= 0 && ok; i--) ok = eliminate(x, position(x, now[i]), &own[i]);
  if (!ok)
    nw_step_refuse(x->st, "the new bounds would have too many terms", now[0],
                   "the bounds of the loops depend on each other in too many ways");
  for (int i = 0; i < n && ok; i++) {
    set_bounds(x, position(x, now[i]), &own[i], now[i]);
    nw_ranges_push(&x->known, now[i]->loop.var->name, now[i]->loop.begin, nw_loop_last(x->pool, now[i]));
  }
  for (int i = 0; i < n; i++) nw_vec_free(&own[i]);
  return ok;
}

bool nw_rebound(nw_step *st, int n, nw_stmt *const *was, nw_stmt *const *now) {
  if (keeps_bounds(n, now)) return true;
  bounds_system x = {.st = st, .pool = st->p->pool};
  nw_path path;
  nw_find(st->p, was[0]->id, &path);
  path.n--;
  nw_ranges_of(&x.known, st->p, &path);
  bool ok = read_system(&x, n, was) && solve(&x, n, now);
  nw_vec_free(&x.row);
  nw_ranges_free(&x.known);
  return ok;
}
