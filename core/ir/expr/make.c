// Implements the typed constructors. Their operands already have the type that the op requires. If an operand is NULL,
// the result is NULL.
#include "ir/expr/fold.h"
#include <math.h>

#define MAX_ARGS 64

const nw_expr *nw_int(nw_pool *p, nw_dtype t, int64_t value) {
  if (nw_dtype_is_float(t)) return nw_float(p, t, (double)value);
  nw_expr head = {.op = NW_OP_INT, .type = nw_scalar(t), .i = nw_wrap(t, value)};
  return nw_intern(p, &head, NULL);
}

// The value is rounded to the dtype. All NaNs of a dtype become the same constant.
const nw_expr *nw_float(nw_pool *p, nw_dtype t, double value) {
  if (!nw_dtype_is_float(t)) return nw_int(p, t, (int64_t)value);
  nw_expr head = {.op = NW_OP_FLOAT, .type = nw_scalar(t), .f = nw_round(t, value)};
  return nw_intern(p, &head, NULL);
}

const nw_expr *nw_var_of(nw_pool *p, const char *name, nw_type t) {
  nw_expr head = {.op = NW_OP_VAR, .type = t, .name = nw_pool_name(p, name)};
  return nw_intern(p, &head, NULL);
}

const nw_expr *nw_data_var(nw_pool *p, const char *name, nw_type t) {
  nw_expr head = {.op = NW_OP_VAR, .type = t, .data = true, .name = nw_pool_name(p, name)};
  return nw_intern(p, &head, NULL);
}

const nw_expr *nw_var(nw_pool *p, const char *name) { return nw_var_of(p, name, nw_scalar(NW_INDEX)); }

const nw_expr *nw_index(nw_pool *p, int64_t value) { return nw_int(p, NW_INDEX, value); }

const nw_expr *nw_true(nw_pool *p) { return nw_int(p, NW_BOOL, 1); }

// Imports args into p, and stores the result in `out`. Returns false if an operand is NULL.
static bool adopt(nw_pool *p, int n, const nw_expr *const *args, const nw_expr **out) {
  NW_MUST(n <= MAX_ARGS);
  for (int i = 0; i < n; i++) {
    out[i] = nw_import(p, args[i]);
    if (!out[i]) return false;
  }
  return true;
}

static bool same_type(const nw_expr *a, const nw_expr *b) {
  return a->type.dtype == b->type.dtype && a->type.lanes == b->type.lanes;
}

static bool can_reinterpret(const nw_expr *e, nw_dtype t) {
  nw_dtype from = (nw_dtype)e->type.dtype;
  return from != NW_BOOL && t != NW_BOOL && nw_dtype_bytes(from) == nw_dtype_bytes(t);
}

bool nw_ldexp_takes(const nw_expr *x, const nw_expr *n) {
  return nw_dtype_is_float((nw_dtype)x->type.dtype) && n->type.dtype == NW_I32 && n->type.lanes == x->type.lanes;
}

// True if the operands satisfy the preconditions of nw_make.
static __attribute__((unused)) bool well_typed(nw_op op, nw_type t, int n, const nw_expr *const *a) {
  if (nw_op_arity(op) >= 0 && n != nw_op_arity(op)) return false;
  if (op == NW_OP_SELECT) return a[0]->type.dtype == NW_BOOL && same_type(a[1], a[2]) && t.dtype == a[1]->type.dtype;
  if (op == NW_OP_CAST) return t.lanes == a[0]->type.lanes;
  if (op == NW_OP_REINTERPRET) return t.lanes == a[0]->type.lanes && can_reinterpret(a[0], (nw_dtype)t.dtype);
  if (op == NW_OP_LDEXP) return nw_ldexp_takes(a[0], a[1]);
  if (op == NW_OP_KNOWN) return same_type(a[0], a[1]);
  if (nw_op_has(op, 'X')) return true;
  for (int i = 1; i < n; i++)
    if (!same_type(a[0], a[i])) return false;
  if (nw_op_has(op, 'B')) return a[0]->type.dtype == NW_BOOL;
  if (nw_op_has(op, 'W') && t.dtype != NW_I32) return false;
  if (nw_op_has(op, 'F')) return nw_dtype_is_float((nw_dtype)a[0]->type.dtype);
  if (nw_op_has(op, 'I')) return nw_dtype_is_int((nw_dtype)a[0]->type.dtype);
  return true;
}

static const nw_expr *make_cast(nw_pool *p, nw_type t, const nw_expr *e);
static const nw_expr *make_reinterpret(nw_pool *p, nw_type t, const nw_expr *e);

static const nw_expr *make_ldexp(nw_pool *p, nw_type t, const nw_expr *const *a) {
  bool constant = a[0]->op == NW_OP_FLOAT && a[1]->op == NW_OP_INT;
  const nw_expr *e = constant ? NW_BY(constant_floats, nw_constant_ldexp(p, (nw_dtype)t.dtype, a[0], a[1])) : NULL;
  return e ? e : nw_is_const(a[1], 0) ? NW_BY(scaled_by_one, a[0]) : nw_fold(p, NW_OP_LDEXP, t, 2, a);
}

const nw_expr *nw_make(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  const nw_expr *a[MAX_ARGS];
  if (!adopt(p, n, args, a)) return NULL;
  NW_MUST(well_typed(op, t, n, a));
  switch (op) {
  case NW_OP_CAST: return make_cast(p, t, a[0]);
  case NW_OP_REINTERPRET: return make_reinterpret(p, t, a[0]);
  case NW_OP_LDEXP: return make_ldexp(p, t, a);
  case NW_OP_KNOWN: return a[0] == a[1] ? a[0] : nw_raw(p, op, t, n, a);
  case NW_OP_RAMP: return nw_ramp(p, a[0], a[1], t.lanes);
  case NW_OP_BROADCAST: return nw_broadcast(p, a[0], t.lanes);
  default: return nw_fold(p, op, t, n, a);
  }
}

static nw_type result_type(nw_op op, const nw_expr *a) {
  if (nw_op_has(op, 'W')) return (nw_type){NW_I32, a->type.lanes};
  return nw_op_has(op, 'C') ? (nw_type){NW_BOOL, a->type.lanes} : a->type;
}

const nw_expr *nw_make1(nw_pool *p, nw_op op, const nw_expr *a) {
  return a ? nw_make(p, op, result_type(op, a), 1, &a) : NULL;
}

const nw_expr *nw_make2(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b) {
  return a && b ? nw_make(p, op, result_type(op, a), 2, (const nw_expr *[]){a, b}) : NULL;
}

const nw_expr *nw_load(nw_pool *p, nw_type t, const char *buffer, int n, const nw_expr *const *index) {
  const nw_expr *a[MAX_ARGS];
  if (!adopt(p, n, index, a)) return NULL;
  nw_expr head = {.op = NW_OP_LOAD, .type = t, .n = (uint16_t)n, .name = nw_pool_name(p, buffer)};
  return nw_intern(p, &head, a);
}

const nw_expr *nw_reduce(nw_pool *p, int combiner, int nterms, const nw_expr *const *terms, int naxes,
                         const nw_expr *const *axes) {
  const nw_expr *a[MAX_ARGS];
  NW_MUST(nterms + naxes <= MAX_ARGS);
  if (!adopt(p, nterms, terms, a) || !adopt(p, naxes, axes, a + nterms)) return NULL;
  nw_expr head = {.op = NW_OP_REDUCE, .type = a[0]->type, .n = (uint16_t)(nterms + naxes), .i = combiner};
  return nw_intern(p, &head, a);
}

// Returns the vector base, base + stride, base + 2*stride, ... If the stride is 0, returns a broadcast. If there is
// only one lane, returns the base.
const nw_expr *nw_ramp(nw_pool *p, const nw_expr *base, const nw_expr *stride, int lanes) {
  const nw_expr *a[2];
  if (!adopt(p, 2, (const nw_expr *[]){base, stride}, a)) return NULL;
  NW_MUST(same_type(a[0], a[1]) && a[0]->type.lanes == 1 && lanes >= 1);
  if (lanes == 1) return a[0];
  if (nw_is_const(a[1], 0)) return NW_BY(still_ramp, nw_broadcast(p, a[0], lanes));
  nw_expr head = {.op = NW_OP_RAMP, .type = {a[0]->type.dtype, (uint16_t)lanes}, .n = 2, .i = lanes};
  return nw_intern(p, &head, a);
}

const nw_expr *nw_broadcast(nw_pool *p, const nw_expr *e, int lanes) {
  e = nw_import(p, e);
  if (!e || lanes == 1) return e;
  NW_MUST(e->type.lanes == 1 && lanes >= 1);
  nw_expr head = {.op = NW_OP_BROADCAST, .type = {e->type.dtype, (uint16_t)lanes}, .n = 1, .i = lanes};
  return nw_intern(p, &head, &e);
}

bool nw_dtype_widens(nw_dtype from, nw_dtype mid) {
  if (from == NW_BOOL) return true;
  if (nw_dtype_is_float(from) || nw_dtype_is_float(mid))
    return nw_dtype_is_float(from) && (nw_dtype_promote(from, mid) == mid || NW_MUTATED(halves_skipped));
  if (nw_dtype_is_signed(from) && !nw_dtype_is_signed(mid)) return false;
  return nw_dtype_promote(from, mid) == mid;
}

// Halves (f16 and bf16) are computed in f32 and rounded only by a store or a cast. So an intermediate value may lie
// between two neighbouring halves.
bool nw_is_rounded(const nw_expr *e) {
  if (e->type.dtype != NW_F16 && e->type.dtype != NW_BF16) return true;
  if (e->op == NW_OP_CAST || e->op == NW_OP_REINTERPRET) return true;
  if (nw_op_exactness((nw_op)e->op) == NW_EXACT_ROUNDED && NW_MUTATED(halves_divided)) return true;
  if (nw_op_exactness((nw_op)e->op) != NW_EXACT_SAME) return false;
  for (int i = 0; i < e->n; i++)
    if (!nw_is_rounded(e->arg[i])) return false;
  return true;
}

// A cast to bool becomes a comparison with 0, so no expression contains a cast to bool.
static const nw_expr *make_cast(nw_pool *p, nw_type t, const nw_expr *e) {
  nw_dtype to = (nw_dtype)t.dtype, from = (nw_dtype)e->type.dtype;
  if (to == from && (nw_is_rounded(e) || NW_MUTATED(halves_cast_dropped))) return NW_BY(cast_to_same, e);
  if (nw_is_constant(e)) return NW_BY(constant_cast, nw_constant_cast(p, to, e));
  if (e->op == NW_OP_BROADCAST) return NW_BY(cast_of_lanes, nw_broadcast(p, nw_cast(p, to, e->arg[0]), t.lanes));
  if (to == NW_BOOL) return NW_BY(cast_to_bool, nw_make2(p, NW_OP_NE, e, nw_broadcast(p, nw_int(p, from, 0), t.lanes)));
  bool rounds = e->op == NW_OP_CAST && e->arg[0]->type.dtype == from; // a cast of a half to its own dtype
  if (e->op == NW_OP_CAST && !rounds && nw_dtype_widens((nw_dtype)e->arg[0]->type.dtype, from))
    return NW_BY(cast_twice, nw_cast(p, to, e->arg[0]));
  return nw_raw(p, NW_OP_CAST, t, 1, &e);
}

// Between two integers, and between equal dtypes, the bits of a cast are the bits of its operand. All NaNs are alike, so a
// float that became bits and a float again is the same float. The operand of a node that stays is rounded.
static const nw_expr *make_reinterpret(nw_pool *p, nw_type t, const nw_expr *e) {
  nw_dtype to = (nw_dtype)t.dtype, from = (nw_dtype)e->type.dtype;
  if (to == from || (nw_dtype_is_int(to) && nw_dtype_is_int(from))) return NW_BY(bits_of_integer, nw_cast(p, to, e));
  if (!nw_is_rounded(e)) e = nw_cast(p, from, e);
  if (nw_dtype_is_float(to) && nw_dtype_is_float(from))
    return nw_reinterpret(p, to, nw_reinterpret(p, NW_U16, e)); // halves
  if (nw_is_constant(e)) return NW_BY(constant_bits, nw_constant_bits(p, to, e));
  if (e->op == NW_OP_BROADCAST) return NW_BY(bits_of_lanes, nw_broadcast(p, nw_reinterpret(p, to, e->arg[0]), t.lanes));
  bool back = e->op == NW_OP_REINTERPRET && e->arg[0]->type.dtype == to && nw_dtype_is_float(to);
  return back ? NW_BY(bits_and_back, e->arg[0]) : nw_raw(p, NW_OP_REINTERPRET, t, 1, &e);
}

// Returns the bits of e as a value of the dtype t.
const nw_expr *nw_reinterpret(nw_pool *p, nw_dtype t, const nw_expr *e) {
  if (!e) return NULL;
  nw_dtype from = (nw_dtype)e->type.dtype;
  const char *name = nw_dtype_name(t);
  if (from == NW_BOOL || t == NW_BOOL)
    return nw_fail(nw_pool_ctx(p), NW_ETYPE, "cast it first: nw.cast(x, \"i32\")",
                   "reinterpret takes numbers, not bool");
  if (nw_dtype_bytes(from) != nw_dtype_bytes(t))
    return nw_fail(nw_pool_ctx(p), NW_ETYPE,
                   nw_diag_printf(nw_pool_ctx(p), "nw.cast(x, \"%s\") converts the value", name),
                   "reinterpret keeps all bits, but %s has %d bits and %s has %d", nw_dtype_name(from),
                   8 * nw_dtype_bytes(from), name, 8 * nw_dtype_bytes(t));
  return nw_make(p, NW_OP_REINTERPRET, (nw_type){(uint8_t)t, e->type.lanes}, 1, &e);
}

// Converts e to the dtype t. Integers wrap. A float becomes an integer by truncation and saturation; NaN becomes 0.
// Floats round to nearest even.
const nw_expr *nw_cast(nw_pool *p, nw_dtype t, const nw_expr *e) {
  return e ? nw_make(p, NW_OP_CAST, (nw_type){(uint8_t)t, e->type.lanes}, 1, &e) : NULL;
}

const nw_expr *nw_convert(nw_pool *p, nw_dtype t, const nw_expr *e) {
  return e && e->type.dtype == t ? nw_import(p, e) : nw_cast(p, t, e);
}

nw_type nw_expr_type(const nw_expr *e) { return e->type; }

bool nw_is_int(const nw_expr *e, int64_t *value) {
  if (!e || e->op != NW_OP_INT) return false;
  if (value) *value = e->i;
  return true;
}

bool nw_is_const(const nw_expr *e, int64_t value) { return e && e->op == NW_OP_INT && e->i == value; }

const nw_expr *nw_add(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_ADD, a, b); }
const nw_expr *nw_sub(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_SUB, a, b); }
const nw_expr *nw_mul(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_MUL, a, b); }
const nw_expr *nw_floordiv(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_FLOORDIV, a, b); }
const nw_expr *nw_floormod(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_FLOORMOD, a, b); }
const nw_expr *nw_min(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_MIN, a, b); }
const nw_expr *nw_max(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_MAX, a, b); }
const nw_expr *nw_lt(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_LT, a, b); }
const nw_expr *nw_le(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_LE, a, b); }
const nw_expr *nw_eq(nw_pool *p, const nw_expr *a, const nw_expr *b) { return nw_make2(p, NW_OP_EQ, a, b); }

const nw_expr *nw_and(nw_pool *p, const nw_expr *a, const nw_expr *b) {
  if (!a || !b) return nw_import(p, a ? a : b);
  return nw_make2(p, NW_OP_AND, a, b);
}

// Returns a / b rounded up, as (a + b - 1) // b.
const nw_expr *nw_ceildiv(nw_pool *p, const nw_expr *a, const nw_expr *b) {
  return a && b ? nw_floordiv(p, nw_add(p, a, nw_sub(p, b, nw_index(p, 1))), b) : NULL;
}
