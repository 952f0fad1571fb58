// Makes a stage with updates: a tensor, and a list of definitions that change its elements one after the other.
//
// A definition has its own axes. For each point of them, in the order as written, it stores a value at an element; the
// value and the index may read the stage. A chain of updates is one stage: the definitions of the tensor that is
// updated come first. Definitions that are written inside another update share its axes: at each point of these axes,
// they run one after the other.
#include "ir/expr/fold.h"
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

// ---- building

static bool can_update(nw_ctx *c, const nw_tensor *t) {
  const nw_teop *op = t->op;
  if (op->deferred) return nw_te_refuse_deferred(op);
  return !op->is_state || nw_fail(c, NW_EINVAL, "update the result of nw.scan",
                                  "%s is the state of a scan, but is updated outside the scan", t->name);
}

// Returns the definition in progress whose stage this is; NULL if there is none.
static nw_build *open_stage(nw_ctx *c, const nw_tensor *t) {
  nw_build *b = nw_pen_of(c)->build;
  return b && b->state && b->state->op == t->op ? b : NULL;
}

// Gives a definition the axes of the definition around it, before its own axes.
static void share_axes(nw_build *b, const nw_build *around) {
  nw_teop *op = b->op;
  const nw_teop *from = around->op;
  int n = from->naxes, all = n + op->naxes;
  op->axis = nw_xrealloc(op->axis, sizeof *op->axis * (size_t)(all + 1));
  op->axis_name = nw_xrealloc(op->axis_name, sizeof *op->axis_name * (size_t)(all + 1));
  op->extent = nw_xrealloc(op->extent, sizeof *op->extent * (size_t)(all + 1));
  op->lo = nw_xrealloc(op->lo, sizeof *op->lo * (size_t)(all + 1));
  for (int i = all - 1; i >= n; i--) {
    op->axis[i] = op->axis[i - n], op->axis_name[i] = op->axis_name[i - n];
    op->extent[i] = op->extent[i - n], op->lo[i] = op->lo[i - n];
  }
  for (int i = 0; i < n; i++) {
    op->axis[i] = nw_import(op->pool, from->axis[i]);
    op->axis_name[i] = nw_xstrdup(from->axis_name[i]);
    op->extent[i] = nw_import(op->pool, from->extent[i]);
    op->lo[i] = nw_import(op->pool, from->lo[i]);
  }
  op->naxes = all;
  b->nouter = n;
}

nw_build *nw_update_begin(nw_ctx *c, const char *name, nw_tensor *of, int naxes, const char *const *names,
                          const nw_expr *const *lo, const nw_expr *const *extents) {
  if (!of) return NULL;
  nw_build *around = open_stage(c, of);
  if (!around && !can_update(c, of)) return NULL;
  nw_tensor *state =
      around ? nw_tensor_retain(around->state)
             : nw_scan_state(c, name, nw_tensor_dtype(of), of->op->ndim, (const nw_expr *const *)of->op->shape);
  nw_build *b = state ? nw_te_begin(c, around ? around->op->name : name, naxes, names, lo, extents) : NULL;
  if (!b) return nw_tensor_release(state), NULL;
  if (around) share_axes(b, around);
  b->of = around ? NULL : nw_tensor_retain(of);
  b->state = state;
  return b;
}

nw_tensor *nw_build_stage(const nw_build *b) { return b->state; }
int nw_build_outer_axes(const nw_build *b) { return b->nouter; }

// ---- the parts of a definition

// Returns the value as the stage stores it: a number becomes a constant of the stage's dtype, and any other value must
// have this dtype.
static const nw_expr *stored(const nw_build *b, const nw_expr *value) {
  nw_dtype t = nw_tensor_dtype(b->state);
  nw_op op = (nw_op)value->op;
  if (op == NW_OP_INT || op == NW_OP_FLOAT) return nw_cast(b->op->pool, t, value);
  if (value->type.dtype == t) return value;
  return nw_fail(b->ctx, NW_ETYPE, "cast the value with nw.cast", "%s is %s, but its update is %s", b->op->name,
                 nw_dtype_name(t), nw_dtype_name(value->type.dtype));
}

static bool no_reduction(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_REDUCE;
}

static bool check_value(const nw_build *b, const nw_expr *value) {
  return nw_visit(value, no_reduction, NULL) ||
         nw_fail(b->ctx, NW_EINVAL, "give the update an axis more, and add to the element: S(i) + x",
                 "the update of %s contains a reduction", b->op->name);
}

// Returns the element that is written, as a LOAD of the state.
static const nw_expr *target_of(const nw_build *b, int n, const nw_expr *const *index) {
  nw_pool *p = b->op->pool;
  int ndim = b->state->op->ndim;
  const nw_expr *at[NW_MAX_DEPTH];
  if (n != ndim || n > NW_MAX_DEPTH)
    return nw_fail(b->ctx, NW_ETYPE, "return the index of the element as a list: return {i, j}, value",
                   "%s has %d dimension%s, but its update writes an element with %d ind%s", b->op->name, ndim,
                   ndim == 1 ? "" : "s", n, n == 1 ? "ex" : "ices");
  for (int d = 0; d < n; d++) {
    char what[160];
    snprintf(what, sizeof what, "index %d of the element that the update of %.80s writes", d + 1, b->op->name);
    if (!(at[d] = nw_te_index(b->ctx, p, index[d], what))) return NULL;
  }
  nw_pool_define(p, b->state->symbol, &nw_tensor_symbol, b->state);
  return nw_load(p, nw_scalar(nw_tensor_dtype(b->state)), b->state->symbol, n, at);
}

// Returns the condition imported into the pool of the definition. It decides which instances the definition has, so it
// must not depend on data.
static const nw_expr *condition_of(const nw_build *b, const nw_expr *when) {
  if (when->type.dtype != NW_BOOL)
    return nw_fail(b->ctx, NW_ETYPE, "return a comparison, as in nw.lt(k, i)",
                   "the condition of the update of %s is of type %s", b->op->name, nw_dtype_name(when->type.dtype));
  if (nw_uses_load(when, NULL))
    return nw_fail(b->ctx, NW_EINVAL, "choose the value instead: nw.select(condition, value, S(i))",
                   "the condition of the update of %s depends on data", b->op->name);
  return nw_import(b->op->pool, when);
}

// ---- the stage

static nw_tensor **copied(int n, nw_tensor *const *old, int more) {
  nw_tensor **all = nw_xcalloc((size_t)(n + more) + 1, sizeof *all);
  for (int i = 0; i < n; i++) all[i] = nw_tensor_retain(old[i]);
  return all;
}

// Returns the operation of the stage after the definitions of b. If the updated tensor is a stage with updates, its
// definitions come first.
static nw_teop *stage_of(const nw_build *b) {
  nw_pool *pool = nw_pool_new(b->ctx);
  nw_teop *op = nw_teop_new(b->ctx, NW_TE_UPDATE, b->op->name, pool);
  const nw_teop *of = b->of->op;
  bool chained = of->kind == NW_TE_UPDATE;
  int before = chained ? of->ndefs : 0;
  op->nout = 1;
  op->ndefs = before + b->defs.n;
  op->init = copied(1, chained ? of->init : &(nw_tensor *){b->of}, 0);
  op->update = copied(before, of->update, b->defs.n);
  op->state = copied(before, of->state, b->defs.n);
  for (int i = 0; i < b->defs.n; i++) {
    op->update[before + i] = nw_tensor_retain(b->defs.at[i]);
    op->state[before + i] = nw_tensor_retain(b->state);
  }
  op->dtype = nw_xcalloc(1, sizeof *op->dtype);
  op->dtype[0] = nw_tensor_dtype(b->of);
  op->ndim = of->ndim;
  op->shape = nw_xcalloc((size_t)of->ndim + 1, sizeof *op->shape);
  for (int d = 0; d < of->ndim; d++) op->shape[d] = nw_import(pool, of->shape[d]);
  nw_pool_release(pool);
  return op;
}

// Makes the definition of b, and adds it to its own list.
static bool define(nw_build *b, int n, const nw_expr *const *index, const nw_expr *value, const nw_expr *when) {
  nw_teop *op = b->op;
  if (b->defs.n)
    return nw_fail(b->ctx, NW_EINVAL, "return nothing, or write no updates inside",
                   "the function of the update of %s makes updates and returns a value, too", op->name);
  if (!check_value(b, value)) return false;
  const nw_expr *body = stored(b, nw_import(op->pool, value));
  op->target = body ? target_of(b, n, index) : NULL;
  if (!op->target || (when && !(op->when = condition_of(b, when)))) return false;
  op->deferred = true;
  if (!nw_te_fill(op, &b->reads, 1, &body)) return false;
  nw_vec_push(&b->defs, nw_tensor_new(op, 0, op->name));
  return true;
}

// Gives the definitions of b to the definition around it. The first one shares the axes of that definition with the
// definition before it, if there is one.
static void pass_on(nw_build *b) {
  nw_build *around = b->outer;
  nw_tensor *first = b->defs.at[0];
  first->op->shared = around->defs.n ? b->nouter : 0;
  for (int i = 0; i < b->defs.n; i++) nw_vec_push(&around->defs, b->defs.at[i]);
  b->defs.n = 0;
}

static bool check_definitions(const nw_build *b, const nw_teop *stage) {
  for (int i = 0; i < b->defs.n; i++)
    if (!nw_te_check_definition(((nw_tensor *)b->defs.at[i])->op, stage)) return false;
  return true;
}

// Ends the build in every case, even on failure.
bool nw_update_end(nw_build *b, int n, const nw_expr *const *index, const nw_expr *value, const nw_expr *when,
                   nw_tensor **out) {
  if (!b) return false;
  *out = NULL;
  bool ok = value ? define(b, n, index, value, when) : b->defs.n > 0;
  if (!value && !ok)
    nw_fail(b->ctx, NW_EINVAL, "return {i, j}, value", "the function of the update of %s returned nothing",
            b->op->name);
  if (ok && !b->of) {
    pass_on(b);
  } else if (ok) {
    nw_teop *op = stage_of(b);
    ok = check_definitions(b, op);
    if (ok) *out = nw_tensor_new(op, 0, op->name);
    nw_teop_release(op);
  }
  nw_build_drop(b);
  return ok;
}
