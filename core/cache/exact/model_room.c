// Makes the folds of loops whose lines fit in the sets. The effect of such a loop does not depend on the positions of
// its regions. model_rounds.h defines terms such as fold and region.
#include "cache/exact/model_rounds.h"
#include <stdlib.h>

static uint32_t set_of(const nw_run *e, int64_t line) {
  int64_t sets = e->job->sets;
  return (uint32_t)(sets & (sets - 1) ? line % sets : line & (sets - 1));
}

static void unhold(nw_run *e, const nw_stack_last *at, int n) {
  for (int i = 0; i < n; i++) e->held[set_of(e, at[i].line + e->origin[at[i].region])] = 0;
}

// Returns an upper bound of the number of lines in a set, for any positions of the regions. It is the sum over all
// regions of the largest number of lines of the region in one set.
int64_t nw_run_peak(nw_run *e, const nw_stacked *s, const nw_shape *l) {
  int64_t sum = 0;
  for (int i = 0; i < l->nanchors; i++) {
    uint32_t most = 0;
    for (int n = 0; n < s->nlast; n++) {
      const nw_stack_last *at = &s->last[n];
      if (at->region != l->anchor[i].region) continue;
      uint32_t held = ++e->held[set_of(e, at->line + e->origin[at->region])];
      if (held > most) most = held;
    }
    unhold(e, s->last, s->nlast);
    sum += most;
  }
  return sum;
}

static int64_t ways_of(const nw_run *e) { return ((const nw_level_of *)e->job->of)->ways; }

bool nw_run_fits_anywhere(nw_run *e, nw_fold *x, const nw_shape *l) {
  if (x->peak_sets != e->job->sets) {
    nw_run_place(e, l, 0);
    x->peak = nw_run_peak(e, nw_fold_stacked(x), l);
    x->peak_sets = e->job->sets;
    nw_run_touch(e, nw_fold_stacked(x)->nlast);
  }
  return x->peak <= ways_of(e);
}

bool nw_run_fits(nw_run *e, nw_fold *x, const nw_shape *l, int64_t round) {
  if (nw_run_fits_anywhere(e, x, l)) return true;
  const nw_stacked *s = nw_fold_stacked(x);
  int64_t ways = ways_of(e);
  nw_run_place(e, l, round);
  if (nw_run_has_profile(e, x, l)) return nw_run_fits_profile(e, x, l, ways);
  bool all = true;
  int n = 0;
  while (n < s->nlast && all) {
    const nw_stack_last *at = &s->last[n++];
    all = ++e->held[set_of(e, at->line + e->origin[at->region])] <= ways;
  }
  unhold(e, s->last, n);
  nw_run_touch(e, n);
  return all;
}

// Moves another run to the same position in the nest.
void nw_run_join(nw_run *other, const nw_run *e, const nw_shape *l) {
  memcpy(other->val, e->val, (size_t)(l->depth + 1) * sizeof *other->val);
  other->inside = e->inside;
  other->job->most = other->job->touched + e->job->most - e->job->touched;
  other->polled = other->job->touched + NW_RUN_POLL;
}

// True if nw_run_fold_with_room should be tried for this loop. After several failures, it is tried less and less often.
// It is not tried for an innermost loop whose fold is unlikely to be reused, because this loop can be run directly.
static bool is_tried(nw_run *e, const nw_shape *l) {
  enum { FEW = 4 };
  int64_t n = e->record[l->id].no_room++;
  if (n >= FEW && n & (n - 1)) return false;
  return !l->flat || !nw_run_is_new_in_vain(e->roomy, l);
}

// Makes the fold of a loop whose lines fit in the sets. Such a loop does not evict its own lines, so its effect does
// not depend on the positions of its regions. The effect is the same as in one set with the capacity of all sets.
// Returns NULL if the lines do not fit in some set.
nw_fold *nw_run_fold_with_room(nw_run *e, const nw_shape *l) {
  nw_run *r = e->roomy;
  nw_run_join(r, e, l);
  if (!is_tried(e, l)) return NULL;
  int64_t was = r->job->touched;
  nw_fold *x = nw_run_fold_loop(r, l);
  nw_run_touch(e, r->job->touched - was);
  r->stop = false;
  if (!x || !x->weight || !nw_run_fits(e, x, l, 0)) return NULL;
  e->record[l->id].no_room = 0;
  return x;
}

nw_fold *nw_run_fold_loop(nw_run *e, const nw_shape *l) {
  int64_t first, last;
  nw_shape_bounds(l, e->val, &first, &last);
  if (last < first) return NULL;
  nw_fold *x = e->roomy ? nw_run_fold_with_room(e, l) : NULL;
  return x ? x : nw_run_fold_in_sets(e, l, first, last);
}

void nw_run_loop_once(nw_run *e, const nw_shape *l, nw_folder *f) {
  int64_t first, last;
  nw_shape_bounds(l, e->val, &first, &last);
  if (last >= first) nw_run_rounds(e, l, first, (last - first) / l->step + 1, f);
}

// Opens the second run (nw_run.roomy), for a single set with the capacity of all sets. It does not evict lines, because
// it stops when this set is full. So only the first access to a line is a miss, and the folds need no counts of misses.
// Smaller levels can use the same run. It then stops at their capacity (nw_run_check_room), and a level uses a fold
// only if the lines fit in its sets.
nw_run *nw_run_open_roomy(const nw_fold_run *r) {
  nw_run *e = nw_xcalloc(1, sizeof *e);
  nw_fold_run *job = nw_xmalloc(sizeof *job);
  nw_level_of *of = nw_xmalloc(sizeof *of);
  *of = *(const nw_level_of *)r->of;
  of->ways *= of->sets;
  of->sets = 1;
  *job = *r;
  job->of = of;
  job->sets = 1;
  nw_run_open(e, job);
  nw_tallies_open(&job->tallies);
  return e;
}

void nw_run_close_roomy(nw_run *e) {
  if (!e) return;
  nw_run_close(e);
  nw_tallies_close(&e->job->tallies);
  free((void *)e->job->of);
  free(e->job);
  free(e);
}
