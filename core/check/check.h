// Checks a schedule by comparing the results of several ways to run it. This folder uses sched, interp and run.
//
// If the computation has symbolic sizes, nw_check runs the schedule on small shapes (0, 1, tile-1, tile, tile+1,
// primes). If the sizes are constant and small enough, it runs the schedule on them. The inputs are random integers. It
// compares the results of the definition, the scheduled program, the lowered program (both interpreted) and the
// compiled program. See nestwright.h.
#pragma once
#include "run/run.h"
#include "sched/sched.h"
