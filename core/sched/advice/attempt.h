// Trying steps on a scratch program. Private to sched/.
#pragma once
#include "sched/step.h"

// Limits on isl operations for one attempt: for suggestions, and lower for trying all primitives, since both must be
// fast.
enum { NW_TRY_BUDGET = 300000, NW_LOOK_BUDGET = 48000 };

#define NW_NOT_DECIDED "not decided by a quick check: take the step to find out"

// Returns the program that the step would make, counted, or NULL. If why is not NULL, *why is then the reason as one
// line; heap. The context must have no failure before, and has none afterwards except an interrupt.
nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, char **why);
// True if the candidate is worth suggesting: it changes something, and the step that must work after it does.
bool nw_attempt_way(nw_sched *s, const nw_candidate *c, long budget);
// True if the step would have been accepted at an earlier version.
bool nw_attempt_at(nw_sched *s, int version, const nw_primitive *row, const nw_arg *args, long budget);
