// Rounds that are alike, where sets have room for some of them.
#include "cost/model_rounds.h"

// A step is as many rounds as move each region by whole lines. What it does in sets that have room for its lines does not depend
// on where those lie (model_room.c), so it is folded once and put behind wherever it comes; and so are two of them, four, and so
// on, as long as they fit as well and share lines.
enum { SIZES = 16 };

typedef struct steps {
  nw_run *e;
  const nw_shape *l;
  int64_t from, q; // rounds
  nw_fold *made[SIZES]; // of 2^i steps
  int n;
} steps;

// Was there room for x in the run of one set that has just made it?
static bool is_made(nw_run *r, nw_fold *x) {
  bool is = !r->stop && x->weight;
  r->stop = false;
  return is;
}

// Twice `x`, where that fits anywhere and shares lines; NULL: it is not worth it.
static nw_fold *twice(steps *s, nw_fold *x) {
  nw_run *r = s->e->roomy;
  nw_fold *two = nw_run_repeat(r, s->l, x, 2, s->from, s->q << (s->n - 1));
  if (is_made(r, two) && two->weight <= 2 * x->weight - x->weight / 8 && nw_run_fits_anywhere(s->e, two, s->l))
    return two;
  if (two != x) nw_run_drop(r, two);
  return NULL;
}

static void make(steps *s, int64_t first, int64_t to) {
  nw_run *r = s->e->roomy;
  int64_t was = r->job->touched;
  nw_run_join(r, s->e, s->l);
  nw_fold *x = nw_run_fold_each(r, s->l, first, s->from, s->from + s->q);
  if (!is_made(r, x)) nw_run_drop(r, x), x = NULL;
  while (x) {
    s->made[s->n++] = x;
    bool on = s->n < SIZES && s->q << s->n <= to - s->from && nw_run_fits_anywhere(s->e, x, s->l);
    x = on ? twice(s, x) : NULL;
  }
  nw_run_touch(s->e, r->job->touched - was);
}

// What did not fit twice is not tried again.
static bool is_worth_it(const nw_run *e, const nw_shape *l, int64_t rounds) {
  return e->roomy && e->fitted[l->id] > -2 && rounds >= 2 * nw_run_period(e, l, 1);
}

// Returns how far it has come.
static int64_t run_steps(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  steps s = {.e = e, .l = l, .from = from, .q = nw_run_period(e, l, 1)};
  make(&s, first, to);
  if (s.n)
    e->fitted[l->id] = 1;
  else if (e->fitted[l->id] <= 0)
    e->fitted[l->id]--;
  for (int i = s.n - 1; i >= 0 && !e->stop; i--)
    for (int64_t rounds = s.q << i; to - from >= rounds && !e->stop; from += rounds)
      if (nw_run_fits(e, s.made[i], l, from))
        nw_run_put_behind(e, f, s.made[i], l, from);
      else
        nw_run_each(e, l, first, from, from + rounds, f);
  for (int i = 0; i < s.n; i++) nw_run_drop(e->roomy, s.made[i]);
  return from;
}

void nw_run_same(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to, nw_folder *f) {
  if (is_worth_it(e, l, to - from)) from = run_steps(e, l, first, from, to, f);
  nw_run_each(e, l, first, from, to, f);
}
