// Differential checks of a schedule, which use sched, interp and run together.
//
// If the computation has symbolic sizes, nw_check replays the schedule's trace on small shapes (0, 1, tile-1, tile, tile+1,
// primes). If sizes are constant and small enough, it runs the schedule unchanged. On random integers, it compares the naive
// expression, the interpreter on the scheduled and on the lowered program, and the JIT. See nestwright.h.
#pragma once
#include "run/run.h"
#include "sched/sched.h"
