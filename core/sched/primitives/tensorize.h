// Checks of intrinsic calls after every step. Private to sched/.
#pragma once
#include "sched/sched.h"

// True if the nest of each call still matches its intrinsic, and the call is allowed where it is; otherwise makes a
// refusal.
bool nw_calls_hold(nw_step *st);
const nw_stmt *nw_call_around(const nw_path *path); // the call that contains the end of the path, or NULL
