// Emits minimum and maximum of floats on x86, and on a GPU without an instruction for them. The result is NaN if an operand is NaN, and -0 is less than +0.
//
// x86 has no such instruction, but one that computes a < b ? a : b. Let p be its result for (a, b), and q for (b, a).
// The minimum is p | q, the union of their bits:
// * If a and b are equal, p and q are a and b in some order. They have the same bits unless they are zeros. If one of
//   them is -0, so is the union.
// * If one of a and b is NaN, p and q are a and b in some order, too. The union is NaN: its exponent is that of NaN,
//   and its fraction is not 0.
// * Otherwise p and q are both the minimum.
//
// A maximum is the negative of the minimum of the negatives. Inside a maximum, the negative of a maximum is used as it
// is, so only the first operands and the last result are negated. LLVM would move the negations into the comparisons,
// and would then no longer recognize the instruction. So llvm.arithmetic.fence hides them.
//
// LLVM's own code for llvm.minimum swaps the operands by their signs, and tests for NaN afterwards. Its chain of
// dependent instructions is longer, and with AVX-512 the tests move masks between vectors and mask registers.
#include "codegen/llvm/llvm.h"

// Emits a < b ? a : b.
static LLVMValueRef lesser(nwc *g, LLVMValueRef a, LLVMValueRef b) {
  return LLVMBuildSelect(g->b, LLVMBuildFCmp(g->b, LLVMRealOLT, a, b, ""), a, b, "");
}

static LLVMValueRef least(nwc *g, nw_type t, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef words = nwc_int_type(g, 8 * nw_dtype_bytes((nw_dtype)t.dtype), t.lanes);
  LLVMValueRef p = lesser(g, a, b), q = lesser(g, b, a);
  if (NW_MUTATED(minimum_drops_nan)) return p;
  LLVMValueRef x = LLVMBuildBitCast(g->b, p, words, ""), y = LLVMBuildBitCast(g->b, q, words, "");
  return LLVMBuildBitCast(g->b, LLVMBuildOr(g->b, x, y, ""), nwc_type(g, t), "");
}

// Returns the value of -e. The memo finds it again.
static LLVMValueRef negative(nwc *g, const nw_expr *e) {
  return nwc_intrinsic1(g, "llvm.arithmetic.fence", nwc_value(g, nw_make1(e->pool, NW_OP_NEG, e)));
}

// True if the code of this file is better than LLVM's own. A GPU has an instruction for f32 from capability 8.0 on.
static bool pays(const nwc *g, nw_type t) {
  if (t.dtype != NW_F32 && t.dtype != NW_F64) return false;
  if (g->kernel) return t.dtype == NW_F64 || nwc_capability(g->p->target) < 80;
  return g->p->target->machine.isa == NW_ISA_X86_64;
}

LLVMValueRef nwc_extreme(nwc *g, const nw_expr *e) {
  nw_type t = e->type;
  if (!pays(g, t)) return NULL;
  if (e->op == NW_OP_MIN) return least(g, t, nwc_value(g, e->arg[0]), nwc_value(g, e->arg[1]));
  const nw_expr *of = e->op == NW_OP_NEG ? e->arg[0] : e;
  if (of->op != NW_OP_MAX) return NULL;
  if (e->op == NW_OP_NEG) return least(g, t, negative(g, of->arg[0]), negative(g, of->arg[1]));
  return LLVMBuildFNeg(g->b, nwc_value(g, nw_make1(e->pool, NW_OP_NEG, e)), "");
}
