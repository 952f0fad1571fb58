// Tries steps without changing the schedule. Private to sched/.
#pragma once
#include "sched/step.h"

// These numbers limit the isl operations of one attempt, because attempts must be fast. NW_TRY_BUDGET is for
// suggestions, and the lower NW_LOOK_BUDGET is for trying all primitives.
enum { NW_TRY_BUDGET = 300000, NW_LOOK_BUDGET = 48000 };

#define NW_NOT_DECIDED "not decided by a quick check: take the step to find out"

// Returns the program that the step makes, or NULL on failure. The caller must release the program. On failure, *why is
// set to the reason in one line, as a heap string, if `why` is not NULL. The context must not hold an error before the
// call. After the call, it holds an error only if the call was interrupted.
nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, char **why);
// True if the candidate is worth suggesting: it is legal and changes the program. If a step `then` follows it, this
// step must also be legal and change the program.
bool nw_attempt_way(nw_sched *s, const nw_candidate *c, long budget);
// True if the step is legal at the earlier version `version`.
bool nw_attempt_at(nw_sched *s, int version, const nw_primitive *row, const nw_arg *args, long budget);
