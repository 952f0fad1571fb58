// Reads clocks.
#include "run/run.h"
#include <time.h>

static double seconds(clockid_t id) {
  struct timespec t;
  clock_gettime(id, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Wall-clock time is the time of programs: all measured times, rates and bandwidths. Disturbed samples are taken again
// (watch.c). CPU time is the time of a core: its cycles per second, and the cycles of an instruction, are ratios of CPU
// times, so that work of other programs does not change them. A number that compares the two clocks says so.
double nw_now(void) { return seconds(CLOCK_MONOTONIC); }

// Returns the CPU time of the calling thread, in seconds. It does not include time in which other processes used the
// core.
double nw_cpu_now(void) { return seconds(CLOCK_THREAD_CPUTIME_ID); }
