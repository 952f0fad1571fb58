// The iterations of loops, as a walk tells them.
#pragma once
#include "access/walker.h"

typedef struct nw_rounds {
  nw_arena *arena; // not owned
  int64_t most; // of one loop: a loop with more is left out; 0: no limit
  int depth; // loops that are open
  nw_iteration *open[NW_MAX_DEPTH];
  const nw_stmt *loop[NW_MAX_DEPTH];
  nw_vec round; // nw_iteration *, in the order in which they end
  nw_vec many; // nw_stmt *: loops with more than most
  nw_vec seen, count; // loops, and how many iterations (intptr_t)
} nw_rounds;
void nw_rounds_see(nw_rounds *r, const nw_stmt *loop, int64_t index, int64_t time); // as nw_round_fn
void nw_rounds_close(nw_rounds *r); // takes out those of loops with too many
void nw_rounds_free(nw_rounds *r);
