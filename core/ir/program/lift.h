// The place where a reduction that owns its init begins.
#pragma once
#include "ir/program/program.h"
#include "ir/expr/range.h"

typedef struct nw_lift {
  const nw_program *p;
  nw_path path; // ends in the block
  nw_stmt *block;
  int outer; // position in path of the outermost loop along which the block reduces; path.n - 1 if there is none
  bool reduce[NW_MAX_DEPTH]; // true for the statements of the path that are such loops
  nw_ranges r; // facts at the block; if the block is never reached, the facts outside those loops
} nw_lift;

void nw_lift_of(nw_lift *l, const nw_program *p, int id);
void nw_lift_free(nw_lift *l);
// e in the first iteration of every loop along which the block reduces.
const nw_expr *nw_lift_begin(const nw_lift *l, const nw_expr *e);
const nw_expr *nw_lift_first(const nw_lift *l, const nw_block_var *v); // true if this variable is at its first value
// True if the block may contain the first reduce instance. The tail of a cut loop never does, and such a block runs no init.
bool nw_lift_starts(const nw_lift *l);
// True if the init runs before the outermost of these loops, even if they have no iterations. That is the case if their
// first iterations are the first reduce instance of every spatial instance inside. Any other nest runs the init
// together with the first update, so it never runs the init without an update.
bool nw_lifts(const nw_lift *l);
bool nw_init_lifts(const nw_program *p, const nw_stmt *block); // the same for a single block
bool nw_init_starts(const nw_program *p, const nw_stmt *block);
