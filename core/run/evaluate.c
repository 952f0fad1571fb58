// Runs a program on tensors in two slow ways: with the interpreter, and by evaluating the definition.
#include "run/formals.h"
#include <stdlib.h>

static nw_view *views_of(int n, nw_array *const *args) {
  nw_view *v = nw_xcalloc((size_t)n + 1, sizeof *v);
  for (int i = 0; i < n; i++) v[i] = nw_view_of(args[i]);
  return v;
}

static bool interpret_lowered(nw_ctx *c, const nw_program *p, int64_t most, const int64_t *sizes, const nw_formals *f,
                              nw_array *const *args) {
  nw_interp_opts o = {.max_steps = most};
  nw_view *views = views_of(f->n, args);
  nw_exec *e = nw_lower(p, NULL);
  bool good = e && nw_interp_exec(c, e, sizes, views, &o);
  nw_exec_release(e);
  free(views);
  return good;
}

static bool copy_back(nw_ctx *c, const nw_program *p, int i, const int64_t *sizes, nw_array *plain, nw_array *to) {
  nw_array *packed = nw_relayout(c, p, i, sizes, plain, true);
  bool good = packed && nw_array_copy_to(to, packed);
  nw_array_release(packed);
  return good;
}

// Runs the scheduled program. It uses the indices of the computation, so arguments with layouts are converted.
static bool interpret_plain(nw_ctx *c, const nw_program *p, int64_t most, const int64_t *sizes, const nw_formals *f,
                            nw_array *const *args) {
  nw_interp_opts o = {.max_steps = most};
  nw_array **plain = nw_xcalloc((size_t)f->n + 1, sizeof(nw_array *));
  bool good = true;
  for (int i = 0; i < f->n && good; i++) good = (plain[i] = nw_relayout(c, p, i, sizes, args[i], false));
  nw_view *views = good ? views_of(f->n, plain) : NULL;
  good = good && nw_interp_program(c, p, sizes, views, &o);
  for (int i = 0; i < f->n && good; i++)
    if (f->at[i].output && plain[i] != args[i]) good = copy_back(c, p, i, sizes, plain[i], args[i]);
  for (int i = 0; i < f->n; i++) nw_array_release(plain[i]);
  free(views);
  free(plain);
  return good;
}

bool nw_interpret(nw_ctx *c, const nw_program *p, bool lowered, int64_t most, int n, nw_array *const *args) {
  if (!p) return false;
  nw_formals f = nw_formals_of_program(p);
  int64_t *sizes = nw_xcalloc((size_t)p->nsizes + 1, sizeof *sizes);
  bool good = nw_formals_count(c, &f, n) && nw_formals_check(c, &f, n, args, sizes);
  good = good && (lowered ? interpret_lowered : interpret_plain)(c, p, most, sizes, &f, args);
  free(sizes);
  nw_formals_free(&f);
  return good;
}

// ---- the definition

static void add_formal(nw_formals *f, const char *name, const nw_teop *op, int out, bool output) {
  f->at = nw_xrealloc(f->at, sizeof *f->at * (size_t)(f->n + 1));
  f->at[f->n++] = (nw_formal){.name = name,
                              .dtype = op->dtype[out],
                              .ndim = op->ndim,
                              .shape = op->shape,
                              .output = output,
                              .pitch = op->pitch};
  f->fact = nw_xrealloc(f->fact, sizeof *f->fact * (size_t)(f->nfacts + op->nnests + 1));
  for (int i = 0; i < op->nnests; i++) f->fact[f->nfacts++] = op->nests[i];
}

static void add_sizes(nw_formals *f, const nw_vec *sizes) {
  int facts = 0;
  for (int i = 0; i < sizes->n; i++) facts += ((nw_te_size *)sizes->at[i])->facts.n;
  f->size = nw_xcalloc((size_t)sizes->n + 1, sizeof *f->size);
  f->lo = nw_xcalloc((size_t)sizes->n + 1, sizeof *f->lo);
  f->fact = nw_xrealloc(f->fact, sizeof *f->fact * (size_t)(f->nfacts + facts + 1));
  for (int i = 0; i < sizes->n; i++) {
    const nw_te_size *s = sizes->at[i];
    f->size[f->nsizes] = s->symbol;
    f->lo[f->nsizes++] = nw_int(s->pool, NW_INDEX, s->lo);
    for (int k = 0; k < s->facts.n; k++) f->fact[f->nfacts++] = s->facts.at[k];
  }
}

static nw_formals formals_of_outputs(int n, nw_tensor *const *outputs) {
  nw_formals f = {.callee = outputs[0]->name};
  nw_vec order = nw_te_order(n, outputs), sizes = nw_te_sizes(n, outputs);
  for (int i = 0; i < order.n; i++) {
    const nw_teop *op = order.at[i];
    if (op->kind == NW_TE_PLACEHOLDER) add_formal(&f, op->name, op, 0, false);
  }
  for (int i = 0; i < n; i++) add_formal(&f, outputs[i]->name, outputs[i]->op, outputs[i]->out, true);
  add_sizes(&f, &sizes);
  nw_vec_free(&order);
  nw_vec_free(&sizes);
  return f;
}

// The naive evaluation uses row-major arrays, so arguments with strides are copied.
static bool evaluate_dense(nw_ctx *c, int n, nw_tensor *const *outputs, const nw_formals *f, const int64_t *sizes,
                           int nargs, nw_array *const *args) {
  nw_array **plain = nw_xcalloc((size_t)nargs + 1, sizeof(nw_array *));
  bool good = true;
  for (int i = 0; i < nargs && good; i++) good = (plain[i] = nw_array_dense(args[i]));
  nw_view *views = good ? views_of(nargs, plain) : NULL;
  int inputs = nargs - n;
  good = good && nw_naive_eval(c, n, outputs, f->size, sizes, f->nsizes, inputs, views, views + inputs);
  for (int i = inputs; i < nargs && good; i++)
    if (plain[i] != args[i]) good = nw_array_copy_to(args[i], plain[i]);
  for (int i = 0; i < nargs; i++) nw_array_release(plain[i]);
  free(views);
  free(plain);
  return good;
}

bool nw_evaluate(nw_ctx *c, int n, nw_tensor *const *outputs, int nargs, nw_array *const *args) {
  if (n <= 0 || !outputs[0]) return false;
  nw_formals f = formals_of_outputs(n, outputs);
  int64_t *sizes = nw_xcalloc((size_t)f.nsizes + 1, sizeof *sizes);
  bool good = nw_formals_count(c, &f, nargs) && nw_formals_check(c, &f, nargs, args, sizes);
  good = good && evaluate_dense(c, n, outputs, &f, sizes, nargs, args);
  free(sizes);
  nw_formals_free(&f);
  return good;
}
