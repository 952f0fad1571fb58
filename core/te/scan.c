// Makes a scan, which is a recurrence over dimension 0.
#include "ir/program/intrinsic.h"
#include "te/internal.h"
#include <stdlib.h>

bool nw_te_same_size(nw_pool *p, const nw_expr *a, const nw_expr *b) {
  nw_ranges r;
  a = nw_import(p, a), b = nw_import(p, b);
  if (a == b) return true;
  nw_ranges_init(&r, p);
  nw_te_push_sizes(&r, a);
  nw_te_push_sizes(&r, b);
  bool same = nw_prove(&r, nw_eq(p, a, b));
  nw_ranges_free(&r);
  return same;
}

static bool same_shape(nw_pool *p, const nw_teop *a, const nw_teop *b, int from) {
  if (a->ndim != b->ndim) return false;
  for (int d = from; d < a->ndim; d++)
    if (!nw_te_same_size(p, a->shape[d], b->shape[d])) return false;
  return true;
}

static bool rows_fit(nw_pool *p, const nw_expr *rows, const nw_expr *all) {
  nw_ranges r;
  rows = nw_import(p, rows), all = nw_import(p, all);
  nw_ranges_init(&r, p);
  nw_te_push_sizes(&r, rows);
  nw_te_push_sizes(&r, all);
  bool fit = nw_prove(&r, nw_le(p, rows, all));
  nw_ranges_free(&r);
  return fit;
}

static bool check_dtype(nw_ctx *c, const char *what, const nw_tensor *t, const nw_tensor *state) {
  const char *own = nw_dtype_name(nw_tensor_dtype(t)), *want = nw_dtype_name(nw_tensor_dtype(state));
  if (nw_tensor_dtype(t) == nw_tensor_dtype(state)) return true;
  return nw_fail(c, NW_ETYPE,
                 nw_diag_printf(c, "give the state the dtype \"%s\", or cast the value with nw.%s(...)", own, want),
                 "the %s %s is %s, but the state %s is %s", what, t->name, own, state->name, want);
}

static bool check_state(nw_ctx *c, nw_pool *p, nw_tensor *init, nw_tensor *update, nw_tensor *state,
                        const nw_teop *first) {
  const nw_teop *s = state->op, *u = update->op, *i = init->op;
  if (s->kind != NW_TE_PLACEHOLDER)
    return nw_fail(c, NW_EINVAL, "make it with nw.scan_state", "the state %s is not a placeholder", state->name);
  if (s->ndim < 1) return nw_fail(c, NW_EINVAL, NULL, "the state %s has no time dimension", state->name);
  if (u->call.in)
    return nw_fail(c, NW_EINVAL, "write the expression, and use s:tensorize",
                   "the update %s is a call of the intrinsic %s", update->name, u->call.in->name);
  if (u->kind != NW_TE_COMPUTE) return nw_fail(c, NW_EINVAL, NULL, "the update %s is not a compute", update->name);
  if (nw_combiner_is_joint(u->combiner) && u->nout > 1)
    return nw_fail(c, NW_EINVAL, "make it a separate stage", "the update %s is a reduction with %d outputs",
                   update->name, u->nout);
  if (!same_shape(p, u, s, 0))
    return nw_fail(c, NW_EINVAL,
                   "the update must have the full shape, including the first rows, which are taken from init",
                   "the update %s and the state %s have different shapes", update->name, state->name);
  if (!same_shape(p, i, s, 1))
    return nw_fail(c, NW_EINVAL, NULL, "the init %s and the state %s have different extents after dimension 0",
                   init->name, state->name);
  if (!nw_te_same_size(p, s->shape[0], first->shape[0]))
    return nw_fail(c, NW_EINVAL, NULL, "the states %s and %s have different time axes", first->name, state->name);
  return check_dtype(c, "init", init, state) && check_dtype(c, "update", update, state);
}

static bool check_operands(nw_ctx *c, nw_pool *p, int n, nw_tensor *const *init, nw_tensor *const *update,
                           nw_tensor *const *state) {
  if (n < 1) return nw_fail(c, NW_EINVAL, NULL, "a scan needs at least one state");
  for (int k = 0; k < n; k++) {
    if (!init[k] || !update[k] || !state[k]) return false;
    if (init[k]->op->deferred) return nw_te_refuse_deferred(init[k]->op);
    if (!check_state(c, p, init[k], update[k], state[k], state[0]->op)) return false;
    if (!nw_te_same_size(p, init[k]->op->shape[0], init[0]->op->shape[0]))
      return nw_fail(c, NW_EINVAL, NULL, "the inits %s and %s have different numbers of rows", init[0]->name,
                     init[k]->name);
    for (int j = 0; j < k; j++)
      if (state[j]->op == state[k]->op || update[j] == update[k])
        return nw_fail(c, NW_EINVAL, NULL, "%s is given twice",
                       state[j]->op == state[k]->op ? state[k]->name : update[k]->name);
  }
  if (rows_fit(p, init[0]->op->shape[0], state[0]->op->shape[0])) return true;
  return nw_fail(c, NW_ERANGE, NULL, "the init %s can have more rows than the state %s", init[0]->name, state[0]->name);
}

static nw_tensor **count_all(int n, nw_tensor *const *t) {
  nw_tensor **own = nw_xcalloc((size_t)n, sizeof *own);
  for (int i = 0; i < n; i++) own[i] = nw_tensor_retain(t[i]);
  return own;
}

static void fill(nw_teop *op, int n, nw_tensor *const *init, nw_tensor *const *update, nw_tensor *const *state) {
  const nw_teop *s = state[0]->op;
  op->nout = op->ndefs = n;
  op->init = count_all(n, init);
  op->update = count_all(n, update);
  op->state = count_all(n, state);
  op->dtype = nw_xcalloc((size_t)n, sizeof *op->dtype);
  for (int k = 0; k < n; k++) op->dtype[k] = nw_tensor_dtype(state[k]);
  op->ndim = s->ndim;
  op->shape = nw_xcalloc((size_t)s->ndim, sizeof *op->shape);
  for (int d = 0; d < s->ndim; d++) op->shape[d] = nw_import(op->pool, s->shape[d]);
  op->init_rows = nw_import(op->pool, init[0]->op->shape[0]);
}

// Checks that all states of the scan have the same shape. The states share the time axis, and all outputs of an
// operation must have the same shape.
static bool check_ranks(nw_ctx *c, nw_pool *p, int n, nw_tensor *const *state) {
  for (int k = 1; k < n; k++)
    if (!same_shape(p, state[0]->op, state[k]->op, 0))
      return nw_fail(c, NW_EINVAL, NULL, "the states %s and %s have different shapes", state[0]->name, state[k]->name);
  return true;
}

bool nw_scan(nw_ctx *c, const char *name, int n, nw_tensor *const *init, nw_tensor *const *update,
             nw_tensor *const *state, nw_tensor **outputs) {
  char *own = nw_te_name(c, "a tensor", name, "S");
  if (!own) return false;
  nw_pool *p = nw_pool_new(c);
  nw_teop *op = nw_teop_new(c, NW_TE_SCAN, own, p);
  bool ok = check_operands(c, p, n, init, update, state) && check_ranks(c, p, n, state);
  if (ok) {
    fill(op, n, init, update, state);
    ok = nw_te_find_inner(op) && nw_te_check_scan(op);
  }
  for (int k = 0; ok && k < n; k++) {
    char *out = nw_te_output_name(op, op->name, k);
    outputs[k] = nw_tensor_new(op, k, out);
    free(out);
  }
  nw_teop_release(op);
  nw_pool_release(p);
  free(own);
  return ok;
}
