// Checks of a schedule, and refused steps told as lessons.
#pragma once
#include "nestwright/sched.h"

#ifdef __cplusplus
extern "C" {
#endif

// Differential check of a schedule on small shapes and, for constant shapes, on its own (see check/check.h).
NW_API bool nw_check(nw_ctx *c, nw_sched *s, char **report);
// The last step, when it was refused, replayed on small whole numbers. False when nothing was refused.
typedef struct nw_lesson {
  const char *how; // the conflict as the interpreter showed it: "order", "place", "iterations", "race", "twice",
      // "outside", "domain", "unwritten", "incomplete", "value"; NULL: not seen
  bool visible; // there was something to see: a refusal for structure or capacity has nothing to run
  char *text; // for people; heap
} nw_lesson;
NW_API bool nw_explain(nw_ctx *c, nw_sched *s, nw_lesson *out);

#ifdef __cplusplus
}
#endif
