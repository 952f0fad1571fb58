// Checks of a schedule, and explanations of refused steps.
#pragma once
#include "nestwright/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

// Compares the results of a schedule with the definition on small shapes. Constant shapes are also checked at their own
// size (see check/check.h).
NW_API bool nw_check(nw_ctx *c, nw_sched *s, char **report);
// If the last step was refused, runs its program on small integers to show the conflict. False if it was not refused.
typedef struct nw_lesson {
  // The kind of conflict that the interpreter observed: "order", "place", "iterations", "race", "twice", "outside",
  // "domain", "unwritten", "incomplete" or "value"; NULL if it observed none.
  const char *how;
  bool visible; // false for a refusal because of structure or capacity: then there is nothing to run
  char *text; // text for users; heap
} nw_lesson;
NW_API bool nw_explain(nw_ctx *c, nw_sched *s, nw_lesson *out);

#ifdef __cplusplus
}
#endif
