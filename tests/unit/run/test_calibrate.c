// Tests the calibration. On any processor, every figure belongs to an existing field and is a number, and the
// calibration can be stopped. Also tests which measured values are accepted.
#include "hw/machine.h"
#include "run/calibrate/calibrate.h"
#include "run/run.h"
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct figures {
  nw_ctx *c;
  nw_machine m;
  int n, used;
} figures;

// Sets a field. An element of a list can be set only after the previous element, and the calibration may not report the
// previous element. The elements with lower indices are therefore set first.
static bool set(figures *f, const char *path, double value) {
  char before[64];
  const char *open = strchr(path, '[');
  int index = open ? atoi(open + 1) : 1;
  for (int i = 1; i < index; i++) {
    snprintf(before, sizeof before, "%.*s[%d%s", (int)(open - path), path, i, strchr(open, ']'));
    if (!set(f, before, value)) return false;
  }
  return nw_machine_set(f->c, &f->m, path, (nw_value){.kind = NW_FIELD_REAL, .number = value});
}

static void found(void *env, const nw_calibrated *got) {
  figures *f = env;
  f->n++;
  if (got->doubt) return;
  f->used++;
  if (!(got->value >= 0 && isfinite(got->value))) fail_msg("%s: %g", got->path, got->value);
  if (!(got->lo <= got->value && got->value <= got->hi))
    fail_msg("%s: %g is not in %g to %g", got->path, got->value, got->lo, got->hi);
  if (!set(f, got->path, got->value)) fail_msg("%s", nw_error(f->c)->message);
}

#if defined __x86_64__

static void it_measures_what_the_processor_has(void **state) {
  (void)state;
  figures f = {.c = nw_open()};
  nw_machine_init(&f.m);
  if (!nw_calibrate(f.c, 0, found, &f)) fail_msg("%s", nw_error(f.c)->message);
  assert_true(f.n > 20);
  print_message("%d figures, %d of them used, %.2f GHz\n", f.n, f.used, f.m.clock);
  nw_close(f.c);
}

static void stop(void *env, const char *what, double part, double seconds) {
  (void)what, (void)part, (void)seconds;
  nw_interrupt(env);
}

static void it_stops_when_asked_to(void **state) {
  (void)state;
  figures f = {.c = nw_open()};
  nw_machine_init(&f.m);
  nw_on_progress(f.c, stop, f.c, 0);
  assert_false(nw_calibrate(f.c, 0, found, &f));
  assert_int_equal(nw_error(f.c)->code, NW_EINTERRUPT);
  assert_int_equal(f.n, 0);
  nw_close(f.c);
}

#else

static void it_measures_what_the_processor_has(void **state) {
  (void)state;
  figures f = {.c = nw_open()};
  assert_false(nw_calibrate(f.c, 0, found, &f));
  assert_int_equal(nw_error(f.c)->code, NW_ELIMIT);
  nw_close(f.c);
}

static void it_stops_when_asked_to(void **state) { (void)state; }

#endif

// ---- which values are accepted

static void keep(void *env, const nw_calibrated *got) { *(nw_calibrated *)env = *got; }

// Adds the values that several passes measured for one figure. Returns the figure. Its value is -1 if the figure is
// doubtful.
static nw_calibrated passes(nw_bounds bounds, int n, const double *value, const bool *disturbed) {
  nw_calibration *k = nw_xcalloc(1, sizeof *k);
  nw_calibrated got = {0};
  for (int i = 0; i < n; i++) {
    k->disturbed = disturbed && disturbed[i];
    nw_found(k, bounds, value[i], "loop");
  }
  assert_int_equal(k->n, 1);
  nw_report_figures(k, keep, &got);
  assert_true(nw_part_settled(k, 0) == !got.doubt);
  if (got.doubt) got.value = -1;
  free(k);
  return got;
}
#define PASSES(bounds, ...)                                                                                            \
  passes(bounds, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__}, NULL)

static void a_figure_needs_two_values_that_agree(void **state) {
  (void)state;
  assert_true(PASSES(NW_CYCLES(0.5, 50), 12.0).value == -1);
  assert_true(PASSES(NW_CYCLES(0.5, 50), 12.0, 14.0, 17.0).value == -1);
  nw_calibrated got = PASSES(NW_CYCLES(0.5, 50), 17.0, 12.0, 14.0, 12.2);
  assert_true(fabs(got.value - 12.1) < 1e-9 && got.lo == 12 && got.hi == 17);
}

static void a_value_that_is_too_good_is_not_used(void **state) {
  (void)state;
  nw_calibrated got = PASSES(NW_RATE(0.1, 9), 2.3, 1.99, 1.0, 2.01);
  assert_true(fabs(got.value - 2) < 1e-9);
}

static void an_implausible_value_is_not_used(void **state) {
  (void)state;
  assert_true(PASSES(NW_CYCLES(5, 60), 0.35, 0.35, 0.35).value == -1);
  nw_calibrated got = PASSES(NW_CYCLES(5, 60), 0.35, 19.5, 0.35, 19.9);
  assert_true(fabs(got.value - 19.7) < 1e-9);
}

static void a_disturbed_value_is_not_used(void **state) {
  (void)state;
  nw_calibrated got = passes(NW_CYCLES(0.3, 4), 4, (double[]){2, 2, 1, 1.01}, (bool[]){true, true, false, false});
  assert_true(fabs(got.value - 1.005) < 1e-9);
  assert_true(passes(NW_CYCLES(0.3, 4), 2, (double[]){2, 2}, (bool[]){true, true}).value == -1);
}

// A figure that no pass accepts is measured again, also if the passes take long because the machine is busy.
static void a_figure_is_measured_until_two_passes_agree(void **state) {
  (void)state;
  assert_true(nw_calibration_again(0, 0) && nw_calibration_again(1, 100));
  assert_true(nw_calibration_again(2, 12) && nw_calibration_again(5, 19));
  assert_true(nw_calibration_again(NW_MOST_PASSES - 1, 7));
  assert_false(nw_calibration_again(2, 30));
  assert_false(nw_calibration_again(6, 9));
  assert_false(nw_calibration_again(NW_MOST_PASSES, 1));
  nw_calibrated got = PASSES(NW_RATE(0.5, 130), 311.0, INFINITY, 33.0, 250.0, 33.5);
  assert_true(fabs(got.value - 33.25) < 1e-9);
}

#if defined __x86_64__

// A rate of writing back is a difference of times. It is used only if reading was equally fast before and after.
static void writing_back_needs_two_equal_readings(void **state) {
  (void)state;
  nw_calibration *k = nw_xcalloc(1, sizeof *k);
  assert_true(fabs(nw_back_per_cycle(k, 50, 20, 50, 0.03) - 100.0 / 3) < 1e-9 && !k->disturbed);
  assert_true(isinf(nw_back_per_cycle(k, 20, 20, 20, 0.03)) && !k->disturbed);
  nw_back_per_cycle(k, 50, 20, 52, 0.03);
  assert_true(k->disturbed);
  k->disturbed = false;
  nw_back_per_cycle(k, 52, 20, 50, 0.08);
  assert_false(k->disturbed);
  nw_back_per_cycle(k, 56, 20, 50, 0.08);
  assert_true(k->disturbed);
  free(k);
}

#else

static void writing_back_needs_two_equal_readings(void **state) { (void)state; }

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_measures_what_the_processor_has),
      cmocka_unit_test(it_stops_when_asked_to),
      cmocka_unit_test(a_figure_needs_two_values_that_agree),
      cmocka_unit_test(a_value_that_is_too_good_is_not_used),
      cmocka_unit_test(an_implausible_value_is_not_used),
      cmocka_unit_test(a_disturbed_value_is_not_used),
      cmocka_unit_test(a_figure_is_measured_until_two_passes_agree),
      cmocka_unit_test(writing_back_needs_two_equal_readings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
