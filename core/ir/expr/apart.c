// Finds and replaces a part of a sum, such as a minimum or maximum.
#include "ir/expr/apart.h"

static bool is_sum(const nw_expr *e) {
  if (e->op == NW_OP_MUL) return e->arg[0]->op == NW_OP_INT || e->arg[1]->op == NW_OP_INT;
  return e->op == NW_OP_ADD || e->op == NW_OP_SUB || e->op == NW_OP_NEG;
}

static int64_t times(const nw_expr *e, int arg) {
  if (e->op == NW_OP_NEG || (e->op == NW_OP_SUB && arg == 1)) return -1;
  return e->op == NW_OP_MUL && e->arg[1 - arg]->op == NW_OP_INT ? e->arg[1 - arg]->i : 1;
}

const nw_expr *nw_sum_part(const nw_expr *e, nw_part_fn is, void *env, int64_t *coef) {
  *coef = 1;
  if (is(env, e)) return e;
  for (int i = 0; is_sum(e) && i < e->n; i++) {
    const nw_expr *found = nw_sum_part(e->arg[i], is, env, coef);
    if (found) return __builtin_mul_overflow(*coef, times(e, i), coef) ? NULL : found;
  }
  return NULL;
}

const nw_expr *nw_sum_replace(nw_pool *pool, const nw_expr *e, const nw_expr *part, const nw_expr *by) {
  if (e == part) return by;
  if (!is_sum(e)) return e;
  const nw_expr *arg[2];
  for (int i = 0; i < e->n; i++) arg[i] = nw_sum_replace(pool, e->arg[i], part, by);
  return nw_make(pool, (nw_op)e->op, e->type, e->n, arg);
}
