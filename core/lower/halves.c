// Pass: replaces arithmetic on the half types (f16 and bf16) by arithmetic on f32. A loaded value is widened to f32,
// and a value is rounded to the half type before it is stored. Half types remain only in loads, stores, explicit
// casts and reinterpretations of bits.
#include "lower/pass.h"

static bool half(const nw_expr *e) { return e->type.dtype == NW_F16 || e->type.dtype == NW_BF16; }

static const nw_expr *cast_to(nw_pool *p, nw_dtype t, const nw_expr *e) {
  return nw_make(p, NW_OP_CAST, (nw_type){t, e->type.lanes}, 1, &e);
}

static const nw_expr *single(nw_pool *p, const nw_expr *e);
static const nw_expr *stored(nw_pool *p, const nw_expr *e);

// True if the value of e is rounded to its half type, and is made without arithmetic.
static bool is_stored(const nw_expr *e) {
  return e->op == NW_OP_LOAD || e->op == NW_OP_CAST || e->op == NW_OP_REINTERPRET;
}

// Returns an expression of the same value and type, without arithmetic on the half types.
static const nw_expr *legal(nw_pool *p, const nw_expr *e) {
  if (!e->n || e->op == NW_OP_RAMP) return e;
  const nw_expr *arg[4];
  bool same = true;
  for (int i = 0; i < e->n; i++) {
    const nw_expr *a = e->arg[i];
    if (e->op == NW_OP_REINTERPRET && half(a))
      arg[i] = stored(p, a);
    else
      arg[i] = half(a) && !(half(e) && e->op == NW_OP_LOAD) ? single(p, a) : legal(p, a);
    same &= arg[i] == a;
  }
  if (same) return e;
  if (e->op == NW_OP_LOAD) return nw_load(p, e->type, e->name, e->n, arg);
  if (e->op == NW_OP_BROADCAST) return nw_broadcast(p, arg[0], (int)e->i);
  return nw_make(p, e->op, e->type, e->n, arg);
}

// Returns an expression of type f32 for the value of e, whose type is a half type. The value of a load or an explicit
// cast is already rounded to the half type, so it is only widened.
static const nw_expr *single(nw_pool *p, const nw_expr *e) {
  const nw_expr *arg[4];
  if (e->op == NW_OP_FLOAT) return nw_float(p, NW_F32, e->f);
  if (is_stored(e)) return cast_to(p, NW_F32, legal(p, e));
  if (e->op == NW_OP_BROADCAST) return nw_broadcast(p, single(p, e->arg[0]), (int)e->i);
  for (int i = 0; i < e->n; i++) arg[i] = half(e->arg[i]) ? single(p, e->arg[i]) : legal(p, e->arg[i]);
  const nw_expr *r = nw_make(p, e->op, (nw_type){NW_F32, e->type.lanes}, e->n, arg);
  return NW_MUTATED(halves_rounded_early) ? cast_to(p, NW_F32, cast_to(p, e->type.dtype, r)) : r;
}

static const nw_expr *stored(nw_pool *p, const nw_expr *e) {
  if (!half(e) || is_stored(e) || e->op == NW_OP_FLOAT) return legal(p, e);
  return NW_BY(halves, cast_to(p, e->type.dtype, single(p, e)));
}

static const nw_expr *in_pool(void *env, const nw_expr *e) { return stored(env, e); }

nw_program *nw_pass_halves(nw_program *p) {
  nw_tree_exprs(p->root, in_pool, p->pool);
  return p;
}
