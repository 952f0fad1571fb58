// Stores a refused step in its schedule. s:explain() explains the stored step.
#include "sched/advice/refused.h"
#include <stdlib.h>

void nw_refused_release(nw_refused *r) {
  if (!r || --r->refs) return;
  nw_program_release(r->before);
  nw_program_release(r->after);
  nw_arena_free(r->arena);
  free(r);
}

void nw_refused_forget(nw_sched *s) {
  nw_refused_release(s->refused);
  s->refused = NULL;
}

nw_refused *nw_sched_refused(nw_sched *s) {
  if (s->refused) s->refused->refs++;
  return s->refused;
}

const nw_refusal *nw_refused_why(const nw_refused *r) { return r->slip ? NULL : &r->refusal; }

const nw_program *nw_refused_program(const nw_refused *r, bool after) { return after ? r->after : r->before; }

void nw_refused_keep(nw_step *st) {
  const nw_refusal *refusal = nw_refusal_edit(st->ctx);
  const nw_diag *d = nw_error(st->ctx);
  nw_refused *r = nw_xcalloc(1, sizeof *r);
  r->refs = 1;
  r->arena = nw_arena_new();
  if (refusal) r->refusal = nw_refusal_copy(r->arena, refusal);
  if (!refusal) r->slip = nw_arena_strdup(r->arena, d ? d->message : "");
  if (!refusal && d && d->hint) r->hint = nw_arena_strdup(r->arena, d->hint);
  r->before = nw_program_retain((nw_program *)st->before);
  r->after = st->denied ? nw_program_retain(st->denied) : NULL;
  if (r->after) nw_program_keep(r->after);
  nw_refused_forget(st->sched);
  st->sched->refused = r;
}
