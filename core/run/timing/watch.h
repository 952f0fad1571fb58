// Declares functions that find out whether other work disturbed a measurement.
#pragma once
#include "run/run.h"

typedef struct nw_thread_use { // what a thread has used since its creation
  double cpu, delay; // cpu: seconds on a core; delay: seconds in which the thread was ready, but waited for a core
  int64_t turns; // number of times that it began to run on a core
} nw_thread_use;
typedef struct nw_watch {
  int threads;
  int *file; // for each thread, the file of its scheduler statistics; -1 if there is none
  int *id; // kernel thread ids
  nw_thread_use *use; // of each thread when the sample began
  double wall; // wall-clock time when the sample began, in seconds
  void *places; // the result of places_of (watch.c); NULL if threads are not moved
} nw_watch;

// Stores the kernel's ids of the threads of a team. nw_team_prepare must have created the threads.
void nw_team_ids(int threads, int *id);

// Begins to watch a team of threads, which nw_team_prepare must have created. If `cpu` is not NULL, it has a CPU for
// each thread, on which the thread runs during a sample. If `cpu` is NULL and the team has as many threads as there are
// cores, each thread runs on its own core during a sample.
void nw_watch_open(nw_watch *w, int threads, const int *cpu);
void nw_watch_close(nw_watch *w);
void nw_watch_begin(nw_watch *w); // begins a sample
// Ends the sample. For each thread, there is a share of the wall-clock time in which the thread had work but could not
// run, because another thread or the hypervisor had its core. Returns the largest share.
double nw_watch_end(nw_watch *w);
// True if there is one CPU for each thread, and the CPUs are different and may be used by this process. Otherwise there
// is a diagnostic.
bool nw_places_check(nw_ctx *c, int threads, int n, const int *cpu);
