// Steps tried on a scratch program, which goes at once. Private to sched/.
#pragma once
#include "sched/step.h"

enum { NW_TRY_BUDGET = 300000 }; // operations of isl: finding out what else there is must not take long

// The program the step would make, counted, or NULL. *why (may be NULL): the reason, one line; heap. The context has no
// failure before and after, but for an interrupt.
nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, char **why);
