// Arithmetic on sizes whose values are known. What does not fit 64 bits has no value.
#include "ir/expr/expr.h"

typedef struct env {
  int n;
  const char *const *names;
  const int64_t *values;
} env;

static bool eval(const env *v, const nw_expr *e, int64_t *out);

static bool variable(const env *v, const char *name, int64_t *out) {
  for (int i = 0; i < v->n; i++)
    if (!strcmp(v->names[i], name)) return *out = v->values[i], true;
  return false;
}

static bool binary(nw_op op, int64_t a, int64_t b, int64_t *out) {
  switch (op) {
  case NW_OP_ADD: return !__builtin_add_overflow(a, b, out);
  case NW_OP_SUB: return !__builtin_sub_overflow(a, b, out);
  case NW_OP_MUL: return !__builtin_mul_overflow(a, b, out);
  case NW_OP_FLOORDIV:
    if (b == -1) return !__builtin_sub_overflow(INT64_C(0), a, out);
    return b && (*out = nw_floordiv_i64(a, b), true);
  case NW_OP_FLOORMOD: return b && (*out = b == -1 ? 0 : nw_floormod_i64(a, b), true);
  case NW_OP_MIN: return *out = a < b ? a : b, true;
  case NW_OP_MAX: return *out = a > b ? a : b, true;
  case NW_OP_LT: return *out = a < b, true;
  case NW_OP_LE: return *out = a <= b, true;
  case NW_OP_EQ: return *out = a == b, true;
  case NW_OP_NE: return *out = a != b, true;
  case NW_OP_AND: return *out = a && b, true;
  case NW_OP_OR: return *out = a || b, true;
  default: return false;
  }
}

static bool unary(nw_op op, int64_t a, int64_t *out) {
  switch (op) {
  case NW_OP_NEG: return !__builtin_sub_overflow(INT64_C(0), a, out);
  case NW_OP_ABS: return a < 0 ? !__builtin_sub_overflow(INT64_C(0), a, out) : (*out = a, true);
  case NW_OP_NOT: *out = !a; return true;
  case NW_OP_CAST: *out = a; return true;
  default: return false;
  }
}

static bool eval(const env *v, const nw_expr *e, int64_t *out) {
  int64_t a, b;
  if (nw_dtype_is_float((nw_dtype)e->type.dtype)) return false;
  if (e->op == NW_OP_INT) return *out = e->i, true;
  if (e->op == NW_OP_VAR) return variable(v, e->name, out);
  if (e->op == NW_OP_SELECT) return eval(v, e->arg[0], &a) && eval(v, e->arg[a ? 1 : 2], out);
  if (e->n == 1) return eval(v, e->arg[0], &a) && unary((nw_op)e->op, a, out);
  return e->n == 2 && eval(v, e->arg[0], &a) && eval(v, e->arg[1], &b) && binary((nw_op)e->op, a, b, out);
}

bool nw_eval_size(const nw_expr *e, int n, const char *const *names, const int64_t *values, int64_t *out) {
  return eval(&(env){n, names, values}, e, out);
}
