// Calls of intrinsics, as every step sees them. Private to sched/.
#pragma once
#include "sched/sched.h"

// Is the nest of each call still what its intrinsic does, and may it be called there? Else a refusal.
bool nw_calls_hold(nw_step *st);
const nw_stmt *nw_call_around(const nw_path *path); // the call that what the path ends in is part of, or NULL
