// Checks before a second nest over a stage's output is made (ir/program/factor.h). Private to sched/.
#pragma once
#include "ir/program/factor.h"
#include "sched/sched.h"

// Checks the loops from path->at[from] inwards. `stage` is the block at the end of the path. Loops that bind a
// reduction variable of the stage are dropped, and the other loops are kept. If the bounds of a kept loop use a dropped
// loop, refuses with the reason `why` and returns false.
bool nw_stays_clear(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, const char *why);
// Returns a separate init of the block's stage, without variables and targets. Its name is the block's name with the
// suffix.
nw_stmt *nw_new_init(nw_step *st, const nw_stmt *block, const char *suffix);
