// Simplifies the bindings, guards and bounds that a primitive has changed, with the ranges around them.
#include "sched/tidy.h"
#include "sched/tree.h"

// ---- simplification (only of statements that this step changed; all other statements are simplified already)

// Returns the condition without the conjuncts that always hold, or NULL if no conjunct remains.
static const nw_expr *needed(const nw_ranges *r, const nw_expr *where) {
  const nw_expr *term[NW_MAX_TERMS], *out = NULL;
  int n = nw_conjuncts(where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++) {
    const nw_expr *t = nw_simplify(r, term[i]);
    if (!nw_prove(r, t)) out = nw_and(r->pool, out, t);
  }
  return out;
}

static void tidy_block(const nw_ranges *r, nw_stmt *s) {
  for (int i = 0; i < s->block.nvars; i++) s->block.var[i].bind = nw_simplify(r, s->block.var[i].bind);
  if (s->block.where) s->block.where = needed(r, s->block.where);
}

// Simplifies the box of an allocation or of a prefetch.
static void tidy_alloc(const nw_ranges *r, nw_stmt *s) {
  for (int i = 0; i < s->alloc.n; i++) {
    s->alloc.min[i] = nw_simplify(r, s->alloc.min[i]);
    s->alloc.extent[i] = nw_simplify(r, s->alloc.extent[i]);
  }
}

// Simplifies the bounds of a loop. The bounds of a fused loop are not simplified, so that the extent stays the product
// of the loop's dimensions.
static void tidy_loop(const nw_program *p, const nw_path *path, nw_stmt *s) {
  if (s->loop.nfused) return;
  nw_ranges r;
  nw_ranges_around(&r, p, path);
  s->loop.begin = nw_simplify(&r, s->loop.begin);
  s->loop.extent = nw_simplify(&r, s->loop.extent);
  nw_ranges_free(&r);
}

static bool tidy_stmt(void *env, const nw_path *path) {
  nw_program *p = env;
  nw_stmt *s = path->at[path->n - 1];
  if (s->step != p->step) return true;
  if (s->kind == NW_LOOP) tidy_loop(p, path, s);
  if (s->kind != NW_BLOCK && s->kind != NW_ALLOC && s->kind != NW_PREFETCH) return true;
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  s->kind == NW_BLOCK ? tidy_block(&r, s) : tidy_alloc(&r, s);
  nw_ranges_free(&r);
  return true;
}

void nw_tidy(nw_step *st) { nw_walk(st->p, tidy_stmt, st->p); }
