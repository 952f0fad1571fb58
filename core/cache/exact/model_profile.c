// Computes how the lines of each region are distributed over the sets. Finds out whether the lines of a fold fit in the
// sets. model_rounds.h defines terms such as fold and region.
//
// If a region moves, its distribution is only shifted by a number of sets. Let M(r) be the largest number of lines of
// region r in any set. A set with n lines of region r gets at most n + the sum of M over the other regions. The set
// must be checked only if this bound exceeds the number of ways. The sets to check can be listed for any one of the
// regions. The *lead* is the region with the shortest list.
#include "cache/exact/model_rounds.h"

struct nw_profile {
  int64_t sets, ways;
  int n;
  int *region;
  uint32_t *count; // number of lines for each region and set; set 0 contains the region's origin
  int lead; // the region with the fewest sets that must be checked
  int nfull;
  uint32_t *full; // the sets that must be checked
};

static uint32_t *counts_of(const nw_profile *p, int region) { return p->count + region * p->sets; }

static int64_t count_region(nw_profile *p, const nw_stacked *s, int region) {
  uint32_t *count = counts_of(p, region), most = 0;
  for (int n = 0; n < s->nlast; n++) {
    if (s->last[n].region != p->region[region]) continue;
    uint32_t held = ++count[nw_floormod_i64(s->last[n].line, p->sets)];
    if (held > most) most = held;
  }
  return most;
}

// Returns the number of sets that have more than `few` lines of a region. If `full` is not NULL, lists these sets in
// it.
static int more_than(const nw_profile *p, int region, int64_t few, uint32_t *full) {
  const uint32_t *count = counts_of(p, region);
  int n = 0;
  for (int64_t s = 0; s < p->sets; s++)
    if (count[s] > few) {
      if (full) full[n] = (uint32_t)s;
      n++;
    }
  return n;
}

// Finds the lead, which is the region with the fewest sets that can get too many lines.
static void find_lead(nw_arena *a, nw_profile *p, const int64_t *most, int64_t all) {
  p->nfull = INT32_MAX;
  for (int i = 0; i < p->n; i++) {
    int n = more_than(p, i, p->ways - (all - most[i]), NULL);
    if (n < p->nfull) p->nfull = n, p->lead = i;
  }
  p->full = NW_NEW_N(a, uint32_t, p->nfull + 1);
  more_than(p, p->lead, p->ways - (all - most[p->lead]), p->full);
}

static nw_profile *profile_of(nw_run *e, const nw_stacked *s, const nw_shape *l, int64_t ways) {
  nw_arena *a = e->roomy->job->tallies.arena;
  nw_profile *p = NW_NEW(a, nw_profile);
  *p = (nw_profile){.sets = e->job->sets, .ways = ways, .n = l->nanchors};
  p->region = NW_NEW_N(a, int, p->n);
  p->count = NW_NEW_N(a, uint32_t, p->n * p->sets);
  int64_t *most = NW_NEW_N(a, int64_t, p->n), all = 0;
  for (int i = 0; i < p->n; i++) {
    p->region[i] = l->anchor[i].region;
    all += most[i] = count_region(p, s, i);
  }
  find_lead(a, p, most, all);
  nw_run_touch(e, s->nlast);
  return p;
}

bool nw_run_has_profile(nw_run *e, const nw_fold *x, const nw_shape *l) {
  return x->kept && l->nanchors && e->job->sets * l->nanchors <= 4 * (int64_t)nw_fold_stacked(x)->nlast;
}

bool nw_run_fits_profile(nw_run *e, nw_fold *x, const nw_shape *l, int64_t ways) {
  if (!x->profile || x->profile->sets != e->job->sets || x->profile->ways != ways)
    x->profile = profile_of(e, nw_fold_stacked(x), l, ways);
  const nw_profile *p = x->profile;
  bool all = true;
  int n = 0;
  while (n < p->nfull && all) {
    int64_t set = p->full[n++] + e->origin[p->region[p->lead]], held = 0;
    for (int i = 0; i < p->n; i++) held += counts_of(p, i)[nw_floormod_i64(set - e->origin[p->region[i]], p->sets)];
    all = held <= ways;
  }
  nw_run_touch(e, n);
  return all;
}
