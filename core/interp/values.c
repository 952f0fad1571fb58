// Evaluates expressions of scalar variables. A variable may have any dtype, since its slot holds the bits of its cell.
#include "interp/values.h"
#include <stdlib.h>

static bool no_reads(nwi_scope *s, nwi_node *n) {
  return nw_fail(s->ctx, NW_EINVAL, NULL, "%s is read in an expression of variables", n->expr->name);
}

void nwi_values_open(nwi_values *v, nw_ctx *c, int n, const nw_expr *const *var) {
  *v = (nwi_values){.arena = nw_arena_scratch()};
  v->run = (nwi_run){.ctx = c, .slot = nw_xcalloc((size_t)n + 1, sizeof *v->run.slot)};
  v->scope = (nwi_scope){.arena = v->arena, .ctx = c, .load = no_reads};
  for (int i = 0; i < n; i++) nwi_bind(&v->scope, var[i]->name, i);
}

void nwi_values_close(nwi_values *v) {
  nwi_scope_free(&v->scope);
  free(v->run.slot);
  nw_arena_free(v->arena);
}

void nwi_values_point(nwi_values *v, const nwi_cell *at) {
  for (int i = 0; i < v->scope.slot.n; i++) v->run.slot[i] = at[i].i;
  nwi_turn(&v->run);
}

bool nwi_values_at(nwi_values *v, nwi_node *n, nwi_cell *out) {
  *out = *nwi_get(&v->run, n);
  bool ok = !v->run.failed;
  if (!ok) nw_clear(v->run.ctx);
  v->run.failed = false;
  return ok;
}

double nwi_number(nw_dtype t, const nwi_cell *c) {
  if (t == NW_U64) return (double)(uint64_t)c->i;
  return !nw_dtype_is_float(t) ? (double)c->i : t == NW_F64 ? c->d : (double)c->f;
}
