// Applies an op that the user wrote to operands of any dtype. Checks the types and promotes the operands, and then
// calls a typed constructor. docs/language.md, "Types and promotion", states the rules.
//
// A constant of type i64 or f64 is a literal: it gets the dtype of the operands that are not literals. The user gave
// any other constant its dtype on purpose, so it promotes like other operands.
#include "ir/expr/fold.h"

#define MAX_OPERANDS 3

static bool is_literal(const nw_expr *e) {
  return nw_is_constant(e) && (e->type.dtype == NW_INDEX || e->type.dtype == NW_F64);
}

typedef struct operands {
  nw_pool *pool;
  nw_ctx *ctx;
  nw_op op;
  int n;
  const nw_expr *at[MAX_OPERANDS];
  // literal[i] is true if the user wrote operand i as a literal, and constant[i] if the user wrote it as a constant.
  // at[i] does not tell this, since an operand may be simplified to a constant when it is imported into the pool.
  bool literal[MAX_OPERANDS], constant[MAX_OPERANDS];
} operands;

static bool any_float_literal(const operands *o) {
  for (int i = 0; i < o->n; i++)
    if (o->literal[i] && o->at[i]->op == NW_OP_FLOAT) return true;
  return false;
}

static bool any_literal(const operands *o) {
  for (int i = 0; i < o->n; i++)
    if (o->literal[i]) return true;
  return false;
}

// Finds the dtype to which all operands that are not literals promote. Returns false if all operands are literals.
static bool typed_operands(const operands *o, nw_dtype *t) {
  bool found = false;
  for (int i = 0; i < o->n; i++) {
    if (o->literal[i]) continue;
    nw_dtype mine = (nw_dtype)o->at[i]->type.dtype;
    *t = found ? nw_dtype_promote(*t, mine) : mine;
    found = true;
  }
  return found;
}

// Returns the common dtype of the operands. If all operands are literals, the result is i64 or f64.
static nw_dtype meet(const operands *o) {
  nw_dtype t = NW_INDEX;
  if (!typed_operands(o, &t)) return any_float_literal(o) ? NW_F64 : t;
  if (nw_dtype_is_float(t)) return t;
  if (any_float_literal(o)) return NW_F32;
  return t == NW_BOOL && any_literal(o) ? NW_I32 : t;
}

static const nw_expr *literal_misfit(const operands *o, nw_dtype t, const nw_expr *e) {
  const char *name = nw_dtype_name(t);
  const char *hint = nw_diag_printf(o->ctx, "cast the %s operand to a wider type, as in nw.cast(x, \"i32\")", name);
  return nw_fail(o->ctx, NW_ERANGE, hint, "the number %lld does not fit in %s", (long long)e->i, name);
}

static const nw_expr *convert(const operands *o, nw_dtype t, int i) {
  const nw_expr *e = o->at[i];
  bool integer = e->op == NW_OP_INT && nw_dtype_is_int(t) && o->literal[i];
  return integer && !nw_fits(t, e->i) ? literal_misfit(o, t, e) : nw_convert(o->pool, t, e);
}

static bool convert_all(operands *o, nw_dtype t) {
  for (int i = 0; i < o->n; i++) {
    o->at[i] = convert(o, t, i);
    if (!o->at[i]) return false;
  }
  return true;
}

// ---------------------------------------------------------------- the classes of ops

static const nw_expr *within_limits(const operands *o, const nw_expr *e) {
  const char *hint = "compute a part of it as a separate stage";
  if (e && e->depth > NW_MAX_EXPR_DEPTH)
    return nw_fail(o->ctx, NW_ELIMIT, hint, "this expression is nested more than %d levels deep", NW_MAX_EXPR_DEPTH);
  if (e && e->size > NW_MAX_EXPR_SIZE)
    return nw_fail(o->ctx, NW_ELIMIT, hint, "this expression has more than %d operations when written out",
                   NW_MAX_EXPR_SIZE);
  return e;
}

// Makes an expression. If an operand is not a constant, the result must not become a literal. For example, let B have
// the dtype i64. B(i)*0 simplifies to the constant 0, which is a literal and may later get the dtype of another
// operand. So such an expression is not simplified until the program is made.
static const nw_expr *made(const operands *o, nw_op op, nw_type type, int n, const nw_expr *const *at) {
  const nw_expr *e = nw_make(o->pool, op, type, n, at);
  bool constant = true;
  for (int i = 0; i < o->n; i++) constant = constant && o->constant[i];
  if (e && !constant && is_literal(e) && !NW_MUTATED(folded_literal)) e = nw_raw(o->pool, op, type, n, at);
  return within_limits(o, e);
}

static const nw_expr *finish(operands *o, nw_dtype t) {
  if (!convert_all(o, t)) return NULL;
  nw_dtype result = nw_op_has(o->op, 'C') ? NW_BOOL : nw_op_has(o->op, 'W') ? NW_I32 : t;
  nw_type type = {(uint8_t)result, o->at[0]->type.lanes};
  return made(o, o->op, type, o->n, o->at);
}

static const nw_expr *no_bools(const operands *o, const char *hint) {
  return nw_fail(o->ctx, NW_ETYPE, hint, "each operand must be a number, and they are bool");
}

static bool is_division(nw_op op) { return op == NW_OP_FLOORDIV || op == NW_OP_FLOORMOD; }

static const nw_expr *divide_by_zero(const operands *o) {
  return nw_fail(o->ctx, NW_ERANGE, "guard the divisor: nw.select(nw.ne(b, 0), a // b, 0)",
                 "the second operand is the divisor, and it is 0");
}

// In +, - and *, bool operands become i32. Other numeric ops reject bool operands.
static const nw_expr *apply_numeric(operands *o) {
  nw_dtype t = meet(o);
  bool sum = o->op == NW_OP_ADD || o->op == NW_OP_SUB || o->op == NW_OP_MUL;
  if (t == NW_BOOL && !sum)
    return no_bools(o, o->op == NW_OP_MIN   ? "use nw.all(a, b)"
                       : o->op == NW_OP_MAX ? "use nw.any(a, b)"
                                            : "cast it first: nw.cast(x, \"i32\")");
  if (is_division(o->op) && nw_dtype_is_float(t))
    return nw_fail(o->ctx, NW_ETYPE, o->op == NW_OP_FLOORDIV ? "use nw.floor(a / b)" : "use a - nw.floor(a / b)*b",
                   "each operand must be an integer, and one is %s", nw_dtype_name(t));
  if (is_division(o->op) && nw_is_const(o->at[1], 0)) return divide_by_zero(o);
  return finish(o, t == NW_BOOL ? NW_I32 : t);
}

static const char *bools_hint(nw_op op) {
  switch (op) {
  case NW_OP_BITAND: return "use nw.all(a, b)";
  case NW_OP_BITOR: return "use nw.any(a, b)";
  case NW_OP_BITXOR: return "use nw.ne(a, b)";
  case NW_OP_BITNOT: return "use nw.not_(c)";
  default: return "cast it first: nw.cast(x, \"i32\")";
  }
}

// Applies an operation that is defined only on integers.
static const nw_expr *apply_integer(operands *o) {
  nw_dtype t = meet(o);
  if (t == NW_BOOL) return no_bools(o, bools_hint(o->op));
  if (nw_dtype_is_float(t))
    return nw_fail(o->ctx, NW_ETYPE, "cast it to an integer first: nw.cast(x, \"i32\")",
                   "each operand must be an integer, and one is %s", nw_dtype_name(t));
  return finish(o, t);
}

// Applies an operation that is defined only on floats. Integers and bools of any width are converted to f32.
static const nw_expr *apply_float(operands *o) {
  nw_dtype t;
  bool typed = typed_operands(o, &t);
  if (!typed) return finish(o, NW_F64);
  return finish(o, nw_dtype_is_float(t) ? t : NW_F32);
}

static const nw_expr *apply_comparison(operands *o) {
  nw_dtype t = meet(o);
  if (t == NW_BOOL && (o->op == NW_OP_LT || o->op == NW_OP_LE))
    return no_bools(o, "bools cannot be ordered; use eq, ne, all, any");
  return finish(o, t);
}

static const nw_expr *apply_logic(operands *o) {
  for (int i = 0; i < o->n; i++)
    if (o->at[i]->type.dtype != NW_BOOL)
      return nw_fail(o->ctx, NW_ETYPE, "compare it: nw.ne(x, 0)", "%s takes conditions, and operand %d is %s",
                     nw_op_name(o->op), i + 1, nw_dtype_name((nw_dtype)o->at[i]->type.dtype));
  return finish(o, NW_BOOL);
}

static bool read_operands(operands *o, nw_pool *p, nw_op op, int n, const nw_expr *const *args) {
  *o = (operands){.pool = p, .ctx = nw_pool_ctx(p), .op = op, .n = n};
  for (int i = 0; i < n; i++)
    if (!args[i]) return false;
  if (n > MAX_OPERANDS || n != nw_op_arity(op)) {
    nw_fail(o->ctx, NW_EINVAL, NULL, "%s takes %d operands, not %d", nw_op_name(op), nw_op_arity(op), n);
    return false;
  }
  for (int i = 0; i < n; i++) {
    o->literal[i] = is_literal(args[i]);
    o->constant[i] = nw_is_constant(args[i]);
    o->at[i] = nw_import(p, args[i]);
  }
  return true;
}

static const nw_expr *defined(nw_pool *p, nw_op op, const nw_expr *const *args) {
  switch (op) {
#define A args[0]
#define B args[1]
#define C args[2]
#define N(value) nw_index(p, value)
#define OP1(id, x) nw_apply(p, NW_OP_##id, 1, (const nw_expr *[]){x})
#define OP2(id, x, y) nw_apply(p, NW_OP_##id, 2, (const nw_expr *[]){x, y})
#define NW_OP(...)
#define NW_DEFINED(id, name, arity, definition, ...)                                                                   \
  case NW_OP_##id: {                                                                                                   \
    return definition;                                                                                                 \
  }
#include "ir/ops.def"
  default: return NULL;
  }
}

// Converts the second operand of ldexp to i32. A wider number is first limited to a range in which no result changes.
static const nw_expr *scale_of(nw_pool *p, const nw_expr *n) {
  nw_dtype t = (nw_dtype)n->type.dtype;
  if (!nw_dtype_is_int(t))
    return nw_fail(nw_pool_ctx(p), NW_ETYPE, "convert it: nw.cast(n, \"i32\")",
                   "the second operand of ldexp must be an integer, not %s", nw_dtype_name(t));
  const nw_expr *most = nw_int(p, t, NW_MOST_SCALE), *least = nw_int(p, t, -NW_MOST_SCALE);
  if (nw_dtype_bytes(t) < 4 || t == NW_I32) return nw_cast(p, NW_I32, n);
  n = nw_min(p, n, most);
  return nw_cast(p, NW_I32, nw_dtype_is_signed(t) ? nw_max(p, n, least) : n);
}

const nw_expr *nw_ldexp(nw_pool *p, const nw_expr *x, const nw_expr *n) {
  operands o;
  if (!n || !read_operands(&o, p, NW_OP_FLOOR, 1, &x)) return NULL;
  const nw_expr *scale = scale_of(p, nw_import(p, n));
  if (!scale) return NULL;
  nw_dtype t = NW_F32, typed;
  if (!typed_operands(&o, &typed)) typed = NW_F64;
  if (nw_dtype_is_float(typed)) t = typed;
  if (!convert_all(&o, t)) return NULL;
  o.constant[0] = o.constant[0] && nw_is_constant(n);
  return made(&o, NW_OP_LDEXP, o.at[0]->type, 2, (const nw_expr *[]){o.at[0], scale});
}

const nw_expr *nw_choose(nw_pool *p, const nw_expr *cond, const nw_expr *a, const nw_expr *b) {
  if (!cond || !a || !b) return NULL;
  bool same = a->type.dtype == b->type.dtype && a->type.lanes == b->type.lanes && cond->type.dtype == NW_BOOL;
  if (!same || NW_MUTATED(choose_promotes) || a->pool != p || b->pool != p || cond->pool != p)
    return nw_select(p, cond, a, b);
  return nw_make(p, NW_OP_SELECT, a->type, 3, (const nw_expr *[]){cond, a, b});
}

// Applies an op of the language to operands of any dtype: promotes them, or fails with the reason.
const nw_expr *nw_apply(nw_pool *p, nw_op op, int n, const nw_expr *const *args) {
  operands o;
  if (!read_operands(&o, p, op, n, args)) return NULL;
  if (op == NW_OP_SELECT) return nw_select(p, args[0], args[1], args[2]);
  if (op == NW_OP_LDEXP) return nw_ldexp(p, args[0], args[1]);
  if (nw_op_is_defined(op)) return defined(p, op, args);
  if (nw_op_has(op, 'N')) return apply_numeric(&o);
  if (nw_op_has(op, 'F')) return apply_float(&o);
  if (nw_op_has(op, 'I')) return apply_integer(&o);
  if (nw_op_has(op, 'C')) return apply_comparison(&o);
  if (nw_op_has(op, 'B')) return apply_logic(&o);
  return nw_fail(o.ctx, NW_EINVAL, NULL, "%s is not an operation that can be applied", nw_op_name(op));
}

// A select is lazy: only the selected branch is evaluated. The branches are promoted like operands of +, but two bools
// stay bools, and two literals become f32 if at least one of them is a float.
const nw_expr *nw_select(nw_pool *p, const nw_expr *cond, const nw_expr *a, const nw_expr *b) {
  operands o;
  if (!cond || !read_operands(&o, p, NW_OP_EQ, 2, (const nw_expr *[]){a, b})) return NULL;
  o.op = NW_OP_SELECT;
  if (cond->type.dtype != NW_BOOL)
    return nw_fail(o.ctx, NW_ETYPE, "compare it: nw.ne(x, 0)", "the condition of select must be bool, not %s",
                   nw_dtype_name((nw_dtype)cond->type.dtype));
  nw_dtype t = meet(&o), typed;
  if (t == NW_F64 && !typed_operands(&o, &typed)) t = NW_F32;
  if (!convert_all(&o, t)) return NULL;
  return made(&o, NW_OP_SELECT, o.at[0]->type, 3, (const nw_expr *[]){cond, o.at[0], o.at[1]});
}
