// Integer expressions evaluated on numbers: for witnesses and for deciding small cases by trying every point.
#include "te/eval.h"
#include "ir/expr/fold.h"

static bool lookup(const nw_point *at, const char *name, int64_t *out) {
  for (int i = at->n - 1; i >= 0; i--)
    if (!strcmp(at->name[i], name)) return *out = at->value[i], true;
  return false;
}

static bool divide(nw_op op, int64_t a, int64_t b, int64_t *out) {
  if (!b) return false;
  if (b == -1) return *out = op == NW_OP_FLOORDIV ? (int64_t) - (uint64_t)a : 0, true;
  return *out = op == NW_OP_FLOORDIV ? nw_floordiv_i64(a, b) : nw_floormod_i64(a, b), true;
}

static bool binary(nw_op op, int64_t a, int64_t b, int64_t *out) {
  uint64_t x = (uint64_t)a, y = (uint64_t)b;
  switch (op) {
  case NW_OP_ADD: return *out = (int64_t)(x + y), true;
  case NW_OP_SUB: return *out = (int64_t)(x - y), true;
  case NW_OP_MUL: return *out = (int64_t)(x * y), true;
  case NW_OP_MIN: return *out = a < b ? a : b, true;
  case NW_OP_MAX: return *out = a > b ? a : b, true;
  case NW_OP_LT: return *out = a < b, true;
  case NW_OP_LE: return *out = a <= b, true;
  case NW_OP_EQ: return *out = a == b, true;
  case NW_OP_NE: return *out = a != b, true;
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return divide(op, a, b, out);
  default: return false;
  }
}

static bool logic(const nw_expr *e, const nw_point *at, int64_t *out) {
  int64_t a = 0, b = 0;
  bool ka = nw_eval_int(e->arg[0], at, &a), kb = nw_eval_int(e->arg[1], at, &b);
  bool stop = e->op == NW_OP_OR; // the value that decides alone
  if ((ka && !!a == stop) || (kb && !!b == stop)) return *out = stop, true;
  return ka && kb && (*out = !stop, true);
}

static bool unary(const nw_expr *e, int64_t a, int64_t *out) {
  switch (e->op) {
  case NW_OP_NEG: return *out = nw_wrap(e->type.dtype, (int64_t) - (uint64_t)a), true;
  case NW_OP_ABS: return *out = nw_wrap(e->type.dtype, a < 0 ? (int64_t) - (uint64_t)a : a), true;
  case NW_OP_NOT: return *out = !a, true;
  case NW_OP_CAST: return *out = nw_wrap(e->type.dtype, a), true;
  default: return false;
  }
}

// False when e holds a read, a float, an unknown variable or a division by zero on the way.
bool nw_eval_int(const nw_expr *e, const nw_point *at, int64_t *out) {
  int64_t a = 0, b = 0;
  if (nw_dtype_is_float(e->type.dtype)) return false;
  switch (e->op) {
  case NW_OP_INT: return *out = e->i, true;
  case NW_OP_VAR: return lookup(at, e->name, out);
  case NW_OP_AND:
  case NW_OP_OR: return logic(e, at, out);
  case NW_OP_SELECT: return nw_eval_int(e->arg[0], at, &a) && nw_eval_int(e->arg[a ? 1 : 2], at, out);
  default: break;
  }
  if (e->n == 1) return nw_eval_int(e->arg[0], at, &a) && unary(e, a, out);
  if (e->n != 2 || e->op == NW_OP_LOAD || e->op == NW_OP_REDUCE) return false;
  if (!nw_eval_int(e->arg[0], at, &a) || !nw_eval_int(e->arg[1], at, &b) || !binary(e->op, a, b, out)) return false;
  *out = nw_wrap(e->type.dtype, *out);
  return true;
}
