// Runs all parts of the calibration, in several passes.
#include "run/calibrate/calibrate.h"
#include "hw/machine.h"
#include <math.h>
#include <stdlib.h>

#define STEPS 80 // approximate number of progress steps of two passes
#define LIMIT_SECONDS 8.0 // a third or later pass does not begin after this time
// On a busy machine, passes take longer, and fewer of their values are accepted. So a few more passes may begin until
// this time.
#define BUSY_SECONDS 20.0
#define BUSY_PASSES 6

bool nw_calibration_again(int passes, double seconds) {
  if (passes < 2) return true;
  return passes < NW_MOST_PASSES && seconds < (passes < BUSY_PASSES ? BUSY_SECONDS : LIMIT_SECONDS);
}

#if defined __x86_64__

static uint64_t ticks(void) {
  uint32_t lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (uint64_t)hi << 32 | lo;
}

// Returns the ticks at the time *at. The counter is read several times, each time between two readings of the time. The
// reading between the two closest times is used, because the others were interrupted.
static double ticks_at(double *at) {
  double closest = INFINITY, count = 0;
  *at = 0;
  for (int i = 0; i < 16; i++) {
    double before = nw_now();
    uint64_t now = ticks();
    double after = nw_now();
    if (after - before >= closest) continue;
    closest = after - before, count = (double)now;
    *at = (before + after) / 2;
  }
  return count;
}

// Returns the ticks per second of the time-stamp counter.
static double ticks_per_second(void) {
  double start, end;
  double first = ticks_at(&start);
  while (nw_now() < start + 2e-3) continue;
  double last = ticks_at(&end);
  return (last - first) / (end - start);
}

static bool measure_clock(nw_calibration *k, double dispatch) {
  nw_calibrate_clock(k, dispatch);
  k->disturbed = k->shared;
  nw_found(k, NW_RATE(0.2, 10), k->hz / 1e9, "clock");
  nw_found(k, NW_RATE(0.1, 20), k->hz / ticks_per_second(), "clock_ratio");
  return nw_calibration_goes_on(k);
}

// Returns the index of the widest vectors that can be measured. Returns -1 if AVX2 or FMA is missing, because the loops
// over vectors use them.
static int widest(void) {
  const nw_machine_info *m = nw_host();
  bool good = m->vector_bytes >= 32 && nw_has(m->features, NW_FEATURE_FMA | NW_FEATURE_AVX2);
  return good ? nw_width_of(m->vector_bytes) : -1;
}

bool nw_calibration_goes_on(nw_calibration *k) {
  double share = k->step++ / (double)STEPS;
  nw_progress(k->ctx, "measuring this machine", share < 0.99 ? share : 0.99);
  return !nw_stopped(k->ctx);
}

static bool (*const parts[])(nw_calibration *k) = {nw_calibrate_ops,    nw_calibrate_math,   nw_calibrate_core,
                                                   nw_calibrate_window, nw_calibrate_levels, nw_calibrate_teams};

// Measures each part twice. Then measures those parts again whose figures do not agree. Returns false if interrupted or
// on failure.
static bool measure(nw_calibration *k, double dispatch) {
  double start = nw_now();
  bool settled = false;
  for (int pass = 0; !settled && nw_calibration_again(pass, nw_now() - start); pass++) {
    k->part = NW_COUNT(parts);
    if (!measure_clock(k, dispatch)) return false;
    settled = pass > 0 && nw_part_settled(k, NW_COUNT(parts));
    for (k->part = 0; k->part < NW_COUNT(parts); k->part++) {
      if (pass > 1 && nw_part_settled(k, k->part)) continue;
      k->disturbed = false;
      if (!parts[k->part](k)) return false;
      settled = settled && nw_part_settled(k, k->part);
    }
  }
  return true;
}

bool nw_calibrate(nw_ctx *c, double dispatch, nw_calibrated_fn found, void *env) {
  nw_calibration *k = nw_xcalloc(1, sizeof *k);
  *k = (nw_calibration){.ctx = c, .width = widest()};
  k->data = aligned_alloc(4096, NW_BENCH_BYTES);
  bool good = k->data;
  if (good) {
    memset(k->data, 0, NW_BENCH_BYTES);
    good = measure(k, dispatch);
    if (good) nw_report_figures(k, found, env);
  } else {
    nw_fail(c, NW_ELIMIT, NULL, "there is not enough memory to measure this machine");
  }
  free(k->data);
  free(k);
  nw_progress_end(c);
  return good;
}

#else

bool nw_calibrate(nw_ctx *c, double dispatch, nw_calibrated_fn found, void *env) {
  (void)dispatch, (void)found, (void)env;
  return nw_fail(c, NW_ELIMIT, "write a record: nw.machine{name = \"mine\", extends = \"neoverse_n1\"}",
                 "machines are measured on x86-64 only"),
         false;
}

#endif
