// Decides whether two expressions have the same value, if they differ only in index arithmetic. For example, (9*i + j) //
// 12 and (3*i + j // 3) // 4 are equal, but the simplifier keeps both forms.
#include "poly/internal.h"

// Returns false if isl finds a point of the box at which the index expressions differ, or if they are not affine.
static bool same_index(const nw_model *m, int n, const char *const *var, isl_set *box, const nw_expr *a,
                       const nw_expr *b) {
  nw_space v;
  nw_space_init(&v, m->f);
  for (int i = 0; i < n; i++) nw_space_var(&v, var[i]);
  nw_space_scan(&v, a);
  nw_space_scan(&v, b);
  bool same = !v.opaque.n;
  if (same)
    same = isl_set_is_disjoint(box, isl_pw_aff_ne_set(nw_space_aff(&v, a), nw_space_aff(&v, b))) == isl_bool_true;
  nw_space_free(&v);
  return same || !NW_RULE(m->p->ctx, value_index);
}

// True if the expressions have the same value for all values of the n variables in the box. The box has a dimension for
// each variable. It is not consumed. If it is NULL, returns true if they differ only in index arithmetic.
bool nw_alike(const nw_model *m, int n, const char *const *var, isl_set *box, const nw_expr *a, const nw_expr *b) {
  if (a == b) return true;
  if (a->type.dtype != b->type.dtype || a->type.lanes != b->type.lanes) return false;
  bool nodes = a->op == b->op && a->n == b->n && a->n && (a->op != NW_OP_LOAD || !strcmp(a->name, b->name));
  for (int i = 0; i < a->n && nodes; i++) nodes = nw_alike(m, n, var, box, a->arg[i], b->arg[i]);
  return nodes || (a->type.dtype == NW_INDEX && (!box || same_index(m, n, var, box, a, b)));
}
