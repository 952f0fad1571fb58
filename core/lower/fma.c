// Pass: replaces a sum and a product by one fma if the only use of the product is the sum (ir/expr/fma.h). This is done
// in the program, and not in a back end, so that the interpreter and all back ends round in the same way.
#include "ir/expr/fma.h"
#include "ir/program/tags.h"
#include "lower/pass.h"

static const nw_expr *formed(void *pool, const nw_expr *e) { return nw_form_fma(pool, e); }

static void form_tree(nw_program *p, nw_stmt *s) {
  if (!nw_tag_is(s, "fma", "never")) nw_stmt_exprs(s, formed, p->pool);
  for (int i = 0; i < s->nkids; i++) form_tree(p, s->kid[i]);
}

nw_program *nw_pass_fma(nw_program *p) {
  form_tree(p, p->root);
  return p;
}
