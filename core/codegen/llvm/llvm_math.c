// Emits calls of math functions (nw_math_row). Vectors are cut into the same pieces as in the interpreter.
#include "codegen/llvm/llvm.h"

static void set_nobuiltin(nwc *g, LLVMValueRef call) {
  static const char name[] = "nobuiltin";
  unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
  LLVMAddCallSiteAttribute(call, (LLVMAttributeIndex)LLVMAttributeFunctionIndex,
                           LLVMCreateEnumAttribute(g->lc, kind, 0));
}

// Emits a call of a math function. The attribute nobuiltin makes sure that LLVM does not recognize the function.
// Otherwise LLVM could fold or replace the call, and bits of the result could change.
static LLVMValueRef call_row(nwc *g, const nw_math_row *row, LLVMValueRef *args, int n) {
  LLVMTypeRef t = LLVMTypeOf(args[0]), params[] = {t, t};
  LLVMTypeRef fn_type = LLVMFunctionType(t, params, (unsigned)n, false);
  LLVMValueRef fn = LLVMGetNamedFunction(g->module, row->symbol);
  if (!fn) fn = LLVMAddFunction(g->module, row->symbol, fn_type);
  LLVMValueRef call = LLVMBuildCall2(g->b, fn_type, fn, args, (unsigned)n, "");
  set_nobuiltin(g, call);
  return call;
}

static LLVMValueRef pieces(nwc *g, const nw_expr *e, nw_type t, LLVMValueRef *args) {
  const nw_math_row *rows[NW_LANES_ROOM];
  int count = nw_math_plan(g->p->target->features, (nw_op)e->op, (nw_dtype)t.dtype, t.lanes, rows);
  LLVMValueRef all = NULL;
  for (int i = 0, done = 0; i < count; done += rows[i]->lanes, i++) {
    LLVMValueRef part[2];
    for (int k = 0; k < e->n; k++) part[k] = nwc_slice(g, args[k], done, rows[i]->lanes);
    LLVMValueRef v = call_row(g, rows[i], part, e->n);
    all = all ? nwc_join(g, all, done, v, rows[i]->lanes) : v;
  }
  if (!all)
    return nwc_fail(g, "no math function computes %s", nw_op_name((nw_op)e->op)), LLVMGetUndef(nwc_type(g, e->type));
  return all;
}

LLVMValueRef nwc_math(nwc *g, const nw_expr *e) {
  LLVMValueRef args[2];
  nw_type t = e->type;
  bool narrow = t.dtype == NW_F16 || t.dtype == NW_BF16;
  for (int i = 0; i < e->n; i++) {
    args[i] = nwc_value(g, e->arg[i]);
    if (narrow) args[i] = nwc_cast(g, args[i], t, NW_F32);
  }
  if (narrow) t.dtype = NW_F32;
  LLVMValueRef v = g->kernel ? nwc_device_function(g, (nw_op)e->op, t, e->n, args) : pieces(g, e, t, args);
  return nwc_cast(g, v, t, (nw_dtype)e->type.dtype);
}
