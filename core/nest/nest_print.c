// Prints loop nests as text.
#include "nest/nest_text.h"

static void print_list(nw_str *out, const char *open, int n, const nw_expr *const *e) {
  nw_str_add(out, open);
  for (int i = 0; i < n; i++) {
    if (i) nw_str_add(out, ", ");
    nw_expr_print(out, e[i]);
  }
}

static void print_number(nw_str *out, const char *what, const nw_expr *e) {
  if (!e) return;
  nw_str_fmt(out, " %s ", what);
  nw_expr_print(out, e);
}

static void print_array(nw_str *out, const nw_text_array *x) {
  nw_str_fmt(out, "array %s: ", x->name);
  if (x->dtype)
    nw_str_add(out, x->dtype);
  else
    nw_str_fmt(out, "bytes(%d)", x->elem);
  print_list(out, "[", x->ndim, x->dim);
  nw_str_add(out, "]");
  print_number(out, "pad", x->pad);
  print_number(out, "align", x->align);
  print_number(out, "address", x->address);
  nw_str_add(out, "\n");
}

static void print_ref(nw_str *out, const nw_text *t, const nw_text_ref *x) {
  nw_str_add(out, ((nw_text_array *)t->array.at[x->array])->name);
  print_list(out, "[", x->nindex, x->index);
  if (x->lanes > 1) nw_str_fmt(out, " : %lld", (long long)x->lanes);
  nw_str_add(out, "]");
}

static void print_statement(nw_str *out, const nw_text *t, const nw_text_node *x) {
  int ref = 0;
  if (x->ntargets) print_ref(out, t, &x->ref[ref++]);
  if (x->scalar) nw_str_add(out, x->scalar);
  if (x->op) nw_str_fmt(out, " %s ", x->op);
  for (const char *s = x->value; *s; s++) {
    if (*s == '\x01')
      print_ref(out, t, &x->ref[ref++]);
    else
      nw_str_addn(out, s, 1);
  }
  nw_str_add(out, "\n");
}

static void print_loop(nw_str *out, const nw_text_node *x) {
  nw_str_fmt(out, "%sfor %s in ", x->parallel ? "parallel " : "", x->name);
  nw_expr_print(out, x->lo);
  nw_str_add(out, "..");
  nw_expr_print(out, x->hi);
  if (x->reversed) nw_str_add(out, " reversed");
  if (x->step != 1) nw_str_fmt(out, " step %lld", (long long)x->step);
  if (x->chunk) nw_str_fmt(out, " chunk %lld", (long long)x->chunk);
  nw_str_add(out, ":\n");
}

static void print_kids(nw_str *out, const nw_text *t, const nw_text_node *x, int indent);

static void print_node(nw_str *out, const nw_text *t, const nw_text_node *x, int indent) {
  nw_str_indent(out, indent);
  if (x->kind == NW_TEXT_STMT) return print_statement(out, t, x);
  if (x->kind == NW_TEXT_LOOP) {
    print_loop(out, x);
  } else {
    nw_str_add(out, "if ");
    nw_expr_print(out, x->cond);
    nw_str_add(out, ":\n");
  }
  print_kids(out, t, x, indent + 2);
  if (!x->other) return;
  nw_str_indent(out, indent);
  nw_str_add(out, "else:\n");
  print_kids(out, t, x->other, indent + 2);
}

static void print_kids(nw_str *out, const nw_text *t, const nw_text_node *x, int indent) {
  for (int i = 0; i < x->kid.n; i++) print_node(out, t, x->kid.at[i], indent);
  if (x->kid.n || !indent) return;
  nw_str_indent(out, indent);
  nw_str_add(out, "pass\n");
}

static void print_param(nw_str *out, const nw_text_param *p, const int64_t *value) {
  nw_str_fmt(out, "param %s = ", p->name);
  if (value)
    nw_str_fmt(out, "%lld", (long long)*value);
  else
    nw_expr_print(out, p->value);
  nw_str_add(out, "\n");
}

static void print_set(nw_str *out, const nw_text_set *x) {
  nw_str_fmt(out, "sizes %s:", x->name);
  for (int i = 0; i < x->n; i++) nw_str_fmt(out, "%s %s = %lld", i ? "," : "", x->param[i], (long long)x->value[i]);
  nw_str_add(out, "\n");
}

void nw_text_print(nw_str *out, const nw_text *t, const bool *given, const int64_t *value) {
  if (t->name) nw_str_fmt(out, "nest %s\n", t->name);
  for (int i = 0; i < t->param.n; i++) print_param(out, t->param.at[i], given && given[i] ? &value[i] : NULL);
  for (int i = 0; i < t->set.n; i++) print_set(out, t->set.at[i]);
  for (int i = 0; i < t->array.n; i++) print_array(out, t->array.at[i]);
  print_kids(out, t, t->root, 0);
}
