// Tests the watch, which detects other work on the machine. The test starts threads as other work.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "hw/hw.h"
#include "run/timing/series.h"
#include "run/timing/watch.h"

enum { PER_CORE = 3, MOST = 64 };

static atomic_bool over;

static void *work(void *unused) {
  (void)unused;
  while (!atomic_load(&over)) {}
  return NULL;
}

// Starts three busy threads for each core, so that every thread gets a quarter of a core.
static int start_work(pthread_t *id) {
  int n = PER_CORE * nw_host()->cores < MOST ? PER_CORE * nw_host()->cores : MOST;
  atomic_store(&over, false);
  for (int i = 0; i < n; i++) assert_int_equal(pthread_create(&id[i], NULL, work, NULL), 0);
  return n;
}

static void stop_work(int n, pthread_t *id) {
  atomic_store(&over, true);
  for (int i = 0; i < n; i++) pthread_join(id[i], NULL);
}

static void compute_for(double seconds) {
  double start = nw_now();
  while (nw_now() - start < seconds) {}
}

static double lost_share(nw_watch *w, double seconds) {
  nw_watch_begin(w);
  compute_for(seconds);
  return nw_watch_end(w);
}

static void a_thread_that_shares_its_core_loses_time(void **state) {
  (void)state;
  pthread_t id[MOST];
  nw_watch w;
  nw_watch_open(&w, 1, NULL);
  int n = start_work(id);
  double lost = lost_share(&w, 0.3);
  stop_work(n, id);
  nw_watch_close(&w);
  assert_true(lost > 0.2 && lost < 1);
}

// A thread must stay on a chosen CPU during a sample, and may use all its CPUs again afterwards.
static void a_thread_stays_on_its_cpu(void **state) {
  nw_ctx *c = *state;
  cpu_set_t usual, now;
  assert_int_equal(sched_getaffinity(0, sizeof usual, &usual), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
    nw_watch w;
    if (!CPU_ISSET(cpu, &usual)) continue;
    assert_true(nw_places_check(c, 1, 1, &cpu));
    nw_watch_open(&w, 1, &cpu);
    nw_watch_begin(&w);
    assert_int_equal(sched_getcpu(), cpu);
    nw_watch_end(&w);
    nw_watch_close(&w);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_EQUAL(&usual, &now));
  }
  assert_false(nw_places_check(c, 1, 1, (int[]){CPU_SETSIZE}));
  nw_clear(c);
}

// If there are more threads than cores, they wait for each other. This must not be reported as other work.
static void too_many_threads_are_not_watched(void **state) {
  (void)state;
  nw_watch w;
  nw_watch_open(&w, nw_host()->cores + 1, NULL);
  assert_true(lost_share(&w, 1e-3) == 0);
  nw_watch_close(&w);
}

typedef struct counter {
  int n, fails_at;
} counter;

static double count(void *env) {
  counter *c = env;
  compute_for(12e-3); // longer than a thread usually runs before another one gets the core
  return ++c->n == c->fails_at ? -1 : c->n;
}

static void a_series_under_load_is_disturbed(void **state) {
  nw_ctx *c = *state;
  pthread_t id[MOST];
  counter count_of = {0, 0};
  nw_samples s;
  int n = start_work(id);
  assert_true(nw_take_samples(c, 1, &(nw_subject){1, count, &count_of}, 8, 0, &s));
  stop_work(n, id);
  assert_true(s.retaken > 0);
  assert_true(s.disturbed ? s.n == 8 : s.n >= 4);
  for (int i = 0; i + 1 < s.n && !s.disturbed; i++) assert_true(s.value[i] < s.value[i + 1]);
  free(s.value);
}

static void subjects_take_turns(void **state) {
  nw_ctx *c = *state;
  counter a = {0, 0}, b = {0, 0};
  nw_samples s[2];
  assert_true(nw_take_samples(c, 2, (nw_subject[]){{1, count, &a}, {1, count, &b}}, 6, 0, s));
  assert_int_equal(a.n, b.n);
  assert_int_equal(s[0].n, s[1].n);
  assert_int_equal(s[0].n + s[0].retaken >= 6, 1);
  free(s[0].value);
  free(s[1].value);
}

static void a_failure_ends_the_series(void **state) {
  nw_ctx *c = *state;
  counter fails = {0, 3};
  nw_samples s;
  assert_false(nw_take_samples(c, 1, &(nw_subject){1, count, &fails}, 100, 0, &s));
  assert_int_equal(fails.n, 3);
  assert_null(s.value);
}

static void quantiles(void **state) {
  (void)state;
  double list[] = {4, 1, 3, 2}, *sorted = nw_sorted(list, 4);
  assert_true(nw_quantile(sorted, 4, 0) == 1 && nw_quantile(sorted, 4, 1) == 4 && nw_quantile(sorted, 4, 0.5) == 2.5);
  free(sorted);
}

static int setup(void **state) { return (*state = nw_open()) ? 0 : -1; }

static int teardown(void **state) {
  nw_close(*state);
  return 0;
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {T(a_thread_that_shares_its_core_loses_time),
                                     T(a_thread_stays_on_its_cpu),
                                     T(too_many_threads_are_not_watched),
                                     T(a_series_under_load_is_disturbed),
                                     T(subjects_take_turns),
                                     T(a_failure_ends_the_series),
                                     T(quantiles)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
