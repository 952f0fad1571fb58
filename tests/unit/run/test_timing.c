// Tests how many calls a sample of a time has.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "run/kernel.h"

static const char program_text[] = "program copy\n"
                                   "input A: f32[8]\n"
                                   "output B: f32[8]\n"
                                   "for i in 0..8:\n"
                                   "  block B of B (i = i in 0..8):\n"
                                   "    B[i] = A[i]\n";

enum { SLOW_CALLS = 6 }; // the first call and all tries for the number of calls

static int64_t calls;

static void busy(double seconds) {
  double start = nw_now();
  while (nw_now() - start < seconds) {}
}

// The first calls take 2 ms, as if other work ran, and the later ones a microsecond.
static void slow_at_first(nw_frame *f) {
  (void)f;
  busy(calls++ < SLOW_CALLS ? 2e-3 : 1e-6);
}

// The first calls are long enough for a sample of one call each. But a sample of the later ones must have many calls.
static void test_slow_first_calls_do_not_shorten_the_samples(void **state) {
  (void)state;
  nw_ctx *c = nw_open();
  nw_pool *pool = nw_pool_new(c);
  nw_program *p = nw_program_parse(c, pool, program_text);
  nw_kernel *k = nw_compile(c, p, &(nw_build_opts){.threads = 1, .opt = 1});
  const int64_t n = 8;
  nw_array *a[] = {nw_array_new(c, NW_F32, 1, &n), nw_array_new(c, NW_F32, 1, &n)};
  nw_time t;
  assert_non_null(k);
  k->entry = slow_at_first;
  calls = 0;
  assert_true(nw_kernel_time(k, 2, a, 10, 0, NULL, &t));
  assert_true(t.disturbed || calls > 2000);
  assert_true(t.disturbed || t.median < 1e-4);
  free(t.sample);
  nw_kernel_release(k);
  nw_array_release(a[0]);
  nw_array_release(a[1]);
  nw_program_release(p);
  nw_pool_release(pool);
  nw_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_slow_first_calls_do_not_shorten_the_samples)};
  return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
