// Finds out whether strides give each element of an array a place of its own.
#include "ir/program/pitch.h"

enum { MOST_TRIES = 2000 };

typedef struct nesting {
  const nw_ranges *r;
  int n, tries;
  const nw_expr *const *extent, *const *pitch;
  bool used[NW_MAX_DEPTH], chosen[NW_MAX_DEPTH], backwards; // backwards: the first dimension is tried first
  const nw_expr **fact; // NULL if nothing may be assumed
  int nfacts;
} nesting;

static bool holds(nesting *x, const nw_expr *cond) {
  if (nw_prove(x->r, cond)) return true;
  if (!x->fact || nw_disprove(x->r, cond)) return false;
  x->fact[x->nfacts++] = cond;
  return true;
}

// True if a dimension before d in the order has a larger stride. This is possible only if it has at most one element,
// which nobody means, so it is not assumed.
static bool is_backwards(const nesting *x, int d) {
  int64_t own, other;
  bool found = false;
  for (int k = 0; k < x->n && nw_is_int(x->pitch[d], &own); k++)
    found |= k != d && x->chosen[k] && nw_is_int(x->pitch[k], &other) && other > own;
  return found;
}

static bool is_one(const nw_expr *e) {
  int64_t n;
  return nw_is_int(e, &n) && n <= 1;
}

static const nw_expr *with_dim(nw_pool *p, const nw_expr *reach, const nw_expr *extent, const nw_expr *pitch) {
  return nw_add(p, reach, nw_mul(p, nw_sub(p, extent, nw_index(p, 1)), pitch));
}

// Chooses the dimension with the next larger stride. `reach` is the number of elements that the dimensions so far span.
static bool nest(nesting *x, int left, const nw_expr *reach) {
  nw_pool *p = x->r->pool;
  if (!left) return true;
  for (int i = 0; i < x->n; i++) {
    int d = x->backwards ? i : x->n - 1 - i, before = x->nfacts;
    if (x->used[d] || is_backwards(x, d)) continue;
    if (x->tries++ >= MOST_TRIES) return false;
    x->used[d] = x->chosen[d] = true;
    if (holds(x, nw_le(p, reach, x->pitch[d])) &&
        nest(x, left - 1, nw_simplify(x->r, with_dim(p, reach, x->extent[d], x->pitch[d]))))
      return true;
    x->used[d] = x->chosen[d] = false;
    x->nfacts = before;
  }
  return false;
}

bool nw_pitch_nests(const nw_ranges *r, int n, const nw_expr *const *extent, const nw_expr *const *pitch,
                    const nw_expr **fact, int *nfacts) {
  nesting x = {.r = r, .n = n, .extent = extent, .pitch = pitch};
  x.backwards = n > 1 && nw_is_const(pitch[0], 1) && !is_one(extent[0]);
  int left = 0;
  for (int d = 0; d < n; d++) left += !(x.used[d] = is_one(extent[d]));
  bool empty = false;
  for (int d = 0; d < n; d++) empty |= nw_is_const(extent[d], 0);
  if (fact) *nfacts = 0;
  if (empty || NW_MUTATED(pitch_overlaps) || nest(&x, left, nw_index(r->pool, 1))) return true;
  if (!fact) return false;
  x.tries = x.nfacts = 0;
  memset(x.chosen, 0, sizeof x.chosen);
  x.fact = fact;
  bool found = nest(&x, left, nw_index(r->pool, 1));
  *nfacts = x.nfacts;
  return found;
}

const nw_expr *nw_pitch_reach(nw_pool *p, int n, const nw_expr *const *extent, const nw_expr *const *pitch) {
  const nw_expr *reach = nw_index(p, 1);
  for (int d = 0; d < n; d++)
    if (!nw_is_const(extent[d], 1)) reach = with_dim(p, reach, extent[d], pitch[d]);
  return reach;
}
