// Emits comparisons of vectors of indices, such as ramp(16*k, 1, 16) < broadcast(n, 16). An index has 64 bits. A mask
// for smaller elements is cheaper if it is compared in their width. Such a comparison says in which lanes l a sum first
// + step*l is not negative. So the code compares the constant step*l with the scalar `first`, clamped to the range of
// the constants.
#include "codegen/llvm/llvm.h"

enum { LEAST_BITS = 8, USUAL_BITS = 32, INDEX_BITS = 64 };

// Returns the bits in which numbers up to `most` can be compared, as integers with a sign. Returns 64 if they are too
// large for less.
static int bits_for(const nwc *g, int64_t most) {
  int bits = g->data_bits ? g->data_bits : USUAL_BITS;
  if (bits < LEAST_BITS) bits = LEAST_BITS;
  while (bits < INDEX_BITS && most >> (bits - 1)) bits *= 2;
  return bits;
}

static LLVMValueRef clamped(nwc *g, LLVMValueRef v, int64_t most) {
  LLVMValueRef low = nwc_intrinsic2(g, "llvm.smax", v, nwc_i64(g, 0));
  return nwc_intrinsic2(g, "llvm.smin", low, nwc_i64(g, most));
}

LLVMValueRef nwc_compare_lanes(nwc *g, const nw_expr *e) {
  const nw_expr *first;
  int64_t step, reach, lanes = e->type.lanes;
  if (!nw_lane_slack(e, &first, &step) || step == 0 || step == INT64_MIN) return nwc_arith(g, e);
  bool falls = step < 0; // the lanes before some lane are active, not those after it
  int64_t size = falls ? -step : step;
  if (__builtin_mul_overflow(size, lanes, &reach)) return nwc_arith(g, e);
  int bits = bits_for(g, reach);
  if (bits >= INDEX_BITS) return nwc_arith(g, e);
  LLVMTypeRef one = nwc_int_type(g, bits, 1);
  LLVMValueRef v = nwc_value(g, first);
  v = falls ? LLVMBuildAdd(g->b, v, nwc_i64(g, 1), "") : LLVMBuildNeg(g->b, v, "");
  LLVMValueRef edge = nwc_splat(g, LLVMBuildTrunc(g->b, clamped(g, v, reach), one, ""), (int)lanes);
  return LLVMBuildICmp(g->b, falls ? LLVMIntSLT : LLVMIntSGE, nwc_iota(g, one, (int)lanes, size), edge, "");
}
