// Implements the functions that the passes share. They collect the ranges of variables at a position in the tree,
// handle conjunctions, make statements, and rewrite expressions in place.
#include "lower/pass.h"

void nw_scope_open(nw_ranges *r, const nw_program *p) {
  nw_path path = {.n = 1, .at = {p->root}};
  nw_ranges_init(r, p->pool);
  nw_ranges_of(r, p, &path);
}

// In the body of a loop, the loop's variable is in begin .. begin + extent - 1, and the extent is at least 1.
void nw_scope_push(nw_ranges *r, const nw_stmt *s) {
  if (s->kind == NW_LOOP) {
    const nw_expr *end = nw_add(r->pool, s->loop.begin, s->loop.extent);
    nw_ranges_push(r, s->loop.var->name, s->loop.begin, nw_sub(r->pool, end, nw_index(r->pool, 1)));
    nw_ranges_fact(r, nw_le(r->pool, nw_index(r->pool, 1), s->loop.extent));
  } else if (s->kind == NW_GUARD) {
    nw_vec conds = {0};
    nw_add_conjuncts(s->guard.cond, &conds);
    for (int i = 0; i < conds.n; i++) nw_ranges_fact(r, conds.at[i]);
    nw_vec_free(&conds);
  }
}

void nw_scope_pop(nw_ranges *r, const nw_stmt *s) {
  if (s->kind == NW_LOOP) {
    nw_ranges_pop_fact(r);
    nw_ranges_pop(r);
  } else if (s->kind == NW_GUARD) {
    nw_vec conds = {0};
    nw_add_conjuncts(s->guard.cond, &conds);
    for (int i = 0; i < conds.n; i++) nw_ranges_pop_fact(r);
    nw_vec_free(&conds);
  }
}

void nw_add_conjuncts(const nw_expr *cond, nw_vec *out) {
  if (!cond) return;
  if (cond->op == NW_OP_AND) {
    nw_add_conjuncts(cond->arg[0], out);
    nw_add_conjuncts(cond->arg[1], out);
    return;
  }
  for (int i = 0; i < out->n; i++) {
    if (out->at[i] == cond) return;
  }
  nw_vec_push(out, (void *)cond);
}

const nw_expr *nw_conjunction(nw_pool *p, int n, void *const *conds) {
  const nw_expr *all = NULL;
  for (int i = 0; i < n; i++) all = all ? nw_and(p, all, conds[i]) : conds[i];
  return all;
}

// Removes the conjuncts that the other conjuncts imply.
static void drop_implied(const nw_ranges *known, nw_vec *conds) {
  nw_ranges *r = (nw_ranges *)known; // the facts are removed again
  for (int i = conds->n - 1; i >= 0 && conds->n > 1; i--) {
    int n = 0;
    for (int k = 0; k < conds->n; k++)
      if (k != i) nw_ranges_fact(r, conds->at[k]), n++;
    bool implied = nw_prove(r, conds->at[i]);
    while (n--) nw_ranges_pop_fact(r);
    if (implied) nw_vec_remove(conds, i);
  }
}

// Removes the conjuncts that always hold, and simplifies the other conjuncts.
const nw_expr *nw_remaining(const nw_ranges *r, const nw_expr *cond) {
  nw_vec conds = {0};
  const nw_expr *left = NULL;
  nw_add_conjuncts(cond, &conds);
  drop_implied(r, &conds);
  for (int i = 0; i < conds.n; i++) {
    const nw_expr *c = conds.at[i];
    if (nw_prove(r, c)) continue;
    if (nw_disprove(r, c)) {
      left = nw_int(r->pool, NW_BOOL, 0);
      break;
    }
    c = nw_simplify(r, c);
    left = left ? nw_and(r->pool, left, c) : c;
  }
  nw_vec_free(&conds);
  return left && nw_is_const(left, 1) ? NULL : left;
}

nw_stmt *nw_new_like(nw_program *p, nw_stmt_kind k, const nw_stmt *from) {
  nw_stmt *s = nw_new_stmt(p, k);
  s->step = from->step;
  return s;
}

nw_stmt *nw_guarded(nw_program *p, const nw_expr *cond, nw_stmt *s) {
  if (!cond) return s;
  nw_stmt *g = nw_new_like(p, NW_GUARD, s);
  g->guard.cond = cond;
  nw_kids_set(p, g, 1, &s);
  return g;
}

nw_stmt *nw_sequence(nw_program *p, const nw_vec *kids) {
  if (kids->n == 1) return kids->at[0];
  nw_stmt *s = nw_new_stmt(p, NW_SEQ);
  nw_kids_set(p, s, kids->n, (nw_stmt **)kids->at);
  return s;
}

static const nw_expr *apply(nw_expr_fn f, void *env, const nw_expr *e) { return e ? f(env, e) : NULL; }

void nw_stmt_exprs(nw_stmt *s, nw_expr_fn f, void *env) {
  switch (s->kind) {
  case NW_LOOP:
    s->loop.begin = apply(f, env, s->loop.begin);
    s->loop.extent = apply(f, env, s->loop.extent);
    break;
  case NW_GUARD: s->guard.cond = apply(f, env, s->guard.cond); break;
  case NW_STORE:
    s->store.index = apply(f, env, s->store.index);
    s->store.value = apply(f, env, s->store.value);
    s->store.mask = apply(f, env, s->store.mask);
    break;
  case NW_ALLOC:
  case NW_PREFETCH:
    for (int i = 0; i < s->alloc.n; i++) {
      s->alloc.min[i] = apply(f, env, s->alloc.min[i]);
      s->alloc.extent[i] = apply(f, env, s->alloc.extent[i]);
    }
    break;
  case NW_CALL:
    for (int i = 0; i < s->call.ntiles; i++) {
      nw_tile *t = &s->call.tile[i];
      t->index = apply(f, env, t->index);
      for (int d = 0; d < t->n; d++) t->stride[d] = apply(f, env, t->stride[d]);
    }
    break;
  default: break;
  }
}

void nw_tree_exprs(nw_stmt *s, nw_expr_fn f, void *env) {
  nw_stmt_exprs(s, f, env);
  for (int i = 0; i < s->nkids; i++) nw_tree_exprs(s->kid[i], f, env);
}

bool nw_has_barrier(const nw_stmt *s) {
  bool any = s->kind == NW_BARRIER;
  for (int i = 0; i < s->nkids && !any; i++) any = nw_has_barrier(s->kid[i]);
  return any;
}
