// Makes reduce axes whose range depends on other axes or on data: triangles, ragged rows, rows of a sparse matrix.
//
// The axis itself has a fixed range, 0..within. Where its value is outside of begin..end, the term of the reduction is the
// identity (axis.c). So every step and every proof knows only a reduction over a box. Lowering shortens the loops again
// (lower/bounds.c).
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

bool nw_extent_is_fixed(const nw_expr *e) { return nw_speaks_of_sizes(e); }

// ---- ranges of axes

static bool known(const nw_ranges *r, const char *var) {
  for (int i = 0; i < r->n; i++)
    if (!strcmp(r->at[i].var, var)) return true;
  return false;
}

static void push_axis(nw_ranges *r, const nw_expr *var, const nw_expr *lo, const nw_expr *extent) {
  nw_pool *p = r->pool;
  lo = nw_import(p, lo), extent = nw_import(p, extent);
  nw_te_push_sizes(r, lo);
  nw_te_push_sizes(r, extent);
  nw_ranges_push(r, nw_pool_name(p, var->name), lo, nw_add(p, lo, nw_sub(p, extent, nw_index(p, 1))));
}

static bool push_var(void *env, const nw_expr *e) {
  nw_ranges *r = env;
  if (e->op != NW_OP_VAR || known(r, e->name)) return true;
  const nw_axis *a = nw_axis_of(e);
  if (a) return push_axis(r, e, a->lo, a->extent), true;
  nw_ctx *c = nw_pool_ctx(r->pool);
  for (const nw_build *b = nw_pen_of(c)->build; b; b = b->outer)
    for (int i = 0; i < b->op->naxes; i++)
      if (b->op->axis[i] && !strcmp(b->op->axis[i]->name, e->name))
        return push_axis(r, e, nw_index(r->pool, 0), b->op->extent[i]), true;
  nw_te_push_sizes(r, e);
  return true;
}

void nw_te_push_axes(nw_ranges *r, const nw_expr *e) { nw_visit(e, push_var, r); }

// ---- the fixed range

// Returns the greatest value of `end` over all axes, as an expression of sizes; NULL if it is not known.
static const nw_expr *greatest(const nw_ranges *r, const nw_expr *end) {
  const char *over[NW_MAX_TERMS];
  int n = 0;
  for (int i = 0; i < r->n; i++) {
    const nw_expr *v = nw_var(r->pool, r->at[i].var);
    if (nw_size_of(v)) continue;
    if (n == NW_MAX_TERMS) return NULL;
    over[n++] = r->at[i].var;
  }
  const nw_expr *e = nw_upper_over(r, end, n, over);
  return e && nw_speaks_of_sizes(e) ? e : NULL;
}

static bool ask_within(nw_axis *a, const char *why, const nw_expr *e) {
  char *text = nw_te_text(e);
  nw_fail(a->ctx, NW_EINVAL,
          "give the number of values that the axis may have: nw.reduce_axis({begin, end}, {name = ..., within = N})",
          "the range of %s %s: %s", a->name, why, text);
  free(text);
  return false;
}

static bool set_box(nw_axis *a, const nw_expr *within) {
  char what[120];
  nw_ranges r;
  snprintf(what, sizeof what, "the extent of %.80s", a->name);
  a->lo = nw_index(a->pool, 0);
  if (within) return (a->extent = nw_te_extent(a->ctx, a->pool, within, what)) != NULL;
  nw_ranges_init(&r, a->pool);
  nw_te_push_axes(&r, a->from);
  nw_te_push_axes(&r, a->to);
  bool ok = nw_prove(&r, nw_le(a->pool, a->lo, a->from)) || ask_within(a, "may begin below 0", a->from);
  const nw_expr *end = ok && !a->to->data ? greatest(&r, a->to) : NULL;
  if (ok && !end) ok = ask_within(a, "has no known end", a->to);
  if (ok && !nw_prove(&r, nw_le(a->pool, a->lo, end))) end = nw_max(a->pool, end, a->lo);
  if (ok) a->extent = nw_te_extent(a->ctx, a->pool, end, what);
  nw_ranges_free(&r);
  return ok && a->extent;
}

nw_axis *nw_reduce_axis_between(nw_ctx *c, const char *name, const nw_expr *begin, const nw_expr *end,
                                const nw_expr *within) {
  char what[120];
  nw_axis *a = nw_te_new_axis(c, name);
  if (!a) return NULL;
  snprintf(what, sizeof what, "the start of %.80s", a->name);
  a->from = nw_te_index(c, a->pool, begin, what);
  snprintf(what, sizeof what, "the end of %.80s", a->name);
  a->to = nw_te_index(c, a->pool, end, what);
  if (a->from && a->to && set_box(a, within)) return a;
  nw_axis_release(a);
  return NULL;
}
