// Measures the cost of starting a team and waiting for it: the minimum of a few runs without work.
//
// If other processes keep the cores busy, a run lasts until the scheduler has given every thread a core. This takes
// milliseconds, which are not the cost of the team. After a pause, threads get cores sooner. If a pause does not help,
// the cost stays unknown until the next query.
#include "run/guard.h"
#include "run/run.h"
#include <pthread.h>
#include <time.h>

enum { ROUNDS = 25, TRIES = 4, PAUSE_NS = 2000000 };

static const double WAITED = 5e-4; // seconds; a run that takes longer has waited for a core

static void nothing(void *arg, int t) {
  (void)arg;
  (void)t;
}

static double least_of_rounds(int threads) {
  double least = 1;
  for (int i = 0; i < ROUNDS && (i < 2 || least < WAITED); i++) {
    double start = nw_now();
    nw_team_run(threads, nothing, NULL);
    double t = nw_now() - start;
    if (t < least) least = t;
  }
  return least;
}

static double measure(int threads) {
  if (!nw_team_prepare(threads)) return 0;
  for (int i = 0; i < TRIES; i++) {
    double least = least_of_rounds(threads);
    if (least < WAITED) return least;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
  }
  return 0;
}

// Returns the cost in seconds. Returns 0 if the cost is unknown because the machine is busy, and -1 if there is only
// one core.
static double spawn_seconds(void) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static double known;
  pthread_mutex_lock(&lock);
  int threads = nw_host()->cores;
  if (known == 0) known = threads < 2 ? -1 : measure(threads);
  double seconds = known;
  pthread_mutex_unlock(&lock);
  return seconds;
}

void nw_measure_threads(nw_ctx *c) { c->spawn_seconds = spawn_seconds; }
