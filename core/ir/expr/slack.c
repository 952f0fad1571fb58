// Finds out in which lanes a comparison of indices holds.
#include "ir/expr/expr.h"

// Sets *base and *stride so that lane l of the index e is base + stride*l.
static bool is_line(const nw_expr *e, const nw_expr **base, int64_t *stride) {
  *stride = 0;
  *base = e->type.lanes > 1 && (e->op == NW_OP_RAMP || e->op == NW_OP_BROADCAST) ? e->arg[0] : NULL;
  if (e->op == NW_OP_RAMP && !nw_is_int(e->arg[1], stride)) return false;
  return *base != NULL;
}

bool nw_lane_slack(const nw_expr *e, const nw_expr **first, int64_t *step) {
  if ((e->op != NW_OP_LT && e->op != NW_OP_LE) || e->arg[0]->type.dtype != NW_INDEX || e->type.lanes == 1) return false;
  nw_pool *p = e->pool;
  const nw_expr *low, *high;
  int64_t by_low, by_high;
  if (!is_line(e->arg[0], &low, &by_low) || !is_line(e->arg[1], &high, &by_high)) return false;
  *first = nw_sub(p, high, low);
  if (e->op == NW_OP_LT) *first = nw_sub(p, *first, nw_index(p, 1));
  return !__builtin_sub_overflow(by_high, by_low, step);
}
