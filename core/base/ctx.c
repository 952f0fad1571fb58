// Opens and closes a session, and keeps its diagnostic. A session has at most one diagnostic at a time.
#include "base/base.h"
#include <stdio.h>
#include <stdlib.h>

nw_ctx *nw_open(void) {
  nw_ctx *c = nw_xcalloc(1, sizeof *c);
  c->diag_arena = nw_arena_new();
  return c;
}

void nw_close(nw_ctx *c) {
  if (!c) return;
  for (int i = NW_SLOT_COUNT - 1; i >= 0; i--) {
    nw_slot *s = &c->slot[i];
    void *data = s->data;
    s->interrupt = NULL;
    s->data = NULL;
    if (data && s->free) s->free(data);
  }
  nw_arena_free(c->diag_arena);
  free(c);
}

const nw_diag *nw_error(const nw_ctx *c) { return c->diag.code == NW_OK ? NULL : &c->diag; }

// Clears the diagnostic, the interrupt flag and the start time of the progress report. They may be left from an earlier
// call.
void nw_clear(nw_ctx *c) {
  c->interrupted = 0;
  c->progress.since = 0;
  if (c->diag.code == NW_OK) return;
  nw_arena *fresh = nw_arena_new();
  nw_arena_free(c->diag_arena);
  c->diag_arena = fresh;
  c->diag = (nw_diag){0};
}

void nw_slot_fill(nw_ctx *c, nw_slot_id id, void *data, void (*free)(void *data), void (*interrupt)(void *data)) {
  nw_slot *s = &c->slot[id];
  s->data = data;
  s->free = free;
  s->interrupt = interrupt;
}

// May run in a signal handler or in another thread, so it sets only the flags of the session and of its slots.
void nw_interrupt(nw_ctx *c) {
  c->interrupted = 1;
  for (int i = 0; i < NW_SLOT_COUNT; i++) {
    void (*interrupt)(void *) = c->slot[i].interrupt;
    if (interrupt) interrupt(c->slot[i].data);
  }
}

bool nw_stopped(nw_ctx *c) {
  if (!c->interrupted) return false;
  nw_fail(c, NW_EINTERRUPT, NULL, "interrupted");
  return true;
}

const char *nw_version(void) { return NW_VERSION; }

static const char *diag_vprintf(nw_ctx *c, const char *fmt, va_list args) {
  nw_str b = {0};
  nw_str_vfmt(&b, fmt, args);
  const char *s = nw_arena_strdup(c->diag_arena, b.s);
  nw_str_free(&b);
  return s;
}

const char *nw_diag_printf(nw_ctx *c, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  const char *s = diag_vprintf(c, fmt, args);
  va_end(args);
  return s;
}

void *nw_fail(nw_ctx *c, nw_code code, const char *hint, const char *fmt, ...) {
  if (c->diag.code != NW_OK) return NULL;
  va_list args;
  va_start(args, fmt);
  c->diag.message = diag_vprintf(c, fmt, args);
  va_end(args);
  c->diag.hint = nw_arena_strdup(c->diag_arena, hint);
  c->diag.code = code;
  return NULL;
}

// Returns a message such as "cannot parallel: C[0, 0] between C (i=0) and D (i=1)". Unknown parts are left out.
static const char *describe(nw_ctx *c, const nw_refusal *r) {
  nw_str b = {0};
  nw_str_fmt(&b, "cannot %s", r->primitive ? r->primitive : "take this step");
  if (r->element || r->tensor) nw_str_fmt(&b, ": %s", r->element ? r->element : r->tensor);
  if (r->source)
    nw_str_fmt(&b, " between %s%s%s", r->source_block ? r->source_block : "", r->source_block ? " " : "", r->source);
  if (r->sink) nw_str_fmt(&b, " and %s%s%s", r->sink_block ? r->sink_block : "", r->sink_block ? " " : "", r->sink);
  const char *s = nw_arena_strdup(c->diag_arena, b.s);
  nw_str_free(&b);
  return s;
}

static nw_execution copy_execution(nw_arena *a, const nw_execution *from) {
  nw_execution e = *from;
  e.block = nw_arena_strdup(a, from->block);
  e.loop = NW_NEW_N(a, const char *, e.n + 1);
  e.at = NW_NEW_N(a, int64_t, e.n + 1);
  for (int i = 0; i < e.n; i++) {
    e.loop[i] = nw_arena_strdup(a, from->loop[i]);
    e.at[i] = from->at[i];
  }
  return e;
}

static int64_t *copy_numbers(nw_arena *a, int n, const int64_t *from) {
  int64_t *to = NW_NEW_N(a, int64_t, n + 1);
  for (int i = 0; i < n; i++) to[i] = from[i];
  return to;
}

static const nw_conflict *copy_conflict(nw_arena *a, const nw_conflict *from) {
  if (!from) return NULL;
  nw_conflict *w = NW_NEW(a, nw_conflict);
  *w = *from;
  w->size = copy_numbers(a, w->nsizes, from->size);
  w->index = copy_numbers(a, w->ndim, from->index);
  w->source = copy_execution(a, &from->source);
  w->sink = copy_execution(a, &from->sink);
  w->buffer = nw_arena_strdup(a, from->buffer);
  w->loop = nw_arena_strdup(a, from->loop);
  return w;
}

nw_refusal nw_refusal_copy(nw_arena *a, const nw_refusal *from) {
  nw_refusal r = *from;
  const char **field[] = {&r.primitive,  &r.step, &r.tensor,   &r.element, &r.source_block, &r.source,
                          &r.sink_block, &r.sink, &r.distance, &r.message, &r.why,          &r.picture};
  for (int i = 0; i < NW_COUNT(field); i++) *field[i] = nw_arena_strdup(a, *field[i]);
  for (int i = 0; i < NW_MAX_NOTES; i++) {
    r.loops[i] = nw_arena_strdup(a, r.loops[i]);
    r.alternatives[i] = nw_arena_strdup(a, r.alternatives[i]);
  }
  r.conflict = copy_conflict(a, r.conflict);
  return r;
}

void *nw_refuse(nw_ctx *c, const nw_refusal *r) {
  if (c->diag.code != NW_OK) return NULL;
  nw_refusal *copy = NW_NEW(c->diag_arena, nw_refusal);
  *copy = nw_refusal_copy(c->diag_arena, r);
  if (!copy->message) copy->message = describe(c, copy);
  c->diag.code = r->kind == NW_REFUSE_UNDECIDED ? NW_EUNDECIDED : NW_EREFUSED;
  c->diag.message = copy->message;
  c->diag.refusal = copy;
  return NULL;
}

nw_refusal *nw_refusal_edit(nw_ctx *c) { return (nw_refusal *)c->diag.refusal; }
