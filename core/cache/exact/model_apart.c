// Tests whether two regions touch the same lines. A region is a set of references that move together (model_shape.h).
//
// Two regions touch different lines if one region ends before the other region begins. They also touch different lines
// if they use separate parts of each row, for example two columns of a matrix. The width of a row is the number of
// bytes by which one iteration of some loop moves a region.
#include "cache/exact/model_shape.h"

typedef struct span { // a range of addresses, which includes both ends
  __int128 lo, hi;
} span;

static __int128 base_of(const nw_shape *l, const nw_anchor *x, const int64_t *val, int64_t first) {
  return (__int128)nw_linear_at(&x->at, val, l->depth) + (__int128)(x->move / l->step) * first;
}

static span moved(__int128 base, int64_t lo, int64_t hi, int64_t move, int64_t from, int64_t to) {
  __int128 x = (__int128)move * from, y = (__int128)move * (to - 1);
  return (span){base + (x < y ? x : y) + lo, base + (x < y ? y : x) + hi - 1};
}

static bool follow(span a, span b, int line) {
  int shift = __builtin_ctz((unsigned)line);
  return a.hi >> shift < b.lo >> shift || b.hi >> shift < a.lo >> shift;
}

int64_t nw_shape_rest(int64_t bytes, int64_t wide) {
  int64_t r = nw_floormod_i64(bytes, wide);
  return r > wide / 2 ? r - wide : r;
}

// True if a and b use separate columns of the rows. That is, the distance from an address in b to an address in a,
// modulo the width of a row (r->wide), is at least one line and at most the width minus one line.
static bool in_columns(const nw_rivals *r, span a, span b, int line) {
  __int128 u = a.lo - b.hi, v = a.hi - b.lo, at = u % r->wide;
  if (at < 0) at += r->wide;
  return at >= line && at + (v - u) <= r->wide - line;
}

static bool are_apart(const nw_shape *l, const nw_rivals *r, const int64_t *val, int line, int64_t first, int64_t from,
                      int64_t to) {
  const nw_anchor *a = &l->anchor[r->a], *b = &l->anchor[r->b];
  __int128 x = base_of(l, a, val, first), y = base_of(l, b, val, first);
  if (follow(moved(x, a->lo, a->hi, a->move, from, to), moved(y, b->lo, b->hi, b->move, from, to), line)) return true;
  return r->wide && in_columns(r, moved(x, r->lo[0], r->hi[0], nw_shape_rest(a->move, r->wide), from, to),
                               moved(y, r->lo[1], r->hi[1], nw_shape_rest(b->move, r->wide), from, to), line);
}

bool nw_shape_apart(const nw_shape *l, const int64_t *val, int line, int64_t first, int64_t from, int64_t to) {
  for (int i = 0; i < l->nrivals; i++)
    if (l->rivals[i].drift && !are_apart(l, &l->rivals[i], val, line, first, from, to)) return false;
  return true;
}

int64_t nw_shape_between(const nw_shape *l, const nw_rivals *r, const int64_t *val, int line, int64_t first,
                         int64_t rounds) {
  return are_apart(l, r, val, line, first, 0, rounds) ? INT64_MIN : nw_linear_at(&r->apart, val, l->depth);
}
