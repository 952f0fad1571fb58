// Pass: turns products that are only added into fma (ir/fma.c). The fma operations are in the program, so that every
// way to run it rounds in the same way.
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
