// Runs several iterations at once, if they run the same inner iterations and their lines fit in the sets.
// model_rounds.h defines terms such as fold.
#include "cache/exact/model_rounds.h"

// A *step* is the least number of iterations that moves each region by a whole number of lines. If the lines of a step
// fit in the sets, its effect does not depend on the positions of the regions (model_room.c). So one fold is made for
// all steps. The same is done for two steps, four steps, and so on, as long as their lines fit and the steps share
// lines.
enum { SIZES = 16 };

typedef struct steps {
  nw_run *e;
  const nw_shape *l;
  int64_t first, from, to, q; // `first`: the value of the loop in iteration 0; `q`: number of iterations of a step
  nw_fold *made[SIZES]; // made[i]: the fold of 2^i steps
  int n;
} steps;

// Makes the fold of one step, or of twice as many steps as before, in the run with one set. Returns NULL if the lines
// do not fit.
static nw_fold *make_next(const steps *s) {
  nw_run *r = s->e->roomy;
  nw_fold *x = s->n ? nw_run_repeat(r, s->l, s->made[s->n - 1], 2, s->from, s->q << (s->n - 1))
                    : nw_run_fold_each(r, s->l, s->first, s->from, s->from + s->q);
  bool is_made = !r->stop && x->weight;
  r->stop = false;
  if (is_made) return x;
  nw_run_drop(r, x);
  return NULL;
}

// Returns the result of make_next. Takes it from the memo if possible.
static nw_fold *next_size(const steps *s) {
  nw_run *r = s->e->roomy;
  int n = nw_run_key(r, s->l, s->first, s->to, r->key);
  r->key[0] = ~r->key[0]; // makes the key different from all keys of loops
  r->key[n++] = s->from;
  r->key[n++] = s->n;
  const nw_known *k = nw_run_recall(r, r->key, n);
  if (!k) {
    int64_t *key = memcpy(NW_NEW_N(r->job->tallies.arena, int64_t, n), r->key, (size_t)n * sizeof *key);
    nw_run_keep(r, key, n, make_next(s));
    k = nw_run_recall(r, key, n);
  }
  return k->fold;
}

// Returns a fold of twice as many steps as the largest fold so far. Returns NULL if the lines of the new fold do not
// fit for all positions of the regions, or if its halves share too few lines. Also returns NULL if there are too few
// iterations, or already SIZES folds.
static nw_fold *twice(const steps *s) {
  if (s->n == SIZES || s->q << s->n > s->to - s->from) return NULL;
  const nw_fold *x = s->made[s->n - 1];
  if (!nw_run_fits_anywhere(s->e, s->made[s->n - 1], s->l)) return NULL;
  nw_fold *two = next_size(s);
  bool pays = two && two->weight <= 2 * x->weight - x->weight / 8 && nw_run_fits_anywhere(s->e, two, s->l);
  return pays ? two : NULL;
}

static void make(steps *s) {
  nw_run *r = s->e->roomy;
  int64_t was = r->job->touched;
  nw_run_join(r, s->e, s->l);
  for (nw_fold *x = next_size(s); x; x = twice(s)) s->made[s->n++] = x;
  nw_run_touch(s->e, r->job->touched - was);
}

// True if steps are worth trying. There must be enough iterations, and the lines of a step of this loop must have
// failed to fit at most once.
static bool is_worth_it(const nw_run *e, const nw_shape *l, int64_t rounds) {
  return e->roomy && e->fitted[l->id] > -2 && rounds >= 2 * nw_run_period(e, l, 1);
}

// Runs `rounds` iterations one by one, beginning with `from`.
static void run_some(const steps *s, int64_t from, int64_t rounds, nw_folder *f) {
  double times = nw_run_set_times(s->e, from - s->from, from - s->from + rounds, s->to - s->from);
  nw_run_each_alike(s->e, s->l, s->first, from, from + rounds, f);
  s->e->times = times;
}

// Runs as many iterations in steps as possible. Returns the first iteration that was not run.
static int64_t run_steps(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  steps s = {.e = e, .l = l, .first = first, .from = from, .to = to, .q = nw_run_period(e, l, 1)};
  make(&s);
  if (s.n)
    e->fitted[l->id] = 1;
  else if (e->fitted[l->id] <= 0)
    e->fitted[l->id]--;
  nw_pace pace = {.touched = e->job->touched};
  for (int i = s.n - 1; i >= 0 && !e->stop; i--)
    for (int64_t rounds = s.q << i; to - from >= rounds && !e->stop; from += rounds) {
      if (nw_run_fits(e, s.made[i], l, from))
        nw_run_put_behind(e, f, s.made[i], l, from);
      else
        run_some(&s, from, rounds, f);
      nw_run_look_ahead(e, l, &pace, from + rounds - s.from, to - s.from);
    }
  return from;
}

void nw_run_same(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  if (is_worth_it(e, l, to - from)) from = run_steps(e, l, first, from, to, f);
  nw_run_each_alike(e, l, first, from, to, f);
}
