// Tests the calibration. On any processor, every figure belongs to an existing field and is a number, and the
// calibration can be stopped. Its speed is not tested.
#include "hw/machine.h"
#include "run/run.h"
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <cmocka.h>

typedef struct figures {
  nw_ctx *c;
  nw_machine m;
  int n, stop_after; // `stop_after`: the number of figures before an interrupt; 0: no interrupt
  bool fma;
} figures;

static void found(void *env, const char *path, double value) {
  figures *f = env;
  f->n++;
  if (!(value >= 0 && isfinite(value))) fail_msg("%s: %g", path, value);
  if (!nw_machine_set(f->c, &f->m, path, (nw_value){.kind = NW_FIELD_REAL, .number = value})) nw_clear(f->c);
  if (!strncmp(path, "ops.fma.", 8)) f->fma = true;
  if (f->n == f->stop_after) nw_interrupt(f->c);
}

#if defined __x86_64__

static void it_measures_what_the_processor_has(void **state) {
  (void)state;
  const nw_machine_info *host = nw_host();
  figures f = {.c = nw_open()};
  nw_machine_init(&f.m);
  if (!nw_calibrate(f.c, found, &f)) fail_msg("%s", nw_error(f.c)->message);
  assert_true(f.n > 20);
  assert_true(f.m.clock > 0 && f.m.op[NW_CLASS_INTDIV].per_cycle[0] > 0 && f.m.memory.bandwidth > 0);
  assert_int_equal(f.m.nlevels, host->ncaches);
  assert_true(f.fma || host->vector_bytes < 32 || !nw_has(host->features, NW_FEATURE_FMA) ||
              !nw_has(host->features, NW_FEATURE_AVX2));
  print_message("%d figures, %.2f GHz\n", f.n, f.m.clock);
  nw_close(f.c);
}

static void it_stops_when_asked_to(void **state) {
  (void)state;
  figures f = {.c = nw_open(), .stop_after = 3};
  nw_machine_init(&f.m);
  assert_false(nw_calibrate(f.c, found, &f));
  assert_int_equal(nw_error(f.c)->code, NW_EINTERRUPT);
  assert_true(f.n < 20);
  nw_close(f.c);
}

#else

static void it_measures_what_the_processor_has(void **state) {
  (void)state;
  figures f = {.c = nw_open()};
  assert_false(nw_calibrate(f.c, found, &f));
  assert_int_equal(nw_error(f.c)->code, NW_ELIMIT);
  nw_close(f.c);
}

static void it_stops_when_asked_to(void **state) { (void)state; }

#endif

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(it_measures_what_the_processor_has),
      cmocka_unit_test(it_stops_when_asked_to),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
