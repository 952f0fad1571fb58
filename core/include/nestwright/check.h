// Checks of a schedule, and explanations of refused steps.
#pragma once
#include "nestwright/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

// Differential check of a schedule on small shapes and, for constant shapes, on its own (see check/check.h).
NW_API bool nw_check(nw_ctx *c, nw_sched *s, char **report);
// Replays the last step on small integers, if it was refused. False if it was not refused.
typedef struct nw_lesson {
  const char *how; // the conflict that the interpreter observed: "order", "place", "iterations", "race", "twice",
      // "outside", "domain", "unwritten", "incomplete", "value"; NULL: none observed
  bool visible; // false for refusals for structure or capacity, where there is nothing to run
  char *text; // text for users; heap
} nw_lesson;
NW_API bool nw_explain(nw_ctx *c, nw_sched *s, nw_lesson *out);

#ifdef __cplusplus
}
#endif
