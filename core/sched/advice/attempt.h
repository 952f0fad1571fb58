// Tries steps on a scratch program. Private to sched/.
#pragma once
#include "sched/step.h"

// Limits on isl operations for one attempt, since attempts must be fast. NW_TRY_BUDGET is for suggestions, and the
// lower NW_LOOK_BUDGET is for trying all primitives.
enum { NW_TRY_BUDGET = 300000, NW_LOOK_BUDGET = 48000 };

#define NW_NOT_DECIDED "not decided by a quick check: take the step to find out"

// Returns the program that the step would make, which the caller must release, or NULL. If the result is NULL and `why`
// is not NULL, *why is set to the reason in one line, a heap string. The context must hold no error before the call,
// and holds none after it except an interrupt.
nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, char **why);
// True if the candidate is worth suggesting: it is legal and changes the program, and the same is true of the step
// after it (`then`), if there is one.
bool nw_attempt_way(nw_sched *s, const nw_candidate *c, long budget);
// True if the step would be accepted at the earlier version `version`.
bool nw_attempt_at(nw_sched *s, int version, const nw_primitive *row, const nw_arg *args, long budget);
