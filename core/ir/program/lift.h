// Finds where the init of a reduction runs, if the init is not a block of its own. The init is called lifted if it runs
// before all loops along which the block reduces. A lifted init runs even if these loops have no iterations.
#pragma once
#include "ir/program/program.h"
#include "ir/expr/range.h"

typedef struct nw_lift {
  const nw_program *p;
  nw_path path; // the path from the root to the block
  nw_stmt *block;
  int outer; // position in path of the outermost loop along which the block reduces; path.n - 1 if there is none
  bool reduce[NW_MAX_DEPTH]; // true for the statements of the path that are loops along which the block reduces
  nw_ranges r; // facts at the block; if the block is never reached, the facts outside the reduction
} nw_lift;

void nw_lift_of(nw_lift *l, const nw_program *p, int id);
void nw_lift_free(nw_lift *l);
// Returns the value of e in the first iteration of every loop along which the block reduces.
const nw_expr *nw_lift_begin(const nw_lift *l, const nw_expr *e);
const nw_expr *nw_lift_first(const nw_lift *l, const nw_block_var *v); // condition: v is at its first value
// True if the block may execute the first instance of its reduction. For example, a block in the tail of a reduction
// loop that was cut never executes the first instance, so it does not run the init.
bool nw_lift_starts(const nw_lift *l);
// True if the init is lifted. This requires that the first iterations of the loops along which the block reduces
// execute the first reduce instance of every element. In any other nest, the init runs together with the first update,
// so an element without updates gets no init.
bool nw_lifts(const nw_lift *l);
bool nw_init_lifts(const nw_program *p, const nw_stmt *block); // like nw_lifts, for a block of p
bool nw_init_starts(const nw_program *p, const nw_stmt *block); // like nw_lift_starts, for a block of p
