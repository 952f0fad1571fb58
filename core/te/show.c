// Writes a tensor's definition as a line of text.
#include "te/internal.h"
#include <stdlib.h>

static void add_text(nw_str *b, const nw_expr *e) {
  char *s = nw_te_text(e);
  nw_str_add(b, s);
  free(s);
}

static void add_axes(nw_str *b, const nw_teop *op) {
  for (int i = 0; i < op->naxes; i++) nw_str_fmt(b, "%s%s", i ? ", " : "", op->axis_name[i]);
}

static void add_shape(nw_str *b, const nw_tensor *t) {
  nw_str_fmt(b, "%s: %s[", t->name, nw_dtype_name(nw_tensor_dtype(t)));
  for (int d = 0; d < t->op->ndim; d++) {
    if (d) nw_str_add(b, ", ");
    add_text(b, t->op->shape[d]);
  }
  nw_str_add(b, "]");
}

// Adds the right-hand side of output `out`.
static void add_body(nw_str *b, const nw_teop *op, int out) {
  bool arg = op->combiner == NW_ARGMIN || op->combiner == NW_ARGMAX, own = op->combiner >= NW_OWN;
  if (op->combiner != NW_PLAIN) nw_str_fmt(b, "%s(", nw_combiner_name(op->ctx, op->combiner));
  for (int i = 0; i < (own ? op->nout : 1); i++) {
    if (i) nw_str_add(b, ", ");
    add_text(b, op->body[own ? i : arg ? 0 : out]);
  }
  for (int i = 0; i < op->nreduce; i++) nw_str_fmt(b, ", %s", op->reduce[i]->name);
  if (op->combiner != NW_PLAIN) nw_str_add(b, ")");
}

static void add_scan(nw_str *b, const nw_tensor *t) {
  const nw_teop *op = t->op, *u = op->update[t->out]->op;
  nw_str_fmt(b, "%s[", t->name);
  add_axes(b, u);
  nw_str_fmt(b, "] = scan over %s: rows below ", u->axis_name[0]);
  add_text(b, op->init_rows);
  nw_str_fmt(b, " from %s, then ", op->init[t->out]->name);
  add_body(b, u, op->update[t->out]->out);
  for (int i = 0; i < op->ninner; i++) nw_str_fmt(b, "%s%s", i ? ", " : ", with the stages ", op->inner[i].op->name);
}

static void add_definition(nw_str *b, const nw_teop *def) {
  for (int i = 0; i < def->shared; i++) nw_str_fmt(b, "%s%s", i ? ", " : ", in the same ", def->axis_name[i]);
  nw_str_add(b, def->shared ? " then " : ", then ");
  add_text(b, def->target);
  nw_str_add(b, " = ");
  add_body(b, def, 0);
  for (int i = def->shared; i < def->naxes; i++) {
    nw_str_fmt(b, "%s%s in ", i > def->shared ? ", " : " for ", def->axis_name[i]);
    add_text(b, def->lo[i]);
    nw_str_add(b, "..");
    add_text(b, nw_add(def->pool, def->lo[i], def->extent[i]));
  }
  if (!def->when) return;
  nw_str_add(b, " where ");
  add_text(b, def->when);
}

static void add_update(nw_str *b, const nw_tensor *t) {
  add_shape(b, t);
  nw_str_fmt(b, " = %s", t->op->init[0]->name);
  for (int d = 0; d < t->op->ndefs; d++) add_definition(b, t->op->update[d]->op);
}

char *nw_tensor_show(const nw_tensor *t) {
  nw_str b = {0};
  if (!t) return NULL;
  if (t->op->kind == NW_TE_PLACEHOLDER) add_shape(&b, t);
  if (t->op->kind == NW_TE_SCAN) add_scan(&b, t);
  if (t->op->kind == NW_TE_UPDATE) add_update(&b, t);
  if (t->op->kind == NW_TE_COMPUTE) {
    nw_str_fmt(&b, "%s[", t->name);
    add_axes(&b, t->op);
    nw_str_add(&b, "] = ");
    add_body(&b, t->op, t->out);
    if (t->op->deferred) nw_str_add(&b, "  (can be used only in a scan)");
  }
  return nw_str_take(&b);
}
