// Runs all parts of the calibration, one after another. Also times loops.
#include "run/calibrate/calibrate.h"
#include "hw/machine.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define TURN_SECONDS 1e-4
#define CHAIN_ADDS (64 * 3000)
#define TURNS 8
#define LEAST_CYCLES 1e-2 // lower limit on the measured cycles of an iteration
#define STEPS 40 // approximate number of progress steps of all parts

#if defined __x86_64__

static void add_chain(int64_t rounds, void *data) {
  int64_t x = 1;
  (void)data;
  __asm__ volatile("1:\n\t.rept 64\n\tadd %0, %0\n\t.endr\n\tdec %1\n\tjnz 1b" : "+r"(x), "+r"(rounds) : : "cc");
}

static double seconds_of(nw_bench_loop loop, int64_t rounds, void *data) {
  double start = nw_cpu_now();
  loop(rounds, data);
  return nw_cpu_now() - start;
}

static double lesser(double a, double b) { return a < b ? a : b; }

// Returns the number of iterations in a run. The first run is not used, since it includes one-time work.
static int64_t rounds_of_turn(nw_bench_loop loop, void *data) {
  int64_t n = 8;
  double t;
  seconds_of(loop, n, data);
  while ((t = seconds_of(loop, n, data)) < TURN_SECONDS / 4 && n < INT64_C(1) << 30) n *= 2;
  return t < TURN_SECONDS && t > 0 ? (int64_t)((double)n * TURN_SECONDS / t) + 1 : n;
}

// A loop without work, to measure the cost of reading the clock.
static void nothing(int64_t rounds, void *data) { (void)rounds, (void)data; }

double nw_cycles_of(nw_bench_loop loop, void *data) {
  int64_t rounds = rounds_of_turn(loop, data);
  double loop_seconds = 1e9, chain_seconds = 1e9, look = 1e9;
  for (int i = 0; i < TURNS; i++) {
    look = lesser(look, seconds_of(nothing, 0, NULL));
    chain_seconds = lesser(chain_seconds, seconds_of(add_chain, CHAIN_ADDS / 64, NULL));
    loop_seconds = lesser(loop_seconds, seconds_of(loop, rounds, data));
  }
  double cycles = (loop_seconds - look) / (double)rounds / ((chain_seconds - look) / CHAIN_ADDS);
  return cycles > LEAST_CYCLES ? cycles : LEAST_CYCLES;
}

static uint64_t ticks(void) {
  uint32_t lo, hi;
  __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
  return (uint64_t)hi << 32 | lo;
}

// Returns the number of core cycles per cycle of the time-stamp counter.
static double clock_ratio(void) {
  uint64_t least = UINT64_MAX;
  for (int i = 0; i < 4 * TURNS; i++) {
    uint64_t start = ticks();
    add_chain(CHAIN_ADDS / 64, NULL);
    uint64_t t = ticks() - start;
    if (t < least) least = t;
  }
  return (double)CHAIN_ADDS / (double)least;
}

// Returns the index of the widest vectors: loops over vectors need AVX2 and FMA, those over the widest need AVX-512.
static int widest(void) {
  const nw_machine_info *m = nw_host();
  bool good = m->vector_bytes >= 32 && nw_has(m->features, NW_FEATURE_FMA | NW_FEATURE_AVX2);
  return good ? nw_width_of(m->vector_bytes) : -1;
}

bool nw_calibration_goes_on(nw_calibration *k) {
  nw_progress(k->ctx, "measuring this machine", lesser(k->step / (double)STEPS, 0.99));
  k->step++;
  return !nw_stopped(k->ctx);
}

void nw_found(nw_calibration *k, double value, const char *path, ...) {
  char text[64];
  va_list args;
  va_start(args, path);
  vsnprintf(text, sizeof text, path, args);
  va_end(args);
  k->found(k->env, text, value);
}

static bool measure(nw_calibration *k) {
  nw_found(k, k->hz / 1e9, "clock");
  nw_found(k, clock_ratio(), "clock_ratio");
  return nw_calibrate_ops(k) && nw_calibrate_math(k) && nw_calibrate_core(k) && nw_calibrate_window(k) &&
         nw_calibrate_levels(k) && nw_calibrate_teams(k);
}

bool nw_calibrate(nw_ctx *c, nw_calibrated_fn found, void *env) {
  nw_calibration k = {.ctx = c, .found = found, .env = env, .hz = nw_core_hz(), .width = widest()};
  k.data = aligned_alloc(4096, NW_BENCH_BYTES);
  if (!k.data) return nw_fail(c, NW_ELIMIT, NULL, "there is not enough memory to measure this machine"), false;
  memset(k.data, 0, NW_BENCH_BYTES);
  bool good = measure(&k);
  free(k.data);
  nw_progress_end(c);
  return good;
}

#else

bool nw_calibrate(nw_ctx *c, nw_calibrated_fn found, void *env) {
  (void)found, (void)env;
  return nw_fail(c, NW_ELIMIT, "write a record: nw.machine{name = \"mine\", extends = \"neoverse_n1\"}",
                 "machines are measured on x86-64 only"),
         false;
}

#endif
