// Examines two accesses of one buffer: finds the pairs of executions that access the same element, and compares their
// order.
#include "poly/internal.h"
#include <limits.h>

bool nw_may_meet(const nw_use *a, const nw_use *b) {
  return a->buffer == b->buffer && a->alloc == b->alloc && (a->write || b->write);
}

int nw_common_loops(const nw_site *a, const nw_site *b) {
  int n = 0;
  while (n < a->nloops && n < b->nloops && a->loop[n] == b->loop[n]) n++;
  return n;
}

isl_map *nw_meet(const nw_model *m, nw_use *a, nw_use *b) {
  isl_map *from = isl_map_copy(nw_use_map(m, a)), *to = isl_map_copy(nw_use_map(m, b));
  return isl_map_apply_range(from, isl_map_reverse(to));
}

isl_map *nw_events(const nw_model *m, nw_use *r) {
  return isl_map_flatten_domain(isl_map_range_map(isl_map_copy(nw_use_map(m, r))));
}

isl_map *nw_meet_events(const nw_model *m, nw_use *w, isl_map *events) {
  return isl_map_apply_range(isl_map_copy(nw_use_map(m, w)), isl_map_reverse(events));
}

// Returns which access is first if all common loops are at the same iteration: -1 for a, 1 for b. Within one execution,
// reads come before writes. The result has no meaning if a and b are the same access.
static int textual(const nw_use *a, const nw_use *b) {
  if (a->site->seq != b->site->seq) return a->site->seq < b->site->seq ? -1 : 1;
  if (a->write != b->write) return a->write ? 1 : -1;
  return -1;
}

static int common_dims(const nw_use *a, const nw_use *b) { return a->site->dim[nw_common_loops(a->site, b->site)]; }

isl_map *nw_not_before(isl_map *pairs, const nw_use *a, const nw_use *b) {
  isl_map *bad = isl_map_empty(isl_map_get_space(pairs));
  for (int i = 0, n = common_dims(a, b); i < n; i++) {
    bad = isl_map_union(bad, isl_map_order_gt(isl_map_copy(pairs), isl_dim_in, i, isl_dim_out, i));
    pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
  }
  if (textual(a, b) > 0) return isl_map_union(bad, pairs);
  isl_map_free(pairs);
  return bad;
}

isl_map *nw_before_in(isl_map *pairs, const nw_use *a, const nw_use *b, int dims) {
  isl_map *good = isl_map_empty(isl_map_get_space(pairs));
  int all = common_dims(a, b);
  for (int i = 0; i < all && i < dims; i++) {
    good = isl_map_union(good, isl_map_order_lt(isl_map_copy(pairs), isl_dim_in, i, isl_dim_out, i));
    pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
  }
  if (all <= dims && textual(a, b) < 0 && a != b) return isl_map_union(good, pairs);
  isl_map_free(pairs);
  return good;
}

isl_map *nw_before(isl_map *pairs, const nw_use *a, const nw_use *b) { return nw_before_in(pairs, a, b, INT_MAX); }

// True if the first execution of every pair is before the second execution. The function examines one loop after the
// other, and stops when no pairs are left or a pair is in the wrong order.
static isl_bool ordered(isl_map *pairs, const nw_use *a, const nw_use *b) {
  isl_bool fine = isl_bool_true;
  int n = common_dims(a, b);
  for (int i = 0; i < n && fine == isl_bool_true; i++) {
    isl_map *later = isl_map_order_gt(isl_map_copy(pairs), isl_dim_in, i, isl_dim_out, i);
    fine = isl_map_is_empty(later);
    isl_map_free(later);
    pairs = isl_map_equate(pairs, isl_dim_in, i, isl_dim_out, i);
    if (isl_map_plain_is_empty(pairs) == isl_bool_true) break;
  }
  if (fine == isl_bool_true && textual(a, b) > 0) fine = isl_map_is_empty(pairs);
  isl_map_free(pairs);
  return fine;
}

// True if the order is proved for every common loop, and a is before b in the text.
static bool proved_by_loops(const nw_model *m, const nw_use *a, const nw_use *b, int common) {
  bool proved = textual(a, b) < 0;
  for (int i = a->depth; i < common && proved; i++) proved = nw_never_apart(m, a, b, i, false);
  return proved;
}

nw_answer nw_always_before(const nw_model *m, nw_use *a, nw_use *b, isl_map **bad) {
  int common = nw_common_loops(a->site, b->site);
  if (!common && textual(a, b) <= 0) return NW_HOLDS;
  int fact = nw_fact_of(m->f, 'b', a->number, b->number, common, textual(a, b));
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  nw_answer answer = NW_HOLDS;
  if (!proved_by_loops(m, a, b, common)) answer = nw_answer_of(m->f->s, ordered(nw_meet(m, a, b), a, b));
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  if (answer == NW_FAILS && bad) *bad = nw_not_before(nw_meet(m, a, b), a, b);
  return answer;
}
