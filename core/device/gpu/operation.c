// Chooses the instruction for an operation. The most frequent operations have instructions of their own; any other is
// evaluated by the interpreter's function, so that all results are the same bits as those of the interpreter.
#include "device/gpu/compile.h"
#include "ir/ops.h"

static bool is_wide(nw_dtype t) { return t == NW_I64 || t == NW_U64; }

// Wraps the 64-bit numbers of a register to the dtype.
static uint32_t wrapped(nwg_compiling *c, nw_dtype t, int n, uint32_t reg) {
  if (is_wide(t)) return reg;
  uint32_t dst = nwg_register(c, t, n);
  nwg_emit(c, NWG_WRAP, n, dst, reg, 0)->i = t;
  return dst;
}

static nw_class class_of(const nw_expr *e) {
  nw_dtype of = (nw_dtype)e->arg[0]->type.dtype;
  nw_class k = nw_op_class((nw_op)e->op, nw_dtype_is_float(of));
  return of == NW_F64 && k != NW_CLASS_NONE ? nw_class_of_f64(k) : k;
}

static nwg_instr *simple(nwg_compiling *c, const nw_expr *e, nwg_op op, const uint32_t *arg) {
  nwg_instr *in = nwg_emit(c, op, e->type.lanes, 0, arg[0], e->n > 1 ? arg[1] : 0);
  in->c = e->n > 2 ? arg[2] : 0;
  in->class = (uint8_t)class_of(e);
  in->dst = nwg_register(c, (nw_dtype)e->type.dtype, e->type.lanes);
  return in;
}

// ---- integers

static int whole_op(nw_op op) {
  switch (op) {
  case NW_OP_ADD: return NWG_ADD;
  case NW_OP_SUB: return NWG_SUB;
  case NW_OP_MUL: return NWG_MUL;
  case NW_OP_FLOORDIV: return NWG_DIV;
  case NW_OP_FLOORMOD: return NWG_MOD;
  case NW_OP_MIN: return NWG_MIN;
  case NW_OP_MAX: return NWG_MAX;
  case NW_OP_LT: return NWG_LT;
  case NW_OP_LE: return NWG_LE;
  case NW_OP_EQ: return NWG_EQ;
  case NW_OP_NE: return NWG_NE;
  case NW_OP_AND: return NWG_AND;
  case NW_OP_OR: return NWG_OR;
  case NW_OP_NOT: return NWG_NOT;
  case NW_OP_NEG: return NWG_NEG;
  default: return -1;
  }
}

static nwg_op by_constant(nwg_op op) {
  return op == NWG_ADD ? NWG_ADD_BY : op == NWG_MUL ? NWG_MUL_BY : op == NWG_DIV ? NWG_DIV_BY : NWG_MOD_BY;
}

int nwg_constant_operand(const nw_expr *e) {
  if (e->n != 2 || e->type.lanes != 1 || nw_dtype_is_float((nw_dtype)e->arg[0]->type.dtype)) return -1;
  bool second = e->arg[1]->op == NW_OP_INT, first = e->arg[0]->op == NW_OP_INT;
  bool divides = e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD;
  if (divides) return second && e->arg[1]->i != 0 && e->arg[0]->type.dtype != NW_U64 ? 1 : -1;
  if (e->op != NW_OP_ADD && e->op != NW_OP_MUL) return -1;
  return second ? 1 : first ? 0 : -1;
}

static uint32_t whole(nwg_compiling *c, const nw_expr *e, const uint32_t *arg, nwg_op op) {
  int at = nwg_constant_operand(e);
  if (at < 0) return wrapped(c, (nw_dtype)e->type.dtype, e->type.lanes, simple(c, e, op, arg)->dst);
  int64_t by = e->arg[at]->i;
  bool shifts = op == NWG_MUL && by > 0 && !(by & (by - 1));
  nwg_instr *in = simple(c, e, shifts ? NWG_SHIFT_BY : by_constant(op), (uint32_t[]){arg[1 - at], 0});
  in->i = shifts ? __builtin_ctzll((uint64_t)by) : by;
  return wrapped(c, (nw_dtype)e->type.dtype, e->type.lanes, in->dst);
}

// ---- floats

static int real_op(nw_op op, bool wide) {
  switch (op) {
  case NW_OP_ADD: return wide ? NWG_ADD_D : NWG_ADD_F;
  case NW_OP_SUB: return wide ? NWG_SUB_D : NWG_SUB_F;
  case NW_OP_MUL: return wide ? NWG_MUL_D : NWG_MUL_F;
  case NW_OP_DIV: return wide ? NWG_DIV_D : NWG_DIV_F;
  case NW_OP_NEG: return wide ? NWG_NEG_D : NWG_NEG_F;
  case NW_OP_FMA: return wide ? NWG_FMA_D : NWG_FMA_F;
  case NW_OP_LT: return wide ? NWG_LT_D : NWG_LT_F;
  case NW_OP_LE: return wide ? NWG_LE_D : NWG_LE_F;
  case NW_OP_EQ: return wide ? NWG_EQ_D : NWG_EQ_F;
  default: return -1;
  }
}

// ---- other operations

static nwi_eval eval_of(const nw_expr *e) {
  nw_dtype in = (nw_dtype)e->arg[0]->type.dtype;
  if (e->op == NW_OP_CAST) return nwi_cast_op(in, (nw_dtype)e->type.dtype);
  if (e->op == NW_OP_REINTERPRET) return nwi_reinterpret_op(in, (nw_dtype)e->type.dtype);
  if (e->op == NW_OP_LDEXP) return nwi_eval_ldexp;
  return nw_dtype_is_float(in) ? nwi_float_op((nw_op)e->op, in) : nwi_int_op((nw_op)e->op);
}

// Sets the rows of a math function for the elements of one lane, as the interpreter does for a thread.
static void set_rows(nwg_compiling *c, const nw_expr *e, nwg_call *call) {
  nw_dtype of = (nw_dtype)e->arg[0]->type.dtype, t = e->type.dtype == NW_F64 ? NW_F64 : NW_F32;
  if (!nw_dtype_is_float(of) || !nw_op_has((nw_op)e->op, 'M')) return;
  call->row = NW_NEW_N(c->arena, const nw_math_row *, e->type.lanes + 1);
  call->nrows = nw_math_plan(c->features, (nw_op)e->op, t, e->type.lanes, call->row);
}

static uint32_t called(nwg_compiling *c, const nw_expr *e, const uint32_t *arg) {
  nwg_call *call = NW_NEW(c->arena, nwg_call);
  *call = (nwg_call){.eval = eval_of(e), .dtype = e->type.dtype, .nargs = e->n, .expr = e};
  if (!call->eval)
    return nw_fail(c->ctx, NW_EINVAL, NULL, "the simulated GPU cannot run '%s' on %s", nw_op_name((nw_op)e->op),
                   nw_dtype_name((nw_dtype)e->arg[0]->type.dtype)),
           0;
  for (int i = 0; i < e->n; i++) call->of[i] = e->arg[i]->type.dtype;
  set_rows(c, e, call);
  call->divides = (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && !nw_dtype_is_float(call->of[0]);
  nwg_instr *in = simple(c, e, NWG_CALL, arg);
  in->call = call;
  return in->dst;
}

static uint32_t cast(nwg_compiling *c, const nw_expr *e, const uint32_t *arg) {
  nw_dtype from = (nw_dtype)e->arg[0]->type.dtype, to = (nw_dtype)e->type.dtype;
  bool real = nw_dtype_is_float(from), real_to = nw_dtype_is_float(to);
  if (real && to == NW_F32 && from != NW_F64) return arg[0];
  if (real && to == NW_F64) return from == NW_F64 ? arg[0] : simple(c, e, NWG_WIDEN, arg)->dst;
  if (!real && !real_to) return wrapped(c, to, e->type.lanes, arg[0]);
  return called(c, e, arg);
}

// Returns a scalar register with its number repeated for each element of a lane.
static uint32_t spread(nwg_compiling *c, nw_dtype t, int n, uint32_t reg) {
  uint32_t dst = nwg_register(c, t, n);
  nwg_emit(c, nwg_size_of(t) == 4 ? NWG_SPREAD_F : NWG_SPREAD, n, dst, reg, 0);
  return dst;
}

static uint32_t selected(nwg_compiling *c, const nw_expr *e, const uint32_t *arg) {
  nw_dtype t = (nw_dtype)e->type.dtype;
  int n = e->type.lanes;
  uint32_t all[3] = {arg[0], arg[1], arg[2]};
  if (n > 1 && e->arg[0]->type.lanes == 1) all[0] = spread(c, NW_BOOL, n, arg[0]);
  nwg_instr *in = simple(c, e, nwg_size_of(t) == 4 ? NWG_SELECT_F : NWG_SELECT, all);
  in->class = (uint8_t)nw_op_class(NW_OP_SELECT, nw_dtype_is_float(t));
  return in->dst;
}

uint32_t nwg_operation(nwg_compiling *c, const nw_expr *e, const uint32_t *arg) {
  nw_dtype of = (nw_dtype)e->arg[0]->type.dtype, t = (nw_dtype)e->type.dtype;
  int n = e->type.lanes;
  switch (e->op) {
  case NW_OP_SELECT: return selected(c, e, arg);
  case NW_OP_CAST: return cast(c, e, arg);
  case NW_OP_BROADCAST: return spread(c, t, n, arg[0]);
  case NW_OP_RAMP: return wrapped(c, t, n, simple(c, e, NWG_RAMP, arg)->dst);
  default: break;
  }
  if (nw_dtype_is_float(of)) {
    int op = real_op((nw_op)e->op, of == NW_F64);
    return op < 0 ? called(c, e, arg) : simple(c, e, (nwg_op)op, arg)->dst;
  }
  int op = whole_op((nw_op)e->op);
  bool ordered = op == NWG_DIV || op == NWG_MOD || op == NWG_MIN || op == NWG_MAX || op == NWG_LT || op == NWG_LE;
  return op < 0 || (of == NW_U64 && ordered) ? called(c, e, arg) : whole(c, e, arg, (nwg_op)op);
}
