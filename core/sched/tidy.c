// Simplifies the bindings, guards and bounds that a primitive has changed, with the ranges around them.
#include "sched/tidy.h"
#include "sched/tree.h"

// ---- simplification (only of statements that this step changed; all other statements are simplified already, except
// after a new fact)

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

// Simplifies the bounds of a loop. The extent of a fused loop stays the product of the loop's dimensions.
static void tidy_loop(const nw_program *p, const nw_path *path, nw_stmt *s) {
  nw_ranges r;
  nw_ranges_around(&r, p, path);
  const nw_expr **fused = NW_NEW_N(p->arena, const nw_expr *, s->loop.nfused + 1);
  if (s->loop.nfused) s->loop.extent = nw_index(p->pool, 1);
  for (int i = 0; i < s->loop.nfused; i++) {
    fused[i] = nw_simplify(&r, s->loop.fused[i]);
    s->loop.extent = nw_mul(p->pool, s->loop.extent, fused[i]);
  }
  s->loop.fused = fused;
  s->loop.begin = nw_simplify(&r, s->loop.begin);
  if (!s->loop.nfused) s->loop.extent = nw_simplify(&r, s->loop.extent);
  nw_ranges_free(&r);
}

static void tidy_one(nw_program *p, const nw_path *path) {
  nw_stmt *s = path->at[path->n - 1];
  if (s->kind == NW_LOOP) tidy_loop(p, path, s);
  if (s->kind != NW_BLOCK && s->kind != NW_ALLOC && s->kind != NW_PREFETCH) return;
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  s->kind == NW_BLOCK ? tidy_block(&r, s) : tidy_alloc(&r, s);
  nw_ranges_free(&r);
}

static bool tidy_changed(void *env, const nw_path *path) {
  nw_program *p = env;
  if (path->at[path->n - 1]->step == p->step) tidy_one(p, path);
  return true;
}

void nw_tidy(nw_step *st) { nw_walk(st->p, tidy_changed, st->p); }

// A statement that becomes simpler counts as changed by this step.
static bool tidy_any(void *env, const nw_path *path) {
  nw_program *p = env;
  nw_stmt *s = path->at[path->n - 1], was = *s;
  nw_block_var *var = s->kind == NW_BLOCK ? NW_NEW_N(p->arena, nw_block_var, s->block.nvars + 1) : NULL;
  bool changed = false;
  for (int i = 0; var && i < s->block.nvars; i++) var[i] = s->block.var[i];
  tidy_one(p, path);
  if (s->kind == NW_LOOP) changed = s->loop.begin != was.loop.begin || s->loop.extent != was.loop.extent;
  if (s->kind == NW_BLOCK) changed = s->block.where != was.block.where;
  for (int i = 0; var && i < s->block.nvars; i++) changed |= var[i].bind != s->block.var[i].bind;
  if (changed) s->step = p->step;
  return true;
}

void nw_tidy_all(nw_step *st) { nw_walk(st->p, tidy_any, st->p); }
