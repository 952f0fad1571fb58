// Cutting a loop at a multiple of a factor: a main part without guards, and the rest as a nest of its own.
#include "sched/shape.h"
#include "sched/tree.h"

static nw_stmt *loop_in_copy(const nw_stmt *whole, const nw_stmt *loop, nw_stmt *copy) {
  while (whole != loop) whole = whole->kid[0], copy = copy->kid[0];
  return copy;
}

// Every statement from `whole` down to `loop` has one child. Both parts of a cut reduction keep the init: it belongs to
// the first reduce instance, wherever that is.
nw_stmt *nw_cut_tail(nw_step *st, nw_stmt *loop, nw_stmt *whole, const nw_expr *factor) {
  nw_pool *pool = st->p->pool;
  nw_path at;
  nw_find(st->p, whole->id, &at);
  const nw_expr *extent = loop->loop.extent;
  const nw_expr *main = nw_mul(pool, nw_floordiv(pool, extent, factor), factor);
  nw_stmt *copy = nw_copy_stmt_as(st->p, whole, nw_arena_printf(st->scratch, "%s.tail", loop->loop.var->name));
  nw_stmt *rest = loop_in_copy(whole, loop, copy);
  rest->loop.begin = nw_add(pool, loop->loop.begin, main);
  rest->loop.extent = nw_floormod(pool, extent, factor);
  rest->loop.nfused = 0;
  loop->loop.extent = main;
  loop->loop.nfused = 0;
  nw_kids_insert(st->p, at.at[at.n - 2], at.pos[at.n - 1] + 1, copy);
  return rest;
}
