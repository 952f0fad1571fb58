// Decides whether the model should continue to run a loop, or give up. model_rounds.h defines the terms.
#include "cache/exact/model_rounds.h"

// True if the run must give up. The cost of the remaining iterations is extrapolated from the iterations since the last
// check. This estimate is too high early in a loop, because later iterations can reuse folds from the memo once the
// regions have been at all positions within a line. It is also too high in inner loops, which reuse folds of earlier
// outer iterations. So early in a loop, or in an inner loop, the threshold is higher, or the run does not give up at
// all. If the accesses can be simulated instead, the remaining cost is compared with the cost of the simulation.
static bool is_hopeless(const nw_run *e, const nw_shape *l, const nw_pace *p, int64_t rounds, int64_t all) {
  double each = (double)(e->job->touched - p->touched) / (double)(rounds - p->rounds);
  bool early = rounds < 2 * nw_run_period(e, l, 1);
  if (!e->job->plain) return !early && each * (double)(all - rounds) > (double)e->job->most * 4;
  if (e->times > 1 && early) return false;
  double left = each * ((double)all * e->times - (double)rounds);
  return left > (double)e->job->plain * (e->times > 1 ? 4 : early ? 2 : 1);
}

void nw_run_look_ahead(nw_run *e, const nw_shape *l, nw_pace *p, int64_t rounds, int64_t all) {
  enum { FIRST = 8 };
  if (rounds < FIRST || rounds < 2 * p->rounds || e->room || e->job->rough) return;
  if (p->rounds && is_hopeless(e, l, p, rounds, all)) e->stop = e->job->hopeless = true;
  *p = (nw_pace){rounds, e->job->touched};
}

double nw_run_set_times(nw_run *e, int64_t from, int64_t to, int64_t all) {
  double was = e->times;
  e->times = ((double)(all - from) + (was - 1) * (double)all) / (double)(to - from);
  return was;
}
