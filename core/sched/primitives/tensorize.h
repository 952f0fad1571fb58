// Checks the calls of intrinsics after every step. Private to sched/.
#pragma once
#include "sched/sched.h"

// True if the nest of each call still matches its intrinsic, and if each call is allowed at its position. Otherwise
// makes a refusal.
bool nw_calls_hold(nw_step *st);
const nw_stmt *nw_call_around(const nw_path *path); // the call around the last statement of the path, or NULL
