// Where a reduction that owns its init begins.
#pragma once
#include "ir/program/program.h"
#include "ir/expr/range.h"

typedef struct nw_lift {
  const nw_program *p;
  nw_path path; // ends in the block
  nw_stmt *block;
  int outer; // position in path of the outermost loop it reduces along; path.n - 1 when there is none
  bool reduce[NW_MAX_DEPTH]; // which statements of the path are such loops
  nw_ranges r; // what is known at the block; of one that is never reached, outside of those loops
} nw_lift;

void nw_lift_of(nw_lift *l, const nw_program *p, int id);
void nw_lift_free(nw_lift *l);
// e when every loop it reduces along is at its first iteration.
const nw_expr *nw_lift_begin(const nw_lift *l, const nw_expr *e);
const nw_expr *nw_lift_first(const nw_lift *l, const nw_block_var *v); // this variable is at its first value
// May the block make the first reduce instance? The tail of a cut loop never does, and so does no init.
bool nw_lift_starts(const nw_lift *l);
// Is the init done before the outermost of these loops, even when they have no iteration? It is when their first
// iterations are the first reduce instance of every spatial instance below. Any other nest does the init beside the first
// update, so never without one.
bool nw_lifts(const nw_lift *l);
bool nw_init_lifts(const nw_program *p, const nw_stmt *block); // the same of one block
bool nw_init_starts(const nw_program *p, const nw_stmt *block);
