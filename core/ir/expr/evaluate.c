// Evaluates integer expressions, for example the extents of tensors when a kernel is called.
#include "ir/expr/whole.h"

static bool variable(const nw_point *at, const char *name, int64_t *out) {
  for (int i = at->n - 1; i >= 0; i--)
    if (!strcmp(at->name[i], name)) return *out = at->value[i], true;
  return false;
}

static bool eval(const nw_expr *e, const nw_point *at, int64_t *out, bool *wraps);

// Evaluates `all` and `any`. One side may determine the result even if the other side cannot be evaluated.
static bool logic(const nw_expr *e, const nw_point *at, int64_t *out, bool *wraps) {
  int64_t a = 0, b = 0, stop = e->op == NW_OP_OR;
  bool ka = eval(e->arg[0], at, &a, wraps), kb = eval(e->arg[1], at, &b, wraps);
  if ((ka && a == stop) || (kb && b == stop)) return *out = stop, true;
  return ka && kb && (*out = !stop, true);
}

static bool eval(const nw_expr *e, const nw_point *at, int64_t *out, bool *wraps) {
  int64_t a = 0, b = 0;
  nw_dtype t = (nw_dtype)e->type.dtype;
  if (nw_dtype_is_float(t)) return false;
  switch (e->op) {
  case NW_OP_INT: return *out = e->i, true;
  case NW_OP_VAR: return variable(at, e->name, out);
  case NW_OP_AND:
  case NW_OP_OR: return logic(e, at, out, wraps);
  case NW_OP_SELECT: return eval(e->arg[0], at, &a, wraps) && eval(e->arg[a ? 1 : 2], at, out, wraps);
  case NW_OP_CAST: return eval(e->arg[0], at, &a, wraps) && (*out = nw_wrap(t, a), true);
  default: break;
  }
  if (e->n < 1 || e->n > 2 || !eval(e->arg[0], at, &a, wraps)) return false;
  if (e->n == 2 && !eval(e->arg[1], at, &b, wraps)) return false;
  nw_dtype of = (nw_dtype)e->arg[0]->type.dtype;
  return nw_whole_op((nw_op)e->op, of, t, a, b, out, t == NW_INDEX ? wraps : NULL);
}

bool nw_eval_int(const nw_expr *e, const nw_point *at, int64_t *out) {
  bool wraps = false;
  return eval(e, at, out, &wraps);
}

bool nw_eval_size(const nw_expr *e, int n, const char *const *names, const int64_t *values, int64_t *out) {
  bool wraps = false;
  return eval(e, &(nw_point){n, names, values}, out, &wraps) && !wraps;
}
