// Is the init that a block owns done before its reduction's loops, even when those have no iteration?
//
// It is when the first iterations of the reduce loops are the first reduce instance of every spatial instance below;
// lowering decides the same way. Any other nest does the init beside the first update, so never without one.
#include "poly/internal.h"

typedef struct lift {
  const nw_program *p;
  const nw_stmt *block;
  nw_path path;
  int outer; // position of the outermost reduce loop
} lift;

static bool is_reduce(const lift *l, int i) {
  const nw_stmt *s = l->path.at[i];
  return s->kind == NW_LOOP && nw_binds_reduce(l->block, s->loop.var->name);
}

static bool uses_reduce_loop(const lift *l, const nw_expr *e) {
  for (int i = l->outer; i < l->path.n; i++)
    if (is_reduce(l, i) && nw_uses_var(e, l->path.at[i]->loop.var->name)) return true;
  return false;
}

static const nw_expr *at_begin(const lift *l, const nw_expr *e) {
  for (int i = l->path.n - 1; i >= l->outer; i--)
    if (is_reduce(l, i)) e = nw_subst(l->p->pool, e, l->path.at[i]->loop.var->name, l->path.at[i]->loop.begin);
  return e;
}

static bool writes(const nw_stmt *block, const char *buffer) {
  for (int i = 0; i < block->block.ntargets; i++)
    if (!strcmp(block->block.target[i].buffer, buffer)) return true;
  return false;
}

static bool path_allows(const lift *l) {
  for (int i = l->outer; i < l->path.n - 1; i++) {
    const nw_stmt *s = l->path.at[i];
    if (s->kind == NW_GUARD || (s->kind == NW_ALLOC && writes(l->block, s->alloc.buffer))) return false;
    if (s->kind != NW_LOOP || is_reduce(l, i)) continue;
    if (uses_reduce_loop(l, s->loop.begin) || uses_reduce_loop(l, s->loop.extent)) return false;
  }
  return true;
}

static bool starts_at_lo(const lift *l, nw_ranges *r) {
  for (int i = 0; i < l->block->block.nvars; i++) {
    const nw_block_var *v = &l->block->block.var[i];
    if (v->kind != NW_REDUCE && uses_reduce_loop(l, v->bind)) return false;
    if (v->kind != NW_REDUCE) continue;
    const nw_expr *beyond = nw_sub(l->p->pool, at_begin(l, v->bind), v->lo);
    if (!nw_is_const(nw_simplify(r, beyond), 0)) return false;
  }
  return true;
}

static bool over_nothing(const nw_stmt *block) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind == NW_REDUCE && nw_is_const(block->block.var[i].extent, 0)) return true;
  return false;
}

// What is known at the block; of one that is never reached, what is known outside its reduction's loops.
static void known_there(const lift *l, nw_ranges *r) {
  nw_path path = l->path;
  bool nothing = over_nothing(l->block);
  if (nothing) path.n = l->outer;
  nw_ranges_of(r, l->p, &path);
  if (l->block->block.where && !nothing) nw_ranges_fact(r, l->block->block.where);
}

bool nw_init_lifts(const nw_program *p, const nw_stmt *block) {
  lift l = {.p = p, .block = block};
  nw_find(p, block->id, &l.path);
  for (l.outer = 0; l.outer < l.path.n && !is_reduce(&l, l.outer);) l.outer++;
  if (l.outer == l.path.n || !path_allows(&l)) return false;
  nw_ranges r;
  nw_ranges_init(&r, p->pool);
  known_there(&l, &r);
  bool lifts = starts_at_lo(&l, &r);
  nw_ranges_free(&r);
  return lifts;
}
