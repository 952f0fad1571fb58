// The processor's and the kernel's counters of events, as far as the system lets this process read them.
#pragma once
#include "run/run.h"

typedef struct nw_counters {
  int threads, n; // n: number of open files
  int *file; // for each event and thread; -1 if the system does not count this event
} nw_counters;

// Opens the counters of a team of threads, which must have been prepared. They do not count yet.
void nw_counters_open(nw_counters *k, int threads);
void nw_counters_start(const nw_counters *k);
void nw_counters_stop(const nw_counters *k);
// Stores the counts since the start, over all threads, and returns their number: only events that were counted.
int nw_counters_read(const nw_counters *k, nw_event_count *out);
void nw_counters_close(nw_counters *k);
