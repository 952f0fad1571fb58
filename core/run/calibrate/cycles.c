// Measures the cycles of a loop on a machine that other programs use too.
#include "run/calibrate/calibrate.h"
#include "run/timing/series.h"
#include <math.h>
#include <stdlib.h>

#if defined __x86_64__

#define TURN_SECONDS 1e-4
#define CHAIN_ADDS (64 * 1500)
#define PROBE_ROUNDS 1000
#define PROBE_INSTRUCTIONS 65 // instructions in an iteration of clear_registers
#define BRANCHES 6000 // iterations of an empty loop
#define MOMENTS 100 // number of moments that determine the pace of the core
#define TURNS 8 // the measurement of a loop ends after this number of undisturbed runs
#define MOST_TURNS 24
#define CHAINS_DIFFER 0.03 // a greater relative difference of the chains before and after a run shows a disturbance
#define LEAST_DISPATCH 3.9 // every x86-64 core of the last ten years can dispatch four instructions per cycle
#define SHARED 0.8 // a smaller share of the vendor's dispatch rate shows that another thread uses the core
#define TOO_FAST 1.05 // a greater multiple of the vendor's dispatch rate is an error of measurement
#define LEAST_CYCLES 1e-2 // lower limit on the measured cycles of an iteration
#define WAIT_SECONDS 1.0 // longest time to wait until no other thread uses the core

static void add_chain(int64_t rounds, void *data) {
  int64_t x = 1;
  (void)data;
  __asm__ volatile("1:\n\t.rept 64\n\tadd %0, %0\n\t.endr\n\tdec %1\n\tjnz 1b" : "+r"(x), "+r"(rounds) : : "cc");
}

// Clearing a register needs no execution unit, so only dispatch limits this loop. If another thread runs on the core,
// the two threads share the dispatch, whatever instructions the other thread runs.
NW_BENCH_LOOP(clear_registers, "",
              ".rept 8\n\t.irp r,8,9,10,11,12,13,14,15\n\txor %%r\\r\\()d, %%r\\r\\()d\n\t.endr\n\t.endr\n\t", "")

// A core takes at most one or two branches per cycle. Two threads of a core share the unit that fetches instructions, so
// each of them then takes fewer branches.
NW_BENCH_LOOP(branch, "", "", "")

// Does nothing. Its time is the time that reading the clock takes.
static void nothing(int64_t rounds, void *data) { (void)rounds, (void)data; }

static double seconds_of(nw_bench_loop loop, int64_t rounds, void *data) {
  double start = nw_cpu_now();
  loop(rounds, data);
  return nw_cpu_now() - start;
}

// ---- the state of the core

typedef struct moment {
  double add; // seconds of an addition
  nw_pace pace;
} moment;

// Returns the operations per cycle of a loop of n operations. `add` is the seconds of an addition, which takes a cycle.
static double rate_of(const nw_calibration *k, nw_bench_loop loop, int64_t rounds, int64_t n, double add) {
  double seconds = seconds_of(loop, rounds, NULL) - k->look;
  return seconds > 0 ? (double)n * add / seconds : 0;
}

static moment moment_of(const nw_calibration *k) {
  double chain = seconds_of(add_chain, CHAIN_ADDS / 64, NULL) - k->look, add = chain / CHAIN_ADDS;
  return (moment){add,
                  {rate_of(k, clear_registers, PROBE_ROUNDS, PROBE_INSTRUCTIONS * PROBE_ROUNDS, add),
                   rate_of(k, branch, BRANCHES, BRANCHES, add)}};
}

static bool alike(moment a, moment b) { return fabs(a.add - b.add) < CHAINS_DIFFER * fmin(a.add, b.add); }

bool nw_pace_unshared(nw_pace pace, nw_pace best) {
  return pace.dispatched >= NW_UNSHARED * best.dispatched && pace.branches >= NW_UNSHARED * best.branches;
}

static nw_pace slower(nw_pace a, nw_pace b) {
  return (nw_pace){fmin(a.dispatched, b.dispatched), fmin(a.branches, b.branches)};
}

static bool undisturbed(const nw_calibration *k, moment a, moment b) {
  return !k->shared && alike(a, b) && nw_pace_unshared(slower(a.pace, b.pace), k->best);
}

// The greatest rates may be errors of measurement, so this does not return the greatest one.
static double nearly_greatest(const double *rate, int n) {
  double *sorted = nw_sorted(rate, n), q = nw_quantile(sorted, n, 0.95);
  free(sorted);
  return q;
}

// dispatch: the vendor's dispatch rate, or 0 if it is not known. A rate well below it shows that another thread uses the
// core. A rate above it is an error: the chain ran at a lower clock, or lost time that the probe did not lose.
void nw_calibrate_clock(nw_calibration *k, double dispatch) {
  double start = nw_now(), least = INFINITY, most = dispatch > 0 ? TOO_FAST * dispatch : INFINITY;
  k->look = 0;
  for (int i = 0; i < 64; i++) least = fmin(least, seconds_of(nothing, 0, NULL));
  k->look = least;
  least = INFINITY;
  double dispatched[MOMENTS], branches[MOMENTS];
  do {
    moment last = moment_of(k);
    for (int i = 0; i < MOMENTS; i++) {
      moment now = moment_of(k);
      if (alike(last, now)) least = fmin(least, fmax(last.add, now.add));
      nw_pace pace = slower(last.pace, now.pace);
      bool good = alike(last, now) && pace.dispatched <= most;
      dispatched[i] = good ? pace.dispatched : 0, branches[i] = good ? pace.branches : 0;
      last = now;
    }
    k->best.dispatched = fmax(k->best.dispatched, nearly_greatest(dispatched, MOMENTS));
    k->best.branches = fmax(k->best.branches, nearly_greatest(branches, MOMENTS));
  } while (k->best.dispatched < fmax(LEAST_DISPATCH, NW_UNSHARED * dispatch) && nw_now() - start < WAIT_SECONDS);
  k->shared = k->best.dispatched < fmax(LEAST_DISPATCH, SHARED * dispatch);
  k->hz = 1 / (isfinite(least) ? least : moment_of(k).add);
}

// ---- the cycles of a loop

// Returns the number of iterations in a run. The first run is not timed, because it includes one-time work.
static int64_t rounds_of_turn(nw_bench_loop loop, void *data) {
  int64_t n = 8;
  double t;
  seconds_of(loop, n, data);
  while ((t = seconds_of(loop, n, data)) < TURN_SECONDS / 4 && n < INT64_C(1) << 30) n *= 2;
  return t < TURN_SECONDS && t > 0 ? (int64_t)((double)n * TURN_SECONDS / t) + 1 : n;
}

// Uses one of the fastest undisturbed runs, because a disturbance that was not noticed makes a run slower.
double nw_cycles_of(nw_calibration *k, nw_bench_loop loop, void *data) {
  int64_t rounds = rounds_of_turn(loop, data);
  double good[MOST_TURNS], least = INFINITY;
  int n = 0;
  moment before = moment_of(k);
  for (int i = 0; i < MOST_TURNS && n < TURNS; i++) {
    double seconds = seconds_of(loop, rounds, data) - k->look;
    moment after = moment_of(k);
    double cycles = seconds / (double)rounds / ((before.add + after.add) / 2);
    if (undisturbed(k, before, after)) good[n++] = cycles;
    least = fmin(least, cycles);
    before = after;
  }
  if (n < TURNS / 2) k->disturbed = true;
  double *sorted = nw_sorted(good, n), cycles = n ? nw_quantile(sorted, n, 0.1) : least;
  free(sorted);
  return fmax(cycles, LEAST_CYCLES);
}

#endif
