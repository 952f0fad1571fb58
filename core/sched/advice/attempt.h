// Trying steps on a scratch program. Private to sched/.
#pragma once
#include "sched/step.h"

// Limits on isl operations for one attempt: suggestions must be fast, and trying everything even more so.
enum { NW_TRY_BUDGET = 300000, NW_LOOK_BUDGET = 48000 };

#define NW_NOT_DECIDED "not decided by a quick check: take the step to find out"

// The program that the step would make, counted, or NULL. *why (may be NULL): the reason, one line; heap. The context has no
// failure before and after, except an interrupt.
nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, char **why);
// True if the candidate is worth suggesting: it changes something, and the step that must work after it does.
bool nw_attempt_way(nw_sched *s, const nw_candidate *c, long budget);
// True if the step would have been accepted at an earlier version.
bool nw_attempt_at(nw_sched *s, int version, const nw_primitive *row, const nw_arg *args, long budget);
