// Pass: computes minimums and maximums of floats by one comparison in the stages that are annotated with
// minmax = "fast". The result of max(a, b) then is a if b < a, and otherwise b. So where an operand is NaN, the result
// may be the other operand, and the sign of a zero may differ. This is done in the program, and not in a back end, so
// that the interpreter and all back ends give the same result.
#include "ir/program/tags.h"
#include "lower/pass.h"

enum { MOST_NODES = 2000 };

static bool is_extreme(const nw_expr *e) {
  return (e->op == NW_OP_MIN || e->op == NW_OP_MAX) && nw_dtype_is_float((nw_dtype)e->type.dtype);
}

static const nw_expr *by_comparison(nw_pool *pool, const nw_expr *e) {
  const nw_expr *a = e->arg[0], *b = e->arg[1];
  return nw_choose(pool, e->op == NW_OP_MIN ? nw_lt(pool, a, b) : nw_lt(pool, b, a), a, b);
}

typedef struct search {
  const nw_expr *found; // the first minimum or maximum, operands before results
} search;

static bool look(void *env, const nw_expr *e) {
  search *s = env;
  if (is_extreme(e)) s->found = e;
  return !s->found;
}

static const nw_expr *first_extreme(const nw_expr *e) {
  search s = {0};
  nw_visit(e, look, &s);
  return s.found;
}

// Each comparison contains its operands twice, so the expression can become much longer. If it becomes too long, the
// remaining operations stay exact.
static const nw_expr *relaxed(void *pool, const nw_expr *e) {
  for (const nw_expr *at = first_extreme(e); at && e->size < MOST_NODES; at = first_extreme(e))
    e = nw_replace(pool, e, at, by_comparison(pool, at));
  return e;
}

static void relax(nw_program *p, nw_stmt *s) {
  if (nw_tag_is(s, "minmax", "fast")) nw_stmt_exprs(s, relaxed, p->pool);
  for (int i = 0; i < s->nkids; i++) relax(p, s->kid[i]);
}

nw_program *nw_pass_extremes(nw_program *p) {
  relax(p, p->root);
  return p;
}
