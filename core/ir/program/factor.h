// Factors a reduction: one block computes partial results, and another block combines them. The partial results have a
// new dimension for each of some loops of the reduction, and one position along it for each iteration of the loop.
//
// The old block becomes the block of the partial results, in place. If a guard skips iterations of the reduction, a
// select replaces the guard. The select gives the neutral element in these iterations, so that every partial result has
// its init and its full number of updates.
#pragma once
#include "ir/program/program.h"

typedef struct nw_factoring {
  nw_program *p;
  nw_path path; // the path from the root to the block
  nw_stmt *block; // the reduction
  int top; // position on the path of the outermost loop of the nest that is factored
  int axis; // position of the first new dimension
  int nred; // number of reduction loops
  nw_stmt *red[NW_MAX_DEPTH]; // the reduction loops, outermost first
  bool part[NW_MAX_DEPTH]; // true for the loops that become dimensions
  const nw_expr *var[NW_MAX_DEPTH]; // the block variable that stands for each reduction loop
  nw_scope scope; // the scope of the partial results
  const char *suffix; // the name of their buffer is the name of the stage's buffer with this suffix
} nw_factoring;

// The two reasons why a nest cannot be factored. True if the bounds of the loop use only sizes, and if no guard depends
// on both the reduction and other loops.
bool nw_factor_bounds(const nw_factoring *f, const nw_stmt *loop);
bool nw_factor_guards(const nw_factoring *f);
// Makes the partial results. Returns the nest that combines them, which is not yet in the tree: copies of the stage's
// loops along the output, around a loop for each new dimension. The partial results are combined in the order of `red`.
nw_stmt *nw_factor(nw_factoring *f);
// Does the same, but returns only the loops for the new dimensions, without the loops along the output around them.
nw_stmt *nw_factor_inside(nw_factoring *f);
const nw_stmt *nw_factor_combination(const nw_stmt *nest); // the block inside the nest that nw_factor returned

// ---- a second nest over the output of a stage, also for the init of a reduction

// Makes copies around `inside` of the loops from path->at[from] inwards, except those along which the stage reduces. In
// the expressions of `inside`, the copies replace the old loops. The name of a copy is the name of the old loop with
// the suffix.
nw_stmt *nw_nest_along_output(nw_program *p, const nw_path *path, int from, const nw_stmt *stage, nw_stmt *inside,
                              const char *suffix);
// Returns the guards of the stage that do not use the reduction loops from path->at[from] inwards; NULL if there are
// none.
const nw_expr *nw_where_along_output(nw_program *p, const nw_path *path, int from, const nw_stmt *stage);
