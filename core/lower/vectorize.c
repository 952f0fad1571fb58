// Pass: replaces a vector loop by operations on all lanes at once.
//
// Inner loops stay loops, with vector bodies. If the bounds of an inner loop differ between lanes, the loop has as many
// iterations as the lane with the most iterations, and a mask switches off the other lanes after their last iterations.
// A guard whose condition differs between lanes becomes the mask of the loads and stores inside it. An allocation
// inside the loop gets a copy for each lane. If code cannot be vectorized, the pass fails; it never falls back to a
// loop over the lanes.
#include "lower/pass.h"

static bool widen_stmt(nw_lanes *v, nw_stmt **s);

static bool widen_kids(nw_lanes *v, nw_stmt *s) {
  nw_scope_push(v->r, s);
  bool ok = true;
  for (int i = 0; ok && i < s->nkids; i++) ok = widen_stmt(v, &s->kid[i]);
  nw_scope_pop(v->r, s);
  return ok;
}

static bool widen_store(nw_lanes *v, nw_stmt *s) {
  v->memo.n = 0;
  const nw_expr *index = nw_lanes_index(v, s->store.buffer, s->store.index);
  const nw_expr *value = nw_lanes_expr(v, s->store.value);
  bool same = index->type.lanes == 1 && value->type.lanes == 1 && (!v->mask || v->some);
  if (index->type.lanes == 1 && !same) {
    nw_fail(v->p->ctx, NW_ELIMIT, "Vectorize another loop.", "every lane of %s writes the same element of %s", v->var,
            s->store.buffer);
    return false;
  }
  s->store.index = index;
  s->store.value = same ? value : nw_lanes_wide(v, s->store.value);
  s->store.mask = same || NW_MUTATED(lanes_store_mask) ? NULL : v->mask;
  return true;
}

// Returns a scalar condition that holds if and only if at least one lane satisfies the condition in `conds`. Returns
// NULL if `conds` has several conditions, or if the scalar condition is not found.
static const nw_expr *some_lane(nw_lanes *v, const nw_vec *conds) {
  const nw_expr *cond = conds->n == 1 ? conds->at[0] : NULL;
  if (!cond || (cond->op != NW_OP_LT && cond->op != NW_OP_LE)) return NULL;
  int side = nw_uses_var(cond->arg[0], v->var) ? 0 : 1;
  int64_t coef;
  const nw_expr *rest, *arg[] = {cond->arg[0], cond->arg[1]};
  if (nw_lanes_vary(v, arg[1 - side]) || !nw_affine(v->pool, arg[side], 1, &v->var, &coef, &rest)) return NULL;
  arg[side] = side ? nw_upper_over(v->r, arg[1], 1, &v->var) : nw_lower_over(v->r, arg[0], 1, &v->var);
  return arg[side] ? nw_make(v->pool, cond->op, cond->type, 2, arg) : NULL;
}

static void split_conditions(nw_lanes *v, const nw_expr *cond, nw_vec *same, nw_vec *varying) {
  nw_vec all = {0};
  nw_add_conjuncts(cond, &all);
  for (int i = 0; i < all.n; i++) {
    bool varies = nw_lanes_vary(v, all.at[i]);
    if (!varies || !nw_prove(v->r, all.at[i])) nw_vec_push(varies ? varying : same, all.at[i]);
  }
  nw_vec_free(&all);
}

// Vectorizes the children of a guard. The guard keeps the conditions that are equal in all lanes; the other conditions
// become a mask. Only the conditions that the guard keeps may be used as facts inside it, because the mask may be false
// in all lanes.
static bool widen_guard(nw_lanes *v, nw_stmt **at) {
  nw_stmt *s = *at;
  nw_vec same = {0}, varying = {0};
  split_conditions(v, s->guard.cond, &same, &varying);
  const nw_expr *mask = v->mask, *exists = some_lane(v, &varying);
  bool some = v->some;
  v->memo.n = 0;
  for (int i = 0; i < varying.n; i++) v->mask = nw_lanes_and(v, v->mask, nw_lanes_wide(v, varying.at[i]));
  if (varying.n) v->some = exists && !mask;
  if (exists) nw_vec_push(&same, (void *)exists);
  const nw_expr *left = nw_remaining(v->r, nw_conjunction(v->pool, same.n, same.at));
  s->guard.cond = left ? left : nw_true(v->pool);
  bool ok = widen_kids(v, s);
  v->mask = mask;
  v->some = some;
  if (ok && !left) *at = nw_sequence(v->p, &(nw_vec){.at = (void **)s->kid, .n = s->nkids});
  nw_vec_free(&same);
  nw_vec_free(&varying);
  return ok;
}

static const nw_expr *replaced(void *env, const nw_expr *e) {
  const nw_expr *const *pair = env;
  return nw_subst(pair[1]->pool, e, pair[0]->name, pair[1]);
}

// Changes a loop whose bounds depend on the lane l. The loop `for x in b(l) .. b(l)+n(l)` becomes `for x in 0 .. max
// n`. Its body gets the guard x < n(l), and b(l) + x replaces x.
static bool even_out(nw_lanes *v, nw_stmt *s) {
  nw_pool *p = v->pool;
  const nw_expr *extent = s->loop.extent;
  const nw_expr *most = nw_upper_over(v->r, extent, 1, &v->var);
  if (!most) {
    nw_fail(v->p->ctx, NW_ELIMIT, NULL, "the extent of %s has no bound over the lanes of %s", s->loop.var->name,
            v->var);
    return false;
  }
  const nw_expr *pair[] = {s->loop.var, nw_add(p, s->loop.begin, s->loop.var)};
  for (int i = 0; i < s->nkids; i++) nw_tree_exprs(s->kid[i], replaced, pair);
  if (nw_lanes_vary(v, extent)) {
    nw_stmt *g = nw_new_like(v->p, NW_GUARD, s);
    g->guard.cond = nw_lt(p, s->loop.var, extent);
    nw_kids_set(v->p, g, s->nkids, s->kid);
    nw_kids_set(v->p, s, 1, &g);
  }
  s->loop.begin = nw_index(p, 0);
  s->loop.extent = most;
  return true;
}

static bool widen_loop(nw_lanes *v, nw_stmt *s) {
  if (s->loop.mark == NW_VECTORIZED || s->loop.mark == NW_PARALLEL) {
    nw_fail(v->p->ctx, NW_ELIMIT, NULL, "%s is marked %s, but is inside the vector loop %s", s->loop.var->name,
            nw_loop_kind_name(s->loop.mark), v->var);
    return false;
  }
  bool even = !nw_lanes_vary(v, s->loop.begin) && !nw_lanes_vary(v, s->loop.extent);
  return (even || even_out(v, s)) && widen_kids(v, s);
}

static bool widen_alloc(nw_lanes *v, nw_stmt *s) {
  s->alloc.extent[0] = nw_mul(v->pool, s->alloc.extent[0], nw_index(v->pool, v->n));
  nw_vec_push(&v->inner, (void *)s->alloc.buffer);
  return widen_kids(v, s);
}

static bool widen_stmt(nw_lanes *v, nw_stmt **at) {
  nw_stmt *s = *at;
  switch (s->kind) {
  case NW_STORE: return widen_store(v, s);
  case NW_GUARD: return widen_guard(v, at);
  case NW_LOOP: return widen_loop(v, s);
  case NW_ALLOC: return widen_alloc(v, s);
  case NW_CALL:
    return nw_fail(v->p->ctx, NW_ELIMIT, NULL, "a call of %s is inside the vector loop %s", s->call.intrinsic, v->var);
  default: return widen_kids(v, s);
  }
}

// ---- finding the loops

static bool fits(nw_program *p, const nw_stmt *loop, int64_t *lanes) {
  if (!nw_is_int(loop->loop.extent, lanes)) {
    nw_fail(p->ctx, NW_ELIMIT, "unmark it, or split it by a constant first",
            "the vector loop %s has no constant extent", loop->loop.var->name);
    return false;
  }
  if (*lanes <= p->target->limit.lanes) return true;
  nw_fail(p->ctx, NW_ELIMIT, "Split it first.", "the vector loop %s has %lld lanes; the limit is %lld",
          loop->loop.var->name, (long long)*lanes, (long long)p->target->limit.lanes);
  return false;
}

static bool vectorize_loop(nw_program *p, nw_ranges *r, nw_stmt *loop) {
  int64_t lanes;
  if (!fits(p, loop, &lanes)) return false;
  if (lanes <= 1) return true;
  nw_lanes v = {.p = p, .pool = p->pool, .r = r, .var = loop->loop.var->name, .n = (int)lanes};
  v.ramp = nw_ramp(p->pool, loop->loop.begin, nw_index(p->pool, 1), v.n);
  bool ok = widen_kids(&v, loop);
  nw_vec_free(&v.inner);
  nw_vec_free(&v.memo);
  nw_vec_free(&v.around);
  return ok;
}

static bool find_loops(nw_program *p, nw_ranges *r, nw_stmt *s) {
  nw_scope_push(r, s);
  bool ok = true;
  for (int i = 0; ok && i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    bool vector = kid->kind == NW_LOOP && kid->loop.mark == NW_VECTORIZED;
    ok = vector ? vectorize_loop(p, r, kid) : find_loops(p, r, kid);
    if (!vector || !ok) continue;
    if (nw_is_const(kid->loop.extent, 0) || nw_is_const(kid->loop.extent, 1))
      kid->loop.mark = NW_SERIAL;
    else
      s->kid[i] = nw_sequence(p, &(nw_vec){.at = (void **)kid->kid, .n = kid->nkids});
  }
  nw_scope_pop(r, s);
  return ok;
}

nw_program *nw_pass_vectorize(nw_program *p) {
  nw_ranges r;
  nw_scope_open(&r, p);
  bool ok = find_loops(p, &r, p->root);
  ok = ok && nw_streams_hold(p, &r, p->root);
  nw_ranges_free(&r);
  if (!ok) return NULL;
  nw_shape_temps(p);
  return p;
}
