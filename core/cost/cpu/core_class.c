// Finds the instructions of expressions.
#include "cost/cpu/core_class.h"
#include "interp/interp.h" // nw_math_plan
#include "ir/ops.h"

bool nw_core_is_address(const nw_expr *e) { return e->type.dtype == NW_INDEX && e->type.lanes == 1; }

static bool is_float(const nw_expr *e) { return nw_dtype_is_float((nw_dtype)e->type.dtype); }

static bool constant_value(const nw_expr *e, int64_t *v) {
  return nw_is_int(e->op == NW_OP_BROADCAST ? e->arg[0] : e, v);
}

// Returns the class of an integer division. A division by a constant is a multiplication or a shift.
static nw_class class_of_division(const nw_expr *e) {
  int64_t by;
  if (!constant_value(e->arg[1], &by)) return NW_CLASS_INTDIV;
  return by > 0 && (by & (by - 1)) == 0 ? NW_CLASS_INT : NW_CLASS_INTMUL;
}

static bool folds_into_load(const nw_expr *e) { // for a broadcast e
  return e->arg[0]->op == NW_OP_LOAD || e->arg[0]->op == NW_OP_INT || e->arg[0]->op == NW_OP_FLOAT;
}

nw_class nw_core_class(const nw_expr *e) {
  bool real = is_float(e) || (e->n && is_float(e->arg[0]));
  nw_class c = nw_op_class((nw_op)e->op, real);
  if (c == NW_CLASS_INTDIV) return class_of_division(e);
  if (e->op == NW_OP_BROADCAST && folds_into_load(e)) return NW_CLASS_NONE;
  return e->type.dtype == NW_F64 ? nw_class_of_f64(c) : c;
}

static int64_t bytes_of(nw_type t) { return (int64_t)t.lanes * nw_dtype_bytes((nw_dtype)t.dtype); }

int nw_core_width(const nw_machine *m, nw_type t) {
  if (t.lanes == 1) return 0;
  int64_t bytes = bytes_of(t);
  return nw_width_of(bytes < m->vector_bytes ? bytes : m->vector_bytes);
}

// Counts the pieces into which codegen/llvm/llvm_pieces.c splits a vector. The pieces are whole registers, and then
// powers of two for the remaining lanes.
int nw_core_pieces(const nw_machine *m, nw_type t) {
  int most = (int)m->vector_bytes / nw_dtype_bytes((nw_dtype)t.dtype);
  return t.lanes / most + __builtin_popcount((unsigned)(t.lanes % most));
}

double nw_core_latency(const nw_machine *m, const nw_expr *e) {
  nw_class c = nw_core_class(e);
  return c == NW_CLASS_COUNT ? 0 : m->op[c].latency;
}

// Returns the type that determines the width of the instructions. This is the type of the operands if they are wider
// than the result, as in a comparison. Otherwise it is the type of the result.
static nw_type type_of_work(const nw_expr *e) {
  bool wide = e->n && bytes_of(e->arg[0]->type) > bytes_of(e->type) && e->arg[0]->type.lanes == e->type.lanes;
  return wide ? e->arg[0]->type : e->type;
}

static bool is_call(const nw_expr *e) { return nw_op_has((nw_op)e->op, 'M'); }

static void add_calls(const nw_machine *m, nw_core_ops *to, const nw_expr *e, nw_class c) {
  const nw_math_row *rows[NW_LANES_ROOM];
  int n = nw_math_plan(nw_machine_features(m), (nw_op)e->op, (nw_dtype)e->type.dtype, e->type.lanes, rows);
  for (int i = 0; i < n; i++) {
    nw_type t = {e->type.dtype, (uint16_t)rows[i]->lanes};
    to->op[c][nw_core_width(m, t)]++;
  }
}

// True if the machine has no vector instructions for this class, of this width or of a smaller width.
static bool one_by_one(const nw_machine *m, nw_class c, int width) {
  while (width > 0 && !(m->op[c].per_cycle[width] > 0)) width--;
  return width == 0;
}

int nw_core_bits(nw_dtype t) {
  int bytes = nw_dtype_bytes(t), bits = 0;
  while (bytes > 1) bytes /= 2, bits++;
  return bits;
}

void nw_core_add_op(const nw_machine *m, nw_core_ops *to, const nw_expr *e) {
  nw_class c = nw_core_class(e);
  if (c == NW_CLASS_COUNT) return;
  nw_type t = type_of_work(e);
  to->numbers[c][nw_core_bits((nw_dtype)t.dtype)] += t.lanes;
  if (is_call(e)) return add_calls(m, to, e, c);
  int width = nw_core_width(m, t);
  if (one_by_one(m, c, width))
    to->op[c][0] += t.lanes;
  else
    to->op[c][width] += nw_core_pieces(m, t);
}
