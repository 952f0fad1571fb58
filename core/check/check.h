// Checks a schedule by running it in several ways and comparing the results. This folder uses the folders sched, interp
// and run.
//
// If the computation has symbolic sizes, nw_check runs the schedule on small shapes (0, 1, tile-1, tile, tile+1,
// primes). If the sizes are constant and small enough, nw_check runs the schedule on these sizes. The inputs are random
// integers. nw_check compares the results of the definition, the scheduled program, the lowered program and the
// compiled program. The interpreter runs the scheduled program and the lowered program.
#pragma once
#include "run/run.h"
#include "sched/sched.h"
