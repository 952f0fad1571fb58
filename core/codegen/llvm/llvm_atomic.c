// Emits atomic updates. The new value of an element usually depends on its old value. If an integer is added to the old
// value, the update is an atomic add. Otherwise, the parts of the new value that do not depend on the old value are
// computed first. Then a compare-and-swap is repeated until it succeeds. The memory order is relaxed, because the
// threads synchronize at the end of their loop.
#include "codegen/llvm/llvm.h"

typedef struct search {
  const char *buffer;
  const nw_expr *index, *found;
} search;

static bool is_old(void *env, const nw_expr *e) {
  search *x = env;
  if (e->op == NW_OP_LOAD && !strcmp(e->name, x->buffer) && e->arg[0] == x->index) x->found = e;
  return !x->found;
}

// Returns the load of the old value in the expression of the new value, or NULL if there is no such load.
static const nw_expr *old_value(const nw_stmt *s) {
  search x = {s->store.buffer, s->store.index, NULL};
  nw_visit(s->store.value, is_old, &x);
  return x.found;
}

static bool holds(const nw_expr *e, const nw_expr *what) {
  if (e == what) return true;
  for (int i = 0; i < e->n; i++)
    if (holds(e->arg[i], what)) return true;
  return false;
}

// Computes the parts of e that do not depend on the old value. If e is a select that depends on the old value, only its
// condition is searched for such parts, because only one of its branches may be evaluated.
static void work_out(nwc *g, const nw_expr *e, const nw_expr *old) {
  int n = e->op == NW_OP_SELECT ? 1 : e->n;
  if (!holds(e, old))
    nwc_value(g, e);
  else
    for (int i = 0; e != old && i < n; i++) work_out(g, e->arg[i], old);
}

// Returns the integer that is added if the new value is the old value plus an integer. This update is a single
// instruction. Returns NULL for other updates.
static const nw_expr *added(const nw_expr *value, const nw_expr *old) {
  if (value->op != NW_OP_ADD || nw_dtype_is_float((nw_dtype)value->type.dtype)) return NULL;
  for (int i = 0; i < 2; i++)
    if (value->arg[i] == old && !holds(value->arg[1 - i], old)) return value->arg[1 - i];
  return NULL;
}

static LLVMValueRef bits_of(nwc *g, LLVMValueRef v, nw_type t, LLVMTypeRef bits) {
  return LLVMBuildBitCast(g->b, nwc_to_memory(g, v, t), bits, "");
}

static LLVMValueRef first_bits(nwc *g, LLVMValueRef ptr, LLVMTypeRef bits, int align) {
  LLVMValueRef v = LLVMBuildLoad2(g->b, bits, ptr, "");
  LLVMSetAlignment(v, (unsigned)align);
  LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
  return v;
}

static void try_until_alone(nwc *g, const nw_stmt *s, const nw_expr *old, LLVMValueRef ptr) {
  nw_type t = s->store.value->type;
  int bytes = nw_dtype_bytes((nw_dtype)t.dtype);
  LLVMTypeRef bits = nwc_int_type(g, 8 * bytes, 1);
  work_out(g, s->store.value, old);
  LLVMValueRef start = first_bits(g, ptr, bits, bytes);
  LLVMBasicBlockRef before = nwc_here(g), body = nwc_block(g, "atomic"), done = nwc_block(g, "");
  LLVMBuildBr(g->b, body);
  nwc_at(g, body);
  LLVMValueRef held = LLVMBuildPhi(g->b, bits, "");
  nwc_region r = nwc_region_open(g);
  LLVMValueRef was = LLVMBuildBitCast(g->b, held, nwc_memory_type(g, t), "");
  nwc_memo_put(&g->f->memo, old, nwc_from_memory(g, was, t), g->f->loads, true);
  LLVMValueRef now = bits_of(g, nwc_value(g, s->store.value), t, bits);
  nwc_region_close(g, r);
  LLVMAtomicOrdering any = LLVMAtomicOrderingMonotonic;
  LLVMValueRef pair = LLVMBuildAtomicCmpXchg(g->b, ptr, held, now, any, any, false);
  LLVMValueRef seen = LLVMBuildExtractValue(g->b, pair, 0, ""), alone = LLVMBuildExtractValue(g->b, pair, 1, "");
  LLVMBasicBlockRef latch = nwc_here(g);
  LLVMBuildCondBr(g->b, alone, done, body);
  LLVMAddIncoming(held, &start, &before, 1);
  LLVMAddIncoming(held, &seen, &latch, 1);
  nwc_at(g, done);
}

static void store_whole(nwc *g, const nw_stmt *s, LLVMValueRef ptr) {
  nw_type t = s->store.value->type;
  LLVMValueRef store = LLVMBuildStore(g->b, nwc_to_memory(g, nwc_value(g, s->store.value), t), ptr);
  LLVMSetAlignment(store, (unsigned)nw_dtype_bytes((nw_dtype)t.dtype));
}

void nwc_atomic(nwc *g, const nw_stmt *s) {
  if (s->store.index->type.lanes > 1 || s->store.mask) {
    nwc_fail(g, "an atomic update of %s must update exactly one element", s->store.buffer);
    return;
  }
  const nw_expr *old = old_value(s), *term = old ? added(s->store.value, old) : NULL;
  if (!old && nw_uses_load(s->store.value, s->store.buffer)) {
    nwc_fail(g, "an atomic update of %s reads another element of it", s->store.buffer);
    return;
  }
  LLVMValueRef ptr = nwc_address(g, s->store.buffer, s->store.index);
  if (!old)
    store_whole(g, s, ptr);
  else if (term)
    LLVMBuildAtomicRMW(g->b, LLVMAtomicRMWBinOpAdd, ptr, nwc_value(g, term), LLVMAtomicOrderingMonotonic, false);
  else
    try_until_alone(g, s, old, ptr);
}
