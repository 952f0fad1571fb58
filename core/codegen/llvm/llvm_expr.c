// Emits expressions. The memo keeps each value while it is valid. A select becomes a branch if its condition is a
// scalar and one of its values contains a load, a math function or a division by a variable.
#include "codegen/llvm/llvm.h"

nwc_region nwc_region_open(nwc *g) {
  nwc_function *f = g->f;
  nwc_region r = {nwc_memo_open(&f->memo), f->pure, f->loads};
  f->pure = f->loads = r.scope;
  return r;
}

void nwc_region_close(nwc *g, nwc_region r) {
  nwc_memo_close(&g->f->memo, r.scope);
  g->f->pure = r.pure;
  g->f->loads = r.loads;
}

static bool harmless(void *env, const nw_expr *e) {
  int64_t c;
  (void)env;
  if (e->op == NW_OP_LOAD || nw_op_has((nw_op)e->op, 'M')) return false;
  bool division = e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD;
  return !division || nw_is_int(e->arg[1], &c);
}

static LLVMValueRef branch_value(nwc *g, const nw_expr *e, LLVMBasicBlockRef at, LLVMBasicBlockRef join,
                                 LLVMBasicBlockRef *end) {
  nwc_at(g, at);
  nwc_region r = nwc_region_open(g);
  LLVMValueRef v = nwc_value(g, e);
  nwc_region_close(g, r);
  *end = nwc_here(g);
  LLVMBuildBr(g->b, join);
  return v;
}

static LLVMValueRef lazy_select(nwc *g, const nw_expr *e, LLVMValueRef cond) {
  LLVMBasicBlockRef yes = nwc_block(g, "yes"), no = nwc_block(g, "no"), join = nwc_block(g, ""), end[2];
  LLVMBuildCondBr(g->b, cond, yes, no);
  LLVMValueRef v[] = {branch_value(g, e->arg[1], yes, join, &end[0]), NULL};
  v[1] = branch_value(g, e->arg[2], no, join, &end[1]);
  nwc_at(g, join);
  LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(v[0]), "");
  LLVMAddIncoming(phi, v, end, 2);
  return phi;
}

// True if e may be evaluated although its branch is not selected: it is harmless, or was evaluated before.
static bool at_hand(nwc *g, const nw_expr *e) {
  bool loads;
  return nw_visit(e, harmless, NULL) || nwc_memo_get(&g->f->memo, e, &loads);
}

static LLVMValueRef select_value(nwc *g, const nw_expr *e) {
  LLVMValueRef cond = nwc_condition(g, e->arg[0], (nw_dtype)e->type.dtype);
  bool lazy = e->arg[0]->type.lanes == 1 && !(at_hand(g, e->arg[1]) && at_hand(g, e->arg[2]));
  if (lazy) return lazy_select(g, e, cond);
  LLVMValueRef a = nwc_value(g, e->arg[1]), b = nwc_value(g, e->arg[2]);
  return LLVMBuildSelect(g->b, cond, a, b, "");
}

LLVMValueRef nwc_condition(nwc *g, const nw_expr *e, nw_dtype data) {
  int outer = g->data_bits;
  g->data_bits = 8 * nw_dtype_bytes(data);
  LLVMValueRef v = nwc_value(g, e);
  g->data_bits = outer;
  return v;
}

static LLVMValueRef ramp_value(nwc *g, const nw_expr *e) {
  LLVMTypeRef elem = nwc_type(g, (nw_type){e->type.dtype, 1});
  int64_t stride;
  int lanes = e->type.lanes;
  LLVMValueRef base = nwc_splat(g, nwc_value(g, e->arg[0]), lanes), steps;
  if (nw_is_int(e->arg[1], &stride))
    steps = nwc_iota(g, elem, lanes, stride);
  else
    steps = LLVMBuildMul(g->b, nwc_splat(g, nwc_value(g, e->arg[1]), lanes), nwc_iota(g, elem, lanes, 1), "");
  return LLVMBuildAdd(g->b, base, steps, "");
}

static LLVMValueRef constant_value(nwc *g, const nw_expr *e) {
  LLVMTypeRef t = nwc_type(g, e->type);
  if (e->op == NW_OP_INT) return nwc_const_int(t, e->i);
  if (e->type.dtype == NW_F16 || e->type.dtype == NW_BF16) {
    nw_type f32 = {NW_F32, e->type.lanes};
    return nwc_cast(g, nwc_const_real(nwc_type(g, f32), e->f), f32, (nw_dtype)e->type.dtype);
  }
  return nwc_const_real(t, e->f);
}

static LLVMValueRef cast_value(nwc *g, const nw_expr *e) {
  return nwc_cast(g, nwc_value(g, e->arg[0]), e->arg[0]->type, (nw_dtype)e->type.dtype);
}

static LLVMValueRef emit(nwc *g, const nw_expr *e) {
  switch (e->op) {
  case NW_OP_INT:
  case NW_OP_FLOAT: return constant_value(g, e);
  case NW_OP_VAR: return nwc_lookup(g, e->name);
  case NW_OP_LOAD: return nwc_load(g, e);
  case NW_OP_SELECT: return select_value(g, e);
  case NW_OP_CAST: return cast_value(g, e);
  case NW_OP_REINTERPRET: return nwc_reinterpret(g, e);
  case NW_OP_LDEXP: return nwc_ldexp(g, e);
  case NW_OP_MANTISSA:
  case NW_OP_EXPONENT: return nwc_frexp(g, e);
  case NW_OP_RAMP: return ramp_value(g, e);
  case NW_OP_BROADCAST: return nwc_splat(g, nwc_value(g, e->arg[0]), e->type.lanes);
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return nwc_divide(g, (nw_op)e->op, e->type, nwc_value(g, e->arg[0]), e->arg[1]);
  case NW_OP_LT:
  case NW_OP_LE: return nwc_compare_lanes(g, e);
  case NW_OP_REDUCE: nwc_fail(g, "a reduction is left in the program"); return LLVMGetUndef(nwc_type(g, e->type));
  default: return nw_op_has((nw_op)e->op, 'M') ? nwc_math(g, e) : nwc_arith(g, e);
  }
}

LLVMValueRef nwc_value(nwc *g, const nw_expr *e) {
  if (e->op == NW_OP_VAR) return nwc_lookup(g, e->name);
  bool loads = false;
  LLVMValueRef v = nwc_memo_get(&g->f->memo, e, &loads);
  g->nloads += loads;
  if (v) return v;
  int before = g->nloads;
  v = emit(g, e);
  loads = g->nloads != before;
  nwc_memo_put(&g->f->memo, e, v, loads ? g->f->loads : g->f->pure, loads);
  return v;
}
