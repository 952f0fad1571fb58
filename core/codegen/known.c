// Collects the ranges and facts at a statement of a kernel for a GPU.
#include "codegen/known.h"
#include <stdlib.h>

nw_ranges *nw_known_open(const nw_program *p, const nw_launch *l) {
  nw_ranges *r = nw_xcalloc(1, sizeof *r);
  nw_ranges_of(r, p, NULL);
  for (int d = 0; d < NW_GRID_DIMS; d++)
    nw_ranges_push(r, nw_grid_index[d], nw_index(p->pool, 0), nw_sub(p->pool, l->extent[d], nw_index(p->pool, 1)));
  return r;
}

void nw_known_enter(nw_ranges *known, const nw_stmt *s) {
  if (s->kind == NW_GUARD) nw_ranges_fact(known, s->guard.cond);
  if (s->kind != NW_LOOP) return;
  const nw_expr *end = nw_add(known->pool, s->loop.begin, s->loop.extent);
  nw_ranges_push(known, s->loop.var->name, s->loop.begin, nw_sub(known->pool, end, nw_index(known->pool, 1)));
}

void nw_known_leave(nw_ranges *known, const nw_stmt *s) {
  if (s->kind == NW_GUARD) nw_ranges_pop_fact(known);
  if (s->kind == NW_LOOP) nw_ranges_pop(known);
}

bool nw_known_divides(const nw_ranges *known, const nw_expr *e, int64_t m) { return nw_divides(known, e, m); }

void nw_known_close(nw_ranges *known) {
  nw_ranges_free(known);
  free(known);
}

const char *nw_known_index(int d) { return nw_grid_index[d]; }
