// The tests of poly share this header. It parses programs, and checks the verdict of the judge (the legality check) on
// a step from one program to another.
#pragma once
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "poly/poly.h"

typedef struct env {
  nw_ctx *c;
  nw_pool *pool;
} env;

static inline int setup(void **state) {
  env *e = nw_xcalloc(1, sizeof *e);
  e->c = nw_open();
  e->pool = nw_pool_new(e->c);
  *state = e;
  return 0;
}

static inline int teardown(void **state) {
  env *e = *state;
  nw_pool_release(e->pool);
  nw_close(e->c);
  free(e);
  return 0;
}

static inline nw_program *parsed(env *e, const char *text) {
  nw_program *p = nw_program_parse(e->c, e->pool, text);
  if (!p) fail_msg("%s\n%s", nw_error(e->c)->message, text);
  return p;
}

static inline double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static inline void print_refusal(nw_ctx *c) {
  const nw_diag *d = nw_error(c);
  if (!d) return;
  const nw_refusal *r = d->refusal;
  print_message("%s: %s | %s %s | %s %s | %s | %s\n", d->message, r && r->why ? r->why : "",
                r && r->source ? r->source : "", r && r->sink ? r->sink : "", r && r->element ? r->element : "",
                r && r->distance ? r->distance : "", r && r->loops[0] ? r->loops[0] : "", "");
}

// Checks that the step is accepted. `question` is the kind of check that must decide: 'o' for order, 'v' for value, 'm'
// for marks only, and 0 for any kind.
static inline void accepts(env *e, const char *before, const char *after, char question) {
  nw_program *a = parsed(e, before), *b = parsed(e, after);
  if (!nw_judge(a, b)) {
    print_refusal(e->c);
    fail_msg("refused:\n%s", after);
  }
  if (question) assert_int_equal(nw_judge_question(e->c), question);
  nw_program_release(a);
  nw_program_release(b);
}

// Checks that the step is refused, that the refusal has this kind, and that its reason contains `why`. Returns the
// refusal, which is valid until nw_clear.
static inline const nw_refusal *refuses(env *e, const char *before, const char *after, nw_refusal_kind kind,
                                        const char *why) {
  nw_clear(e->c);
  nw_program *a = parsed(e, before), *b = parsed(e, after);
  if (nw_judge(a, b)) fail_msg("accepted:\n%s", after);
  const nw_diag *d = nw_error(e->c);
  assert_non_null(d);
  if (!d->refusal) fail_msg("%s", d->message);
  if (d->refusal->kind != kind || !d->refusal->why || !strstr(d->refusal->why, why)) {
    print_refusal(e->c);
    fail_msg("kind %d, expected %d; the reason must contain '%s'", d->refusal->kind, kind, why);
  }
  nw_program_release(a);
  nw_program_release(b);
  return d->refusal;
}
