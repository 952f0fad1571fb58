// Makes reduce axes and reductions.
#include "ir/program/reducer.h"
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

static void *symbol_retain(void *o) { return nw_axis_retain(o); }
static void symbol_release(void *o) { nw_axis_release(o); }
const nw_symbol_class nw_axis_symbol = {symbol_retain, symbol_release};

nw_axis *nw_axis_retain(nw_axis *a) {
  if (a) a->refs++;
  return a;
}

void nw_axis_release(nw_axis *a) {
  if (!a || --a->refs) return;
  nw_pool_release(a->pool);
  free(a->name);
  free(a);
}

const char *nw_axis_name(const nw_axis *a) { return a->name; }

nw_axis *nw_axis_of(const nw_expr *var) {
  const nw_symbol_class *cls;
  void *o = nw_pool_symbol(var->pool, var->name, &cls);
  return o && cls == &nw_axis_symbol ? o : NULL;
}

nw_axis *nw_te_new_axis(nw_ctx *c, const char *name) {
  char *own = nw_te_name(c, "an axis", name, "k");
  if (!own) return NULL;
  nw_axis *a = nw_xcalloc(1, sizeof *a);
  *a = (nw_axis){.refs = 1, .ctx = c, .name = own, .pool = nw_pool_new(c)};
  char *symbol = nw_symbol_name(c, own, NULL);
  a->var = nw_var(a->pool, symbol);
  free(symbol);
  return a;
}

// Makes a reduce axis. If lo is NULL, the axis starts at 0.
nw_axis *nw_reduce_axis(nw_ctx *c, const char *name, const nw_expr *lo, const nw_expr *extent) {
  char what[120];
  nw_axis *a = nw_te_new_axis(c, name);
  if (!a) return NULL;
  snprintf(what, sizeof what, "the extent of %.80s", a->name);
  a->extent = nw_te_extent(c, a->pool, extent, what);
  snprintf(what, sizeof what, "the start of %.80s", a->name);
  a->lo = lo ? nw_te_extent(c, a->pool, lo, what) : nw_index(a->pool, 0);
  if (a->extent && a->lo) return a;
  nw_axis_release(a);
  return NULL;
}

// The symbol of the axis is defined in the pool in which the user's expression is built. It is not defined in the
// axis's own pool: the pool and the axis would then refer to each other and never be freed.
const nw_expr *nw_axis_var(const nw_axis *a) {
  if (!a) return NULL;
  nw_pool *p = nw_lang_pool(a->ctx);
  nw_pool_define(p, a->var->name, &nw_axis_symbol, (void *)a);
  return nw_var(p, a->var->name);
}

static bool combiner_of(nw_ctx *c, const char *kind, nw_combiner *out) {
  for (nw_combiner k = NW_SUM; k <= NW_ARGMAX; k++)
    if (!strcmp(nw_combiner_name(c, k), kind)) return *out = k, true;
  return false;
}

// Makes the index that an arg-reduction returns. With one axis, the index is the value of the axis. With several axes,
// it is the row-major index in the box of the axes.
static const nw_expr *position(nw_pool *p, int n, nw_axis *const *axes, const nw_expr *const *var) {
  if (n == 1) return var[0];
  const nw_expr *at = nw_index(p, 0);
  for (int i = 0; i < n; i++)
    at = nw_add(p, nw_mul(p, at, nw_import(p, axes[i]->extent)), nw_sub(p, var[i], nw_import(p, axes[i]->lo)));
  return at;
}

static bool has_reduction(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_REDUCE;
}

static bool uses(const nw_expr *e, const nw_axis *a) { return e && nw_uses_var(e, a->var->name); }

static bool check_axes(nw_ctx *c, const char *kind, int n, nw_axis *const *axes) {
  if (n < 1) return nw_fail(c, NW_EINVAL, "nw.sum(x, k)", "%s needs at least one reduce axis", kind);
  for (int i = 0; i < n; i++) {
    if (!axes[i]) return false;
    for (int j = 0; j < i; j++)
      if (axes[i] == axes[j]) return nw_fail(c, NW_EINVAL, NULL, "%s names the axis %s twice", kind, axes[i]->name);
    for (int j = i; j < n; j++)
      if (uses(axes[i]->from, axes[j]) || uses(axes[i]->to, axes[j]))
        return nw_fail(c, NW_EINVAL, nw_diag_printf(c, "list %s before %s", axes[j]->name, axes[i]->name),
                       "%s: the range of %s uses %s, which does not come before it", kind, axes[i]->name,
                       axes[j]->name);
  }
  return true;
}

// Returns the condition that every axis is in its range; NULL if no range depends on other axes or on data.
static const nw_expr *in_ranges(nw_pool *p, int n, nw_axis *const *axes, const nw_expr *const *var) {
  const nw_expr *cond = NULL;
  for (int i = 0; i < n; i++) {
    if (axes[i]->from) cond = nw_and(p, cond, nw_le(p, nw_import(p, axes[i]->from), var[i]));
    if (axes[i]->to) cond = nw_and(p, cond, nw_lt(p, var[i], nw_import(p, axes[i]->to)));
  }
  return cond;
}

const nw_expr *nw_te_reduce(nw_ctx *c, nw_combiner k, int n, const nw_expr *const *term, int naxes,
                            nw_axis *const *axes) {
  nw_pool *p = nw_lang_pool(c);
  const char *kind = nw_combiner_name(c, k);
  if (!check_axes(c, kind, naxes, axes)) return NULL;
  for (int i = 0; i < n; i++)
    if (!nw_visit(term[i], has_reduction, NULL))
      return nw_fail(c, NW_EINVAL, "make it a separate stage", "a reduction cannot be inside another reduction");
  const nw_expr **var = nw_xcalloc((size_t)naxes, sizeof *var), *terms[NW_MAX_REDUCED] = {NULL};
  for (int i = 0; i < naxes; i++) var[i] = nw_axis_var(axes[i]);
  for (int i = 0; i < n; i++) terms[i] = nw_import(p, term[i]);
  if (k == NW_ARGMIN || k == NW_ARGMAX) terms[n++] = position(p, naxes, axes, var);
  const nw_expr *cond = in_ranges(p, naxes, axes, var);
  for (int i = 0; cond && i < n; i++)
    terms[i] = nw_choose(p, cond, terms[i], nw_combiner_identity(p, k, (nw_dtype)terms[i]->type.dtype, i));
  const nw_expr *e = nw_reduce(p, k, n, terms, naxes, var);
  free(var);
  return e;
}

const nw_expr *nw_reduction(nw_ctx *c, const char *kind, const nw_expr *term, int naxes, nw_axis *const *axes) {
  nw_combiner k;
  if (!term) return NULL;
  if (!combiner_of(c, kind, &k))
    return nw_fail(c, NW_EINVAL, "sum prod min max argmin argmax", "there is no reduction named '%s'", kind);
  if (term->type.dtype == NW_BOOL && check_axes(c, kind, naxes, axes))
    return nw_fail(c, NW_ETYPE, "cast the condition to a number first", "%s needs numbers, not bool", kind);
  return nw_te_reduce(c, k, 1, &term, naxes, axes);
}

const nw_expr *nw_reducer_component(nw_ctx *c, bool second, int i, nw_dtype t) {
  return nw_reducer_var(nw_lang_pool(c), second, i, t);
}
