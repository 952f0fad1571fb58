// Folding a nest: each loop once for all places where it does the same, and its rounds by doubling.
#include "cost/model_run.h"
#include <stdlib.h>

typedef struct known { // a loop that was folded
  uint64_t hash;
  int n;
  int64_t *key;
  nw_fold *fold;
} known;

typedef struct run run;
struct run {
  nw_fold_run *job;
  const nw_fold_kind *kind;
  int shift; // of a line
  int64_t val[64]; // of loops around
  int64_t *origin, *by; // by region
  int64_t *key;
  uint8_t *fact[2];
  nw_vec folders, folds; // not in use; kept
  known *memo;
  int nknown, memo_room;
  int accesses; // the cell that counts them, or -1
  bool inside, stop; // of a parallel loop
  int64_t polled;
  run *roomy; // folds as if there were one set; NULL: there is, or it is that one
  int64_t room; // of such a run: it gives up (stop) where it gets so many lines
  uint32_t *held; // lines by set
};

enum { POLL = 1 << 20 };

static void touch(run *e, int64_t n) {
  e->job->touched += n;
  if (e->job->touched < e->polled) return;
  e->polled = e->job->touched + POLL;
  if (e->job->touched > e->job->most || nw_stopped(e->job->ctx)) e->stop = true;
}

// ---- folders

static void check_room(run *e, nw_folder *f) {
  if (e->room && nw_level_lines(f) >= e->room) e->stop = true;
}

static nw_folder *take(run *e) {
  if (!e->folders.n) return e->kind->open(e->job->of);
  nw_folder *f = e->folders.at[--e->folders.n];
  e->kind->clear(f);
  return f;
}

static void give(run *e, nw_folder *f) { nw_vec_push(&e->folders, f); }

static int64_t address_of(const run *e, int region, const nw_linear *f, int depth) {
  return nw_linear_at(f, e->val, depth) + e->job->nest->jitter * region;
}

// The lines in which the regions of a loop are in one of its rounds.
static void place(run *e, const nw_shape *l, int64_t round) {
  for (int i = 0; i < l->nanchors; i++) {
    const nw_anchor *a = &l->anchor[i];
    e->origin[a->region] = (address_of(e, a->region, &a->at, l->depth) + a->move * round) >> e->shift;
  }
}

static nw_fold *end(run *e, nw_folder *f, const nw_shape *l, int64_t round) {
  place(e, l, round);
  nw_fold *x = e->kind->end(f, e->origin);
  x->tally = nw_counting_end(&f->count, &e->job->tallies);
  touch(e, x->weight);
  return x;
}

static void put_behind(run *e, nw_folder *f, const nw_fold *x, const nw_shape *l, int64_t round) {
  place(e, l, round);
  e->kind->apply(f, x, e->origin);
  nw_counting_part(&f->count, x->tally, 1);
  touch(e, x->weight);
  check_room(e, f);
}

static void drop(run *e, nw_fold *x) {
  if (!x->kept) e->kind->drop(e->job->of, x);
}

// ---- rounds that repeat

static int64_t gcd(int64_t a, int64_t b) {
  if (a < 0) a = -a;
  while (b) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

static int64_t sets_told(const run *e) { return e->job->rough ? 1 : e->job->sets; }

// The least number of rounds in which all regions move by whole lines, and where lines go to sets, all by as many sets. That many
// rounds later the loop does the same again, elsewhere: lines that share a set still do, and the sets are equal among themselves.
static int64_t period_of(const run *e, const nw_shape *l, int64_t sets) {
  int64_t line = e->job->line, p = 1;
  for (int i = 0; i < l->nanchors; i++) {
    int64_t whole = line / gcd(l->anchor[i].move, line);
    if (whole > p) p = whole; // all are powers of two
  }
  int64_t all = 1;
  for (int i = 1; i < l->nanchors && sets > 1; i++) {
    int64_t apart = (int64_t)((__int128)(l->anchor[i].move - l->anchor[0].move) * p / line % sets);
    int64_t part = sets / gcd(apart, sets);
    all = all / gcd(all, part) * part;
  }
  return all * p;
}

// By how much regions move in so many rounds.
static void move(run *e, const nw_shape *l, __int128 rounds) {
  memset(e->by, 0, (size_t)e->job->nest->nregions * sizeof *e->by);
  for (int i = 0; i < l->nanchors; i++)
    e->by[l->anchor[i].region] = (int64_t)(l->anchor[i].move * rounds / e->job->line);
}

// `once` so many times, each time a period further.
typedef struct repetition {
  run *e;
  const nw_shape *l;
  int64_t times, from, period;
  nw_folder *f; // the first k of them
  int64_t k;
  nw_fold *made[64]; // of len[i] times
  int64_t len[64];
  int n;
  int64_t size, growth; // lines in f; how many the last one brought
  int64_t check; // at so many times it is worth to see whether it goes on alike
} repetition;

static void append(repetition *r, const nw_fold *x, int64_t times) {
  put_behind(r->e, r->f, x, r->l, r->from + r->k * r->period);
  r->k += times;
  int64_t size = r->e->kind->size(r->f);
  r->growth = (size - r->size) / times;
  r->size = size;
}

static nw_fold *so_far(repetition *r) {
  if (r->len[r->n] == r->k) return r->made[r->n];
  nw_fold *x = end(r->e, r->f, r->l, r->from);
  nw_counting_part(&r->f->count, x->tally, 1);
  r->len[++r->n] = r->k;
  return r->made[r->n] = x;
}

// Where one time more leaves everything as it was, but for the move, any number of times will: each of them meets what the one
// before did, moved.
static nw_fold *all_alike(repetition *r) {
  run *e = r->e;
  nw_fold *x = so_far(r);
  nw_counting_clear(&r->f->count);
  append(r, r->made[0], 1);
  nw_tally *more = nw_counting_end(&r->f->count, &e->job->tallies);
  nw_counting_part(&r->f->count, x->tally, 1);
  place(e, r->l, r->from);
  move(e, r->l, r->period);
  if (!e->kind->moved(r->f, x, e->origin, e->by)) {
    nw_counting_part(&r->f->count, more, 1);
    r->check = r->k + r->k / 4 + 1;
    return NULL;
  }
  int64_t left = r->times - r->k + 1;
  move(e, r->l, (__int128)r->period * left);
  nw_fold *out = e->kind->moved_on(e->job->of, x, e->by);
  nw_counting_part(&r->f->count, more, left);
  out->tally = nw_counting_end(&r->f->count, &e->job->tallies);
  return out;
}

// Lines to be handled by doubling and one by one: until the end, or until the level is full, where most loops go on alike.
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

static nw_fold *repeat(run *e, const nw_shape *l, nw_fold *once, int64_t times, int64_t from, int64_t p) {
  repetition r = {.e = e, .l = l, .times = times, .from = from, .period = p, .f = take(e), .made = {once}, .len = {1}};
  nw_fold *out = NULL;
  append(&r, once, 1);
  for (r.growth = 0; r.k < times && !out && !e->stop;)
    if (r.growth <= 0 && r.k >= r.check)
      out = all_alike(&r);
    else
      append_most(&r);
  if (!out) out = so_far(&r);
  for (int i = 1; i <= r.n; i++)
    if (r.made[i] != out) drop(e, r.made[i]);
  give(e, r.f);
  return out;
}

// ---- nodes

static void run_node(run *e, const nw_shape *s, nw_folder *f);
static nw_fold *fold_loop(run *e, const nw_shape *l);

static void run_kids(run *e, const nw_shape *s, nw_folder *f) {
  for (int i = 0; i < s->nkids && !e->stop; i++) run_node(e, s->kid[i], f);
}

static void run_ref(run *e, const nw_access_form *r, int depth, nw_folder *f) {
  int64_t at = address_of(e, r->region, &r->at, depth), last = (at + r->bytes - 1) >> e->shift;
  for (int64_t line = at >> e->shift; line <= last; line++) {
    e->kind->ask(f, line, r->region, r->site, r->write);
    touch(e, 1);
  }
}

// What is outside of parallel loops is done by the first thread.
static void run_stmt(run *e, const nw_shape *s, nw_folder *f) {
  if (e->job->share.thread && !e->inside) return;
  for (int i = 0; i < s->nrefs; i++) run_ref(e, &s->ref[i], s->depth, f);
  if (e->accesses >= 0) nw_counting_add(&f->count, e->accesses, s->nrefs);
}

static void run_round(run *e, const nw_shape *l, int64_t first, int64_t round, nw_folder *f) {
  e->val[l->depth] = first + round * l->step;
  touch(e, l->nkids == 0);
  run_kids(e, l, f);
  check_room(e, f);
}

enum { SAMPLES = 12 }; // of the rounds of a loop that differ

// The round in the middle of each part speaks for all of it; the one before it brings the lines that would be there, uncounted.
static void run_some(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  for (int i = 0; i < SAMPLES && !e->stop; i++) {
    int64_t a = from + (int64_t)((__int128)(to - from) * i / SAMPLES),
            b = from + (int64_t)((__int128)(to - from) * (i + 1) / SAMPLES);
    nw_tally *before = nw_counting_end(&f->count, &e->job->tallies);
    run_round(e, l, first, a + (b - a) / 2 - 1, f);
    nw_counting_clear(&f->count);
    run_round(e, l, first, a + (b - a) / 2, f);
    nw_tally *one = nw_counting_end(&f->count, &e->job->tallies);
    nw_counting_part(&f->count, before, 1);
    nw_counting_part(&f->count, one, b - a);
  }
}

// Rounds from..to one after the other. `first` is the value of the loop in round 0.
static void run_each(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  if (e->job->rough && to - from > 4 * SAMPLES && !l->flat) {
    run_some(e, l, first, from, to, f);
    return;
  }
  for (int64_t t = from; t < to && !e->stop; t++) run_round(e, l, first, t, f);
}

// The one loop inside of a loop, and nothing else. NULL: there is more, or it is elsewhere: in a loop that does not count from 0
// regions begin where its slot is 0.
static const nw_shape *only_kid(const nw_shape *l) {
  const nw_shape *s = l;
  do s = s->nkids == 1 ? s->kid[0] : NULL;
  while (s && s->kind == NW_AFFINE_SEQ);
  return s && s->kind == NW_AFFINE_LOOP && !l->absolute ? s : NULL;
}

// Some rounds, one after the other. What is folded already need not be put behind nothing.
static nw_fold *fold_each(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to) {
  const nw_shape *kid = only_kid(l);
  if (to == from + 1 && kid) {
    e->val[l->depth] = first + from * l->step;
    nw_fold *x = fold_loop(e, kid);
    if (x && e->room && !x->weight) e->stop = true;
    if (x) return x;
  }
  nw_folder *f = take(e);
  run_each(e, l, first, from, to, f);
  nw_fold *x = end(e, f, l, from);
  give(e, f);
  return x;
}

static nw_fold *fold_alike(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until);
static int64_t peak_of(run *e, const nw_stacked *s, const nw_shape *l);
static void join(run *other, const run *e, const nw_shape *l);

// ---- rounds whose regions drift apart within the sets
//
// A step is as many rounds as move each region by whole lines. Let any set have room for the lines of two steps, wherever their
// regions lie, and let the lines of all steps be as many as those of the first and, for each other step, those that the second
// adds to it: then a step asks for no line that came before the step before it. So all lines asked for again are found, whatever
// the sets; what misses are the new lines, as many each step, once every set is full. Nor do the sets decide who wrote a line last.
// So most steps need not be made: the last ones bring what stays behind, which is so when every line that moves came within
// them, but for the first of them, whose lines may have come earlier. Lines written back are those written, and not there.

enum { MANY = 16 }; // steps that are worth it

typedef struct drift {
  run *e;
  const nw_shape *l;
  int64_t from, q, steps; // q rounds a step
  nw_fold *once; // a step, in one set
  nw_folder *f;
  int64_t t; // steps made
  int64_t *cell, *dirty; // of one step, by site: counts; lines that are dirty, before and after
} drift;

static bool has_room_for_two(drift *d, int64_t *lines) {
  run *e = d->e, *r = e->roomy;
  nw_folder *g = take(r);
  put_behind(r, g, d->once, d->l, d->from);
  put_behind(r, g, d->once, d->l, d->from + d->q);
  bool has = !r->stop;
  if (has) {
    nw_fold *two = end(r, g, d->l, d->from);
    place(e, d->l, d->from);
    has = peak_of(e, nw_fold_stacked(two), d->l) <= ((const nw_level_of *)e->job->of)->ways;
    lines[0] = nw_fold_stacked(d->once)->nfirst;
    lines[1] = nw_fold_stacked(two)->nfirst;
    drop(r, two);
  }
  give(r, g);
  return has;
}

static bool comes_from_before(drift *d, int64_t first, const int64_t *lines) {
  run *n = d->e->job->lines->run;
  int64_t until, was = n->job->touched, all = -1;
  join(n, d->e, d->l);
  nw_fold *x = fold_alike(n, d->l, first, d->from, d->from + d->steps * d->q, &until);
  if (x && !n->stop) all = x->lines;
  if (x) drop(n, x);
  n->stop = false;
  touch(d->e, n->job->touched - was);
  return all != lines[0] + (d->steps - 1) * (lines[1] - lines[0]);
}

static void make_step(drift *d) { put_behind(d->e, d->f, d->once, d->l, d->from + d->t++ * d->q); }

// Steps until every set is full, and the lines of the first steps are gone.
static bool settle(drift *d) {
  const nw_stack *k = nw_level_stack(d->f);
  for (int64_t check = 0; 3 * d->t + 8 < d->steps && !d->e->stop; make_step(d)) {
    if (d->t < check || !nw_stack_full(k)) continue;
    if (nw_stack_settled(k, d->e->by)) return true;
    check = d->t + d->t / 8 + 1;
  }
  return false;
}

// The counts of a step; of written back those that it will bring in the end.
static nw_tally *measure_step(drift *d) {
  int nsites = ((const nw_level_of *)d->e->job->of)->nsites;
  nw_stack *k = nw_level_stack(d->f);
  int64_t *before = nw_xcalloc((size_t)nsites + 1, sizeof *before);
  nw_stack_dirty(k, before);
  make_step(d);
  nw_stack_dirty(k, d->dirty);
  for (int i = 0; i < nsites * NW_LEVEL_CELLS; i++) d->cell[i] = d->f->count.cell[i];
  for (int s = 0; s < nsites; s++) d->cell[s * NW_LEVEL_CELLS + NW_CELL_BACK] += d->dirty[s] - before[s];
  free(before);
  return nw_counting_end(&d->f->count, &d->e->job->tallies);
}

static bool count_steps(drift *d, int64_t steps) {
  int nsites = ((const nw_level_of *)d->e->job->of)->nsites;
  int64_t *now = nw_xcalloc((size_t)nsites + 1, sizeof *now);
  bool fits = true;
  nw_stack_dirty(nw_level_stack(d->f), now);
  for (int i = 0; i < nsites * NW_LEVEL_CELLS; i++) {
    int64_t n, site = i / NW_LEVEL_CELLS;
    fits = fits && !__builtin_mul_overflow(d->cell[i], steps, &n);
    if (fits && i % NW_LEVEL_CELLS == NW_CELL_BACK) n += d->dirty[site] - now[site];
    if (fits && n) nw_counting_add(&d->f->count, i, n);
  }
  free(now);
  return fits;
}

// Goes on to the last steps, as many as it took to settle and some, and makes those.
static bool leap(drift *d) {
  nw_stack *k = nw_level_stack(d->f);
  nw_tally *before = nw_counting_end(&d->f->count, &d->e->job->tallies), *step = measure_step(d);
  int64_t left = d->steps - d->t;
  d->t = d->steps - (d->t + 4);
  nw_stack_stamp(k, 1);
  make_step(d);
  nw_stack_stamp(k, 2);
  while (d->t < d->steps && !d->e->stop) make_step(d);
  nw_counting_clear(&d->f->count);
  nw_counting_part(&d->f->count, before, 1);
  nw_counting_part(&d->f->count, step, 1);
  return nw_stack_full(k) && nw_stack_renewed(k, d->e->by, 2) && count_steps(d, left);
}

static nw_fold *fold_steps(drift *d) {
  run *e = d->e;
  nw_fold *out = NULL;
  int ncells = ((const nw_level_of *)e->job->of)->nsites * NW_LEVEL_CELLS;
  d->f = take(e);
  d->cell = nw_xcalloc((size_t)ncells + 1, sizeof *d->cell);
  d->dirty = nw_xcalloc((size_t)ncells + 1, sizeof *d->dirty);
  move(e, d->l, d->q);
  if (settle(d) && leap(d)) out = end(e, d->f, d->l, d->from);
  give(e, d->f);
  free(d->cell);
  free(d->dirty);
  return out;
}

// NULL: the rounds are not of this kind.
static nw_fold *fold_drift(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until) {
  drift d = {.e = e, .l = l, .from = from, .q = period_of(e, l, 1)};
  d.steps = (to - from) / d.q;
  if (d.steps < MANY || ((const nw_level_of *)e->job->of)->shadow || !e->job->lines) return NULL;
  run *r = e->roomy;
  join(r, e, l);
  int64_t lines[2], was = r->job->touched;
  d.once = fold_each(r, l, first, from, from + d.q);
  bool is = !r->stop && d.once->weight && has_room_for_two(&d, lines) && !comes_from_before(&d, first, lines);
  r->stop = false;
  touch(e, r->job->touched - was);
  nw_fold *out = is ? fold_steps(&d) : NULL;
  drop(r, d.once);
  *until = from + d.steps * d.q;
  return out;
}

// Rounds from..to, which all run the same iterations, as far as they make whole periods. NULL: not two of them.
static nw_fold *fold_alike(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, int64_t *until) {
  int64_t p = period_of(e, l, sets_told(e)), times = (to - from) / p;
  nw_fold *x = e->roomy && times < MANY ? fold_drift(e, l, first, from, to, until) : NULL;
  if (x) return x;
  *until = from;
  if (times < 2) return NULL;
  nw_fold *once = fold_each(e, l, first, from, from + p);
  if (e->stop) return once;
  nw_fold *all = repeat(e, l, once, times, from, p);
  if (all != once) drop(e, once);
  *until = from + times * p;
  return all;
}

static void run_alike(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  int64_t until;
  nw_fold *x = fold_alike(e, l, first, from, to, &until);
  if (x) put_behind(e, f, x, l, from);
  if (x) drop(e, x);
  run_each(e, l, first, until, to, f);
}

static bool class_at(run *e, const nw_shape *l, int64_t first, int64_t round, uint8_t *fact) {
  e->val[l->depth] = first + round * l->step;
  return nw_shape_class(l, e->val, fact);
}

// The end of the rounds that are like `from` in every fact: each fact turns over at most once.
static int64_t end_of_class(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, bool *same) {
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

static void run_range(run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  while (from < to && !e->stop) {
    bool same;
    int64_t until = end_of_class(e, l, first, from, to, &same);
    (same ? run_alike : run_each)(e, l, first, from, until, f);
    from = until;
  }
}

// A thread's share, as run/threads.c hands it out.
static void run_share(run *e, const nw_shape *l, int64_t first, int64_t rounds, nw_folder *f) {
  int64_t chunk = l->chunk < 0 ? -(int64_t)l->chunk : l->chunk, t = e->job->share.thread, all = e->job->share.threads;
  e->inside = true;
  if (!chunk)
    run_range(e, l, first, (int64_t)((__int128)rounds * t / all), (int64_t)((__int128)rounds * (t + 1) / all), f);
  for (__int128 from = (__int128)t * chunk; chunk && from < rounds && !e->stop; from += (__int128)all * chunk) {
    touch(e, 1);
    run_range(e, l, first, (int64_t)from, rounds - from < chunk ? rounds : (int64_t)from + chunk, f);
  }
  e->inside = false;
}

// ---- loops that were folded before

// A loop does the same where it runs the same iterations and its regions lie alike: to the byte within a line, and where lines
// go to sets, as many sets apart.
static int key_of(run *e, const nw_shape *l, int64_t *key) {
  int n = 0;
  int64_t line0 = 0;
  key[n++] = l->id;
  for (int i = 0; i < l->napart; i++) key[n++] = nw_linear_at(&l->apart[i], e->val, l->depth);
  for (int i = 0; i < l->nanchors; i++) {
    int64_t at = address_of(e, l->anchor[i].region, &l->anchor[i].at, l->depth), line = at >> e->shift,
            sets = sets_told(e);
    if (!i) line0 = line;
    key[n++] = (at & (e->job->line - 1)) + e->job->line * (sets > 1 ? nw_floormod_i64(line - line0, sets) : 0);
  }
  return n + nw_shape_key(l, e->val, key + n);
}

static uint64_t hash_of(const int64_t *key, int n) { return nw_hash_bytes(key, (size_t)n * sizeof *key); }

static known *slot_of(const run *e, const int64_t *key, int n, uint64_t hash) {
  int mask = e->memo_room - 1, i = (int)(hash & (uint64_t)mask);
  for (;; i = (i + 1) & mask) {
    known *k = &e->memo[i];
    if (!k->fold || (k->hash == hash && k->n == n && !memcmp(k->key, key, (size_t)n * sizeof *key))) return k;
  }
}

static void grow_memo(run *e) {
  known *old = e->memo;
  int n = e->memo_room;
  e->memo_room *= 2;
  e->memo = nw_xcalloc((size_t)e->memo_room, sizeof *e->memo);
  for (int i = 0; i < n; i++)
    if (old[i].fold) *slot_of(e, old[i].key, old[i].n, old[i].hash) = old[i];
  free(old);
}

static void keep(run *e, const int64_t *key, int n, uint64_t hash, nw_fold *x) {
  if (2 * ++e->nknown > e->memo_room) grow_memo(e);
  known *k = slot_of(e, key, n, hash);
  *k = (known){hash, n, NW_NEW_N(e->job->tallies.arena, int64_t, n), x};
  memcpy(k->key, key, (size_t)n * sizeof *key);
  x->kept = true;
}

// All rounds are alike and make whole periods: no need to put them behind nothing.
static nw_fold *fold_whole(run *e, const nw_shape *l, int64_t first, int64_t rounds) {
  bool same, shared = l->parallel && e->job->share.threads;
  if (shared || !l->uniform || end_of_class(e, l, first, 0, rounds, &same) < rounds || !same) return NULL;
  int64_t until;
  return rounds % period_of(e, l, sets_told(e)) ? NULL : fold_alike(e, l, first, 0, rounds, &until);
}

static nw_fold *fold_rounds(run *e, const nw_shape *l, int64_t first, int64_t rounds) {
  nw_fold *x = fold_whole(e, l, first, rounds);
  if (x) return x;
  nw_folder *f = take(e);
  if (l->parallel && e->job->share.threads && !e->inside)
    run_share(e, l, first, rounds, f);
  else
    run_range(e, l, first, 0, rounds, f);
  x = end(e, f, l, 0);
  give(e, f);
  return x;
}

// How many lines a loop touches, as far as that is known: the fold of all lines has the same key.
static int64_t lines_of(const run *e, const int64_t *key, int n, uint64_t hash) {
  const nw_fold_run *lines = e->job->lines;
  const known *k = lines ? slot_of(lines->run, key, n, hash) : NULL;
  return k && k->fold ? k->fold->lines : 0;
}

static nw_fold *fold_in_sets(run *e, const nw_shape *l, int64_t first, int64_t last) {
  int64_t rounds = (last - first) / l->step + 1;
  int n = key_of(e, l, e->key);
  uint64_t hash = hash_of(e->key, n);
  known *k = slot_of(e, e->key, n, hash);
  if (k->fold) return k->fold;
  int64_t key[n];
  memcpy(key, e->key, (size_t)n * sizeof *key);
  if (e->room && lines_of(e, key, n, hash) >= e->room) e->stop = true;
  nw_fold *x = e->stop ? NULL : fold_rounds(e, l, first, rounds);
  if (e->stop) { // there is no room: an empty fold says so; or it was stopped
    nw_folder *f = take(e);
    if (x) drop(e, x);
    x = end(e, f, l, 0);
    give(e, f);
  }
  keep(e, key, n, hash, x);
  return x;
}

// ---- loops that fit

static uint32_t set_of(const run *e, int64_t line) {
  int64_t sets = e->job->sets;
  return (uint32_t)(sets & (sets - 1) ? line % sets : line & (sets - 1));
}

static void unhold(run *e, const nw_stack_last *at, int n) {
  for (int i = 0; i < n; i++) e->held[set_of(e, at[i].line + e->origin[at[i].region])] = 0;
}

// The most lines that a set gets of each region, one above the other: no place of the regions can bring more.
static int64_t peak_of(run *e, const nw_stacked *s, const nw_shape *l) {
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

// No set gets more lines than it holds.
static bool fits(run *e, nw_fold *x, const nw_shape *l) {
  const nw_stacked *s = nw_fold_stacked(x);
  int64_t ways = ((const nw_level_of *)e->job->of)->ways;
  if (x->peak && x->peak <= ways) return true;
  place(e, l, 0);
  if (!x->peak) {
    x->peak = peak_of(e, s, l);
    touch(e, s->nlast);
    return fits(e, x, l);
  }
  bool all = true;
  int n = 0;
  while (n < s->nlast && all) {
    const nw_stack_last *at = &s->last[n++];
    all = ++e->held[set_of(e, at->line + e->origin[at->region])] <= ways;
  }
  unhold(e, s->last, n);
  touch(e, n);
  return all;
}

// Another run at the same place of the nest.
static void join(run *other, const run *e, const nw_shape *l) {
  memcpy(other->val, e->val, (size_t)(l->depth + 1) * sizeof *other->val);
  other->inside = e->inside;
  other->job->most = other->job->touched + e->job->most - e->job->touched;
  other->polled = other->job->touched + POLL;
}

// What a loop does to sets that have room for all of its lines does not depend on where those lie: nothing leaves. So it is the
// same as in one set with as much room as all of them, wherever its regions are. NULL: some set has no room.
static nw_fold *fold_with_room(run *e, const nw_shape *l) {
  run *r = e->roomy;
  join(r, e, l);
  int64_t was = r->job->touched;
  nw_fold *x = fold_loop(r, l);
  touch(e, r->job->touched - was);
  r->stop = false;
  return x && x->weight && fits(e, x, l) ? x : NULL;
}

static nw_fold *fold_loop(run *e, const nw_shape *l) {
  int64_t first, last;
  nw_shape_bounds(l, e->val, &first, &last);
  if (last < first) return NULL;
  nw_fold *x = e->roomy ? fold_with_room(e, l) : NULL;
  return x ? x : fold_in_sets(e, l, first, last);
}

static void run_loop(run *e, const nw_shape *l, nw_folder *f) {
  nw_fold *x = fold_loop(e, l);
  if (e->room && (e->stop || !x || !x->weight)) {
    e->stop = e->stop || x;
    return;
  }
  if (!x) return;
  put_behind(e, f, x, l, 0);
  drop(e, x);
}

static void run_node(run *e, const nw_shape *s, nw_folder *f) {
  switch (s->kind) {
  case NW_AFFINE_LOOP: run_loop(e, s, f); return;
  case NW_AFFINE_STMT: run_stmt(e, s, f); return;
  case NW_AFFINE_GUARD:
    if (!nw_shape_holds(s, e->val)) return;
    break;
  case NW_AFFINE_SEQ: break;
  }
  run_kids(e, s, f);
}

// ---- everything

static void most_room(const nw_shape *s, int *key, int *facts) {
  if (s->kind == NW_AFFINE_LOOP) {
    int n = 1 + s->napart + s->nanchors + nw_shape_key_room(s), m = nw_shape_facts(s);
    if (n > *key) *key = n;
    if (m > *facts) *facts = m;
  }
  for (int i = 0; i < s->nkids; i++) most_room(s->kid[i], key, facts);
}

static void open_run(run *e, nw_fold_run *r) {
  int key = 1, facts = 1;
  most_room(r->nest->root, &key, &facts);
  *e = (run){.job = r, .kind = r->kind, .shift = __builtin_ctz((unsigned)r->line), .memo_room = 256, .accesses = -1};
  if (r->kind == &nw_lines_kind) e->accesses = r->nest->nsites;
  e->origin = nw_xcalloc((size_t)r->nest->nregions + 1, sizeof *e->origin);
  e->by = nw_xcalloc((size_t)r->nest->nregions + 1, sizeof *e->by);
  e->key = nw_xcalloc((size_t)key, sizeof *e->key);
  for (int i = 0; i < 2; i++) e->fact[i] = nw_xcalloc((size_t)facts, 1);
  e->memo = nw_xcalloc((size_t)e->memo_room, sizeof *e->memo);
  e->held = nw_xcalloc((size_t)r->sets, sizeof *e->held);
}

static void close_run(run *e) {
  for (int i = 0; i < e->folders.n; i++) e->kind->free(e->folders.at[i]);
  for (int i = 0; i < e->memo_room; i++)
    if (e->memo[i].fold && e->memo[i].fold->kept) e->kind->drop(e->job->of, e->memo[i].fold);
  nw_vec_free(&e->folders);
  free(e->memo);
  free(e->origin);
  free(e->by);
  free(e->key);
  free(e->held);
  for (int i = 0; i < 2; i++) free(e->fact[i]);
}

// A run beside, whose folds fit one set with the room of all.
static run *open_roomy(const nw_fold_run *r) {
  run *e = nw_xcalloc(1, sizeof *e);
  nw_fold_run *job = nw_xmalloc(sizeof *job);
  nw_level_of *of = nw_xmalloc(sizeof *of);
  *of = *(const nw_level_of *)r->of;
  of->ways *= of->sets;
  of->sets = 1;
  *job = *r;
  job->of = of;
  job->sets = 1;
  open_run(e, job);
  nw_tallies_open(&job->tallies);
  e->room = of->ways;
  return e;
}

static void close_roomy(run *e) {
  if (!e) return;
  close_run(e);
  nw_tallies_close(&e->job->tallies);
  free((void *)e->job->of);
  free(e->job);
  free(e);
}

static void fold_root(run *e) {
  nw_fold_run *r = e->job;
  nw_folder *f = take(e);
  run_node(e, r->nest->root, f);
  memset(e->origin, 0, (size_t)r->nest->nregions * sizeof *e->origin);
  r->fold = e->kind->end(f, e->origin);
  r->fold->tally = nw_counting_end(&f->count, &r->tallies);
  give(e, f);
}

bool nw_fold_nest(nw_fold_run *r) {
  run *e = r->run = nw_xcalloc(1, sizeof *e);
  open_run(e, r);
  nw_tallies_open(&r->tallies);
  if (r->sets > 1 && !r->rough) e->roomy = open_roomy(r);
  const nw_shape *root = r->nest->root;
  if (e->accesses < 0 && root->kind == NW_AFFINE_LOOP) r->fold = fold_loop(e, root); // its lines do not matter any more
  if (r->fold)
    r->fold->kept = false;
  else
    fold_root(e);
  return !e->stop;
}

void nw_fold_run_free(nw_fold_run *r) {
  close_roomy(r->run->roomy);
  close_run(r->run);
  free(r->run);
  if (r->fold) r->kind->drop(r->of, r->fold);
  nw_tallies_close(&r->tallies);
}
