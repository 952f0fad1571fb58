// Steps tried on a scratch program, which goes at once. Private to sched/.
#pragma once
#include "sched/step.h"

// Operations of isl for one attempt: finding out what else there is must not take long, and looking at everything even less.
enum { NW_TRY_BUDGET = 300000, NW_LOOK_BUDGET = 60000 };

#define NW_NOT_DECIDED "not decided by a quick check: take the step to find out"

// The program the step would make, counted, or NULL. *why (may be NULL): the reason, one line; heap. The context has no
// failure before and after, but for an interrupt.
nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, char **why);
// Is the candidate a way on: it changes something, and what has to work after it does?
bool nw_attempt_way(nw_sched *s, const nw_candidate *c, long budget);
// Would the step have been accepted at an earlier version?
bool nw_attempt_at(nw_sched *s, int version, const nw_primitive *row, const nw_arg *args, long budget);
