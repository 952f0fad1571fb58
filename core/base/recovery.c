// Abandons a call that cannot be finished, since a small allocation failed or an internal condition does not hold.
//
// Control returns to the recovery point that this thread opened last, and all stack frames in between are discarded.
// Heap memory that these frames own is lost, but arenas made for the call are freed. Therefore, a call that changes a
// longer-lived object makes this change at its end, when nothing can fail any more.
#include "base/base.h"
#include <stdlib.h>

static _Thread_local nw_recovery *last;
static _Thread_local nw_work work;

nw_work nw_work_on(nw_work now) {
  nw_work was = work;
  work = now;
  return was;
}

// The list of the objects that are released if the current call is abandoned. The object that was added last is first.
static _Thread_local nw_scratch *scratch;
static _Thread_local uint64_t made;

void nw_scratch_add(nw_scratch *s, void (*release)(nw_scratch *s)) {
  *s = (nw_scratch){.before = scratch, .number = ++made, .release = release};
  if (scratch) scratch->after = s;
  scratch = s;
}

void nw_scratch_remove(nw_scratch *s) {
  if (!s->number) return;
  *(s->after ? &s->after->before : &scratch) = s->before;
  if (s->before) s->before->after = s->after;
  *s = (nw_scratch){.release = s->release};
}

void nw_recovery_open(nw_recovery *p) {
  p->outer = last;
  p->mark = made;
  last = p;
}

void nw_recovery_close(nw_recovery *p) {
  while (scratch && scratch->number > p->mark) nw_scratch_remove(scratch);
  last = p->outer;
}

void nw_recovery_keep(void) {
  while (last && scratch && scratch->number > last->mark) nw_scratch_remove(scratch);
}

nw_recovery *nw_recovery_now(void) { return last; }

void nw_recovery_back(nw_recovery *p) { last = p; }

void nw_recovery_recover(nw_ctx *c, nw_recovery *p) {
  while (scratch && scratch->number > p->mark) scratch->release(scratch);
  for (int i = 0; i < NW_SLOT_COUNT; i++)
    if (c->slot[i].data && c->slot[i].abandon) c->slot[i].abandon(c->slot[i].data);
  nw_clear(c);
  work = (nw_work){0};
}

void nw_give_up(nw_code code, const char *hint, const char *fmt, ...) {
  nw_recovery *p = last;
  va_list args;
  va_start(args, fmt);
  if (!p) {
    fputs("nestwright: ", stderr);
    vfprintf(stderr, fmt, args);
    fputc('\n', stderr);
    abort();
  }
  vsnprintf(p->message, sizeof p->message, fmt, args);
  va_end(args);
  snprintf(p->hint, sizeof p->hint, "%s", hint);
  p->code = code;
  last = p->outer;
  longjmp(p->jump, 1);
}

void nw_out_of_memory(uint64_t bytes) {
  char why[160];
  nw_say_limit(why, sizeof why);
  nw_give_up(NW_EMEMORY, "Nothing was changed. Free memory that is no longer needed, or raise the limit.",
             "out of memory: this call needs %llu bytes more: %s", (unsigned long long)bytes, why);
}

void nw_broken(const char *what, const char *file, int line) {
  const char *name = strrchr(file, '/');
  nw_give_up(NW_EINTERNAL,
             "Nothing was changed. Please report this with the output of s:trace(), which has the whole program.",
             "a bug in Nestwright: %s does not hold (%s, line %d)", what, name ? name + 1 : file, line);
}

// ---- for the tests

void nw_broken_in_test(const char *what, const char *file, int line) {
  fprintf(stderr, "%s:%d: %s does not hold\n", file, line, what);
  if (work.print) work.print(stderr, work.of);
  abort();
}

static _Thread_local int64_t countdown; // which request fails, counted from now: 1 is the next request; 0: none

int64_t nw_refuse_memory(int64_t request) {
  int64_t was = countdown;
  countdown = request;
  return was;
}

bool nw_refuses_memory(void) { return countdown && !--countdown; }
