// Reports the progress of long work. Code that works for a long time should call nw_progress every few milliseconds. If
// the work takes longer than `patience` seconds, the receiver (see nw_on_progress) is called at most ten times per
// `patience` seconds, and once at the end.
#include "base/base.h"
#include <time.h>

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void nw_on_progress(nw_ctx *c, nw_progress_fn tell, void *env, double patience) {
  nw_progress_end(c);
  c->progress = (nw_progress_state){.tell = tell, .env = env, .patience = patience};
}

void nw_progress(nw_ctx *c, const char *what, double part) {
  nw_progress_state *p = &c->progress;
  if (!p->tell) return;
  double t = now();
  if (p->since == 0) p->since = t;
  if (t - p->since < p->patience || t - p->told < p->patience / 10) return;
  p->told = t;
  p->tell(p->env, what, part > 1 ? 1 : part, t - p->since);
}

void nw_tell_progress(nw_ctx *c, const char *what, double part, double since) {
  c->progress.since = since;
  if (what)
    nw_progress(c, what, part);
  else
    nw_progress_end(c);
}

void nw_progress_end(nw_ctx *c) {
  nw_progress_state *p = &c->progress;
  if (p->tell && p->told > 0) p->tell(p->env, NULL, 1, 0);
  p->told = 0;
}
