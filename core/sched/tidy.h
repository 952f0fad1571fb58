// After a primitive has edited a program: what every step does. Private to sched/.
#pragma once
#include "sched/sched.h"

void nw_tidy(nw_step *st); // simplifies what changed under the ranges around it
void nw_note_rounding(nw_step *st, const nw_program *p); // p: accepted; notes where floats are rounded otherwise
bool nw_storage_holds(nw_step *st); // every temporary exists wherever it is used; else a structural refusal
// Does the order of a reduction's contributions show in its result?
bool nw_rounds(const nw_program *p, const nw_stmt *block);
// What a block stores in a target: of a sum, what it adds to.
const nw_expr *nw_block_stored(nw_pool *pool, const nw_stmt *block, int target);
