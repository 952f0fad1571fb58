// Emits calls of intrinsics. The arguments are the pointers to the tiles, then the strides and the constants. A
// function that was generated for the strides and constants takes only the pointers.
#include "codegen/llvm/llvm.h"
#include "codegen/shuffle.h"
#include <stdlib.h>

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

// ---- intrinsics that only move elements

static LLVMValueRef place(nwc *g, const nw_tile *tile, const int64_t *at) {
  nw_pool *pool = g->p->pool;
  const nw_expr *index = tile->index;
  for (int d = 0; d < tile->n; d++)
    index = nw_add(pool, index, nw_mul(pool, tile->stride[d], nw_int(pool, NW_INDEX, at[d])));
  return nwc_address(g, tile->buffer, index);
}

static LLVMValueRef mixed(nwc *g, const nw_shuffles *plan, const nw_shuffle *step, const LLVMValueRef *vector) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->lc);
  LLVMValueRef lane[NW_SHUFFLE_LANES];
  for (int l = 0; l < plan->lanes; l++) lane[l] = LLVMConstInt(i32, step->lane[l], false);
  return LLVMBuildShuffleVector(g->b, vector[step->a], vector[step->b], LLVMConstVector(lane, (unsigned)plan->lanes),
                                "");
}

static void follow(nwc *g, const nw_stmt *s, const nw_shuffles *plan, LLVMValueRef *vector) {
  const nw_tile *from = &s->call.tile[plan->input], *to = &s->call.tile[plan->output];
  LLVMTypeRef type = nwc_memory_type(g, (nw_type){(uint8_t)plan->dtype, (uint16_t)plan->lanes});
  unsigned align = (unsigned)nw_dtype_bytes(plan->dtype);
  for (int i = 0; i < plan->n; i++) {
    const nw_shuffle *step = &plan->at[i];
    if (step->kind == NW_SHUFFLE_MIX) {
      vector[step->to] = mixed(g, plan, step, vector);
    } else if (step->kind == NW_SHUFFLE_LOAD) {
      vector[step->to] = LLVMBuildLoad2(g->b, type, place(g, from, step->at), "");
      LLVMSetAlignment(vector[step->to], align);
    } else {
      LLVMSetAlignment(LLVMBuildStore(g->b, vector[step->a], place(g, to, step->at)), align);
    }
  }
}

static void shuffles(nwc *g, const nw_stmt *s, const nw_intrinsic *in) {
  nw_shuffles plan;
  if (!nw_shuffles_of(g->p->ctx, in, nwc_register_bytes(g), &plan)) {
    nwc_fail(g, "intrinsic %s cannot be made from shuffles", s->call.intrinsic);
  } else {
    LLVMValueRef *vector = nw_xcalloc((size_t)plan.vectors + 1, sizeof(LLVMValueRef));
    follow(g, s, &plan, vector);
    free(vector);
  }
  nw_shuffles_free(&plan);
}

// ---- all intrinsics

void nwc_call(nwc *g, const nw_stmt *s) {
  nw_callee callee;
  LLVMValueRef arg[NW_MAX_WORDS];
  LLVMTypeRef type[NW_MAX_WORDS];
  const nw_intrinsic *in = nw_intrinsic_find(g->p->ctx, s->call.intrinsic);
  if (in && in->shuffles) {
    shuffles(g, s, in);
    return;
  }
  if (g->kernel && in && in->instruction) {
    nwc_instruction(g, s, in);
    return;
  }
  if (g->kernel) {
    nwc_fail(g, "a GPU cannot call intrinsic %s, which is a function of a CPU", s->call.intrinsic);
    return;
  }
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
