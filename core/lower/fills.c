// Finds out whether an allocated array gets all its elements before anything reads it.
#include "lower/pass.h"

enum { FILL_LOOPS = 8 };

typedef struct filling {
  const char *buffer;
  const nw_stmt *store; // the first statement that uses the buffer; NULL if it is not a store
  int n;
  const nw_stmt *loop[FILL_LOOPS]; // the loops around it, outermost first
  bool plain; // false if something else than loops is around it
} filling;

static bool reads(void *env, const nw_expr *e) { return e->op != NW_OP_LOAD || strcmp(e->name, env); }

static const nw_expr *look(void *env, const nw_expr *e) {
  filling *f = env;
  f->plain = f->plain && nw_visit(e, reads, (void *)f->buffer);
  return e;
}

// Finds the first statement inside s that uses the buffer. Returns false if there is none.
static bool find(filling *f, nw_stmt *s) {
  bool was = f->plain;
  nw_stmt_exprs(s, look, f);
  if (f->plain != was) return true;
  if (s->kind == NW_STORE && !strcmp(s->store.buffer, f->buffer)) return f->store = s, true;
  if (s->kind == NW_CALL) return f->plain = false, true;
  if (s->kind == NW_LOOP && f->n == FILL_LOOPS) return f->plain = false, true;
  if (s->kind == NW_LOOP) f->loop[f->n++] = s;
  for (int i = 0; i < s->nkids; i++)
    if (find(f, s->kid[i])) return f->plain &= s->kind != NW_GUARD, true;
  if (s->kind == NW_LOOP) f->n--;
  return false;
}

// True if the store, in all iterations of the loops around it, writes the elements 0 .. elements - 1, each once. The
// loops must be in row-major order.
static bool is_row_major(nw_pool *pool, const filling *f, int64_t elements) {
  const nw_expr *at = f->store->store.index;
  int64_t covered = at->type.lanes, extent, coef;
  if (covered > 1 && (at->op != NW_OP_RAMP || !nw_is_const(at->arg[1], 1))) return false;
  if (covered > 1) at = at->arg[0];
  for (int i = f->n - 1; i >= 0; i--) {
    const nw_stmt *l = f->loop[i];
    const char *var = l->loop.var->name;
    const nw_expr *rest;
    if (!nw_uses_var(at, var)) {
      if (!nw_is_int(l->loop.extent, &extent) || extent < 1) return false;
      continue;
    }
    if (!nw_affine(pool, at, 1, &var, &coef, &rest) || coef != covered || !nw_is_int(l->loop.extent, &extent))
      return false;
    if (extent < 1 || __builtin_mul_overflow(covered, extent, &covered)) return false;
    at = nw_subst(pool, at, var, l->loop.begin);
  }
  return nw_is_const(at, 0) && covered == elements;
}

bool nw_fills(nw_program *p, const nw_stmt *alloc) {
  int64_t elements;
  filling f = {.buffer = alloc->alloc.buffer, .plain = true};
  if (!nw_is_int(alloc->alloc.extent[0], &elements)) return false;
  for (int i = 0; i < alloc->nkids; i++)
    if (find(&f, alloc->kid[i]))
      return f.plain && f.store && !f.store->store.mask && is_row_major(p->pool, &f, elements);
  return false;
}
