// Emits operations on the bits of floats: reinterpret, ldexp, mantissa and exponent.
#include "codegen/llvm/llvm.h"

// The format of f32 or f64. A float has a sign, an exponent plus `bias`, and `fraction` bits of its significand.
typedef struct format {
  nw_type type;
  LLVMTypeRef real, whole; // the types of a value and of its bits
  int fraction, bias;
} format;

static format format_of(nwc *g, nw_type t) {
  bool wide = t.dtype == NW_F64;
  return (format){t, nwc_type(g, t), nwc_int_type(g, wide ? 64 : 32, t.lanes), wide ? 52 : 23, wide ? 1023 : 127};
}

static LLVMValueRef as_bits(nwc *g, const format *f, LLVMValueRef v) { return LLVMBuildBitCast(g->b, v, f->whole, ""); }

static LLVMValueRef as_real(nwc *g, const format *f, LLVMValueRef v) { return LLVMBuildBitCast(g->b, v, f->real, ""); }

static LLVMValueRef whole(const format *f, int64_t v) { return nwc_const_int(f->whole, v); }

static bool is_half(nw_type t) { return t.dtype == NW_F16 || t.dtype == NW_BF16; }

// ---- reinterpret

static int fraction_of(nw_dtype t) { return t == NW_F64 ? 52 : t == NW_F32 ? 23 : t == NW_F16 ? 10 : 7; }

// Emits the bits of a float. Every NaN gives the bits of one quiet NaN. The bits that an operation gives a NaN are not defined,
// so that otherwise two programs with the same meaning could differ.
static LLVMValueRef bits_of(nwc *g, LLVMValueRef v, nw_type t) {
  int width = 8 * nw_dtype_bytes(t.dtype), fraction = fraction_of(t.dtype);
  LLVMTypeRef type = nwc_int_type(g, width, t.lanes);
  int64_t sign = (int64_t)(UINT64_C(1) << (width - 1)), infinity = (INT64_C(1) << (width - 1 - fraction)) - 1;
  infinity = (int64_t)((uint64_t)infinity << fraction);
  LLVMValueRef bits = LLVMBuildBitCast(g->b, v, type, ""),
               size = LLVMBuildAnd(g->b, bits, nwc_const_int(type, ~sign), "");
  LLVMValueRef nan = LLVMBuildICmp(g->b, LLVMIntUGT, size, nwc_const_int(type, infinity), "");
  if (NW_MUTATED(nan_keeps_bits)) return bits;
  return LLVMBuildSelect(g->b, nan, nwc_const_int(type, infinity | INT64_C(1) << (fraction - 1)), bits, "");
}

LLVMValueRef nwc_reinterpret(nwc *g, const nw_expr *e) {
  nw_type from = e->arg[0]->type;
  LLVMValueRef v = nwc_value(g, e->arg[0]);
  if (nw_dtype_is_float(from.dtype)) return bits_of(g, v, from);
  return LLVMBuildBitCast(g->b, v, nwc_type(g, e->type), "");
}

// ---- ldexp

// Emits 2^n, for an n that is the exponent of a normal number.
static LLVMValueRef power(nwc *g, const format *f, LLVMValueRef n) {
  return as_real(g, f, LLVMBuildShl(g->b, LLVMBuildAdd(g->b, n, whole(f, f->bias), ""), whole(f, f->fraction), ""));
}

// Emits the part of n by which x is scaled next: n itself (then 0 is returned, and the last step scales by n), or a part for
// which 2^part is a normal number. After a part that makes x smaller, n is still so small that the result does not depend on
// how this step was rounded: either the step was exact, or the result is 0.
static LLVMValueRef part_of(nwc *g, const format *f, LLVMValueRef n) {
  LLVMValueRef most = whole(f, f->bias), least = whole(f, 1 - f->bias);
  LLVMValueRef low = whole(f, 1 - f->bias + (NW_MUTATED(scaled_twice) ? 0 : f->fraction + 1));
  LLVMValueRef down = LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, n, least, ""), low, whole(f, 0), "");
  return LLVMBuildSelect(g->b, LLVMBuildICmp(g->b, LLVMIntSGT, n, most, ""), most, down, "");
}

LLVMValueRef nwc_ldexp(nwc *g, const nw_expr *e) {
  nw_type t = e->type;
  LLVMValueRef x = nwc_value(g, e->arg[0]), n = nwc_value(g, e->arg[1]);
  if (is_half(t)) x = nwc_cast(g, x, t, NW_F32), t.dtype = NW_F32;
  format f = format_of(g, t);
  if (t.dtype == NW_F64) n = LLVMBuildSExt(g->b, n, f.whole, "");
  for (int step = 0; step < 2; step++) {
    LLVMValueRef part = part_of(g, &f, n);
    x = LLVMBuildFMul(g->b, x, power(g, &f, part), "");
    n = LLVMBuildSub(g->b, n, part, "");
  }
  n = nwc_intrinsic2(g, "llvm.smax", nwc_intrinsic2(g, "llvm.smin", n, whole(&f, f.bias)), whole(&f, 1 - f.bias));
  x = LLVMBuildFMul(g->b, x, power(g, &f, n), "");
  return nwc_cast(g, x, t, e->type.dtype);
}

// ---- mantissa and exponent

// Emits the mantissa or the exponent of a float. A number that is too small to be normal is scaled first.
LLVMValueRef nwc_frexp(nwc *g, const nw_expr *e) {
  LLVMBuilderRef b = g->b;
  nw_type t = e->arg[0]->type;
  LLVMValueRef x = nwc_value(g, e->arg[0]);
  if (is_half(t)) x = nwc_cast(g, x, t, NW_F32), t.dtype = NW_F32;
  format f = format_of(g, t);
  int shift = f.fraction + 2;
  LLVMValueRef zero = whole(&f, 0), all = whole(&f, (int64_t)(2 * f.bias + 1) << f.fraction);
  LLVMValueRef field = LLVMBuildAnd(b, as_bits(g, &f, x), all, "");
  LLVMValueRef small = LLVMBuildICmp(b, LLVMIntEQ, field, zero, "");
  LLVMValueRef scaled = LLVMBuildFMul(b, x, power(g, &f, whole(&f, shift)), "");
  LLVMValueRef bits = as_bits(g, &f, LLVMBuildSelect(b, small, scaled, x, ""));
  LLVMValueRef special = LLVMBuildOr(b, LLVMBuildICmp(b, LLVMIntEQ, field, all, ""),
                                     LLVMBuildFCmp(b, LLVMRealOEQ, x, nwc_const_real(f.real, 0), ""), "");
  if (e->op == NW_OP_MANTISSA) {
    LLVMValueRef half = whole(&f, (int64_t)(f.bias - 1) << f.fraction);
    LLVMValueRef kept = LLVMBuildAnd(b, bits, LLVMBuildNot(b, all, ""), "");
    x = LLVMBuildSelect(b, special, x, as_real(g, &f, LLVMBuildOr(b, kept, half, "")), "");
    return nwc_cast(g, x, t, e->type.dtype);
  }
  LLVMValueRef n = LLVMBuildLShr(b, LLVMBuildAnd(b, bits, all, ""), whole(&f, f.fraction), "");
  n = LLVMBuildSub(b, n, LLVMBuildSelect(b, small, whole(&f, f.bias - 1 + shift), whole(&f, f.bias - 1), ""), "");
  n = LLVMBuildSelect(b, special, zero, n, "");
  return t.dtype == NW_F64 ? LLVMBuildTrunc(b, n, nwc_int_type(g, 32, t.lanes), "") : n;
}
