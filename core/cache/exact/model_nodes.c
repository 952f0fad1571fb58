// Runs the nodes of a nest in the model. The iterations of a loop are divided into classes. All iterations of a class
// run the same iterations of the inner loops. model_rounds.h defines terms such as fold and region.
#include "cache/exact/model_rounds.h"
#include "base/share.h"
#include <stdlib.h>

static void run_kids(nw_run *e, const nw_shape *s, nw_folder *f) {
  for (int i = 0; i < s->nkids && !e->stop; i++) nw_run_node(e, s->kid[i], f);
}

static void run_ref(nw_run *e, const nw_access_form *r, int depth, nw_folder *f) {
  int64_t at = nw_run_address(e, r->region, &r->at, depth), last = (at + r->bytes - 1) >> e->shift;
  for (int64_t line = at >> e->shift; line <= last; line++) {
    e->kind->ask(f, line, r->region, r->site, r->write);
    nw_run_touch(e, 1);
  }
}

// Runs a statement. Only the first thread runs statements outside of parallel loops.
static void run_stmt(nw_run *e, const nw_shape *s, nw_folder *f) {
  if (e->job->share.thread && !e->inside) return;
  for (int i = 0; i < s->nrefs; i++) run_ref(e, &s->ref[i], s->depth, f);
  if (e->accesses >= 0) nw_counting_add(&f->count, e->accesses, s->nrefs);
}

static void run_round(nw_run *e, const nw_shape *l, nw_folder *f) {
  nw_run_touch(e, l->nkids == 0);
  run_kids(e, l, f);
  nw_run_check_room(e, f);
}

enum { SAMPLES = 12 }; // number of samples that an estimate takes from the iterations of a loop

static int64_t spokesman(const nw_run *e, int i, int64_t a, int64_t b) {
  return e->job->rough == 1 ? a + (b - a) / 2 : a + (b - a) * (i % 2 ? 3 : 1) / 4;
}

// Divides the iterations into parts, and runs one iteration of each part as a sample. In one estimate, the sample is
// the middle iteration. In the other estimate, it is alternately before and after the middle. The iteration before the
// sample is run first, without counting, because it leaves lines in the cache. A miss on any other line is uncertain,
// since a skipped iteration may have loaded the line. One estimate counts such a miss for every iteration of the part.
// The other estimate counts it only for the sample.
static void run_some(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  for (int i = 0; i < SAMPLES && !e->stop; i++) {
    int64_t a = from + (int64_t)((__int128)(to - from) * i / SAMPLES),
            b = from + (int64_t)((__int128)(to - from) * (i + 1) / SAMPLES), at = spokesman(e, i, a, b);
    nw_tally *before = nw_counting_end(&f->count, &e->job->tallies);
    e->val[l->depth] = first + (at - 1) * l->step;
    run_round(e, l, f);
    nw_counting_clear(&f->count);
    int64_t known = e->accesses < 0 ? nw_level_lines(f) : 0;
    e->val[l->depth] = first + at * l->step;
    run_round(e, l, f);
    nw_tally *one = nw_counting_end(&f->count, &e->job->tallies);
    nw_counting_part(&f->count, before, 1);
    nw_counting_part(&f->count, one, b - a);
    if (e->accesses < 0 && e->job->rough == 1) nw_level_miss_first(f, known, b - a - 1);
  }
}

// Returns the only child of a loop, if this child is a loop. Returns NULL if there are more children. Also returns NULL
// if the outer loop is absolute (model_shape.h), because the positions of the regions may then differ.
static const nw_shape *only_kid(const nw_shape *l) {
  const nw_shape *s = l;
  do s = s->nkids == 1 ? s->kid[0] : NULL;
  while (s && s->kind == NW_AFFINE_SEQ);
  return s && s->kind == NW_AFFINE_LOOP && !l->absolute ? s : NULL;
}

// Returns the fold of a loop. Returns NULL if the loop has no iterations, or if its iterations were appended to f.
static nw_fold *fold_or_run(nw_run *e, const nw_shape *l, nw_folder *f) {
  if (e->room) return nw_run_fold_loop(e, l);
  int64_t first, last;
  nw_shape_bounds(l, e->val, &first, &last);
  if (last < first) return NULL;
  nw_fold *x = e->roomy ? nw_run_fold_with_room(e, l) : NULL;
  return x ? x : nw_run_fold_or_run(e, l, first, last, f);
}

static void put_loop(nw_run *e, const nw_shape *l, nw_fold *x, nw_folder *f) {
  if (e->room && (e->stop || !x || !x->weight)) {
    e->stop = e->stop || x;
    return;
  }
  if (!x) return;
  nw_run_put_behind(e, f, x, l, 0);
  nw_run_drop(e, x);
}

// Runs n iterations that request the same lines. Only the first three iterations are run, and the counts of the third
// iteration are multiplied (model_still.c).
static void run_still(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t n, nw_folder *f) {
  nw_tally *before = NULL;
  for (int i = 0; i < 3 && i < n; i++) {
    if (i == 2) before = nw_counting_end(&f->count, &e->job->tallies);
    e->val[l->depth] = first + (from + i) * l->step;
    run_round(e, l, f);
  }
  if (n > 2) nw_run_times(e, f, before, n - 2);
}

static bool is_sampled(const nw_run *e, const nw_shape *l, int64_t from, int64_t to) {
  return e->job->rough && to - from > 4 * SAMPLES && !l->flat;
}

static void run_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f, bool alike) {
  if (is_sampled(e, l, from, to)) {
    run_some(e, l, first, from, to, f);
    return;
  }
  nw_pace pace = {.touched = e->job->touched};
  for (int64_t t = from, n; t < to && !e->stop; t += n) {
    n = alike ? nw_run_still(e, l, first, t, to) : 1;
    double times = nw_run_set_times(e, t - from, t - from + 1, to - from);
    run_still(e, l, first, t, n, f);
    e->times = times;
    nw_run_look_ahead(e, l, &pace, t + n - from, to - from);
  }
}

// Runs the iterations `from` to `to` - 1 one by one. `first` is the value of the loop in iteration 0.
void nw_run_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  run_each(e, l, first, from, to, f, false);
}

void nw_run_each_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  run_each(e, l, first, from, to, f, true);
}

// Makes the fold of iterations that are run one by one. If there is only one iteration, and its body is a loop, returns
// the fold of that loop.
nw_fold *nw_run_fold_each(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to) {
  const nw_shape *kid = only_kid(l);
  if (to == from + 1 && kid) {
    e->val[l->depth] = first + from * l->step;
    nw_fold *x = nw_run_fold_loop(e, kid);
    if (x && e->room && !x->weight) e->stop = true;
    if (x) return x;
  }
  nw_folder *f = nw_run_take(e);
  double times = e->times;
  e->times = 1;
  nw_run_same(e, l, first, from, to, f);
  e->times = times;
  nw_fold *x = nw_run_end(e, f, l, from);
  nw_run_give(e, f);
  return x;
}

enum { FEW = 4 }; // if there are fewer periods (nw_run_period), the method of model_steps.c is as fast

// True if it is cheaper to append a fold `times` times than to build one fold of all repetitions and append this fold.
static bool are_few(const nw_run *e, const nw_folder *f, const nw_fold *once, int64_t times) {
  return e->accesses < 0 && times * once->weight <= 4 * e->kind->most(f);
}

// Makes the fold of the whole periods (nw_run_period) in the iterations `from` to `to` - 1, which all run the same
// inner iterations. Sets *until to the end of these periods. Returns NULL if there are fewer than two periods. If f is
// not NULL, may append the periods to f instead, and then also returns NULL.
static nw_fold *fold_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until,
                           nw_folder *f) {
  int64_t p = nw_run_period(e, l, nw_run_sets(e)), times = (to - from) / p;
  nw_fold *x = e->roomy && times < NW_DRIFT_STEPS ? nw_run_fold_drift(e, l, first, from, to, until) : NULL, *all = NULL;
  if (x) return x;
  *until = from;
  if (times < 2 || (times < FEW && e->roomy && e->fitted[l->id] > 0)) return NULL;
  nw_fold *once = nw_run_fold_each(e, l, first, from, from + p);
  if (e->stop) return once;
  if (f && are_few(e, f, once, times))
    for (int64_t i = 0; i < times && !e->stop; i++) nw_run_put_behind(e, f, once, l, from + i * p);
  else
    all = nw_run_repeat(e, l, once, times, from, p);
  if (all != once) nw_run_drop(e, once);
  *until = from + times * p;
  return all;
}

nw_fold *nw_run_fold_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until) {
  return fold_alike(e, l, first, from, to, until, NULL);
}

static void run_alike(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  int64_t until;
  nw_fold *x = fold_alike(e, l, first, from, to, &until, f);
  if (x) nw_run_put_behind(e, f, x, l, from);
  if (x) nw_run_drop(e, x);
  nw_run_same(e, l, first, until, to, f);
}

static bool class_at(nw_run *e, const nw_shape *l, int64_t first, int64_t round, uint8_t *fact) {
  e->val[l->depth] = first + round * l->step;
  return nw_shape_class(l, e->val, fact);
}

// Returns the end of the iterations that have the same facts (nw_shape_class) as iteration `from`. These iterations are
// adjacent, because each fact changes at most once.
int64_t nw_run_end_of_class(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *same) {
  int n = nw_shape_facts(l);
  *same = class_at(e, l, first, from, e->fact[0]) && l->uniform;
  int64_t in = from, out = to;
  while (out - in > 1) {
    int64_t mid = out == to ? to - 1 : in + (out - in) / 2;
    class_at(e, l, first, mid, e->fact[1]);
    if (!memcmp(e->fact[0], e->fact[1], (size_t)n))
      in = mid;
    else
      out = mid;
  }
  return in + 1;
}

// In an estimate, returns `to`, because only samples of the iterations are run. So it does not matter which regions
// overlap.
int64_t nw_run_end_apart(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *apart) {
  int line = e->job->line;
  *apart = !l->drifts || (!e->job->rough && nw_shape_apart(l, e->val, line, first, from, from + 1));
  if (!*apart) return e->job->rough ? to : from + 1;
  if (!l->drifts || nw_shape_apart(l, e->val, line, first, from, to)) return to;
  int64_t in = from + 1, out = to;
  while (out - in > 1) {
    int64_t mid = in + (out - in) / 2;
    *(nw_shape_apart(l, e->val, line, first, from, mid) ? &in : &out) = mid;
  }
  return in;
}

static void run_part(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t until, bool same, bool apart,
                     nw_folder *f) {
  if (!same)
    nw_run_each(e, l, first, from, until, f);
  else if (!apart)
    nw_run_each_alike(e, l, first, from, until, f);
  else
    run_alike(e, l, first, from, until, f);
}

void nw_run_range(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  nw_pace pace = {.touched = e->job->touched};
  int64_t begin = from;
  while (from < to && !e->stop) {
    bool same, apart = true;
    int64_t until = nw_run_end_of_class(e, l, first, from, to, &same);
    if (same) until = nw_run_end_apart(e, l, first, from, until, &apart);
    double times = nw_run_set_times(e, from - begin, until - begin, to - begin);
    run_part(e, l, first, from, until, same, apart, f);
    e->times = times;
    // If there are too many accesses to simulate, the run does not give up here, since later classes may be cheaper.
    if (e->job->plain) nw_run_look_ahead(e, l, &pace, until - begin, to - begin);
    from = until;
  }
}

void nw_run_share(nw_run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f) {
  nw_share share = nw_share_of(rounds, l->chunk, e->job->share.thread, e->job->share.threads);
  e->inside = true;
  for (int64_t from, to; !e->stop && nw_share_next(&share, &from, &to);) {
    if (share.chunk) nw_run_touch(e, 1);
    nw_run_range(e, l, first, from, to, f);
  }
  e->inside = false;
}

void nw_run_node(nw_run *e, const nw_shape *s, nw_folder *f) {
  switch (s->kind) {
  case NW_AFFINE_LOOP:
    if (s->depth == 0 && e->accesses < 0)
      nw_run_loop_once(e, s, f);
    else
      put_loop(e, s, fold_or_run(e, s, f), f);
    return;
  case NW_AFFINE_STMT: run_stmt(e, s, f); return;
  case NW_AFFINE_GUARD:
    if (!nw_shape_holds(s, e->val)) return;
    break;
  case NW_AFFINE_SEQ: break;
  }
  run_kids(e, s, f);
}
