// Conditions as isl sets.
//
// nw_space_cond(cond, true) holds every point where the condition may be true, nw_space_cond(cond, false) every point where
// it may be false. The two are disjoint when the condition is exact: comparisons of integers, put together by logic.
#include "poly/internal.h"

static bool integers(const nw_expr *e) {
  return nw_dtype_is_int((nw_dtype)e->arg[0]->type.dtype) && e->arg[0]->type.lanes == 1;
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

static isl_set *any_point(const nw_space *v) { return isl_set_universe(nw_family_space(v->f, v->ndims + v->opaque.n)); }

isl_set *nw_space_cond(const nw_space *v, const nw_expr *e, bool want) {
  if (e->op == NW_OP_NOT) return nw_space_cond(v, e->arg[0], !want);
  if (e->op == NW_OP_AND || e->op == NW_OP_OR) {
    isl_set *a = nw_space_cond(v, e->arg[0], want), *b = nw_space_cond(v, e->arg[1], want);
    return (e->op == NW_OP_AND) == want ? isl_set_intersect(a, b) : isl_set_union(a, b);
  }
  if (e->op == NW_OP_INT && (e->i != 0) != want) return isl_set_empty(nw_family_space(v->f, v->ndims + v->opaque.n));
  if (e->op == NW_OP_INT || !nw_cond_exact(e)) return any_point(v);
  return compared(v, e, want);
}
