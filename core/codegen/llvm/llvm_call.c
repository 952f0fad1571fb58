// Emits calls of intrinsics. The arguments are the pointers to the tiles, then the strides and the constants. A
// function that was generated for the strides and constants takes only the pointers.
#include "codegen/llvm/llvm.h"

static LLVMValueRef function_of(nwc *g, const char *name, LLVMTypeRef t) {
  LLVMValueRef fn = LLVMGetNamedFunction(g->module, name);
  return fn ? fn : LLVMAddFunction(g->module, name, t);
}

static void tell_runtime(nwc *g, const char *what) {
  LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(g->lc), NULL, 0, false);
  LLVMBuildCall2(g->b, t, function_of(g, what, t), NULL, 0, "");
}

static int words_of(nwc *g, const nw_stmt *s, const nw_intrinsic *in, LLVMValueRef *arg) {
  int n = 0;
  for (int i = 0; i < in->nargs; i++)
    for (int d = 0; d < in->arg[i].ndim; d++)
      if (in->arg[i].dim[d].stride == NW_ANY_STRIDE) arg[n++] = nwc_value(g, s->call.tile[i].stride[d]);
  for (int i = 0; i < in->nconstants; i++) arg[n++] = nwc_i64(g, in->constant[i]);
  return n;
}

void nwc_call(nwc *g, const nw_stmt *s) {
  nw_callee callee;
  LLVMValueRef arg[NW_MAX_WORDS];
  LLVMTypeRef type[NW_MAX_WORDS];
  const nw_intrinsic *in = nw_intrinsic_find(g->p->ctx, s->call.intrinsic);
  if (!nw_callee_of(g->p->ctx, s, &callee)) {
    nwc_fail(g, "intrinsic %s cannot be called", s->call.intrinsic);
    return;
  }
  int n = 0;
  for (; n < s->call.ntiles; n++) arg[n] = nwc_address(g, s->call.tile[n].buffer, s->call.tile[n].index);
  if (!callee.tiles_only) n += words_of(g, s, in, arg + n);
  for (int i = 0; i < n; i++) type[i] = LLVMTypeOf(arg[i]);
  LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(g->lc), type, (unsigned)n, false);
  if (!callee.jump_safe) tell_runtime(g, NW_CALLEE_BEGIN);
  LLVMBuildCall2(g->b, t, function_of(g, callee.name, t), arg, (unsigned)n, "");
  if (!callee.jump_safe) tell_runtime(g, NW_CALLEE_END);
}
