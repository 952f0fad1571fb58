// Tests the measured time to start threads. The notes of steps mention this time.
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include "run/run.h"

static _Atomic bool stop;

static void *keep_busy(void *arg) {
  while (!stop) {}
  return arg;
}

// If other threads keep the cores busy, the measured time depends on the scheduler of the operating system. This time
// must not be used as the cost.
static void test_load_of_the_machine_is_not_a_cost(void **state) {
  (void)state;
  enum { HOGS = 4 };
  pthread_t hog[HOGS];
  for (int i = 0; i < HOGS; i++) assert_int_equal(pthread_create(&hog[i], NULL, keep_busy, NULL), 0);
  nw_ctx *c = nw_open();
  nw_measure_threads(c);
  double busy = c->spawn_seconds();
  stop = true;
  for (int i = 0; i < HOGS; i++) pthread_join(hog[i], NULL);
  double quiet = c->spawn_seconds();
  assert_true(busy < 1e-3);
  assert_true(quiet < 1e-3);
  nw_close(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_load_of_the_machine_is_not_a_cost)};
  return cmocka_run_group_tests_name("spawn", tests, NULL, NULL);
}
