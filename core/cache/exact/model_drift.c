// Makes the fold of iterations that move their regions by different distances within the cache sets. model_rounds.h
// defines terms such as fold and region.
#include "cache/exact/model_rounds.h"
#include <stdlib.h>

// A *step* is the least number of iterations that moves each region by a whole number of lines. Assume that every set
// can hold the lines of two steps, wherever the regions are. Assume also that each step after the first adds as many
// new lines as the second step does. Then a step does not request any line that was last requested before the previous
// step. So only the requests for new lines are misses. Once every set is full, each step has the same number of misses.
// The last writer of a line does not depend on the sets, either.
//
// So most steps can be skipped, and only some steps at the end are made. The final content of the sets is correct if
// every line of a moving region in the sets was loaded by one of these steps, but not by the first of them. The lines
// that the first of them accesses may have been loaded earlier. A line that was written and is no longer in the sets
// was written back.

typedef struct drift {
  nw_run *e;
  const nw_shape *l;
  int64_t from, q, steps; // `q`: number of iterations of a step
  int64_t patience; // number of steps after which `settle` fails
  int64_t full; // number of steps after which every set was full
  nw_fold *once; // the fold of a step, made by the run with one set (nw_run_open_roomy)
  nw_folder *f;
  int64_t t; // number of steps made so far
  int64_t *cell; // for each site: the counts of one step
  int64_t *dirty; // for each site: the number of lines in the sets after that step that the site wrote last
} drift;

static bool has_room_for_two(drift *d, int64_t *lines) {
  nw_run *e = d->e, *r = e->roomy;
  nw_folder *g = nw_run_take(r);
  nw_run_put_behind(r, g, d->once, d->l, d->from);
  nw_run_put_behind(r, g, d->once, d->l, d->from + d->q);
  bool has = !r->stop;
  if (has) {
    nw_fold *two = nw_run_end(r, g, d->l, d->from);
    nw_run_place(e, d->l, d->from);
    has = nw_run_peak(e, nw_fold_stacked(two), d->l) <= ((const nw_level_of *)e->job->of)->ways;
    lines[0] = nw_fold_stacked(d->once)->nfirst;
    lines[1] = nw_fold_stacked(two)->nfirst;
    nw_run_drop(r, two);
  }
  nw_run_give(r, g);
  return has;
}

// True if the method is worth trying. Let F be the number of steps that fill all sets. Then there must be at least
// 2 * (2*F + 8) steps.
static bool pays(const drift *d, const int64_t *lines) {
  const nw_level_of *of = d->e->job->of;
  int64_t each = lines[1] > lines[0] ? lines[1] - lines[0] : 1;
  return 2 * (2 * (of->sets * of->ways / each) + 8) <= d->steps;
}

static bool comes_from_before(drift *d, int64_t first, const int64_t *lines) {
  nw_run *n = d->e->job->lines->run;
  int64_t until, was = n->job->touched, all = -1;
  nw_run_join(n, d->e, d->l);
  nw_fold *x = nw_run_fold_alike(n, d->l, first, d->from, d->from + d->steps * d->q, &until);
  if (x && !n->stop) all = x->lines;
  if (x) nw_run_drop(n, x);
  n->stop = false;
  nw_run_touch(d->e, n->job->touched - was);
  return all != lines[0] + (d->steps - 1) * (lines[1] - lines[0]);
}

static void make_step(drift *d) { nw_run_put_behind(d->e, d->f, d->once, d->l, d->from + d->t++ * d->q); }

// Makes steps until the sets have *settled*. Then every set is full, and the moving lines of the first steps are
// evicted. Returns false if this takes too many steps.
static bool settle(drift *d) {
  const nw_stack *k = nw_level_stack(d->f);
  for (int64_t check = 0; d->t < d->patience && !d->e->stop; make_step(d)) {
    if (!nw_stack_full(k)) d->full = d->t + 1;
    if (d->t < check || !nw_stack_full(k)) continue;
    if (nw_stack_settled(k, d->e->by)) return true;
    check = d->t + d->t / 8 + 1;
  }
  return false;
}

// Makes a step and returns its counts. Also stores the counts in d->cell. There, they include the write-backs that the
// step causes in later steps.
static nw_tally *measure_step(drift *d) {
  int nsites = ((const nw_level_of *)d->e->job->of)->nsites;
  nw_stack *k = nw_level_stack(d->f);
  int64_t *before = nw_xask((size_t)nsites + 1, sizeof *before);
  nw_stack_dirty(k, before);
  make_step(d);
  nw_stack_dirty(k, d->dirty);
  for (int i = 0; i < nsites * NW_LEVEL_CELLS; i++) d->cell[i] = d->f->count.cell[i];
  for (int s = 0; s < nsites; s++) d->cell[s * NW_LEVEL_CELLS + NW_CELL_BACK] += d->dirty[s] - before[s];
  nw_let_go(before);
  return nw_counting_end(&d->f->count, &d->e->job->tallies);
}

static bool count_steps(drift *d, int64_t steps) {
  int nsites = ((const nw_level_of *)d->e->job->of)->nsites;
  int64_t *now = nw_xask((size_t)nsites + 1, sizeof *now);
  bool fits = true;
  nw_stack_dirty(nw_level_stack(d->f), now);
  for (int i = 0; i < nsites * NW_LEVEL_CELLS; i++) {
    int64_t n, site = i / NW_LEVEL_CELLS;
    fits = fits && !__builtin_mul_overflow(d->cell[i], steps, &n);
    if (fits && i % NW_LEVEL_CELLS == NW_CELL_BACK) n += d->dirty[site] - now[site];
    if (fits && n) nw_counting_add(&d->f->count, i, n);
  }
  nw_let_go(now);
  return fits;
}

// Skips to the last `steps` steps and makes them. `n` is the number of this attempt. Returns true if every line of a
// moving region that is then in the sets was loaded in one of these steps, but not in the first of them.
static bool make_last(drift *d, int64_t steps, uint32_t n) {
  nw_stack *k = nw_level_stack(d->f);
  d->t = d->steps - steps;
  nw_stack_stamp(k, 2 * n - 1);
  make_step(d);
  nw_stack_stamp(k, 2 * n);
  while (d->t < d->steps && !d->e->stop) make_step(d);
  return nw_stack_full(k) && nw_stack_renewed(k, d->e->by, 2 * n);
}

// Skips most steps and makes the last steps. The first attempt makes slightly more steps than were needed to fill the
// sets. If this attempt fails, a second attempt makes slightly more steps than were needed until the sets settled.
static bool leap(drift *d) {
  nw_tally *before = nw_counting_end(&d->f->count, &d->e->job->tallies), *step = measure_step(d);
  int64_t left = d->steps - d->t, settled = d->t;
  bool done = make_last(d, d->full + 2, 1) || make_last(d, settled + 4, 2);
  nw_counting_clear(&d->f->count);
  nw_counting_part(&d->f->count, before, 1);
  nw_counting_part(&d->f->count, step, 1);
  return done && count_steps(d, left);
}

static nw_fold *fold_steps(drift *d) {
  nw_run *e = d->e;
  nw_fold *out = NULL;
  int ncells = ((const nw_level_of *)e->job->of)->nsites * NW_LEVEL_CELLS;
  d->f = nw_run_take(e);
  d->cell = nw_xask((size_t)ncells + 1, sizeof *d->cell);
  d->dirty = nw_xask((size_t)ncells + 1, sizeof *d->dirty);
  nw_run_move(e, d->l, d->q);
  if (settle(d) && leap(d)) out = nw_run_end(e, d->f, d->l, d->from);
  nw_run_give(e, d->f);
  nw_let_go(d->cell);
  nw_let_go(d->dirty);
  return out;
}

nw_fold *nw_run_fold_drift(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until) {
  drift d = {.e = e, .l = l, .from = from, .q = nw_run_period(e, l, 1)};
  d.steps = (to - from) / d.q;
  if (d.steps < NW_DRIFT_STEPS || ((const nw_level_of *)e->job->of)->shadow || !e->job->lines) return NULL;
  // This method makes the steps until the sets settle, and then about as many steps again. If there are at least two
  // whole periods (nw_run_period), another method is possible. It makes the steps of one period, and the steps after
  // the last whole period. So d.patience is at most half the number of steps that the other method makes.
  int64_t period = nw_run_period(e, l, nw_run_sets(e));
  d.patience = (d.steps - 8) / 3;
  if ((to - from) / period >= 2 && (period + (to - from) % period) / d.q / 2 < d.patience)
    d.patience = (period + (to - from) % period) / d.q / 2;
  nw_run *r = e->roomy;
  nw_run_join(r, e, l);
  int64_t lines[2], was = r->job->touched;
  d.once = nw_run_fold_each(r, l, first, from, from + d.q);
  bool is = !r->stop && d.once->weight && has_room_for_two(&d, lines) && pays(&d, lines) &&
            !comes_from_before(&d, first, lines);
  r->stop = false;
  nw_run_touch(e, r->job->touched - was);
  nw_fold *out = is ? fold_steps(&d) : NULL;
  nw_run_drop(r, d.once);
  *until = from + d.steps * d.q;
  return out;
}
