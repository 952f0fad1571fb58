// What a schedule remembers of a step that was refused, so that it can be explained.
#include "sched/refused.h"
#include <stdlib.h>

void nw_refused_forget(nw_sched *s) {
  nw_refused *r = s->refused;
  if (!r) return;
  nw_program_release(r->before);
  nw_program_release(r->after);
  nw_arena_free(r->arena);
  free(r);
  s->refused = NULL;
}

void nw_refused_keep(nw_step *st) {
  const nw_refusal *refusal = nw_refusal_edit(st->ctx);
  const nw_diag *d = nw_error(st->ctx);
  nw_refused_forget(st->sched);
  nw_refused *r = nw_xcalloc(1, sizeof *r);
  r->arena = nw_arena_new();
  if (refusal) r->refusal = nw_refusal_copy(r->arena, refusal);
  if (!refusal) r->slip = nw_arena_strdup(r->arena, d ? d->message : "");
  if (!refusal && d && d->hint) r->hint = nw_arena_strdup(r->arena, d->hint);
  r->before = nw_program_retain((nw_program *)st->before);
  r->after = st->denied ? nw_program_retain(st->denied) : NULL;
  st->sched->refused = r;
}
