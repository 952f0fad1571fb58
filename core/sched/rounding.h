// Where a step changes how floats are rounded. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_note_rounding(nw_step *st, const nw_program *p); // p: accepted; notes where floats are rounded otherwise
// True if the order of a reduction's contributions shows in its result.
bool nw_rounds(const nw_program *p, const nw_stmt *block);
// What a block stores in a target: of a sum, what it adds to.
const nw_expr *nw_block_stored(nw_pool *pool, const nw_stmt *block, int target);
