// Replaces expressions that a program reads from storage, either by the expression or by the read.
#include "ir/expr/known.h"

const nw_expr *nw_known(nw_pool *p, const nw_expr *e, const nw_expr *load) {
  return nw_make(p, NW_OP_KNOWN, e->type, 2, (const nw_expr *[]){e, load});
}

static bool is_other(void *found, const nw_expr *e) {
  if (e->op == NW_OP_KNOWN) *(const nw_expr **)found = e;
  return e->op != NW_OP_KNOWN;
}

static const nw_expr *replaced(nw_pool *p, const nw_expr *e, int by) {
  const nw_expr *found;
  e = nw_import(p, e);
  while (e && e->data && !nw_visit(e, is_other, &found)) e = nw_replace(p, e, found, found->arg[by]);
  return e;
}

const nw_expr *nw_as_proved(nw_pool *p, const nw_expr *e) { return replaced(p, e, 0); }

const nw_expr *nw_as_read(nw_pool *p, const nw_expr *e) { return replaced(p, e, 1); }
