// Evaluates each operation on cells (node.h). Integers wrap to their dtype. Operations are never contracted to an fma
// or reordered.
#include "interp/node.h"
#include "ir/expr/whole.h"

// Defines a function that evaluates an operation on cells of one kind. `get` returns the value of a cell. The expression
// for the result is in the given column of ops.def.
#define NW_EVAL(name, type, get, column, arity)                                                                        \
  static void name(nwi_run *r, nwi_node *n) {                                                                          \
    const nwi_cell *x = nwi_get(r, n->arg[0]), *y = (arity) > 1 ? nwi_get(r, n->arg[1]) : x;                           \
    const nwi_cell *z = (arity) > 2 ? nwi_get(r, n->arg[2]) : x;                                                       \
    nw_dtype t = (nw_dtype)n->arg[0]->dtype;                                                                           \
    for (int l = 0; l < n->lanes; l++) {                                                                               \
      type a = get(x[l]), b = get(y[l]), c = get(z[l]);                                                                \
      (void)a, (void)b, (void)c, (void)t;                                                                              \
      column;                                                                                                          \
    }                                                                                                                  \
  }

// ---- integers

#define VALUE(e) n->v[l].i = nw_wrap((nw_dtype)n->dtype, (int64_t)(e))
#define NONZERO(e) n->v[l].i = b ? nw_wrap((nw_dtype)n->dtype, (int64_t)(e)) : divided_by_zero(r)
#define NONE (void)n

static int64_t divided_by_zero(nwi_run *r) { return nwi_fail(r, NW_ERANGE, "integer division by zero"), 0; }

#define GET(cell) nw_number(t, (cell).i)
#define NW_OP(id, name, arity, types, sign, prec, whole, ...) NW_EVAL(id##_i, __int128, GET, whole, arity)
#include "ir/ops.def"
#undef GET
#undef VALUE
#undef NONZERO

// ---- floats

#define TYPED(e) VALUE(e)
#define WHOLE(e) n->v[l].i = (e)

#define F(name) name##f
#define VALUE(e) n->v[l].f = (e)
#define GET(cell) (cell).f
#define NW_OP(id, name, arity, types, sign, prec, whole, real, ...) NW_EVAL(id##_f, float, GET, real, arity)
#include "ir/ops.def"
#undef F
#undef GET
#undef VALUE

#define F(name) name
#define VALUE(e) n->v[l].d = (e)
#define GET(cell) (cell).d
#define NW_OP(id, name, arity, types, sign, prec, whole, real, ...) NW_EVAL(id##_d, double, GET, real, arity)
#include "ir/ops.def"
#undef F
#undef GET
#undef VALUE
#undef TYPED
#undef WHOLE
#undef NONE

// ---- the table

#define VALUE(e) true
#define NONZERO(e) true
#define TYPED(e) true
#define WHOLE(e) true
#define NONE false
static const struct {
  nwi_eval whole, single, wide;
} evals[NW_OP_COUNT] = {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, ...)                                                    \
  [NW_OP_##id] = {whole ? id##_i : NULL, real ? id##_f : NULL, real ? id##_d : NULL},
#include "ir/ops.def"
};

nwi_eval nwi_int_op(nw_op op) { return evals[op].whole; }

nwi_eval nwi_float_op(nw_op op, nw_dtype t) {
  if (nw_op_has(op, 'M')) return nwi_eval_math;
  return t == NW_F64 ? evals[op].wide : evals[op].single;
}

// Applies each row of the plan (nw_math_plan) to its part of the lanes. f16 and bf16 are computed in f32.
void nwi_eval_math(nwi_run *r, nwi_node *n) {
  const nwi_cell *a = nwi_get(r, n->arg[0]), *b = n->nargs > 1 ? nwi_get(r, n->arg[1]) : NULL;
  int at = 0;
  for (int k = 0; k < n->nrows; k++) {
    const nw_math_row *row = n->row[k];
    float fa[16], fb[16], fo[16];
    double da[8], db[8], dout[8];
    bool wide = row->dtype == NW_F64;
    for (int l = 0; l < row->lanes; l++) {
      if (wide)
        da[l] = a[at + l].d, db[l] = b ? b[at + l].d : 0;
      else
        fa[l] = a[at + l].f, fb[l] = b ? b[at + l].f : 0;
    }
    if (wide)
      row->apply(dout, da, db);
    else
      row->apply(fo, fa, fb);
    for (int l = 0; l < row->lanes; l++) {
      if (wide)
        n->v[at + l].d = dout[l];
      else
        n->v[at + l].f = fo[l];
    }
    at += row->lanes;
  }
}
