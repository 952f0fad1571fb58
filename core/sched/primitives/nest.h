// A second nest over a stage's output: copies of the stage's loops, without the reduction loops. Private to sched/.
#pragma once
#include "sched/sched.h"

// True if no kept loop of the path from `from` inwards (a loop along which `stage`, the block at its end, does not reduce) has
// bounds that use a loop that is dropped; otherwise refuses with the reason `why`.
bool nw_stays_clear(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, const char *why);
// Copies around `inside` the loops of the path from `from` inwards along which `stage`, the block at its end, does not
// reduce; expressions are renamed. Copies are named after the loops, with the suffix.
nw_stmt *nw_nest_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, nw_stmt *inside,
                              const char *suffix);
// The guards of the stage that use no dropped loop; NULL for none.
const nw_expr *nw_where_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage);
