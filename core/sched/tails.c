// Cutting a loop at a multiple of a factor: a main part without guards, and the rest as a nest of its own.
#include "sched/shape.h"
#include "sched/tree.h"

// The rest holds no first reduce instance when what is before it is known not to be empty: then the main part alone does
// the init. When that is not known neither copy can own it.
static bool share_init(nw_step *st, const nw_stmt *loop, nw_stmt *rest, bool main_runs) {
  nw_blocks b = nw_blocks_below(st->scratch, rest);
  for (int i = 0; i < b.n; i++) {
    nw_stmt *s = b.at[i];
    if (!s->block.has_init || !nw_loop_binds(s, loop, true)) continue;
    if (!main_runs)
      return nw_step_refuse(st, "either part may hold the first iteration, which does the init", loop,
                            "cannot cut %s: split off the init of %s first, with decompose_reduction", loop->loop.var->name, s->block.origin);
    s->block.has_init = false;
  }
  return true;
}

static bool runs(const nw_program *p, const nw_path *path, const nw_expr *extent) {
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  bool yes = nw_prove(&r, nw_lt(p->pool, nw_index(p->pool, 0), extent));
  nw_ranges_free(&r);
  return yes;
}

static nw_stmt *loop_in_copy(const nw_stmt *whole, const nw_stmt *loop, nw_stmt *copy) {
  while (whole != loop) whole = whole->kid[0], copy = copy->kid[0];
  return copy;
}

// Every loop between `whole` and `loop` has one child. The copy is refused the name by path when it is taken.
nw_stmt *nw_cut_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *factor) {
  nw_pool *pool = st->p->pool;
  nw_path path, at;
  nw_find(st->p, loop->id, &path);
  nw_find(st->p, whole->id, &at);
  const nw_expr *extent = loop->loop.extent;
  const nw_expr *main = nw_mul(pool, nw_floordiv(pool, extent, factor), factor);
  nw_stmt *copy = nw_copy_stmt_as(st->p, whole, nw_arena_printf(st->scratch, "%s.tail", loop->loop.var->name));
  nw_stmt *rest = loop_in_copy(whole, loop, copy);
  if (!share_init(st, loop, copy, runs(st->p, &path, main))) return NULL;
  rest->loop.begin = nw_add(pool, loop->loop.begin, main);
  rest->loop.extent = nw_floormod(pool, extent, factor);
  rest->loop.nfused = 0;
  loop->loop.extent = main;
  loop->loop.nfused = 0;
  nw_kids_insert(st->p, at.at[at.n - 2], at.pos[at.n - 1] + 1, copy);
  return rest;
}
