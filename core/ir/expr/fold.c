// Simplifies the application of an op to well-typed operands, before the node is interned.
#include "ir/expr/fold.h"

static bool is_logic(nw_op op) { return op == NW_OP_AND || op == NW_OP_OR; }

// True if a - b is a constant, which is then stored in *d.
static bool constant_difference(nw_pool *p, const nw_expr *a, const nw_expr *b, int64_t *d) {
  nw_sum s;
  nw_sum_init(&s, p, NW_INDEX);
  nw_sum_add(&s, 1, a);
  nw_sum_add(&s, -1, b);
  bool constant = !s.wraps || NW_MUTATED(difference_wraps);
  for (int i = 0; i < s.n; i++) constant = constant && s.term[i].coef == 0;
  *d = s.constant;
  nw_sum_free(&s);
  return constant;
}

static const nw_expr *fold_extremum(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b) {
  int64_t d;
  if (!nw_is_index(a) || !nw_is_exact(a) || !nw_is_exact(b) || !constant_difference(p, a, b, &d)) return NULL;
  return NW_BY(extremum, (op == NW_OP_MIN) == (d <= 0) ? a : b);
}

static const nw_expr *fold_sum(nw_pool *p, nw_op op, int n, const nw_expr *const *args) {
  nw_sum s;
  nw_sum_init(&s, p, (nw_dtype)args[0]->type.dtype);
  nw_sum_add(&s, op == NW_OP_NEG ? -1 : 1, args[0]);
  if (n == 2) nw_sum_add(&s, op == NW_OP_SUB ? -1 : 1, args[1]);
  // Index arithmetic is assumed not to wrap, so an index keeps its form if a coefficient or the constant of the sum has
  // wrapped.
  bool stays = s.wraps && nw_is_index(args[0]);
  const nw_expr *e = stays ? nw_raw(p, op, args[0]->type, n, args) : nw_sum_expr(&s);
  nw_sum_free(&s);
  return e;
}

static const nw_expr *fold_integer(nw_pool *p, nw_op op, int n, const nw_expr *const *args) {
  switch (op) {
  case NW_OP_ADD:
  case NW_OP_SUB:
  case NW_OP_NEG: return NW_BY(sum, fold_sum(p, op, n, args));
  case NW_OP_MUL: return NW_BY(product, nw_product(p, args[0], args[1]));
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return nw_fold_division(p, op, args[0], args[1]);
  case NW_OP_LT:
  case NW_OP_LE:
  case NW_OP_EQ:
  case NW_OP_NE: return NW_BY(comparison, nw_fold_comparison(p, op, args[0], args[1]));
  case NW_OP_MIN:
  case NW_OP_MAX: return fold_extremum(p, op, args[0], args[1]);
  case NW_OP_BITAND:
  case NW_OP_BITOR:
  case NW_OP_BITXOR:
  case NW_OP_BITNOT:
  case NW_OP_SHL:
  case NW_OP_SHR: return NW_BY(bits_of_index, nw_fold_bits(p, op, args[0], args[n - 1]));
  default: return NULL;
  }
}

// ---------------------------------------------------------------- flattening of `and` and `or`

static void add_clauses(nw_vec *v, nw_op op, const nw_expr *e) {
  if (e->op == op || (is_logic((nw_op)e->op) && NW_MUTATED(logic_mixed))) {
    add_clauses(v, op, e->arg[0]);
    add_clauses(v, op, e->arg[1]);
    return;
  }
  for (int i = 0; i < v->n; i++)
    if (v->at[i] == e) return;
  nw_vec_push(v, (void *)e);
}

static const nw_expr *fold_logic(nw_pool *p, nw_op op, nw_type t, const nw_expr *const *args) {
  nw_vec v = {0};
  add_clauses(&v, op, args[0]);
  add_clauses(&v, op, args[1]);
  const nw_expr *e = v.at[0];
  for (int i = 1; i < v.n; i++) e = nw_raw(p, op, t, 2, (const nw_expr *[]){e, v.at[i]});
  nw_vec_free(&v);
  return e;
}

// ---------------------------------------------------------------- vectors

static bool all_broadcast(int n, const nw_expr *const *args) {
  for (int i = 0; i < n; i++)
    if (args[i]->op != NW_OP_BROADCAST) return false;
  return n > 0;
}

// If all operands are broadcasts, computes the operation once, and broadcasts the result. Math functions are excluded,
// since their vector forms may round differently.
static const nw_expr *fold_broadcast(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  if (nw_op_has(op, 'M') || op == NW_OP_LOAD || op == NW_OP_REDUCE || op == NW_OP_RAMP || op == NW_OP_BROADCAST ||
      n > 3 || !all_broadcast(n, args))
    return NULL;
  const nw_expr *scalar[3];
  for (int i = 0; i < n; i++) scalar[i] = args[i]->arg[0];
  return NW_BY(lanes, nw_broadcast(p, nw_make(p, op, nw_scalar((nw_dtype)t.dtype), n, scalar), t.lanes));
}

static bool is_linear(const nw_expr *e) { return e->op == NW_OP_RAMP || e->op == NW_OP_BROADCAST; }

static const nw_expr *base_of(const nw_expr *e) { return e->arg[0]; }

static const nw_expr *stride_of(nw_pool *p, const nw_expr *e) {
  return e->op == NW_OP_RAMP ? e->arg[1] : nw_int(p, (nw_dtype)e->type.dtype, 0);
}

// A sum of ramps is a ramp. A ramp times a value that is the same in all lanes is a ramp, too.
static const nw_expr *fold_ramp(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b) {
  if (!nw_dtype_is_int((nw_dtype)a->type.dtype) || !is_linear(a) || !is_linear(b)) return NULL;
  int lanes = a->type.lanes;
  if (op == NW_OP_ADD || op == NW_OP_SUB)
    return nw_ramp(p, nw_make2(p, op, base_of(a), base_of(b)), nw_make2(p, op, stride_of(p, a), stride_of(p, b)),
                   lanes);
  if (op != NW_OP_MUL || (a->op == NW_OP_RAMP && b->op == NW_OP_RAMP)) return NULL;
  if (b->op == NW_OP_RAMP) return fold_ramp(p, op, b, a);
  return nw_ramp(p, nw_mul(p, base_of(a), base_of(b)), nw_mul(p, stride_of(p, a), base_of(b)), lanes);
}

// ---------------------------------------------------------------- all ops

// True if the operands of a commutative op must be swapped. Operands that are floats are not sorted, so that users see
// a product as they wrote it.
static bool out_of_order(nw_op op, const nw_expr *const *a) {
  if (!nw_op_has(op, 'K') || is_logic(op) || nw_dtype_is_float((nw_dtype)a[0]->type.dtype)) return false;
  return nw_compare(a[0], a[1]) > 0;
}

static const nw_expr *fold(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  const nw_expr *e = NULL;
  if (t.lanes > 1) e = fold_broadcast(p, op, t, n, args);
  if (!e && t.lanes > 1 && n == 2) e = NW_BY(ramp, fold_ramp(p, op, args[0], args[1]));
  if (!e && n > 0 && args[0]->type.lanes == 1 && nw_dtype_is_int((nw_dtype)args[0]->type.dtype))
    e = fold_integer(p, op, n, args);
  return e ? e : nw_apply_rules(p, op, t, n, args);
}

const nw_expr *nw_fold(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  const nw_expr *e = nw_constant_op(p, op, t, n, args);
  if (e) return e;
  const nw_expr *swapped[2];
  if (out_of_order(op, args)) {
    swapped[0] = NW_BY(order, args[1]);
    swapped[1] = args[0];
    args = swapped;
  }
  e = fold(p, op, t, n, args);
  if (e) return e;
  return is_logic(op) ? NW_BY(logic, fold_logic(p, op, t, args)) : nw_raw(p, op, t, n, args);
}
