// Tells whether other work disturbed a measurement.
#pragma once
#include "run/run.h"

typedef struct nw_watch {
  int threads;
  int *file; // for each thread its statistics of the scheduler; -1 if the system has none
  int *id; // kernel thread ids
  int64_t *delay; // nanoseconds that the thread had waited for a core when the sample began
  double wall, cpu; // when the sample began
  void *places; // for each thread its core during a sample, then its usual cores; NULL if threads are not moved
} nw_watch;

void nw_team_ids(int threads, int *id); // the kernel's ids of the threads of a team, which must have been prepared

// Begins to watch a team of threads, which must have been prepared. During a sample, each thread of a team that has as
// many threads as there are cores stays on its own core. cpu: other places, for each thread; NULL if there are none.
void nw_watch_open(nw_watch *w, int threads, const int *cpu);
void nw_watch_close(nw_watch *w);
void nw_watch_begin(nw_watch *w); // begins a sample
// Ends the sample. Returns the largest share of its wall-clock time in which a thread could not run, although it had
// work: others had its core, or the hypervisor had it.
double nw_watch_end(nw_watch *w);
// True if there is one place for each thread, and each is another CPU that this process may use.
bool nw_places_check(nw_ctx *c, int threads, int n, const int *cpu);
