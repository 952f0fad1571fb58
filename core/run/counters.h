// Declares functions that read the processor's and the kernel's counters of events. The system may not let this process
// read all counters.
#pragma once
#include "run/run.h"

typedef struct nw_counters {
  int threads, n; // n: number of entries of `file`
  int *file; // file descriptors, for each event and each thread; -1 if the system does not count the event
} nw_counters;

// Opens the counters of a team of threads, which nw_team_prepare must have created. The counters do not count yet.
void nw_counters_open(nw_counters *k, int threads);
void nw_counters_start(const nw_counters *k);
void nw_counters_stop(const nw_counters *k);
// Stores in `out` the counts since the start, summed over all threads, and returns the number of counts. An event that
// was not counted on every thread is left out.
int nw_counters_read(const nw_counters *k, nw_event_count *out);
void nw_counters_close(nw_counters *k);
