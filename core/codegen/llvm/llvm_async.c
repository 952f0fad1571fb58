// Emits asynchronous copies from global to shared memory, which NVIDIA GPUs have from capability 8.0 on. A copy has 4, 8
// or 16 bytes, and both addresses are multiples of that. On other machines, an asynchronous copy is an ordinary load and
// store, and there is nothing to wait for.
#include "codegen/llvm/llvm.h"
#include <stdio.h>

static bool has_async(const nwc *g) { return g->kernel && nwc_capability(g->p->target) >= 80; }

void nwc_commit(nwc *g) {
  if (has_async(g)) nwc_intrinsic(g, "llvm.nvvm.cp.async.commit.group", 0, NULL, 0, NULL);
}

void nwc_wait(nwc *g, int groups) {
  LLVMValueRef n = LLVMConstInt(LLVMInt32TypeInContext(g->lc), (unsigned)groups, false);
  if (has_async(g)) nwc_intrinsic(g, "llvm.nvvm.cp.async.wait.group", 0, NULL, 1, &n);
}

// True if the buffer is an argument of the kernel, which is in global memory.
static bool is_argument(const nwc *g, const char *buffer) {
  for (int i = 0; i < g->kernel->nbuffers; i++)
    if (!strcmp(g->kernel->buffer[i].name, buffer)) return true;
  return false;
}

static bool is_shared(const nwc *g, const char *buffer) {
  for (int i = 0; i < g->kernel->narrays; i++)
    if (!strcmp(g->kernel->array[i].buffer, buffer)) return true;
  return false;
}

// Returns the first of consecutive elements, or NULL if the elements are not consecutive.
static const nw_expr *first_of(const nw_expr *index) {
  if (index->type.lanes == 1) return index;
  return index->op == NW_OP_RAMP && nw_is_const(index->arg[1], 1) ? index->arg[0] : NULL;
}

bool nwc_async(nwc *g, const nw_stmt *s) {
  const nw_expr *from = s->store.value;
  if (!has_async(g) || s->store.mask || from->op != NW_OP_LOAD || from->n > 1) return false;
  if (!is_shared(g, s->store.buffer) || !is_argument(g, from->name)) return false;
  const nw_expr *to = first_of(s->store.index), *at = first_of(from->arg[0]);
  nw_dtype t = (nw_dtype)from->type.dtype;
  if (!to || !at) return false;
  int all = from->type.lanes * nw_dtype_bytes(t), bytes = NW_BLOCK_ARRAY_ALIGN;
  int least = nwc_alignment(g, t, to), other = nwc_alignment(g, t, at);
  if (other < least) least = other;
  while (bytes > least || all % bytes) bytes /= 2;
  if (bytes < 4) return false;
  char name[64];
  snprintf(name, sizeof name, "llvm.nvvm.cp.async.ca.shared.global.%d", bytes);
  LLVMValueRef target = nwc_address(g, s->store.buffer, to), source = nwc_address(g, from->name, at);
  for (int done = 0; done < all; done += bytes) {
    LLVMValueRef by = nwc_i64(g, done);
    LLVMTypeRef byte = LLVMInt8TypeInContext(g->lc);
    LLVMValueRef args[] = {LLVMBuildGEP2(g->b, byte, target, &by, 1, ""),
                           LLVMBuildGEP2(g->b, byte, source, &by, 1, "")};
    nwc_intrinsic(g, name, 0, NULL, 2, args);
  }
  g->nloads++;
  return true;
}
