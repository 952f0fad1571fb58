// Makes reduce axes and reductions.
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

// Makes a reduce axis. If lo is NULL, the axis starts at 0.
nw_axis *nw_reduce_axis(nw_ctx *c, const char *name, const nw_expr *lo, const nw_expr *extent) {
  char *own = nw_te_name(c, "an axis", name, "k"), what[120];
  if (!own) return NULL;
  nw_axis *a = nw_xcalloc(1, sizeof *a);
  *a = (nw_axis){.refs = 1, .ctx = c, .name = own, .pool = nw_pool_new(c)};
  snprintf(what, sizeof what, "the extent of %.80s", own);
  a->extent = nw_te_extent(c, a->pool, extent, what);
  snprintf(what, sizeof what, "the start of %.80s", own);
  a->lo = lo ? nw_te_extent(c, a->pool, lo, what) : nw_index(a->pool, 0);
  if (!a->extent || !a->lo) {
    nw_axis_release(a);
    return NULL;
  }
  char *symbol = nw_symbol_name(c, own, NULL);
  a->var = nw_var(a->pool, symbol);
  free(symbol);
  return a;
}

// The symbol of the axis is defined in the pool in which the user's expression is built. It is not defined in the
// axis's own pool: the pool and the axis would then refer to each other and never be freed.
const nw_expr *nw_axis_var(const nw_axis *a) {
  if (!a) return NULL;
  nw_pool *p = nw_lang_pool(a->ctx);
  nw_pool_define(p, a->var->name, &nw_axis_symbol, (void *)a);
  return nw_var(p, a->var->name);
}

static bool combiner_of(const char *kind, nw_combiner *out) {
  for (nw_combiner k = NW_SUM; k <= NW_ARGMAX; k++)
    if (!strcmp(nw_combiner_name(k), kind)) return *out = k, true;
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

static bool check_axes(nw_ctx *c, const char *kind, int n, nw_axis *const *axes) {
  if (n < 1) return nw_fail(c, NW_EINVAL, "nw.sum(x, k)", "%s needs at least one reduce axis", kind);
  for (int i = 0; i < n; i++) {
    if (!axes[i]) return false;
    for (int j = 0; j < i; j++)
      if (axes[i] == axes[j]) return nw_fail(c, NW_EINVAL, NULL, "%s names the axis %s twice", kind, axes[i]->name);
  }
  return true;
}

static bool has_reduction(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_REDUCE;
}

const nw_expr *nw_reduction(nw_ctx *c, const char *kind, const nw_expr *term, int naxes, nw_axis *const *axes) {
  nw_combiner k;
  if (!term) return NULL;
  if (!combiner_of(kind, &k))
    return nw_fail(c, NW_EINVAL, "sum prod min max argmin argmax", "there is no reduction named '%s'", kind);
  if (!check_axes(c, kind, naxes, axes)) return NULL;
  if (term->type.dtype == NW_BOOL)
    return nw_fail(c, NW_ETYPE, "cast the condition to a number first", "%s needs numbers, not bool", kind);
  if (!nw_visit(term, has_reduction, NULL))
    return nw_fail(c, NW_EINVAL, "make it a separate stage", "a reduction cannot be inside another reduction");
  nw_pool *p = nw_lang_pool(c);
  const nw_expr **var = nw_xcalloc((size_t)naxes, sizeof *var), *terms[2] = {nw_import(p, term), NULL};
  for (int i = 0; i < naxes; i++) var[i] = nw_axis_var(axes[i]);
  bool arg = k == NW_ARGMIN || k == NW_ARGMAX;
  if (arg) terms[1] = position(p, naxes, axes, var);
  const nw_expr *e = nw_reduce(p, k, arg ? 2 : 1, terms, naxes, var);
  free(var);
  return e;
}
