// Checks a schedule by comparing the results of several ways to run it. It uses sched, interp and run.
//
// If the computation has symbolic sizes, nw_check replays the schedule's trace on small shapes (0, 1, tile-1, tile,
// tile+1, primes). If sizes are constant and small enough, it runs the schedule unchanged. The inputs are random
// integers. It compares the results of the definition, of the interpreter on the scheduled and on the lowered program,
// and of the JIT. See nestwright.h.
#pragma once
#include "run/run.h"
#include "sched/sched.h"
