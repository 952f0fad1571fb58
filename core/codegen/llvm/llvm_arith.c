// Emits arithmetic. Integers wrap around, and division rounds down. No fast-math flag is used.
#include "codegen/llvm/llvm.h"

static bool half(nw_type t) { return t.dtype == NW_F16 || t.dtype == NW_BF16; }

static bool real(nw_type t) { return nw_dtype_is_float(t.dtype); }

// Replaces the divisor 0 by 1, and for signed numbers also the divisor -1. Inactive lanes may have the divisor 0, and a
// division by 0 traps. A division of the least number by -1 also traps, although the result must wrap around.
static LLVMValueRef safe_divisor(nwc *g, LLVMValueRef d, bool sign) {
  LLVMTypeRef t = LLVMTypeOf(d);
  LLVMValueRef bad = LLVMBuildICmp(g->b, LLVMIntEQ, d, nwc_const_int(t, 0), "");
  if (sign) bad = LLVMBuildOr(g->b, bad, LLVMBuildICmp(g->b, LLVMIntEQ, d, nwc_const_int(t, -1), ""), "");
  return LLVMBuildSelect(g->b, bad, nwc_const_int(t, 1), d, "");
}

// Emits the condition under which the quotient must be decremented: the remainder is not 0, and its sign differs from
// the divisor's.
static LLVMValueRef needs_fix(nwc *g, LLVMValueRef r, LLVMValueRef d) {
  LLVMValueRef zero = nwc_const_int(LLVMTypeOf(r), 0);
  LLVMValueRef some = LLVMBuildICmp(g->b, LLVMIntNE, r, zero, "");
  LLVMValueRef apart = LLVMBuildICmp(g->b, LLVMIntSLT, LLVMBuildXor(g->b, r, d, ""), zero, "");
  if (NW_MUTATED(quotient_truncates)) some = LLVMBuildICmp(g->b, LLVMIntNE, zero, zero, "");
  return LLVMBuildAnd(g->b, some, apart, "");
}

static LLVMValueRef divide_signed(nwc *g, nw_op op, LLVMValueRef a, LLVMValueRef d, bool constant) {
  LLVMBuilderRef b = g->b;
  LLVMValueRef safe = constant ? d : safe_divisor(g, d, true), zero = nwc_const_int(LLVMTypeOf(a), 0);
  LLVMValueRef q = LLVMBuildSDiv(b, a, safe, ""), r = LLVMBuildSub(b, a, LLVMBuildMul(b, q, safe, ""), "");
  LLVMValueRef fix = needs_fix(g, r, safe), result;
  if (op == NW_OP_FLOORDIV)
    result = LLVMBuildAdd(b, q, LLVMBuildSExt(b, fix, LLVMTypeOf(a), ""), "");
  else
    result = LLVMBuildAdd(b, r, LLVMBuildSelect(b, fix, safe, zero, ""), "");
  if (constant || NW_MUTATED(minus_one_divides)) return result;
  LLVMValueRef minus = LLVMBuildICmp(b, LLVMIntEQ, d, nwc_const_int(LLVMTypeOf(d), -1), "");
  return LLVMBuildSelect(b, minus, op == NW_OP_FLOORDIV ? LLVMBuildNeg(b, a, "") : zero, result, "");
}

static LLVMValueRef divide_unsigned(nwc *g, nw_op op, LLVMValueRef a, LLVMValueRef d, bool constant) {
  LLVMValueRef safe = constant ? d : safe_divisor(g, d, false);
  return op == NW_OP_FLOORDIV ? LLVMBuildUDiv(g->b, a, safe, "") : LLVMBuildURem(g->b, a, safe, "");
}

static LLVMValueRef divide_real(nwc *g, nw_op op, LLVMValueRef a, LLVMValueRef d) {
  LLVMValueRef q = nwc_intrinsic1(g, "llvm.floor", LLVMBuildFDiv(g->b, a, d, ""));
  if (op == NW_OP_FLOORDIV) return q;
  return LLVMBuildFSub(g->b, a, LLVMBuildFMul(g->b, q, d, ""), "");
}

static bool constant_divisor(const nw_expr *e, int64_t *c) {
  return nw_is_int(e->op == NW_OP_BROADCAST ? e->arg[0] : e, c);
}

// Emits a division by the power of two c: a shift for the quotient, a bit mask for the remainder. Both round down.
static LLVMValueRef divide_power(nwc *g, nw_op op, nw_type t, LLVMValueRef a, int64_t c) {
  LLVMTypeRef type = LLVMTypeOf(a);
  if (op == NW_OP_FLOORMOD) return LLVMBuildAnd(g->b, a, nwc_const_int(type, c - 1), "");
  LLVMValueRef by = nwc_const_int(type, __builtin_ctzll((unsigned long long)c));
  return nw_dtype_is_signed(t.dtype) ? LLVMBuildAShr(g->b, a, by, "") : LLVMBuildLShr(g->b, a, by, "");
}

LLVMValueRef nwc_divide(nwc *g, nw_op op, nw_type t, LLVMValueRef a, const nw_expr *divisor) {
  int64_t c;
  bool constant = constant_divisor(divisor, &c) && c != 0 && c != -1;
  if (!real(t) && constant && c > 0 && (c & (c - 1)) == 0) return divide_power(g, op, t, a, c);
  LLVMValueRef d = nwc_value(g, divisor);
  if (real(t)) return divide_real(g, op, a, d);
  return nw_dtype_is_signed(t.dtype) ? divide_signed(g, op, a, d, constant) : divide_unsigned(g, op, a, d, constant);
}

static LLVMValueRef absolute(nwc *g, bool sign, LLVMValueRef a) {
  if (!sign) return a;
  LLVMTypeRef type = LLVMTypeOf(a);
  LLVMValueRef args[] = {a, LLVMConstInt(LLVMInt1TypeInContext(g->lc), 0, false)};
  return nwc_intrinsic(g, "llvm.abs", 1, &type, 2, args);
}

// Emits the condition that a shift does not shift out all bits: its count, as an unsigned number, is less than the width.
static LLVMValueRef count_within(nwc *g, LLVMValueRef n) {
  LLVMTypeRef t = LLVMTypeOf(n), one = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
  return LLVMBuildICmp(g->b, LLVMIntULT, n, nwc_const_int(t, LLVMGetIntTypeWidth(one)), "");
}

static LLVMValueRef shift_left(nwc *g, bool sign, LLVMValueRef a, LLVMValueRef n) {
  (void)sign;
  LLVMValueRef moved = LLVMBuildShl(g->b, a, n, "");
  if (NW_MUTATED(shift_unguarded)) return moved;
  return LLVMBuildSelect(g->b, count_within(g, n), moved, nwc_const_int(LLVMTypeOf(a), 0), "");
}

// An arithmetic shift by width - 1 gives 0, or -1 for a negative number, as a shift by a count out of range does.
static LLVMValueRef shift_right(nwc *g, bool sign, LLVMValueRef a, LLVMValueRef n) {
  LLVMTypeRef t = LLVMTypeOf(a), one = LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
  LLVMValueRef most = nwc_const_int(t, LLVMGetIntTypeWidth(one) - 1);
  if (sign) return LLVMBuildAShr(g->b, a, LLVMBuildSelect(g->b, count_within(g, n), n, most, ""), "");
  return LLVMBuildSelect(g->b, count_within(g, n), LLVMBuildLShr(g->b, a, n, ""), nwc_const_int(t, 0), "");
}

static LLVMValueRef intrinsic(nwc *g, const char *name, int n, LLVMValueRef *x) {
  LLVMTypeRef t = LLVMTypeOf(x[0]);
  return nwc_intrinsic(g, name, 1, &t, n, x);
}

// These macros emit the code for the entries in the LLVM columns of ops.def. SPECIAL and MATH stand for operations that
// other files emit, NONE for operations that do not exist for the type.
#define BUILD1(kind) return LLVMBuild##kind(g->b, x[0], "")
#define BUILD2(kind) return LLVMBuild##kind(g->b, x[0], x[1], "")
#define SPECIAL return NULL
#define MATH return NULL
#define NONE return NULL

#define INTRINSIC(name) return intrinsic(g, name, n, x)
#define EITHER(with_sign, without) return intrinsic(g, sign ? with_sign : without, n, x)
#define COMPARE(with_sign, without)                                                                                    \
  return LLVMBuildICmp(g->b, sign || NW_MUTATED(order_is_signed) ? LLVMInt##with_sign : LLVMInt##without, x[0], x[1],  \
                       "")
#define OWN(function) return function(g, sign, x[0])
#define OWN2(function) return function(g, sign, x[0], x[1])
static LLVMValueRef of_integers(nwc *g, nw_op op, bool sign, int n, LLVMValueRef *x) {
  switch (op) {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ulp, llvm_whole, ...)                                                                            \
  case NW_OP_##id: {                                                                                                   \
    llvm_whole;                                                                                                        \
  }
#include "ir/ops.def"
  default: return NULL;
  }
}
#undef COMPARE
#undef INTRINSIC

static const char *mutated(const char *name) {
  return NW_MUTATED(minimum_drops_nan) && !strcmp(name, "llvm.minimum") ? "llvm.minnum" : name;
}

#define INTRINSIC(name) return intrinsic(g, mutated(name), n, x)
#define COMPARE(predicate)                                                                                             \
  return LLVMBuildFCmp(                                                                                                \
      g->b, LLVMReal##predicate == LLVMRealUNE && NW_MUTATED(nan_is_equal) ? LLVMRealONE : LLVMReal##predicate, x[0],  \
      x[1], "")
static LLVMValueRef of_floats(nwc *g, nw_op op, int n, LLVMValueRef *x) {
  switch (op) {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ulp, llvm_whole, llvm_real, ...)                                                                 \
  case NW_OP_##id: {                                                                                                   \
    llvm_real;                                                                                                         \
  }
#include "ir/ops.def"
  default: return NULL;
  }
}

static LLVMValueRef plain(nwc *g, nw_op op, nw_type t, LLVMValueRef *args, int n) {
  if (real(t)) return of_floats(g, op, n, args);
  return of_integers(g, op, t.dtype != NW_BOOL && nw_dtype_is_signed(t.dtype), n, args);
}

// Operations on 16-bit floats are computed in f32 and rounded.
LLVMValueRef nwc_arith(nwc *g, const nw_expr *e) {
  LLVMValueRef args[3], v = nwc_extreme(g, e);
  if (v) return v;
  nw_type t = e->arg[0]->type;
  bool narrow = half(t);
  for (int i = 0; i < e->n; i++) {
    args[i] = nwc_value(g, e->arg[i]);
    if (narrow) args[i] = nwc_cast(g, args[i], t, NW_F32);
  }
  if (narrow) t.dtype = NW_F32;
  v = plain(g, (nw_op)e->op, t, args, e->n);
  if (!v) return nwc_fail(g, "no code for %s", nw_op_name((nw_op)e->op)), LLVMGetUndef(nwc_type(g, e->type));
  return narrow && half(e->type) ? nwc_cast(g, v, t, e->type.dtype) : v;
}
