// Finds where the init of a reduction runs. The judge and lowering use the same functions.
#include "ir/program/lift.h"

static bool uses_reduce_loop(const nw_lift *l, const nw_expr *e) {
  for (int i = l->outer; i < l->path.n; i++)
    if (l->reduce[i] && nw_uses_var(e, l->path.at[i]->loop.var->name)) return true;
  return false;
}

const nw_expr *nw_lift_begin(const nw_lift *l, const nw_expr *e) {
  for (int i = l->path.n - 1; e && i >= l->outer; i--)
    if (l->reduce[i]) e = nw_subst(l->p->pool, e, l->path.at[i]->loop.var->name, l->path.at[i]->loop.begin);
  return e;
}

const nw_expr *nw_lift_first(const nw_lift *l, const nw_block_var *v) { return nw_eq(l->p->pool, v->bind, v->lo); }

bool nw_lift_starts(const nw_lift *l) {
  for (int i = 0; i < l->block->block.nvars; i++) {
    const nw_block_var *v = &l->block->block.var[i];
    if (v->kind == NW_REDUCE && nw_disprove(&l->r, nw_lift_first(l, v))) return false;
  }
  return true;
}

// True if the statements between the outermost reduce loop and the block allow lifting.
static bool path_allows(const nw_lift *l) {
  for (int i = l->outer; i < l->path.n - 1; i++) {
    const nw_stmt *s = l->path.at[i];
    if (s->kind == NW_GUARD || (s->kind == NW_ALLOC && nw_block_writes(l->block, s->alloc.buffer))) return false;
    if (s->kind != NW_LOOP || l->reduce[i]) continue;
    if (uses_reduce_loop(l, s->loop.begin) || uses_reduce_loop(l, s->loop.extent)) return false;
  }
  return true;
}

bool nw_lifts(const nw_lift *l) {
  if (l->outer == l->path.n - 1 || !path_allows(l)) return false;
  for (int i = 0; i < l->block->block.nvars; i++) {
    const nw_block_var *v = &l->block->block.var[i];
    if (v->kind != NW_REDUCE && uses_reduce_loop(l, v->bind)) return false;
    if (v->kind != NW_REDUCE) continue;
    const nw_expr *beyond = nw_sub(l->p->pool, nw_lift_begin(l, v->bind), v->lo);
    if (!nw_is_const(nw_simplify(&l->r, beyond), 0)) return false;
  }
  return true;
}

// True if a loop of the block's reduction is known to have no iterations. Then the block is never reached.
static bool over_nothing(const nw_lift *l) {
  nw_pool *pool = l->p->pool;
  for (int i = l->outer; i < l->path.n; i++) {
    if (!l->reduce[i]) continue;
    const nw_stmt *s = l->path.at[i];
    const nw_expr *at = nw_sub(pool, s->loop.var, s->loop.begin);
    if (nw_disprove(&l->r, nw_le(pool, nw_index(pool, 0), at)) || nw_disprove(&l->r, nw_lt(pool, at, s->loop.extent)))
      return true;
  }
  return false;
}

// Collects the known facts. At a block that is never reached the facts contradict each other, so anything could be
// proven from them. For such a block, only the facts outside the reduction are used.
static void known_there(nw_lift *l) {
  nw_ranges_of(&l->r, l->p, &l->path);
  if (l->block->block.where) nw_ranges_fact(&l->r, l->block->block.where);
  if (!over_nothing(l)) return;
  nw_path outside = l->path;
  outside.n = l->outer;
  nw_ranges_free(&l->r);
  nw_ranges_of(&l->r, l->p, &outside);
}

void nw_lift_of(nw_lift *l, const nw_program *p, int id) {
  *l = (nw_lift){.p = p};
  nw_find(p, id, &l->path);
  l->outer = l->path.n - 1;
  l->block = l->path.at[l->outer];
  for (int i = l->path.n - 1; i >= 0; i--) {
    const nw_stmt *s = l->path.at[i];
    l->reduce[i] = s->kind == NW_LOOP && nw_binds_reduce(l->block, s->loop.var->name);
    if (l->reduce[i]) l->outer = i;
  }
  known_there(l);
}

void nw_lift_free(nw_lift *l) { nw_ranges_free(&l->r); }

bool nw_init_lifts(const nw_program *p, const nw_stmt *block) {
  nw_lift l;
  nw_lift_of(&l, p, block->id);
  bool lifts = nw_lifts(&l);
  nw_lift_free(&l);
  return lifts;
}

bool nw_init_starts(const nw_program *p, const nw_stmt *block) {
  nw_lift l;
  nw_lift_of(&l, p, block->id);
  bool starts = nw_lift_starts(&l);
  nw_lift_free(&l);
  return starts;
}
