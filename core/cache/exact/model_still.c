// Finds iterations that are *still*. In a still iteration, every access requests the same lines as in the previous
// iteration. model_rounds.h defines other terms.
#include "cache/exact/model_rounds.h"

// Suppose that an iteration is repeated with the same lines. Then each set has the same lines in the same LRU order
// after every repetition. If a set can hold all its lines of the iteration, none of these lines is evicted any more.
// Otherwise, after an iteration, the set contains only lines of the iteration.
//
// From the third iteration on, hits and last writers are also the same. A line that stays in its set during the whole
// second iteration stays there during all later iterations. Any other line is loaded again in each iteration, so its
// state does not depend on earlier iterations. Therefore all later iterations have the same counts as the third
// iteration. No line is new after the first iteration.

// Returns the *grain* of a reference, which is a divisor of the line size. The address of the reference modulo the
// grain is the same for all values of the inner loops.
static int64_t grain_of(const nw_run *e, const nw_shape *l, const nw_shape *stmt, const nw_access_form *r) {
  int64_t g = e->job->line;
  for (int d = l->depth + 1; d < stmt->depth; d++) g = nw_gcd(g, r->at.coef[d]);
  return g;
}

static int64_t move_of(const nw_shape *l, const nw_access_form *r) {
  int64_t move = r->at.coef[l->depth] * l->step;
  return move < 0 ? -move : move;
}

// Returns an estimate of the largest number of consecutive iterations that request the same lines. It may be too low by
// 1, because the quotient is rounded down.
static int64_t most_still(const nw_run *e, const nw_shape *l, const nw_shape *s) {
  int64_t most = INT64_MAX;
  for (int i = 0; i < s->nrefs; i++) {
    int64_t move = move_of(l, &s->ref[i]), n = move ? grain_of(e, l, s, &s->ref[i]) / move : most;
    if (n < most) most = n;
  }
  for (int i = 0; i < s->nkids && most; i++) {
    int64_t n = most_still(e, l, s->kid[i]);
    if (n < most) most = n;
  }
  return most;
}

// Returns the number of bytes by which an address can move up, or down, without leaving its aligned block of `grain`
// bytes.
static int64_t left(int64_t at, int64_t grain, bool up) {
  int64_t in = at & (grain - 1);
  return up ? grain - 1 - in : in;
}

static int64_t still_ref(const nw_run *e, const nw_shape *l, const nw_shape *stmt, const nw_access_form *r) {
  int64_t move = move_of(l, r), grain = grain_of(e, l, stmt, r);
  if (!move) return INT64_MAX;
  bool up = r->at.coef[l->depth] > 0;
  int64_t at = nw_run_address(e, r->region, &r->at, l->depth + 1), begin = left(at, grain, up),
          end = left(at + r->bytes - 1, grain, up);
  return (begin < end ? begin : end) / move + 1;
}

static int64_t still_in(const nw_run *e, const nw_shape *l, const nw_shape *s) {
  int64_t n = INT64_MAX;
  for (int i = 0; i < s->nrefs && n > 1; i++) {
    int64_t k = still_ref(e, l, s, &s->ref[i]);
    if (k < n) n = k;
  }
  for (int i = 0; i < s->nkids && n > 1; i++) {
    int64_t k = still_in(e, l, s->kid[i]);
    if (k < n) n = k;
  }
  return n;
}

enum { FEW = 4 }; // if there are fewer iterations, they are not checked

static bool may_stand(nw_run *e, const nw_shape *l) {
  nw_record *r = &e->record[l->id];
  if (!r->still) r->still = 1 + (most_still(e, l, l) >= FEW);
  return r->still == 2;
}

int64_t nw_run_still(nw_run *e, const nw_shape *l, int64_t first, int64_t from, int64_t to) {
  if (to - from < FEW || !may_stand(e, l)) return 1;
  e->val[l->depth] = first + from * l->step;
  int64_t n = still_in(e, l, l);
  if (n > to - from) n = to - from;
  return n < FEW ? 1 : n;
}

void nw_run_times(nw_run *e, nw_folder *f, nw_tally *before, int64_t times) {
  nw_tally *one = nw_counting_end(&f->count, &e->job->tallies);
  nw_counting_part(&f->count, before, 1);
  nw_counting_part(&f->count, one, times);
}
