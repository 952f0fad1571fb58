// A nest along a stage's output beside the stage's own: its loops that are not the reduction's, copied. Private to sched/.
#pragma once
#include "sched/sched.h"

// True where no loop of the path from `from` inwards that stays (that `stage`, the block at its end, does not reduce along) has
// bounds that use one that does not stay; else it refuses for the reason `why`.
bool nw_stays_clear(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, const char *why);
// The loops of the path from `from` inwards that `stage`, the block at its end, does not reduce along, copied around
// `inside`; what speaks of them follows. Copies are called after the loops, with the suffix.
nw_stmt *nw_nest_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, nw_stmt *inside,
                              const char *suffix);
// The guards of the stage that speak of none of the loops left out; NULL for none.
const nw_expr *nw_where_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage);
