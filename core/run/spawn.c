// What it costs to start the team and wait for it: the least of a few rounds without work, once a process.
#include "run/guard.h"
#include "run/run.h"
#include <pthread.h>

enum { ROUNDS = 25 };

static double least = -1;

static void nothing(void *arg, int t) {
  (void)arg;
  (void)t;
}

static void measure(void) {
  int threads = nw_host()->cores;
  if (threads < 2) return;
  nw_team_prepare(threads);
  for (int i = 0; i < ROUNDS; i++) {
    double start = nw_now();
    nw_team_run(threads, nothing, NULL);
    double t = nw_now() - start;
    if (least < 0 || t < least) least = t;
  }
}

// Seconds; negative where there is one core only.
static double spawn_seconds(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, measure);
  return least;
}

void nw_measure_threads(nw_ctx *c) { c->spawn_seconds = spawn_seconds; }
