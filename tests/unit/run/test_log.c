// Tests logs of runs: each logged call follows other calls without a pause, and runs under other work are marked. Also
// tests what every measured time promises: its spread covers the drift between batches, and its threads stay on their
// cores only during samples.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "hw/hw.h"
#include "run/guard.h"
#include "run/kernel.h"
#include "run/timing/series.h"
#include "run/timing/watch.h"

static const char program_text[] = "program twice\n"
                                   "input A: f32[64]\n"
                                   "output C: f32[64]\n"
                                   "parallel for i in 0..64:\n"
                                   "  block C of C (i = i in 0..64):\n"
                                   "    C[i] = A[i]*2.0\n";

typedef struct fixture {
  nw_ctx *c;
  nw_pool *pool;
  nw_program *p;
  nw_array *args[2];
} fixture;

static int setup(void **state) {
  fixture *f = calloc(1, sizeof *f);
  f->c = nw_open();
  f->pool = nw_pool_new(f->c);
  f->p = nw_program_parse(f->c, f->pool, program_text);
  for (int i = 0; i < 2; i++) f->args[i] = nw_array_new(f->c, NW_F32, 1, &(int64_t){64});
  *state = f;
  return f->p ? 0 : -1;
}

static int teardown(void **state) {
  fixture *f = *state;
  for (int i = 0; i < 2; i++) nw_array_release(f->args[i]);
  nw_program_release(f->p);
  nw_pool_release(f->pool);
  nw_close(f->c);
  free(f);
  return 0;
}

// Compiles the program. If `entry` is not NULL, the kernel calls this function instead of the code.
static nw_kernel *compiled(fixture *f, int threads, nw_entry entry) {
  nw_kernel *k = nw_compile(f->c, f->p, &(nw_build_opts){.threads = threads, .opt = 1});
  if (!k) fail_msg("%s", nw_error(f->c)->message);
  if (entry) k->entry = entry;
  return k;
}

static void compute_for(double seconds) {
  double start = nw_now();
  while (nw_now() - start < seconds) {}
}

// ---- a kernel that records when it is called

enum { MOST_CALLS = 1 << 16 };
static struct {
  int n;
  double begin[MOST_CALLS], end[MOST_CALLS];
  bool logged[MOST_CALLS];
} calls;

static void part(nw_frame *f, void *captured, int64_t from, int64_t to, int64_t thread) {
  (void)f, (void)captured, (void)from, (void)to, (void)thread;
  compute_for(2e-5);
}

static void recorded(nw_frame *f) {
  int n = calls.n < MOST_CALLS ? calls.n++ : MOST_CALLS - 1;
  calls.begin[n] = nw_now();
  calls.logged[n] = f->log != NULL;
  nw_parallel_for(f, part, NULL, f->threads, 0);
  calls.end[n] = nw_now();
}

static void a_logged_call_follows_calls_without_a_pause(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 2, recorded);
  nw_logs logs;
  int seen = 0;
  calls.n = 0;
  assert_true(nw_kernel_logs(k, 2, f->args, 5, &logs));
  assert_true(logs.n >= 3 && logs.n <= 5);
  for (int i = 0; i < calls.n; i++) {
    if (!calls.logged[i]) continue;
    int first = i;
    while (first > 0 && !calls.logged[first - 1]) first--;
    assert_true(i - first >= 1);
    assert_true(calls.begin[i] - calls.begin[first] >= 2e-4);
    seen++;
  }
  assert_true(seen > logs.n);
  for (int i = 0; i < logs.n; i++) {
    assert_true(nw_log_loops(logs.log[i]) == 1 && nw_log_regions(logs.log[i]) == 1);
    assert_int_equal(nw_log_spans(logs.log[i]), 2);
    for (int64_t s = 0; s < 2; s++) assert_true(nw_log_span(logs.log[i], s)->end <= nw_log_seconds(logs.log[i]));
    for (int j = 0; j < i; j++) assert_ptr_not_equal(logs.log[i], logs.log[j]);
  }
  nw_logs_free(&logs);
  nw_kernel_release(k);
}

static void serial(nw_frame *f) {
  (void)f;
  calls.n++;
}

static void a_kernel_without_parallel_loops_is_logged_once(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 1, serial);
  nw_logs logs;
  assert_true(nw_kernel_logs(k, 2, f->args, 100, &logs));
  assert_int_equal(logs.n, 1);
  assert_int_equal(nw_log_loops(logs.log[0]), 0);
  nw_logs_free(&logs);
  nw_kernel_release(k);
}

// ---- other work

enum { PER_CORE = 3, MOST = 64 };
static atomic_bool over;

static void *work(void *unused) {
  (void)unused;
  while (!atomic_load(&over)) {}
  return NULL;
}

static void slow(nw_frame *f) {
  nw_parallel_for(f, part, NULL, f->threads, 0);
  compute_for(5e-3);
}

// A thread that has a quarter of a core cannot run for five milliseconds without a disturbance very often.
static void logs_under_load_are_disturbed(void **state) {
  fixture *f = *state;
  pthread_t id[MOST];
  nw_logs logs;
  int n = PER_CORE * nw_host()->cores < MOST ? PER_CORE * nw_host()->cores : MOST;
  nw_kernel *k = compiled(f, 1, slow);
  atomic_store(&over, false);
  for (int i = 0; i < n; i++) assert_int_equal(pthread_create(&id[i], NULL, work, NULL), 0);
  bool good = nw_kernel_logs(k, 2, f->args, 8, &logs);
  atomic_store(&over, true);
  for (int i = 0; i < n; i++) pthread_join(id[i], NULL);
  assert_true(good);
  assert_true(logs.retaken > 0);
  assert_true(logs.disturbed ? logs.n == 8 : logs.n >= 4);
  nw_logs_free(&logs);
  nw_kernel_release(k);
}

// ---- drift

static int after; // the number of calls after which the kernel is slower
static double usual_seconds, later_seconds;

static void slower_later(nw_frame *f) {
  (void)f;
  compute_for(++calls.n > after ? later_seconds : usual_seconds);
}

// Returns the distance between the medians of the batches: groups of ten samples.
static double drift_of(const nw_time *t) {
  double lo = INFINITY, hi = 0;
  for (int i = 0; i < t->reps; i += 10) {
    int n = t->reps - i < 10 ? t->reps - i : 10;
    double *sorted = nw_sorted(t->sample + i, n), median = nw_quantile(sorted, n, 0.5);
    lo = fmin(lo, median);
    hi = fmax(hi, median);
    free(sorted);
  }
  return hi - lo;
}

// The last eight of forty samples are slower. The middle half of the samples does not contain them, so only the drift
// between the batches shows them. If other work disturbs samples, more samples are taken, and more of them are slower.
static void the_spread_covers_the_drift_between_batches(void **state) {
  fixture *f = *state;
  nw_kernel *k = compiled(f, 1, slower_later);
  nw_time t;
  usual_seconds = 1.2e-3;
  later_seconds = 1.8e-3;
  after = 34; // the first two calls are not samples
  calls.n = 0;
  assert_true(nw_kernel_time(k, 2, f->args, 40, 0, NULL, &t));
  assert_true(t.disturbed || t.reps == 40);
  if (!t.disturbed) assert_true(t.spread * t.median >= 0.999 * drift_of(&t));
  if (!t.retaken) assert_true(t.spread * t.median > 0.4e-3 && t.sample[19] < 1.6e-3 && t.median < 1.6e-3);
  free(t.sample);
  nw_kernel_release(k);
}

// ---- cores

static cpu_set_t during[MOST];

static void look(nw_frame *f, void *captured, int64_t from, int64_t to, int64_t thread) {
  (void)f, (void)captured, (void)from, (void)to;
  sched_getaffinity(0, sizeof during[thread], &during[thread]);
}

static void looks(nw_frame *f) {
  nw_parallel_for(f, look, NULL, f->threads, 0);
  compute_for(1e-3);
}

static nw_ctx *interrupted;

static void looks_and_stops(nw_frame *f) {
  looks(f);
  if (++calls.n == 20) nw_interrupt(interrupted);
}

static void look_after(void *arg, int t) { sched_getaffinity(0, sizeof(cpu_set_t), &((cpu_set_t *)arg)[t]); }

// If a team has a thread for each core, each thread has a core of its own during a sample. Afterwards, it may use all
// cores again, also if the measurement was interrupted.
static void threads_stay_on_their_cores_only_during_samples(void **state) {
  fixture *f = *state;
  cpu_set_t usual, now[MOST], seen;
  sched_getaffinity(0, sizeof usual, &usual);
  int threads = CPU_COUNT(&usual);
  if (threads < 2 || threads > MOST) skip();
  nw_kernel *k = compiled(f, threads, looks);
  nw_time t;
  assert_true(nw_kernel_time(k, 2, f->args, 3, 0, NULL, &t));
  free(t.sample);
  CPU_ZERO(&seen);
  for (int i = 0; i < threads; i++) {
    assert_int_equal(CPU_COUNT(&during[i]), 1);
    CPU_OR(&seen, &seen, &during[i]);
  }
  assert_true(CPU_EQUAL(&seen, &usual));
  nw_team_run(threads, look_after, now);
  for (int i = 0; i < threads; i++) assert_true(CPU_EQUAL(&now[i], &usual));
  k->entry = looks_and_stops;
  interrupted = f->c;
  calls.n = 0;
  assert_false(nw_kernel_time(k, 2, f->args, 100, 0, NULL, &t));
  assert_int_equal(nw_error(f->c)->code, NW_EINTERRUPT);
  assert_true(calls.n >= 20 && calls.n < 100);
  nw_team_run(threads, look_after, now);
  for (int i = 0; i < threads; i++) assert_true(CPU_EQUAL(&now[i], &usual));
  nw_kernel_release(k);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {T(a_logged_call_follows_calls_without_a_pause),
                                     T(a_kernel_without_parallel_loops_is_logged_once),
                                     T(logs_under_load_are_disturbed), T(the_spread_covers_the_drift_between_batches),
                                     T(threads_stay_on_their_cores_only_during_samples)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
