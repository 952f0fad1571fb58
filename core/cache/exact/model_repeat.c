// Repeats the fold of some iterations, by doubling or all at once. model_rounds.h defines terms such as fold and
// region.
#include "cache/exact/model_rounds.h"
#include <stdlib.h>

int64_t nw_run_sets(const nw_run *e) { return e->job->rough ? 1 : e->job->sets; }

// Returns the period of a loop. The period is the least number of iterations that moves every region by a whole number
// of lines. If there are several sets, a period must also move all regions by the same number of sets. Then lines that
// share a set in one period are moved to lines that share a set in the next period. So each period does the same as the
// previous period, but with other lines and other sets.
int64_t nw_run_period(const nw_run *e, const nw_shape *l, int64_t sets) {
  int64_t line = e->job->line, p = 1;
  for (int i = 0; i < l->nanchors; i++) {
    int64_t whole = line / nw_gcd(l->anchor[i].move, line);
    if (whole > p) p = whole; // p and `whole` are powers of two
  }
  int64_t all = 1;
  for (int i = 1; i < l->nanchors && sets > 1; i++) {
    int64_t apart = (int64_t)((__int128)(l->anchor[i].move - l->anchor[0].move) * p / line % sets);
    int64_t part = sets / nw_gcd(apart, sets);
    all = all / nw_gcd(all, part) * part;
  }
  return all * p;
}

// Sets e->by to the number of lines by which each region moves in `rounds` iterations.
void nw_run_move(nw_run *e, const nw_shape *l, __int128 rounds) {
  memset(e->by, 0, (size_t)e->job->nest->nregions * sizeof *e->by);
  for (int i = 0; i < l->nanchors; i++)
    e->by[l->anchor[i].region] = (int64_t)(l->anchor[i].move * rounds / e->job->line);
}

// The state while a fold is repeated. Each repetition is one period later than the previous repetition.
typedef struct repetition {
  nw_run *e;
  const nw_shape *l;
  int64_t times, from, period;
  nw_folder *f; // contains the first k repetitions
  int64_t k;
  nw_fold *made[64]; // made[i]: the fold of len[i] repetitions
  int64_t len[64];
  int n;
  int64_t size; // number of lines in f
  int64_t growth; // number of lines that the last repetition added
  int64_t check; // number of repetitions at which the steady state is tested next
} repetition;

static void append(repetition *r, const nw_fold *x, int64_t times) {
  nw_run_put_behind(r->e, r->f, x, r->l, r->from + r->k * r->period);
  r->k += times;
  int64_t size = r->e->kind->size(r->f);
  r->growth = (size - r->size) / times;
  r->size = size;
}

static nw_fold *so_far(repetition *r) {
  if (r->len[r->n] == r->k) return r->made[r->n];
  nw_fold *x = nw_run_end(r->e, r->f, r->l, r->from);
  nw_counting_part(&r->f->count, x->tally, 1);
  r->len[++r->n] = r->k;
  return r->made[r->n] = x;
}

// Appends one more repetition. If it changes only the positions of lines, every later repetition does the same, because
// the state before it is the same except for the positions. In this case, returns the fold of all repetitions.
// Otherwise returns NULL.
static nw_fold *all_alike(repetition *r) {
  nw_run *e = r->e;
  nw_fold *x = so_far(r);
  nw_counting_clear(&r->f->count);
  append(r, r->made[0], 1);
  nw_tally *more = nw_counting_end(&r->f->count, &e->job->tallies);
  nw_counting_part(&r->f->count, x->tally, 1);
  nw_run_place(e, r->l, r->from);
  nw_run_move(e, r->l, r->period);
  if (!e->kind->moved(r->f, x, e->origin, e->by)) {
    nw_counting_part(&r->f->count, more, 1);
    r->check = r->k + r->k / 4 + 1;
    return NULL;
  }
  int64_t left = r->times - r->k + 1;
  nw_run_move(e, r->l, (__int128)r->period * left);
  nw_fold *out = e->kind->moved_on(e->job->of, x, e->by);
  nw_counting_part(&r->f->count, more, left);
  out->tally = nw_counting_end(&r->f->count, &e->job->tallies);
  return out;
}

// True if doubling processes fewer lines than repeating one by one. The cost of repeating one by one is counted only up
// to the repetition that fills the level, because most loops are then in a steady state.
static bool doubling_pays(const repetition *r) {
  int64_t most = r->e->kind->most(r->f), growth = r->growth > 0 ? r->growth : 1;
  double until = (double)r->times, full = (double)r->k + (double)((most - r->size) / growth), doubling = 0,
         size = (double)r->size;
  if (full < until) until = full;
  double one_by_one = (until - (double)r->k) * (double)(r->made[0]->weight + r->e->kind->overhead(r->f));
  for (double k = (double)r->k; k < until; k *= 2, size += (double)growth * k) doubling += 2 * size;
  return doubling < one_by_one;
}

static void append_most(repetition *r) {
  if (2 * r->k <= r->times && doubling_pays(r)) {
    append(r, so_far(r), r->k);
    return;
  }
  int i = r->n;
  while (i && r->len[i] > r->times - r->k) i--;
  bool pays = r->made[i]->weight < r->len[i] * (r->made[0]->weight + r->e->kind->overhead(r->f));
  append(r, r->made[pays ? i : 0], r->len[pays ? i : 0]);
}

nw_fold *nw_run_repeat(nw_run *e, const nw_shape *l, nw_fold *once, int64_t times, int64_t from, int64_t p) {
  repetition r = {
      .e = e, .l = l, .times = times, .from = from, .period = p, .f = nw_run_take(e), .made = {once}, .len = {1}};
  nw_fold *out = NULL;
  append(&r, once, 1);
  for (r.growth = 0; r.k < times && !out && !e->stop;)
    if (r.growth <= 0 && r.k >= r.check)
      out = all_alike(&r);
    else
      append_most(&r);
  if (!out) out = so_far(&r);
  for (int i = 1; i <= r.n; i++)
    if (r.made[i] != out) nw_run_drop(e, r.made[i]);
  nw_run_give(e, r.f);
  return out;
}
