// What needs sched, interp and run together: differential checks of a schedule.
//
// nw_check replays the schedule's trace on small shapes where the computation has symbolic sizes (0, 1, tile-1, tile,
// tile+1, primes) and runs it as it is where sizes are constant and small enough, on random integers, and compares the
// naive expression, the interpreter on the scheduled and on the lowered program, and the JIT. See nestwright.h.
#pragma once
#include "run/run.h"
#include "sched/sched.h"
