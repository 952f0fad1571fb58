// Checks before a second nest over a stage's output is made (ir/program/factor.h). Private to sched/.
#pragma once
#include "ir/program/factor.h"
#include "sched/sched.h"

// Checks the loops from path->at[from] inwards. `stage` is the block at the end of the path. Loops that bind a
// reduction variable of the stage are dropped, and the other loops are kept. If the bounds of a kept loop use a dropped
// loop, refuses with the reason `why` and returns false.
bool nw_stays_clear(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, const char *why);
