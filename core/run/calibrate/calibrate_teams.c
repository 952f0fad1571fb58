// Measures the overhead of a parallel loop: the time until the last thread has begun, and the time after the last
// thread has ended.
#include "run/calibrate/calibrate.h"
#include "run/guard.h"
#include <math.h>

#define ROUNDS 100
#define WAITED 5e-4 // seconds; a team whose fastest runs take longer waited for cores, and is not reported

typedef struct clocks {
  double at[NW_MAX_TEAM];
} clocks;

static void look(void *arg, int t) { ((clocks *)arg)->at[t] = nw_now(); }

static void one_round(int threads, clocks *x, double *spawn, double *barrier) {
  double start = nw_now(), last = 0;
  nw_team_run(threads, look, x);
  double end = nw_now();
  for (int t = 0; t < threads; t++) last = fmax(last, x->at[t]);
  *spawn = fmin(*spawn, last - start);
  *barrier = fmin(*barrier, end - last);
}

static void measure_team(nw_calibration *k, int number, int threads) {
  clocks x;
  double spawn = 1, barrier = 1;
  if (!nw_team_prepare(threads)) return;
  for (int i = 0; i < ROUNDS; i++) one_round(threads, &x, &spawn, &barrier);
  if (spawn + barrier > WAITED) return;
  nw_found(k, NW_RATE(2, NW_MAX_TEAM), threads, "teams[%d].threads", number);
  nw_found(k, NW_SHARED_CYCLES(0.01, 500), spawn * 1e6, "teams[%d].spawn", number);
  nw_found(k, NW_SHARED_CYCLES(0.01, 500), barrier * 1e6, "teams[%d].barrier", number);
}

// Measures teams of 2, 4, 8, ... threads, and a team with a thread for each core.
bool nw_calibrate_teams(nw_calibration *k) {
  int cores = nw_host()->cores < NW_MAX_TEAM ? nw_host()->cores : NW_MAX_TEAM;
  for (int number = 1, threads = 2; threads <= cores; number++) {
    if (!nw_calibration_goes_on(k)) return false;
    measure_team(k, number, threads);
    threads = threads < cores && threads * 2 > cores ? cores : threads * 2;
  }
  return true;
}
