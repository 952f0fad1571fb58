// Storage that all threads of a block or of a warp have in common. Private to sched/.
#pragma once
#include "sched/sched.h"

// Moves storage of scope shared and warp out of the loops whose iterations are the threads that have it in common, so
// that it holds what all these threads use. Returns false, with a refusal, if this is not possible.
bool nw_share_storage(nw_step *st);
// If the judge refused the step, adds to the refusal what nw_share_storage moved.
void nw_explain_sharing(nw_step *st);
