// Makes a second nest over a stage's output, from copies of the stage's loops without the reduction loops. Private to
// sched/.
#pragma once
#include "sched/sched.h"

// Checks the loops from path->at[from] inwards. `stage` is the block at the end of the path. Loops that bind a
// reduction variable of the stage are dropped, and the other loops are kept. If the bounds of a kept loop use a dropped
// loop, refuses with the reason `why` and returns false.
bool nw_stays_clear(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, const char *why);
// Makes copies of the kept loops around `inside`. In the expressions of `inside`, the copies replace the old loops. The
// name of a copy is the name of the old loop with the suffix.
nw_stmt *nw_nest_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, nw_stmt *inside,
                              const char *suffix);
// Returns the guards of the stage that do not use a dropped loop, or NULL if there are none.
const nw_expr *nw_where_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage);
