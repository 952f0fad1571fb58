// Detects steps that change the rounding of floats. Private to sched/.
#pragma once
#include "sched/sched.h"

// Adds notes about changes of rounding. p is the accepted program.
void nw_note_rounding(nw_step *st, const nw_program *p);
// True if the result of a reduction depends on the order of its contributions.
bool nw_rounds(const nw_program *p, const nw_stmt *block);
// Returns the value that a block stores in a target. For a sum, this is the old value plus the new term. For any other
// reduction, returns only the new term.
const nw_expr *nw_block_stored(nw_pool *pool, const nw_stmt *block, int target);
