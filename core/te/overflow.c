// Detects index arithmetic that would exceed 64 bits. All other code assumes that index arithmetic is exact, so an
// overflow is reported as an error at the expression. A product of axes or sizes whose values are not known, such as a
// position in a tensor, is allowed.
#include "te/internal.h"
#include <stdlib.h>

#define UNKNOWN ((__int128)1 << 40) // greater than any size
#define MOST ((__int128)1 << 62)

typedef struct span {
  __int128 lo, hi;
  bool open; // true if the expression contains a product of unknown factors
} span;

static __int128 least(__int128 a, __int128 b) { return a < b ? a : b; }
static __int128 most(__int128 a, __int128 b) { return a > b ? a : b; }

static span closed(span s) {
  if (!s.open) return s;
  return (span){most(s.lo, -MOST), least(s.hi, MOST), true};
}

static span variable(const nw_place *at, const nw_expr *e) {
  int64_t n;
  span s = {-UNKNOWN, UNKNOWN, false};
  if (nw_const_lower(&at->ranges, e, &n)) s.lo = n;
  if (nw_const_upper(&at->ranges, e, &n)) s.hi = n;
  return s;
}

static bool one_is_unknown(const nw_place *at, const nw_expr *e) {
  int64_t lo, hi;
  return !nw_is_int(e->arg[0], &lo) && !nw_is_int(e->arg[1], &lo) &&
         (!nw_const_range(&at->ranges, e->arg[0], &lo, &hi) || !nw_const_range(&at->ranges, e->arg[1], &lo, &hi));
}

// A count out of range gives 0. If the result may not fit into 64 bits, its range is wider than that.
static span shifted_left(span a, span n) {
  __int128 by = (__int128)1 << most(least(n.hi, 62), 0);
  if (n.hi > 62) return (span){-MOST * 8, MOST * 8, false};
  return (span){least(a.lo * by, least(a.lo, 0)), most(a.hi * by, most(a.hi, 0)), a.open};
}

static span span_of(const nw_place *at, const nw_expr *e) {
  span a, b, s = {-MOST, MOST, true};
  if (e->op == NW_OP_INT) return (span){e->i, e->i, false};
  if (e->op == NW_OP_VAR) return variable(at, e);
  if (e->data || e->type.dtype != NW_INDEX || e->n < 1 || e->n > 3) return s;
  int first = e->op == NW_OP_SELECT;
  a = b = span_of(at, e->arg[first]);
  if (e->n - first == 2) b = span_of(at, e->arg[first + 1]);
  s.open = a.open || b.open;
  switch (e->op) {
  case NW_OP_ADD: return closed((span){a.lo + b.lo, a.hi + b.hi, s.open});
  case NW_OP_SUB: return closed((span){a.lo - b.hi, a.hi - b.lo, s.open});
  case NW_OP_NEG: return (span){-a.hi, -a.lo, s.open};
  case NW_OP_ABS: return (span){0, most(-a.lo, a.hi), s.open};
  case NW_OP_MIN: return (span){least(a.lo, b.lo), least(a.hi, b.hi), s.open};
  case NW_OP_MAX: return (span){most(a.lo, b.lo), most(a.hi, b.hi), s.open};
  case NW_OP_SELECT: return (span){least(a.lo, b.lo), most(a.hi, b.hi), s.open};
  case NW_OP_MUL: {
    __int128 p[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    s.open |= one_is_unknown(at, e);
    return closed(
        (span){least(least(p[0], p[1]), least(p[2], p[3])), most(most(p[0], p[1]), most(p[2], p[3])), s.open});
  }
  case NW_OP_FLOORDIV: return (span){-most(-a.lo, a.hi), most(-a.lo, a.hi), s.open};
  case NW_OP_FLOORMOD: return (span){least(b.lo, 0), most(b.hi, 0), s.open};
  case NW_OP_SHL: return shifted_left(a, b);
  default: return (span){-MOST, MOST, true};
  }
}

bool nw_te_fits(const nw_place *at, const nw_expr *e) {
  if (e->type.dtype != NW_INDEX || e->data || NW_MUTATED(index_overflows)) return true;
  switch (e->op) {
  case NW_OP_ADD:
  case NW_OP_SUB:
  case NW_OP_MUL:
  case NW_OP_NEG:
  case NW_OP_ABS:
  case NW_OP_SHL:
  case NW_OP_FLOORDIV: break;
  default: return true;
  }
  span s = span_of(at, e);
  if (s.lo >= INT64_MIN && s.hi <= INT64_MAX) return true;
  char *text = nw_te_text(e);
  nw_fail(at->ctx, NW_ERANGE,
          "for wrapping arithmetic, cast to a narrower integer first: nw.cast(nw.cast(i, \"i32\"), \"i64\")",
          "in %s, %s does not fit into 64 bits, as index arithmetic must", at->op ? at->op->name : "a size", text);
  free(text);
  return false;
}
