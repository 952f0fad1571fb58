// Where a reduction that owns its init begins.
#pragma once
#include "ir/program/program.h"
#include "ir/expr/range.h"

typedef struct nw_lift {
  const nw_program *p;
  nw_path path; // ends in the block
  nw_stmt *block;
  int outer; // position in path of the outermost loop it reduces along; path.n - 1 if there is none
  bool reduce[NW_MAX_DEPTH]; // which statements of the path are such loops
  nw_ranges r; // facts at the block; for one that is never reached, facts outside those loops
} nw_lift;

void nw_lift_of(nw_lift *l, const nw_program *p, int id);
void nw_lift_free(nw_lift *l);
// e with every loop it reduces along at its first iteration.
const nw_expr *nw_lift_begin(const nw_lift *l, const nw_expr *e);
const nw_expr *nw_lift_first(const nw_lift *l, const nw_block_var *v); // true if this variable is at its first value
// True if the block may contain the first reduce instance. The tail of a cut loop never does, and such a block runs no init.
bool nw_lift_starts(const nw_lift *l);
// True if the init runs before the outermost of these loops, even if they have no iterations. It does if their first
// iterations are the first reduce instance of every spatial instance below. Any other nest runs the init with the first
// update, so never without one.
bool nw_lifts(const nw_lift *l);
bool nw_init_lifts(const nw_program *p, const nw_stmt *block); // the same for a single block
bool nw_init_starts(const nw_program *p, const nw_stmt *block);
