// Traverses the bodies of an operation. At each subexpression, the ranges of the variables and the conditions of the
// enclosing selects are known, since a branch of a select is evaluated only under its condition.
#include "te/internal.h"
#include "ir/expr/fold.h"
#include <stdlib.h>

// The subexpressions that were visited under the conditions of one branch. A subexpression that was visited in an outer
// scope, which has fewer conditions, is not visited again.
typedef struct scope {
  nw_memo seen;
  struct scope *outer;
} scope;

typedef struct walk {
  nw_place place;
  nw_at_fn f;
  void *env;
} walk;

static void push_var(nw_place *at, const nw_expr *var, const nw_expr *lo, const nw_expr *extent) {
  nw_pool *p = at->pool;
  int n = at->nvars++;
  at->var[n] = nw_import(p, var);
  at->lo[n] = nw_import(p, lo);
  at->extent[n] = nw_import(p, extent);
  nw_te_push_sizes(&at->ranges, at->lo[n]);
  nw_te_push_sizes(&at->ranges, at->extent[n]);
}

// Pushes the ranges of all axes. Also adds the fact that each axis has at least one point: a body is evaluated only
// if no axis is empty.
static void push_ranges(nw_place *at) {
  nw_pool *p = at->pool;
  for (int i = 0; i < at->nvars; i++) {
    const nw_expr *end = nw_add(p, at->lo[i], nw_sub(p, at->extent[i], nw_index(p, 1)));
    nw_ranges_fact(&at->ranges, nw_le(p, nw_index(p, 1), at->extent[i]));
    nw_ranges_push(&at->ranges, at->var[i]->name, at->lo[i], end);
  }
}

static bool push_sizes(void *env, const nw_expr *e) {
  nw_tensor *t = e->op == NW_OP_LOAD ? nw_tensor_of(e) : NULL;
  for (int d = 0; t && d < t->op->ndim; d++) nw_te_push_sizes(env, t->op->shape[d]);
  if (e->op == NW_OP_VAR) nw_te_push_sizes(env, e);
  return true;
}

static void place_init(nw_place *at, const nw_teop *op, const nw_expr *from) {
  size_t n = (size_t)(op->naxes + op->nreduce) + 1;
  nw_pool *p = nw_pool_new(op->ctx);
  *at = (nw_place){.ctx = op->ctx, .pool = p, .op = op};
  nw_ranges_init(&at->ranges, p);
  at->var = nw_xcalloc(n, sizeof *at->var);
  at->lo = nw_xcalloc(n, sizeof *at->lo);
  at->extent = nw_xcalloc(n, sizeof *at->extent);
  const nw_expr *zero = nw_index(p, 0);
  for (int i = 0; i < op->naxes && op->lo; i++) push_var(at, op->axis[i], op->lo[i], op->extent[i]);
  for (int i = 0; i < op->naxes && !op->lo; i++) {
    const nw_expr *lo = i || !from ? zero : nw_import(p, from);
    push_var(at, op->axis[i], lo, nw_sub(p, nw_import(p, op->extent[i]), lo));
  }
  for (int i = 0; i < op->nreduce; i++) push_var(at, op->reduce[i]->var, op->reduce[i]->lo, op->reduce[i]->extent);
  for (int i = 0; i < op->nout; i++) nw_visit(op->body[i], push_sizes, &at->ranges);
  nw_visit(op->target, push_sizes, &at->ranges);
  nw_visit(op->when, push_sizes, &at->ranges);
  if (op->target) at->written = nw_import(p, op->target);
  push_ranges(at);
}

static void place_free(nw_place *at) {
  nw_ranges_free(&at->ranges);
  nw_vec_free(&at->cond);
  free(at->var);
  free(at->lo);
  free(at->extent);
  nw_pool_release(at->pool);
}

static bool empty(const nw_place *at) {
  for (int i = 0; i < at->nvars; i++)
    if (nw_is_const(at->extent[i], 0)) return true;
  return false;
}

static void fact(nw_place *at, const nw_expr *e) {
  nw_vec_push(&at->cond, (void *)e);
  nw_ranges_fact(&at->ranges, e);
}

// ---- comparisons with zero

// Removes outer casts that keep 0 as 0, and map no other value to 0. These are casts between integers that keep every
// value, and casts of a bool to an integer.
const nw_expr *nw_te_uncast(const nw_expr *b) {
  while (b->op == NW_OP_CAST) {
    nw_dtype to = (nw_dtype)b->type.dtype, from = (nw_dtype)b->arg[0]->type.dtype;
    bool sign = nw_dtype_is_signed(from);
    if (nw_dtype_is_int(to) && from == NW_BOOL) return b->arg[0];
    if (!nw_dtype_is_int(to) || !nw_dtype_is_int(from) || nw_dtype_bytes(from) >= nw_dtype_bytes(to)) break;
    if (sign && !nw_dtype_is_signed(to)) break;
    b = b->arg[0];
  }
  return b;
}

const nw_expr *nw_te_nonzero(nw_pool *p, const nw_expr *b) {
  if (b->type.dtype == NW_BOOL) return b;
  return nw_make2(p, NW_OP_NE, b, nw_int(p, b->type.dtype, 0));
}

// Adds the facts that follow from the condition e, or from its negation if `holds` is false.
static void assume(nw_place *at, const nw_expr *e, bool holds) {
  nw_pool *p = at->pool;
  if (e->op == NW_OP_NOT) return assume(at, e->arg[0], !holds);
  if (e->op == (holds ? NW_OP_AND : NW_OP_OR)) {
    assume(at, e->arg[0], holds);
    return assume(at, e->arg[1], holds);
  }
  bool integers = e->n == 2 && !nw_dtype_is_float(e->arg[0]->type.dtype);
  if (!holds && e->op == NW_OP_LT && integers) return fact(at, nw_make2(p, NW_OP_LE, e->arg[1], e->arg[0]));
  if (!holds && e->op == NW_OP_LE && integers) return fact(at, nw_make2(p, NW_OP_LT, e->arg[1], e->arg[0]));
  fact(at, holds ? e : nw_make1(p, NW_OP_NOT, e));
  if (e->op != (holds ? NW_OP_NE : NW_OP_EQ) || !nw_is_const(e->arg[1], 0)) return;
  const nw_expr *plain = nw_te_uncast(e->arg[0]);
  // the guard may test a cast of the value, and the division may use the value itself
  if (plain != e->arg[0]) fact(at, nw_te_nonzero(p, plain));
}

static bool seen(const scope *s, const nw_expr *e) {
  for (; s; s = s->outer)
    if (*nw_memo_at((nw_memo *)&s->seen, e)) return true;
  return false;
}

static bool visit(walk *w, scope *s, const nw_expr *e);

static bool branch(walk *w, scope *outer, const nw_expr *cond, bool holds, const nw_expr *e) {
  nw_place *at = &w->place;
  int n = at->cond.n;
  scope s = {.outer = outer};
  nw_memo_init(&s.seen);
  assume(at, cond, holds);
  bool ok = visit(w, &s, e);
  for (; at->cond.n > n; at->cond.n--) nw_ranges_pop_fact(&at->ranges);
  nw_memo_free(&s.seen);
  return ok;
}

static bool visit(walk *w, scope *s, const nw_expr *e) {
  if (seen(s, e)) return true;
  *nw_memo_at(&s->seen, e) = e;
  if (e->op == NW_OP_SELECT) {
    if (!visit(w, s, e->arg[0])) return false;
    if (!branch(w, s, e->arg[0], true, e->arg[1]) || !branch(w, s, e->arg[0], false, e->arg[2])) return false;
  } else {
    for (int i = 0; i < e->n; i++)
      if (!visit(w, s, e->arg[i])) return false;
  }
  return w->f(w->env, &w->place, e);
}

// Visits the condition of a definition, and then assumes that the condition holds: nothing else is evaluated elsewhere.
static bool visit_when(walk *w, scope *s, const nw_teop *op) {
  const nw_expr *when = op->when ? nw_import(w->place.pool, op->when) : NULL;
  if (when && !visit(w, s, when)) return false;
  if (when) assume(&w->place, when, true);
  return !w->place.written || visit(w, s, w->place.written);
}

bool nw_te_walk(const nw_teop *op, const nw_expr *from, nw_at_fn f, void *env) {
  walk w = {.f = f, .env = env};
  scope s = {0};
  nw_memo_init(&s.seen);
  place_init(&w.place, op, from);
  bool some = !empty(&w.place), ok = !some || visit_when(&w, &s, op);
  for (int i = 0; i < op->nout && ok && some; i++) ok = visit(&w, &s, nw_import(w.place.pool, op->body[i]));
  place_free(&w.place);
  nw_memo_free(&s.seen);
  return ok;
}

bool nw_te_walk_at(nw_place *at, const nw_expr *e, nw_at_fn f, void *env) {
  walk w = {.place = *at, .f = f, .env = env};
  scope s = {0};
  nw_memo_init(&s.seen);
  bool ok = visit(&w, &s, e);
  nw_memo_free(&s.seen);
  *at = w.place;
  return ok;
}
