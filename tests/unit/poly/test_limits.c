// The limit on the work for a proof, and interrupts during the work of isl.
#include "judging.h"
#include <signal.h>
#include <sys/time.h>

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

// The index j is a remainder of loops that overlap. Without a limit, the proof takes minutes.
static const char hard[] =
    "program hard\ninput A: f32[97, 97]\noutput B: f32[97, 97]\n"
    "for e in 0..5:\n  for d in 0..7:\n    for a in 0..4:\n      for c in 0..11:\n        for b in 0..13:\n"
    "          block B of B (i = (2401*a + 143*e + 49*b + 13*c + d) // 97 in 0..97,"
    " j = ((2401*a + 143*e + 49*b + 13*c + d) % 97 + b) % 97 in 0..97)"
    " where 2401*a + 143*e + 49*b + 13*c + d < 9409:\n            B[i, j] = A[i, j]\n";

static nw_ctx *interrupted;
static double stopped_at;

static double cpu_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void stop(int number) {
  (void)number;
  stopped_at = cpu_ms();
  nw_interrupt(interrupted);
}

// Interrupts the session after this time of work, which is CPU time, so that the test does not depend on the load.
static void interrupt_after(nw_ctx *c, int ms) {
  struct itimerval t = {.it_value = {ms / 1000, ms % 1000 * 1000}};
  interrupted = c;
  stopped_at = 0;
  signal(SIGPROF, stop);
  assert_int_equal(setitimer(ITIMER_PROF, &t, NULL), 0);
}

enum { LATEST_MS = 100 };

static void an_interrupt_stops_isl(void **state) {
  env *e = *state;
  nw_judge_budget(e->c, 1L << 40);
  for (int ms = 100; ms <= 700; ms += 200) {
    nw_program *p = parsed(e, hard);
    interrupt_after(e->c, ms);
    assert_false(nw_judge_first(p));
    double took = cpu_ms() - stopped_at;
    assert_int_equal(nw_error(e->c)->code, NW_EINTERRUPT);
    assert_true(stopped_at > 0);
    if (took > LATEST_MS) fail_msg("the proof went on for %.0f ms after the interrupt", took);
    nw_clear(e->c);
    nw_program_release(p);
  }
  nw_judge_budget(e->c, 0);
}

// The limit counts the work inside one operation of isl, so the same proof ends as undecided.
static void the_limit_ends_the_work_inside_an_operation(void **state) {
  env *e = *state;
  nw_program *p = parsed(e, hard);
  double begun = cpu_ms();
  assert_false(nw_judge_first(p));
  assert_int_equal(nw_error(e->c)->code, NW_EUNDECIDED);
  assert_non_null(strstr(nw_error(e->c)->refusal->why, "exceeds the limit"));
  print_message("undecided after %.0f ms\n", cpu_ms() - begun);
  nw_clear(e->c);
  nw_program_release(p);
}

// ---- what isl could not compute

// The last access of X is outside of the stored part. No later access reports that isl has failed.
static const char outside[] =
    "program stages\ninput A: f32[64]\noutput Y: f32[62]\ntemp X: f32[64]\n"
    "for j in 0..62:\n  block Y of Y (j = j in 0..62):\n    Y[j] = A[j]\n"
    "for k in 0..62:\n  alloc X[k..k + 2]:\n    for a in 0..3:\n      block X of X (i = k + a in 0..64):\n"
    "        X[i] = A[i]*2.0\n";

// Each element needs two elements of the time before it, so the time must be the outer loop.
#define HEAT                                                                                                           \
  "program heat\ninput A: f32[16]\noutput S: f32[8, 16]\n"                                                             \
  "for x in 0..16:\n  block S0 of S0 (t = 0 in 0..1, x = x in 0..16):\n    S[t, x] = A[x]\n"
#define STEP                                                                                                           \
  "    block S of S (t = t in 1..8, x = y in 0..16):\n"                                                                \
  "      S[t, x] = S[t - 1, max(x - 1, 0)] + S[t - 1, min(x + 1, 15)]\n"
static const char heat[] = HEAT "for t in 1..8:\n  for y in 0..16:\n" STEP;
static const char swapped[] = HEAT "for y in 0..16:\n  for t in 1..8:\n" STEP;

static bool bounds_hold(env *e) {
  nw_program *p = parsed(e, outside);
  bool holds = nw_judge_bounds(p);
  nw_program_release(p);
  return holds;
}

static bool may_swap(env *e) {
  nw_program *before = parsed(e, heat), *after = parsed(e, swapped);
  bool holds = nw_judge(before, after);
  nw_program_release(before);
  nw_program_release(after);
  return holds;
}

// With a limit that is too low to find a fault, the question stays undecided.
static void no_limit_lets_a_fault_pass(void **state) {
  env *e = *state;
  bool (*const holds[])(env *) = {bounds_hold, may_swap};
  for (int i = 0; i < 2; i++) {
    nw_code last = NW_OK;
    for (long budget = 1; last != NW_EREFUSED; budget += 5) {
      nw_judge_budget(e->c, budget);
      if (holds[i](e)) fail_msg("fault %d is accepted with a limit of %ld operations", i, budget);
      last = nw_error(e->c)->code;
      nw_clear(e->c);
      assert_true(budget < 20000);
    }
  }
  nw_judge_budget(e->c, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      T(an_interrupt_stops_isl),
      T(the_limit_ends_the_work_inside_an_operation),
      T(no_limit_lets_a_fault_pass),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
