// Represents conditions as isl sets.
//
// nw_space_cond(cond, true) returns the set of all points at which the condition may be true. nw_space_cond(cond,
// false) returns the set of all points at which it may be false. The two sets are disjoint if the condition is exact,
// that is, if it consists of comparisons of integers that are combined by logic.
#include "ir/expr/apart.h"
#include "poly/internal.h"

static bool integers(const nw_expr *e) {
  return nw_fits_i64((nw_dtype)e->arg[0]->type.dtype) && e->arg[0]->type.lanes == 1;
}

bool nw_cond_exact(const nw_expr *e) {
  switch (e->op) {
  case NW_OP_INT: return true;
  case NW_OP_LT:
  case NW_OP_LE:
  case NW_OP_EQ:
  case NW_OP_NE: return integers(e);
  case NW_OP_AND:
  case NW_OP_OR: return nw_cond_exact(e->arg[0]) && nw_cond_exact(e->arg[1]);
  case NW_OP_NOT: return nw_cond_exact(e->arg[0]);
  default: return false;
  }
}

static isl_set *compared(const nw_space *v, const nw_expr *e, bool want) {
  isl_pw_aff *a = nw_space_aff(v, e->arg[0]), *b = nw_space_aff(v, e->arg[1]);
  switch (e->op) {
  case NW_OP_LT: return want ? isl_pw_aff_lt_set(a, b) : isl_pw_aff_ge_set(a, b);
  case NW_OP_LE: return want ? isl_pw_aff_le_set(a, b) : isl_pw_aff_gt_set(a, b);
  case NW_OP_EQ: return want ? isl_pw_aff_eq_set(a, b) : isl_pw_aff_ne_set(a, b);
  default: return want ? isl_pw_aff_ne_set(a, b) : isl_pw_aff_eq_set(a, b);
  }
}

static bool is_extreme(void *env, const nw_expr *e) {
  (void)env;
  return e->op == NW_OP_MIN || e->op == NW_OP_MAX;
}

// Rewrites a condition such as x < min(a, b) to (x < a and x < b). The set of the result is one convex piece, while the
// set of a comparison with a minimum may have several pieces. Returns NULL for other conditions.
static const nw_expr *taken_apart(const nw_space *v, const nw_expr *e) {
  nw_pool *pool = v->f->pool;
  int64_t coef;
  if ((e->op != NW_OP_LT && e->op != NW_OP_LE) || e->arg[0]->type.dtype != NW_INDEX || v->opaque.n) return NULL;
  if (!nw_is_exact(e->arg[0]) || !nw_is_exact(e->arg[1])) return NULL;
  const nw_expr *room = nw_sub(pool, e->arg[1], e->arg[0]), *part = nw_sum_part(room, is_extreme, NULL, &coef);
  if (!part || (part->op == NW_OP_MIN) != (coef > 0)) return NULL;
  const nw_expr *both[2], *zero = nw_index(pool, 0);
  for (int i = 0; i < 2; i++) {
    const nw_expr *one = nw_sum_replace(pool, room, part, part->arg[i]);
    both[i] = e->op == NW_OP_LT ? nw_lt(pool, zero, one) : nw_le(pool, zero, one);
  }
  return nw_and(pool, both[0], both[1]);
}

static isl_set *any_point(const nw_space *v) { return isl_set_universe(nw_family_space(v->f, v->ndims + v->opaque.n)); }

isl_set *nw_space_cond(const nw_space *v, const nw_expr *e, bool want) {
  if (e->op == NW_OP_NOT) return nw_space_cond(v, e->arg[0], !want);
  if (e->op == NW_OP_AND || e->op == NW_OP_OR) {
    isl_set *a = nw_space_cond(v, e->arg[0], want), *b = nw_space_cond(v, e->arg[1], want);
    return (e->op == NW_OP_AND) == want ? isl_set_intersect(a, b) : isl_set_union(a, b);
  }
  if (e->op == NW_OP_INT && (e->i != 0) != want) return isl_set_empty(nw_family_space(v->f, v->ndims + v->opaque.n));
  if (e->op == NW_OP_INT || !nw_cond_exact(e)) return any_point(v);
  const nw_expr *apart = taken_apart(v, e);
  return apart ? nw_space_cond(v, apart, want) : compared(v, e, want);
}
