// Makes the nodes of expressions.
#include "interp/node.h"
#include <stdlib.h>

void nwi_fail(nwi_run *r, nw_code code, const char *fmt, ...) {
  if (r->failed) return;
  r->failed = true;
  va_list args;
  va_start(args, fmt);
  nw_str b = {0};
  nw_str_vfmt(&b, fmt, args);
  va_end(args);
  nw_fail(r->ctx, code, NULL, "%s", b.s ? b.s : "");
  nw_str_free(&b);
}

bool nwi_stop(nwi_run *r) {
  if (r->failed) return true;
  if (r->ctx->interrupted) return nw_stopped(r->ctx), r->failed = true;
  if (r->opts && r->opts->enough && *r->opts->enough) return r->failed = true;
  if (++r->steps <= r->max_steps || !r->max_steps) return false;
  nwi_fail(r, NW_ELIMIT, "the interpreter was stopped after %lld steps", (long long)r->max_steps);
  return true;
}

// ---- scopes

void nwi_bind(nwi_scope *s, const char *name, int slot) {
  nw_vec_push(&s->name, (void *)name);
  nw_vec_push(&s->slot, (void *)(intptr_t)slot);
}

void nwi_unbind(nwi_scope *s) {
  s->name.n--;
  s->slot.n--;
}

void nwi_forget(nwi_scope *s) { s->expr.n = s->node.n = 0; }

void nwi_scope_free(nwi_scope *s) {
  nw_vec_free(&s->name);
  nw_vec_free(&s->slot);
  nw_vec_free(&s->expr);
  nw_vec_free(&s->node);
}

// ---- leaves and special ops

static void constant(nwi_run *r, nwi_node *n) {
  (void)r;
  (void)n;
}

static void variable(nwi_run *r, nwi_node *n) { n->v->i = r->slot[n->slot]; }

static void ramp(nwi_run *r, nwi_node *n) {
  int64_t base = nwi_int(r, n->arg[0]), stride = nwi_int(r, n->arg[1]);
  for (int l = 0; l < n->lanes; l++)
    n->v[l].i = nw_wrap((nw_dtype)n->dtype, (int64_t)((uint64_t)base + (uint64_t)stride * (uint64_t)l));
}

static void broadcast(nwi_run *r, nwi_node *n) {
  nwi_cell a = *nwi_get(r, n->arg[0]);
  for (int l = 0; l < n->lanes; l++) n->v[l] = a;
}

// Evaluates a select with a scalar condition. Only the selected branch is evaluated.
static void select_one(nwi_run *r, nwi_node *n) {
  const nwi_cell *a = nwi_get(r, nwi_int(r, n->arg[0]) ? n->arg[1] : n->arg[2]);
  memcpy(n->v, a, sizeof *a * (size_t)n->lanes);
}

// Evaluates an index that the program reads.
static void read_known(nwi_run *r, nwi_node *n) {
  const nwi_cell *a = nwi_get(r, n->arg[1]);
  memcpy(n->v, a, sizeof *a * (size_t)n->lanes);
}

// Evaluates a select with a condition for each lane. Both branches are evaluated, because the program itself masks
// invalid reads.
static void select_lanes(nwi_run *r, nwi_node *n) {
  const nwi_cell *c = nwi_get(r, n->arg[0]), *a = nwi_get(r, n->arg[1]), *b = nwi_get(r, n->arg[2]);
  for (int l = 0; l < n->lanes; l++) n->v[l] = c[l].i ? a[l] : b[l];
}

static void set_constant(nwi_node *n, const nw_expr *e) {
  n->eval = constant;
  if (e->op == NW_OP_INT)
    n->v->i = e->i;
  else if (e->type.dtype == NW_F64)
    n->v->d = e->f;
  else
    n->v->f = (float)e->f;
}

static bool set_variable(nwi_scope *s, nwi_node *n, const nw_expr *e) {
  n->eval = variable;
  for (int i = s->name.n - 1; i >= 0; i--) {
    if (strcmp(s->name.at[i], e->name)) continue;
    n->slot = (int)(intptr_t)s->slot.at[i];
    return true;
  }
  return nw_fail(s->ctx, NW_EINVAL, NULL, "the variable %s is not defined here", e->name);
}

static void set_math(nwi_scope *s, nwi_node *n, const nw_expr *e) {
  nw_dtype t = e->type.dtype == NW_F64 ? NW_F64 : NW_F32;
  n->row = NW_NEW_N(s->arena, const nw_math_row *, n->lanes);
  n->nrows = nw_math_plan(s->features, e->op, t, n->lanes, n->row);
}

static nwi_eval eval_of(nwi_scope *s, nwi_node *n, const nw_expr *e) {
  nw_dtype in = (nw_dtype)e->arg[0]->type.dtype;
  switch (e->op) {
  case NW_OP_CAST: return nwi_cast_op(in, (nw_dtype)e->type.dtype);
  case NW_OP_REINTERPRET: return nwi_reinterpret_op(in, (nw_dtype)e->type.dtype);
  case NW_OP_LDEXP: return nwi_eval_ldexp;
  case NW_OP_SELECT: return e->arg[0]->type.lanes == 1 ? select_one : select_lanes;
  case NW_OP_KNOWN: return read_known;
  case NW_OP_RAMP: return ramp;
  case NW_OP_BROADCAST: return broadcast;
  default: break;
  }
  if (!nw_dtype_is_float(in)) return nwi_int_op(e->op);
  if (nw_op_has(e->op, 'M')) set_math(s, n, e);
  return nwi_float_op(e->op, in);
}

static bool set_up(nwi_scope *s, nwi_node *n, const nw_expr *e) {
  if (e->op == NW_OP_INT || e->op == NW_OP_FLOAT) return set_constant(n, e), true;
  if (e->op == NW_OP_VAR) return set_variable(s, n, e);
  if (e->op == NW_OP_LOAD) return s->load(s, n);
  n->eval = e->n ? eval_of(s, n, e) : NULL;
  if (n->eval) return true;
  return nw_fail(s->ctx, NW_EINVAL, NULL, "the interpreter cannot run '%s' on %s", nw_op_name(e->op),
                 nw_dtype_name(e->n ? e->arg[0]->type.dtype : e->type.dtype));
}

nwi_node *nwi_make(nwi_scope *s, const nw_expr *e) {
  for (int i = s->expr.n - 1; i >= 0; i--)
    if (s->expr.at[i] == e) return s->node.at[i];
  nwi_node *n = nw_arena_alloc(s->arena, sizeof *n + sizeof *n->arg * e->n);
  n->expr = e;
  n->lanes = e->type.lanes;
  n->dtype = e->type.dtype;
  n->nargs = e->n;
  n->v = NW_NEW_N(s->arena, nwi_cell, n->lanes);
  for (int i = 0; i < e->n; i++)
    if (!(n->arg[i] = nwi_make(s, e->arg[i]))) return NULL;
  if (!set_up(s, n, e)) return NULL;
  nw_vec_push(&s->expr, (void *)e);
  nw_vec_push(&s->node, n);
  return n;
}
