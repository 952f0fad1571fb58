// Emits statements: loops in canonical form, guards, stores, and arrays in the stack frame.
#include "codegen/llvm/llvm.h"
#include <stdlib.h>

void nwc_bind(nwc *g, const char *name, LLVMValueRef v) {
  nwc_function *f = g->f;
  if (f->nvars == f->capvars) {
    f->capvars = f->capvars ? 2 * f->capvars : 16;
    f->var = nw_xrealloc(f->var, (size_t)f->capvars * sizeof *f->var);
  }
  f->var[f->nvars++] = (nwc_var){name, v};
}

void nwc_unbind(nwc *g) { g->f->nvars--; }

LLVMValueRef nwc_lookup(nwc *g, const char *name) {
  for (int i = g->f->nvars - 1; i >= 0; i--)
    if (!strcmp(g->f->var[i].name, name)) return g->f->var[i].value;
  nwc_fail(g, "variable %s is not in scope", name);
  return nwc_i64(g, 0);
}

int nwc_buffer_index(const nwc *g, const char *name) {
  for (int i = 0; i < g->p->nbuffers; i++)
    if (!strcmp(g->p->buffer[i]->name, name)) return i;
  return -1;
}

static void kids(nwc *g, const nw_stmt *s) {
  const nw_vec *outer = g->alone;
  nw_vec alone = {0};
  if (!g->kernel) nwc_find_alone(g, s, &alone);
  g->alone = &alone;
  for (int i = 0; i < s->nkids && !g->failed; i++) nwc_stmt(g, s->kid[i]);
  g->alone = outer;
  nw_vec_free(&alone);
}

static void body_with(nwc *g, const nw_stmt *s, LLVMValueRef var) {
  nwc_region r = nwc_region_open(g);
  nwc_bind(g, s->loop.var->name, var);
  nwc_enter(g, s);
  kids(g, s);
  nwc_leave(g, s);
  nwc_unbind(g);
  nwc_region_close(g, r);
}

// Emits a loop over the iterations from begin to end - 1. The condition is tested at the end of each iteration; LLVM
// can hoist invariant code out of a loop of this form. If `some` is true, the loop has at least one iteration.
// Otherwise, a test before the loop skips it if it has no iterations.
void nwc_loop_between(nwc *g, const nw_stmt *s, LLVMValueRef begin, LLVMValueRef end, bool some) {
  LLVMBasicBlockRef before = nwc_here(g), body = nwc_block(g, s->loop.var->name), exit = nwc_block(g, "");
  if (some)
    LLVMBuildBr(g->b, body);
  else
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, begin, end, ""), body, exit);
  nwc_at(g, body);
  LLVMValueRef iv = LLVMBuildPhi(g->b, LLVMTypeOf(begin), s->loop.var->name);
  body_with(g, s, iv);
  LLVMValueRef next = LLVMBuildNSWAdd(g->b, iv, nwc_i64(g, 1), "");
  LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLT, next, end, ""), body, exit);
  LLVMAddIncoming(iv, &begin, &before, 1);
  LLVMBasicBlockRef latch = nwc_here(g);
  LLVMAddIncoming(iv, &next, &latch, 1);
  nwc_at(g, exit);
}

static void loop(nwc *g, const nw_stmt *s) {
  int64_t n;
  bool constant = nw_is_int(s->loop.extent, &n);
  if (constant && n <= 0) return;
  LLVMValueRef begin = nwc_value(g, s->loop.begin);
  if (constant && n == 1) {
    body_with(g, s, begin);
    return;
  }
  LLVMValueRef end = LLVMBuildAdd(g->b, begin, nwc_value(g, s->loop.extent), "");
  nwc_loop_between(g, s, begin, end, constant);
}

static void guard(nwc *g, const nw_stmt *s) {
  LLVMBasicBlockRef then = nwc_block(g, "then"), join = nwc_block(g, "");
  LLVMBuildCondBr(g->b, nwc_value(g, s->guard.cond), then, join);
  nwc_at(g, then);
  nwc_region r = nwc_region_open(g);
  nwc_enter(g, s);
  kids(g, s);
  nwc_leave(g, s);
  nwc_region_close(g, r);
  LLVMBuildBr(g->b, join);
  nwc_at(g, join);
}

// Returns the number of elements of the largest allocation of a buffer in a kernel.
static int64_t elements_in(const nw_stmt *s, const char *buffer) {
  int64_t most = 1, n;
  if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, buffer) && nw_is_int(s->alloc.extent[0], &n)) most = n;
  for (int i = 0; i < s->nkids; i++) {
    n = elements_in(s->kid[i], buffer);
    if (n > most) most = n;
  }
  return most;
}

// Makes an array in the stack frame of the function. All executions of an allocation use the same array, so that LLVM
// can keep it in registers.
static LLVMValueRef frame_array(nwc *g, int buffer) {
  int64_t n;
  const nw_storage *st = &g->exec->storage[buffer];
  if (g->kernel)
    n = elements_in(g->kernel->body, st->buffer);
  else if (!nw_is_int(st->elements, &n))
    return nwc_fail(g, "%s has no constant size", st->buffer), nwc_i64(g, 0);
  LLVMTypeRef elem = nwc_memory_type(g, (nw_type){(uint8_t)st->dtype, 1});
  LLVMBasicBlockRef here = nwc_here(g);
  LLVMValueRef last = LLVMGetLastInstruction(g->f->entry);
  if (last)
    LLVMPositionBuilderBefore(g->b, last);
  else
    nwc_at(g, g->f->entry);
  LLVMValueRef v = LLVMBuildAlloca(g->b, LLVMArrayType2(elem, (uint64_t)(n > 0 ? n : 1)), st->buffer);
  LLVMSetAlignment(v, 64);
  nwc_at(g, here);
  return v;
}

static void alloc(nwc *g, const nw_stmt *s) {
  nwc_function *f = g->f;
  int i = nwc_buffer_index(g, s->alloc.buffer);
  nw_storage_kind on_stack = g->kernel ? NW_STORE_GRID : NW_STORE_STACK;
  bool mine = i >= 0 && g->exec->storage[i].kind == on_stack && !f->buffer[i];
  if (mine && !f->array[i]) f->array[i] = frame_array(g, i);
  if (mine) f->buffer[i] = f->array[i];
  kids(g, s);
  if (mine) f->buffer[i] = NULL;
}

static void store(nwc *g, const nw_stmt *s) {
  nwc_function *f = g->f;
  int outer = f->loads;
  f->loads = nwc_memo_open(&f->memo);
  if (!nwc_shuffle(g, s)) (s->store.atomic ? nwc_atomic : nwc_store)(g, s);
  nwc_memo_close(&f->memo, f->loads);
  f->loads = outer;
}

// Emits a statement whose conditions and bounds may read memory. The memo must not reuse the values of these reads,
// because memory may change. So the values get a scope that is already closed.
static void forgetful(nwc *g, const nw_stmt *s, void (*emit)(nwc *g, const nw_stmt *s)) {
  nwc_function *f = g->f;
  int outer = f->loads;
  f->loads = nwc_memo_open(&f->memo);
  nwc_memo_close(&f->memo, f->loads);
  emit(g, s);
  f->loads = outer;
}

static void timed_loop(nwc *g, const nw_stmt *s) {
  nwc_clock_start(g, s, false);
  if (s->loop.mark == NW_PARALLEL && g->kernel)
    nwc_fail(g, "a GPU runs no parallel loop of a CPU: bind %s to blockIdx.x instead", s->loop.var->name);
  else if (s->loop.mark == NW_PARALLEL)
    nwc_parallel(g, s);
  else
    forgetful(g, s, loop);
  nwc_clock_stop(g, s, false);
}

void nwc_stmt(nwc *g, const nw_stmt *s) {
  switch (s->kind) {
  case NW_SEQ:
  case NW_UNIT: kids(g, s); break;
  case NW_LOOP: timed_loop(g, s); break;
  case NW_GUARD:
    if (g->kernel && nw_shuffle_in(g->kernel, s))
      store(g, nw_shuffle_in(g->kernel, s));
    else
      forgetful(g, s, guard);
    break;
  case NW_STORE: store(g, s); break;
  case NW_ALLOC: alloc(g, s); break;
  case NW_PREFETCH: forgetful(g, s, nwc_prefetch); break;
  case NW_BARRIER: nwc_barrier(g, s->barrier.warp); break;
  case NW_COMMIT: nwc_commit(g); break;
  case NW_WAIT: nwc_wait(g, s->wait.groups); break;
  case NW_CALL: forgetful(g, s, nwc_call); break;
  case NW_BLOCK: nwc_fail(g, "block %s was not lowered", s->block.name); break;
  }
}
