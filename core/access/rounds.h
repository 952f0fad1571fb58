// Records when each iteration of a loop begins and ends during a walk (walker.h). A *round* is one iteration of a loop.
#pragma once
#include "access/walker.h"

typedef struct nw_rounds {
  nw_arena *arena; // not owned
  int64_t most; // a loop with more iterations than this is not recorded; 0 means no limit
  int depth; // number of loops that have begun and not ended
  nw_iteration *open[NW_MAX_DEPTH];
  const nw_stmt *loop[NW_MAX_DEPTH];
  nw_vec round; // nw_iteration *, in the order in which the iterations end
  nw_vec many; // nw_stmt *: loops with more than `most` iterations
  nw_vec seen, count; // loops, and the number of iterations of each so far (intptr_t)
} nw_rounds;
// Records the start of an iteration, or the end of the loop; see nw_round_fn.
void nw_rounds_see(nw_rounds *r, const nw_stmt *loop, int64_t index, int64_t time);
void nw_rounds_close(nw_rounds *r); // removes the records of loops with more than `most` iterations
void nw_rounds_free(nw_rounds *r);
