// Makes types, constants, slices of vectors, and calls of LLVM's intrinsics.
#include "codegen/llvm/llvm.h"
#include <stdio.h>
#include <stdlib.h>

void nwc_fail(nwc *g, const char *fmt, ...) {
  if (g->failed) return;
  va_list args;
  va_start(args, fmt);
  vsnprintf(g->error, g->error_size, fmt, args);
  va_end(args);
  g->failed = true;
}

static LLVMTypeRef wide(LLVMTypeRef t, int lanes) { return lanes == 1 ? t : LLVMVectorType(t, (unsigned)lanes); }

LLVMTypeRef nwc_int_type(nwc *g, int bits, int lanes) {
  return wide(LLVMIntTypeInContext(g->lc, (unsigned)bits), lanes);
}

LLVMTypeRef nwc_type(nwc *g, nw_type t) {
  switch (t.dtype) {
  case NW_BOOL: return nwc_int_type(g, 1, t.lanes);
  case NW_F16: return wide(LLVMHalfTypeInContext(g->lc), t.lanes);
  case NW_F32: return wide(LLVMFloatTypeInContext(g->lc), t.lanes);
  case NW_F64: return wide(LLVMDoubleTypeInContext(g->lc), t.lanes);
  default: return nwc_int_type(g, 8 * nw_dtype_bytes(t.dtype), t.lanes);
  }
}

LLVMTypeRef nwc_memory_type(nwc *g, nw_type t) {
  bool real = t.dtype == NW_F32 || t.dtype == NW_F64;
  return real ? nwc_type(g, t) : nwc_int_type(g, 8 * nw_dtype_bytes(t.dtype), t.lanes);
}

LLVMTypeRef nwc_ptr(nwc *g) { return LLVMPointerTypeInContext(g->lc, 0); }

LLVMValueRef nwc_i64(nwc *g, int64_t v) {
  return LLVMConstInt(LLVMInt64TypeInContext(g->lc), (unsigned long long)v, true);
}

static LLVMValueRef const_splat(LLVMTypeRef t, LLVMValueRef one) {
  unsigned n = LLVMGetVectorSize(t);
  LLVMValueRef *all = nw_xmalloc(n * sizeof *all);
  for (unsigned i = 0; i < n; i++) all[i] = one;
  LLVMValueRef v = LLVMConstVector(all, n);
  free(all);
  return v;
}

static bool is_vector(LLVMTypeRef t) { return LLVMGetTypeKind(t) == LLVMVectorTypeKind; }

LLVMValueRef nwc_const_int(LLVMTypeRef t, int64_t v) {
  if (is_vector(t)) return const_splat(t, nwc_const_int(LLVMGetElementType(t), v));
  return LLVMConstInt(t, (unsigned long long)v, true);
}

LLVMValueRef nwc_const_real(LLVMTypeRef t, double v) {
  if (is_vector(t)) return const_splat(t, nwc_const_real(LLVMGetElementType(t), v));
  return LLVMConstReal(t, v);
}

LLVMValueRef nwc_iota(nwc *g, LLVMTypeRef elem, int lanes, int64_t stride) {
  LLVMValueRef all[NW_LANES_ROOM];
  if (lanes > NW_LANES_ROOM)
    return nwc_fail(g, "a vector of %d lanes is too long", lanes), LLVMGetUndef(LLVMVectorType(elem, (unsigned)lanes));
  for (int i = 0; i < lanes; i++) all[i] = LLVMConstInt(elem, (unsigned long long)(i * stride), true);
  return LLVMConstVector(all, (unsigned)lanes);
}

static LLVMValueRef shuffle_mask(nwc *g, int lanes, int first, int step) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->lc);
  LLVMValueRef all[2 * NW_LANES_ROOM];
  for (int i = 0; i < lanes; i++) all[i] = LLVMConstInt(i32, (unsigned long long)(first + i * step), false);
  return LLVMConstVector(all, (unsigned)lanes);
}

LLVMValueRef nwc_splat(nwc *g, LLVMValueRef v, int lanes) {
  if (lanes == 1) return v;
  LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(v), (unsigned)lanes);
  if (LLVMIsConstant(v)) return const_splat(t, v);
  LLVMValueRef none = LLVMGetPoison(t), zero = LLVMConstInt(LLVMInt32TypeInContext(g->lc), 0, false);
  LLVMValueRef first = LLVMBuildInsertElement(g->b, none, v, zero, "");
  return LLVMBuildShuffleVector(g->b, first, none, shuffle_mask(g, lanes, 0, 0), "");
}

LLVMValueRef nwc_slice(nwc *g, LLVMValueRef v, int from, int n) {
  if (!is_vector(LLVMTypeOf(v))) return v;
  if (n == 1) return LLVMBuildExtractElement(g->b, v, nwc_i64(g, from), "");
  return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), shuffle_mask(g, n, from, 1), "");
}

// Widens v from n lanes to `lanes` lanes. nwc_join joins two vectors by a shuffle, whose operands must have the same
// type.
static LLVMValueRef widen(nwc *g, LLVMValueRef v, int n, int lanes) {
  LLVMTypeRef t = LLVMTypeOf(v);
  if (!is_vector(t)) {
    LLVMValueRef none = LLVMGetPoison(LLVMVectorType(t, (unsigned)lanes));
    return LLVMBuildInsertElement(g->b, none, v, nwc_i64(g, 0), "");
  }
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->lc);
  LLVMValueRef mask[2 * NW_LANES_ROOM];
  for (int i = 0; i < lanes; i++) mask[i] = i < n ? LLVMConstInt(i32, (unsigned)i, false) : LLVMGetPoison(i32);
  return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(t), LLVMConstVector(mask, (unsigned)lanes), "");
}

LLVMValueRef nwc_join(nwc *g, LLVMValueRef a, int na, LLVMValueRef b, int nb) {
  int lanes = na + nb;
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->lc);
  LLVMValueRef mask[2 * NW_LANES_ROOM];
  for (int i = 0; i < lanes; i++) mask[i] = LLVMConstInt(i32, (unsigned)(i < na ? i : lanes + i - na), false);
  return LLVMBuildShuffleVector(g->b, widen(g, a, na, lanes), widen(g, b, nb, lanes),
                                LLVMConstVector(mask, (unsigned)lanes), "");
}

LLVMValueRef nwc_intrinsic(nwc *g, const char *name, int nover, LLVMTypeRef *over, int nargs, LLVMValueRef *args) {
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(g->module, id, over, (size_t)nover);
  LLVMTypeRef t = LLVMIntrinsicGetType(g->lc, id, over, (size_t)nover);
  return LLVMBuildCall2(g->b, t, fn, args, (unsigned)nargs, "");
}

LLVMValueRef nwc_intrinsic1(nwc *g, const char *name, LLVMValueRef a) {
  LLVMTypeRef t = LLVMTypeOf(a);
  return nwc_intrinsic(g, name, 1, &t, 1, &a);
}

LLVMValueRef nwc_intrinsic2(nwc *g, const char *name, LLVMValueRef a, LLVMValueRef b) {
  LLVMTypeRef t = LLVMTypeOf(a);
  LLVMValueRef args[] = {a, b};
  return nwc_intrinsic(g, name, 1, &t, 2, args);
}

LLVMBasicBlockRef nwc_block(nwc *g, const char *name) { return LLVMAppendBasicBlockInContext(g->lc, g->f->fn, name); }

void nwc_at(nwc *g, LLVMBasicBlockRef block) { LLVMPositionBuilderAtEnd(g->b, block); }

LLVMBasicBlockRef nwc_here(nwc *g) { return LLVMGetInsertBlock(g->b); }
