// Checks a schedule, and explains refused steps.
#pragma once
#include "nestwright/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

// Compares the results of a schedule with those of the definition on small shapes. If a shape is constant, the schedule
// is also checked at this shape (see check/check.h).
NW_API bool nw_check(nw_ctx *c, nw_sched *s, char **report);
// Lets the judge test equalities that it cannot prove (check/equal.c). Without this, such rewrites are refused.
NW_API void nw_provide_trials(nw_ctx *c);
// The explanation of the last step if it was refused. To show the conflict, the refused program is run on small
// integers.
typedef struct nw_lesson {
  // the kind of conflict that the interpreter observed: "order", "place", "iterations", "race", "twice", "outside",
  // "domain", "unwritten", "incomplete" or "value"; NULL if it observed no conflict
  const char *how;
  bool visible; // false if there is nothing to run, because the step was refused for its structure or for a capacity
  char *text; // text for users; heap
} nw_lesson;
NW_API bool nw_explain(nw_ctx *c, nw_sched *s, nw_lesson *out); // returns false if the last step was not refused

#ifdef __cplusplus
}
#endif
