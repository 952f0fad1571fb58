// Steps tried on a scratch program, which goes at once.
#include "sched/attempt.h"
#include "poly/poly.h"
#include <stdlib.h>

// What matters of a refusal is its reason: the step stands beside it.
static char *reason_of(const nw_ctx *c) {
  const nw_diag *d = nw_error(c);
  if (!d) return nw_xstrdup("it failed without saying why");
  if (d->code == NW_EUNDECIDED) return nw_xstrdup("not decided at a glance: take the step to have it judged");
  const char *text = d->refusal && d->refusal->why ? d->refusal->why : d->message;
  char *line = nw_xstrdup(text ? text : "refused");
  line[strcspn(line, "\n")] = 0;
  return line;
}

nw_program *nw_attempt(nw_sched *s, const nw_primitive *row, const nw_arg *args, long budget, char **why) {
  nw_step st;
  bool unsafe = nw_sched_unsafe(s, false);
  long was = nw_judge_budget(s->ctx, budget);
  nw_step_begin(&st, s, row, args);
  nw_program *p = nw_step_make(&st);
  if (why) *why = p ? NULL : reason_of(s->ctx);
  nw_step_end(&st);
  nw_judge_budget(s->ctx, was);
  nw_sched_unsafe(s, unsafe);
  if (!s->ctx->interrupted) nw_clear(s->ctx);
  return p;
}
