// Whether it is worth going on.
#include "cache/exact/model_rounds.h"

// The rounds since the last look speak for those that are left. Some of these will be known, once the regions have come to all
// places within a line; those of a loop inside of others, from these as well, so that it takes more to give up there. Where the
// accesses can be simulated instead, that is what going on is held against, whatever was spent already.
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
