// Emits conversions between dtypes. A conversion of 16-bit floats is emitted as explicit code if the machine's
// instruction rounds twice or flushes denormals.
#include "codegen/llvm/llvm.h"

static nw_type with(nw_type t, nw_dtype d) { return (nw_type){.dtype = (uint8_t)d, .lanes = t.lanes}; }

static LLVMValueRef bits(nwc *g, LLVMValueRef v, nw_dtype as, int lanes) {
  return LLVMBuildBitCast(g->b, v, nwc_type(g, (nw_type){.dtype = (uint8_t)as, .lanes = (uint16_t)lanes}), "");
}

static LLVMValueRef bf16_to_f32(nwc *g, LLVMValueRef v, int lanes) {
  LLVMTypeRef i32 = nwc_int_type(g, 32, lanes);
  LLVMValueRef w = LLVMBuildZExt(g->b, v, i32, "");
  return bits(g, LLVMBuildShl(g->b, w, nwc_const_int(i32, 16), ""), NW_F32, lanes);
}

// Rounds floats to bf16 by integer arithmetic: to nearest, ties to even. A NaN stays a NaN and keeps its sign.
static LLVMValueRef f32_to_bf16(nwc *g, LLVMValueRef v, int lanes) {
  LLVMBuilderRef b = g->b;
  LLVMTypeRef i32 = nwc_int_type(g, 32, lanes);
  LLVMValueRef u = bits(g, v, NW_I32, lanes), high = LLVMBuildLShr(b, u, nwc_const_int(i32, 16), "");
  LLVMValueRef odd = LLVMBuildAnd(b, high, nwc_const_int(i32, 1), "");
  LLVMValueRef half = LLVMBuildAdd(b, odd, nwc_const_int(i32, 0x7fff), "");
  LLVMValueRef rounded = LLVMBuildLShr(b, LLVMBuildAdd(b, u, half, ""), nwc_const_int(i32, 16), "");
  LLVMValueRef nan = LLVMBuildFCmp(b, LLVMRealUNO, v, v, "");
  LLVMValueRef quiet = LLVMBuildOr(b, high, nwc_const_int(i32, 0x40), "");
  return LLVMBuildTrunc(b, LLVMBuildSelect(b, nan, quiet, rounded, ""), nwc_int_type(g, 16, lanes), "");
}

// Rounds a double to a float. If the result is inexact, its last bit is odd. Then a second rounding, to 16 bits, gives
// the same result as a single rounding of the double.
static LLVMValueRef round_to_odd(nwc *g, LLVMValueRef d, int lanes) {
  LLVMBuilderRef b = g->b;
  nw_type f32 = {NW_F32, (uint16_t)lanes}, f64 = {NW_F64, (uint16_t)lanes};
  LLVMTypeRef i32 = nwc_int_type(g, 32, lanes);
  LLVMValueRef f = LLVMBuildFPTrunc(b, d, nwc_type(g, f32), ""), back = LLVMBuildFPExt(b, f, nwc_type(g, f64), "");
  LLVMValueRef u = bits(g, f, NW_I32, lanes),
               even = LLVMBuildICmp(b, LLVMIntEQ, LLVMBuildAnd(b, u, nwc_const_int(i32, 1), ""), nwc_const_int(i32, 0),
                                    "");
  LLVMValueRef inexact = LLVMBuildFCmp(b, LLVMRealONE, back, d, "");
  LLVMValueRef away =
      LLVMBuildFCmp(b, LLVMRealOGT, nwc_intrinsic1(g, "llvm.fabs", back), nwc_intrinsic1(g, "llvm.fabs", d), "");
  LLVMValueRef step = LLVMBuildSelect(b, away, nwc_const_int(i32, -1), nwc_const_int(i32, 1), "");
  LLVMValueRef moved = LLVMBuildAdd(b, u, step, "");
  LLVMValueRef fix = LLVMBuildAnd(b, inexact, even, "");
  return bits(g, LLVMBuildSelect(b, fix, moved, u, ""), NW_F32, lanes);
}

static LLVMValueRef to_float(nwc *g, LLVMValueRef v, nw_type from, nw_dtype to) {
  LLVMTypeRef t = nwc_type(g, with(from, to));
  if (from.dtype == NW_BF16) return nwc_cast(g, bf16_to_f32(g, v, from.lanes), with(from, NW_F32), to);
  if (to == NW_BF16 || to == NW_F16) {
    if (from.dtype == NW_F64 && NW_MUTATED(halves_rounded_twice))
      v = LLVMBuildFPTrunc(g->b, v, nwc_type(g, with(from, NW_F32)), "");
    else if (from.dtype == NW_F64)
      v = round_to_odd(g, v, from.lanes);
    else if (from.dtype == NW_F16)
      v = LLVMBuildFPExt(g->b, v, nwc_type(g, with(from, NW_F32)), "");
    return to == NW_BF16 ? f32_to_bf16(g, v, from.lanes) : LLVMBuildFPTrunc(g->b, v, t, "");
  }
  bool up = nw_dtype_bytes(to) > nw_dtype_bytes(from.dtype);
  return up ? LLVMBuildFPExt(g->b, v, t, "") : LLVMBuildFPTrunc(g->b, v, t, "");
}

static LLVMValueRef int_to_float(nwc *g, LLVMValueRef v, nw_type from, nw_dtype to) {
  nw_dtype via = to == NW_F64 ? NW_F64 : NW_F32;
  LLVMTypeRef t = nwc_type(g, with(from, via));
  bool sign = nw_dtype_is_signed(from.dtype);
  LLVMValueRef f = sign ? LLVMBuildSIToFP(g->b, v, t, "") : LLVMBuildUIToFP(g->b, v, t, "");
  return nwc_cast(g, f, with(from, via), to);
}

// Converts a float to an integer, with saturation. NaN becomes 0.
static LLVMValueRef float_to_int(nwc *g, LLVMValueRef v, nw_type from, nw_dtype to) {
  if (from.dtype == NW_F16 || from.dtype == NW_BF16)
    return nwc_cast(g, nwc_cast(g, v, from, NW_F32), with(from, NW_F32), to);
  LLVMTypeRef over[] = {nwc_type(g, with(from, to)), LLVMTypeOf(v)};
  return nwc_intrinsic(g, nw_dtype_is_signed(to) || NW_MUTATED(cast_is_signed) ? "llvm.fptosi.sat" : "llvm.fptoui.sat",
                       2, over, 1, &v);
}

static LLVMValueRef to_bool(nwc *g, LLVMValueRef v, nw_type from) {
  if (!nw_dtype_is_float(from.dtype)) return LLVMBuildICmp(g->b, LLVMIntNE, v, nwc_const_int(LLVMTypeOf(v), 0), "");
  if (from.dtype == NW_F16 || from.dtype == NW_BF16) v = nwc_cast(g, v, from, NW_F32);
  return LLVMBuildFCmp(g->b, LLVMRealUNE, v, nwc_const_real(LLVMTypeOf(v), 0), "");
}

LLVMValueRef nwc_cast(nwc *g, LLVMValueRef v, nw_type from, nw_dtype to) {
  if (from.dtype == to) return v;
  if (to == NW_BOOL) return to_bool(g, v, from);
  bool real = nw_dtype_is_float(from.dtype);
  if (nw_dtype_is_float(to)) return real ? to_float(g, v, from, to) : int_to_float(g, v, from, to);
  if (real) return float_to_int(g, v, from, to);
  LLVMTypeRef t = nwc_type(g, with(from, to));
  int a = from.dtype == NW_BOOL ? 0 : nw_dtype_bytes(from.dtype), b = nw_dtype_bytes(to);
  if (b < a) return LLVMBuildTrunc(g->b, v, t, "");
  if (b == a) return v;
  bool sign = from.dtype != NW_BOOL && nw_dtype_is_signed(from.dtype);
  return sign ? LLVMBuildSExt(g->b, v, t, "") : LLVMBuildZExt(g->b, v, t, "");
}
