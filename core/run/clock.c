// Reads clocks.
#include "run/run.h"
#include <time.h>

static double seconds(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

double nw_now(void) { return seconds(CLOCK_MONOTONIC); }

// The CPU time of the calling thread does not include the time in which other processes had the core.
double nw_cpu_now(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
