// Pass: simplifies every expression by the bounds of the sizes, the declared facts, and the enclosing loops and guards.
// Removes guards that always hold and statements that never run. Replaces loops of one iteration by their bodies. Then
// moves guards out of loops again, because vectorizing and unrolling make new guards.
#include "lower/pass.h"

typedef struct simple {
  nw_program *p;
  nw_ranges r;
} simple;

const nw_expr *nw_simplify_lanes(const nw_ranges *r, const nw_expr *e) {
  if (e->type.lanes == 1) return nw_simplify(r, e);
  const nw_expr *arg[4];
  bool same = true;
  for (int i = 0; i < e->n; i++) {
    arg[i] = nw_simplify_lanes(r, e->arg[i]);
    same &= arg[i] == e->arg[i];
  }
  if (same) return e;
  if (e->op == NW_OP_RAMP) return nw_ramp(r->pool, arg[0], arg[1], (int)e->i);
  if (e->op == NW_OP_BROADCAST) return nw_broadcast(r->pool, arg[0], (int)e->i);
  if (e->op == NW_OP_LOAD) return nw_load(r->pool, e->type, e->name, e->n, arg);
  return nw_make(r->pool, e->op, e->type, e->n, arg);
}

static const nw_expr *simplified(void *env, const nw_expr *e) { return nw_simplify_lanes(&((simple *)env)->r, e); }

static void simplify_into(simple *s, nw_stmt *at, nw_vec *out);

static void simplify_kids(simple *s, nw_stmt *at) {
  nw_vec kids = {0};
  nw_scope_push(&s->r, at);
  for (int i = 0; i < at->nkids; i++) simplify_into(s, at->kid[i], &kids);
  nw_scope_pop(&s->r, at);
  nw_kids_set(s->p, at, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
}

static void splice(simple *s, nw_stmt *at, nw_vec *out) {
  for (int i = 0; i < at->nkids; i++) simplify_into(s, at->kid[i], out);
}

static void simplify_guard(simple *s, nw_stmt *at, nw_vec *out) {
  const nw_expr *left = nw_remaining(&s->r, at->guard.cond);
  if (!left) {
    splice(s, at, out);
    return;
  }
  if (nw_is_const(left, 0)) return;
  at->guard.cond = left;
  simplify_kids(s, at);
  if (at->nkids) nw_vec_push(out, at);
}

typedef struct at_once {
  nw_pool *pool;
  const char *var;
  const nw_expr *by;
} at_once;

static const nw_expr *put_value(void *env, const nw_expr *e) {
  const at_once *o = env;
  return nw_subst(o->pool, e, o->var, o->by);
}

// True if nothing happens in s except that threads wait.
static bool only_waits(const nw_stmt *s) {
  bool structure = s->kind == NW_LOOP || s->kind == NW_GUARD || s->kind == NW_ALLOC || s->kind == NW_SEQ;
  bool waits = s->kind == NW_BARRIER || (structure && s->nkids);
  for (int i = 0; i < s->nkids && waits; i++) waits = only_waits(s->kid[i]);
  return waits;
}

static void simplify_loop(simple *s, nw_stmt *at, nw_vec *out) {
  nw_stmt_exprs(at, simplified, s);
  const nw_expr *one = nw_index(s->p->pool, 1);
  if (nw_prove(&s->r, nw_lt(s->p->pool, at->loop.extent, one))) return;
  if (at->loop.extent == one && at->loop.mark < NW_PARALLEL) {
    at_once o = {s->p->pool, at->loop.var->name, at->loop.begin};
    for (int i = 0; i < at->nkids; i++) nw_tree_exprs(at->kid[i], put_value, &o);
    splice(s, at, out);
    return;
  }
  simplify_kids(s, at);
  // A barrier inside a loop separates accesses of which one is in the loop, so without accesses it is not needed.
  if (at->nkids && !(at->loop.mark < NW_PARALLEL && only_waits(at))) nw_vec_push(out, at);
}

static bool never(const nw_expr *mask) {
  return mask && (nw_is_const(mask, 0) || (mask->op == NW_OP_BROADCAST && nw_is_const(mask->arg[0], 0)));
}

static bool always(const nw_expr *mask) {
  return mask && (nw_is_const(mask, 1) || (mask->op == NW_OP_BROADCAST && nw_is_const(mask->arg[0], 1)));
}

static void simplify_store(simple *s, nw_stmt *at, nw_vec *out) {
  nw_stmt_exprs(at, simplified, s);
  if (never(at->store.mask)) return;
  if (always(at->store.mask)) at->store.mask = NULL;
  nw_vec_push(out, at);
}

static void simplify_alloc(simple *s, nw_stmt *at, nw_vec *out) {
  simplify_kids(s, at);
  if (at->nkids) nw_vec_push(out, at);
}

static void simplify_call(simple *s, nw_stmt *at, nw_vec *out) {
  nw_stmt_exprs(at, simplified, s);
  simplify_kids(s, at);
  if (at->nkids) nw_vec_push(out, at);
}

static void simplify_into(simple *s, nw_stmt *at, nw_vec *out) {
  switch (at->kind) {
  case NW_GUARD: simplify_guard(s, at, out); break;
  case NW_LOOP: simplify_loop(s, at, out); break;
  case NW_STORE: simplify_store(s, at, out); break;
  case NW_ALLOC: simplify_alloc(s, at, out); break;
  case NW_PREFETCH:
    nw_stmt_exprs(at, simplified, s);
    nw_vec_push(out, at);
    break;
  case NW_BARRIER:
  case NW_COMMIT:
  case NW_WAIT: nw_vec_push(out, at); break;
  case NW_CALL: simplify_call(s, at, out); break;
  default: splice(s, at, out); break;
  }
}

nw_program *nw_pass_simplify(nw_program *p) {
  simple s = {.p = p};
  nw_scope_open(&s.r, p);
  simplify_kids(&s, p->root);
  nw_ranges_free(&s.r);
  return nw_pass_guards(p);
}
