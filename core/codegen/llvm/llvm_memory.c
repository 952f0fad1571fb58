// Emits loads and stores.
#include "codegen/llvm/llvm.h"

#define MAX_TERMS 64

typedef struct term {
  const nw_expr *e;
  int64_t coef;
  int depth;
} term;

typedef struct sum {
  term at[MAX_TERMS];
  int n;
  int64_t constant;
} sum;

typedef struct depth_search {
  const nwc_function *f;
  int deepest;
} depth_search;

static bool note_depth(void *env, const nw_expr *e) {
  depth_search *s = env;
  if (e->op == NW_OP_LOAD) s->deepest = s->f->nvars;
  if (e->op != NW_OP_VAR) return true;
  for (int i = s->f->nvars - 1; i > s->deepest; i--)
    if (!strcmp(s->f->var[i].name, e->name)) s->deepest = i;
  return true;
}

static void add_term(nwc *g, sum *s, const nw_expr *e, int64_t coef) {
  depth_search d = {g->f, -1};
  nw_visit(e, note_depth, &d);
  int at = s->n++;
  for (; at > 0 && s->at[at - 1].depth > d.deepest; at--) s->at[at] = s->at[at - 1];
  s->at[at] = (term){e, coef, d.deepest};
}

static void gather_terms(nwc *g, sum *s, const nw_expr *e, int64_t coef) {
  int64_t c;
  if (e->op == NW_OP_INT)
    s->constant += coef * e->i;
  else if (e->op == NW_OP_ADD && s->n < MAX_TERMS - 2)
    gather_terms(g, s, e->arg[0], coef), gather_terms(g, s, e->arg[1], coef);
  else if (e->op == NW_OP_SUB && s->n < MAX_TERMS - 2)
    gather_terms(g, s, e->arg[0], coef), gather_terms(g, s, e->arg[1], -coef);
  else if (e->op == NW_OP_MUL && nw_is_int(e->arg[0], &c))
    gather_terms(g, s, e->arg[1], coef * c);
  else if (e->op == NW_OP_MUL && nw_is_int(e->arg[1], &c))
    gather_terms(g, s, e->arg[0], coef * c);
  else
    add_term(g, s, e, coef);
}

// Emits the address of an element. Terms of outer loops are added first, so that their sum can be hoisted out of inner
// loops. The constant is added last, so that neighbouring accesses of an unrolled tile share the sum of the other
// terms.
static LLVMValueRef address(nwc *g, LLVMValueRef base, LLVMTypeRef elem, const nw_expr *index, int64_t offset) {
  sum s = {.constant = offset};
  gather_terms(g, &s, index, 1);
  LLVMValueRef all = NULL;
  for (int i = 0; i < s.n; i++) {
    LLVMValueRef v = nwc_value(g, s.at[i].e);
    if (s.at[i].coef != 1) v = LLVMBuildMul(g->b, v, nwc_i64(g, s.at[i].coef), "");
    all = all ? LLVMBuildAdd(g->b, all, v, "") : v;
  }
  if (all) base = LLVMBuildGEP2(g->b, elem, base, &all, 1, "");
  LLVMValueRef constant = nwc_i64(g, s.constant);
  return s.constant ? LLVMBuildGEP2(g->b, elem, base, &constant, 1, "") : base;
}

static LLVMValueRef base_of(nwc *g, const char *buffer) {
  int i = nwc_buffer_index(g, buffer);
  LLVMValueRef base = i < 0 ? NULL : g->f->buffer[i];
  if (base) return base;
  nwc_fail(g, "buffer %s has no storage here", buffer);
  return LLVMGetUndef(nwc_ptr(g));
}

// Returns the address of an element. An array that is shuffled has only one, in a register of the lane.
static LLVMValueRef element(nwc *g, const char *buffer, LLVMTypeRef elem, const nw_expr *index) {
  LLVMValueRef base = base_of(g, buffer);
  return g->kernel && nw_shuffled(g->kernel, buffer) ? base : address(g, base, elem, index, 0);
}

LLVMValueRef nwc_address(nwc *g, const char *buffer, const nw_expr *index) {
  const nw_buffer *b = nw_find_buffer(g->p, buffer);
  return address(g, base_of(g, buffer), nwc_memory_type(g, (nw_type){(uint8_t)b->dtype, 1}), index, 0);
}

// The kinds of accesses. A scalar access touches ONE element. The lanes of a vector access touch consecutive elements
// in ascending order (LINE) or in descending order (BACKWARDS), the same element (SAME), or any elements (SCATTERED).
typedef enum shape { ONE, LINE, BACKWARDS, SAME, SCATTERED } shape;

static shape shape_of(const nw_expr *index, bool masked) {
  int64_t stride;
  if (index->type.lanes == 1) return ONE;
  if (index->op == NW_OP_BROADCAST) return SAME;
  if (index->op != NW_OP_RAMP || !nw_is_int(index->arg[1], &stride)) return SCATTERED;
  if (stride == 1) return LINE;
  if (stride == 0) return SAME;
  return stride == -1 && !masked ? BACKWARDS : SCATTERED;
}

static LLVMValueRef pointers(nwc *g, LLVMValueRef base, LLVMTypeRef elem, const nw_expr *index) {
  int64_t stride;
  LLVMTypeRef i64 = LLVMInt64TypeInContext(g->lc);
  if (index->op == NW_OP_RAMP && nw_is_int(index->arg[1], &stride)) {
    LLVMValueRef first = address(g, base, elem, index->arg[0], 0), steps = nwc_iota(g, i64, index->type.lanes, stride);
    return LLVMBuildGEP2(g->b, elem, first, &steps, 1, "");
  }
  LLVMValueRef v = nwc_value(g, index);
  return LLVMBuildGEP2(g->b, elem, base, &v, 1, "");
}

static LLVMValueRef reversed(nwc *g, LLVMValueRef v, int lanes) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->lc);
  LLVMValueRef mask =
      LLVMConstAdd(nwc_iota(g, i32, lanes, -1), nwc_const_int(LLVMVectorType(i32, (unsigned)lanes), lanes - 1));
  return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)), mask, "");
}

static LLVMValueRef i32_of(nwc *g, int v) { return LLVMConstInt(LLVMInt32TypeInContext(g->lc), (unsigned)v, false); }

static LLVMValueRef aligned_load(nwc *g, LLVMTypeRef t, LLVMValueRef ptr, int align) {
  LLVMValueRef v = LLVMBuildLoad2(g->b, t, ptr, "");
  LLVMSetAlignment(v, (unsigned)align);
  return v;
}

// If the sign bit of a lane's mask says whether the lane is active (nwc_masks_by_sign), masks are hidden from LLVM, and
// a vector is accessed in pieces of at most REGISTER bytes. A hidden mask has at least LEAST_REGISTER bytes.
enum { REGISTER = 32, LEAST_REGISTER = 16 };

static bool masks_by_sign(const nwc *g, int bytes) { return bytes >= 4 && nwc_masks_by_sign(g); }

static int lanes_of_piece(int lanes, int bytes) {
  int n = 1 << (31 - __builtin_clz((unsigned)lanes));
  return n * bytes > REGISTER ? REGISTER / bytes : n;
}

static LLVMValueRef hidden_mask(nwc *g, LLVMValueRef mask, int lanes, int bytes) {
  int bits = 8 * (lanes * bytes < LEAST_REGISTER ? LEAST_REGISTER / lanes : bytes);
  LLVMValueRef signs = nwc_opaque(g, LLVMBuildSExt(g->b, mask, nwc_int_type(g, bits, lanes), ""));
  return LLVMBuildICmp(g->b, LLVMIntSLT, signs, LLVMConstNull(LLVMTypeOf(signs)), "");
}

static LLVMValueRef beyond(nwc *g, LLVMTypeRef elem, LLVMValueRef ptr, int lanes) {
  LLVMValueRef by = nwc_i64(g, lanes);
  return lanes ? LLVMBuildGEP2(g->b, elem, ptr, &by, 1, "") : ptr;
}

static LLVMValueRef masked_load(nwc *g, const char *name, LLVMTypeRef t, LLVMValueRef ptr, int align,
                                LLVMValueRef mask) {
  LLVMTypeRef over[] = {t, LLVMTypeOf(ptr)};
  LLVMValueRef args[] = {ptr, i32_of(g, align), mask, LLVMConstNull(t)};
  return nwc_intrinsic(g, name, 2, over, 4, args);
}

static LLVMValueRef all_lanes(nwc *g, int lanes) { return nwc_const_int(nwc_int_type(g, 1, lanes), 1); }

// Loads a scalar if the condition is true. If it is false, the value is 0.
static LLVMValueRef load_if(nwc *g, LLVMTypeRef elem, LLVMValueRef ptr, int align, LLVMValueRef cond) {
  LLVMBasicBlockRef before = nwc_here(g), then = nwc_block(g, "load"), join = nwc_block(g, "");
  LLVMBuildCondBr(g->b, cond, then, join);
  nwc_at(g, then);
  LLVMValueRef values[] = {LLVMConstNull(elem), aligned_load(g, elem, ptr, align)};
  LLVMBasicBlockRef from[] = {before, then};
  LLVMBuildBr(g->b, join);
  nwc_at(g, join);
  LLVMValueRef phi = LLVMBuildPhi(g->b, elem, "");
  LLVMAddIncoming(phi, values, from, 2);
  return phi;
}

// Loads one element for all active lanes. A gather is not used, because LLVM 19 may emit an invalid gather, whose index
// and result are the same register. This happens for a gather of all lanes from one address, and for a gather whose
// number of lanes is not a power of two.
static LLVMValueRef load_same(nwc *g, LLVMTypeRef elem, LLVMValueRef ptr, int align, int lanes, LLVMValueRef mask) {
  if (!mask) return nwc_splat(g, aligned_load(g, elem, ptr, align), lanes);
  LLVMValueRef any = nwc_intrinsic1(g, "llvm.vector.reduce.or", mask);
  LLVMValueRef all = nwc_splat(g, load_if(g, elem, ptr, align, any), lanes);
  return LLVMBuildSelect(g->b, mask, all, LLVMConstNull(LLVMTypeOf(all)), "");
}

static LLVMValueRef gather(nwc *g, LLVMTypeRef elem, LLVMValueRef ptrs, int align, int lanes, LLVMValueRef mask) {
  LLVMValueRef all = NULL;
  if (!mask) mask = all_lanes(g, lanes);
  for (int done = 0, n; done < lanes; done += n) {
    n = 1 << (31 - __builtin_clz((unsigned)(lanes - done)));
    LLVMValueRef p = nwc_slice(g, ptrs, done, n), m = nwc_slice(g, mask, done, n), v;
    if (n == 1)
      v = load_if(g, elem, p, align, m);
    else
      v = masked_load(g, "llvm.masked.gather", LLVMVectorType(elem, (unsigned)n), p, align, m);
    all = all ? nwc_join(g, all, done, v, n) : v;
  }
  return all;
}

// Loads consecutive elements into the active lanes. Inactive lanes become 0.
static LLVMValueRef load_line(nwc *g, LLVMTypeRef elem, LLVMValueRef ptr, int bytes, int lanes, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMVectorType(elem, (unsigned)lanes);
  if (!masks_by_sign(g, bytes)) return masked_load(g, "llvm.masked.load", type, ptr, bytes, mask);
  LLVMValueRef all = NULL;
  for (int done = 0, n; done < lanes; done += n) {
    n = lanes_of_piece(lanes - done, bytes);
    LLVMValueRef p = beyond(g, elem, ptr, done), m = nwc_slice(g, mask, done, n), v;
    if (n == 1)
      v = load_if(g, elem, p, bytes, m);
    else if (m == all_lanes(g, n))
      v = aligned_load(g, LLVMVectorType(elem, (unsigned)n), p, bytes);
    else
      v = masked_load(g, "llvm.masked.load", LLVMVectorType(elem, (unsigned)n), p, bytes, hidden_mask(g, m, n, bytes));
    all = all ? nwc_join(g, all, done, v, n) : v;
  }
  return all;
}

static LLVMValueRef raw_load(nwc *g, const nw_expr *e, LLVMValueRef mask) {
  const nw_expr *index = e->arg[0];
  nw_type t = e->type, one = {t.dtype, 1};
  LLVMTypeRef type = nwc_memory_type(g, t), elem = nwc_memory_type(g, one);
  LLVMValueRef base = base_of(g, e->name);
  int align = nw_dtype_bytes((nw_dtype)t.dtype);
  switch (shape_of(index, mask != NULL)) {
  case ONE: {
    LLVMValueRef ptr = element(g, e->name, elem, index);
    return mask ? load_if(g, elem, ptr, align, mask) : aligned_load(g, elem, ptr, align);
  }
  case SAME: return load_same(g, elem, address(g, base, elem, index->arg[0], 0), align, t.lanes, mask);
  case LINE: {
    LLVMValueRef ptr = address(g, base, elem, index->arg[0], 0);
    if (mask && !NW_MUTATED(llvm_load_mask)) return load_line(g, elem, ptr, align, t.lanes, mask);
    LLVMValueRef v = aligned_load(g, type, ptr, nwc_alignment(g, t.dtype, index->arg[0]));
    if (nwc_is_alone(g, e)) LLVMSetVolatile(v, true);
    return v;
  }
  case BACKWARDS:
    return reversed(g, aligned_load(g, type, address(g, base, elem, index->arg[0], 1 - t.lanes), align), t.lanes);
  default: return gather(g, elem, pointers(g, base, elem, index), align, t.lanes, mask);
  }
}

LLVMValueRef nwc_from_memory(nwc *g, LLVMValueRef v, nw_type t) {
  if (t.dtype == NW_BOOL) return LLVMBuildICmp(g->b, LLVMIntNE, v, nwc_const_int(LLVMTypeOf(v), 0), "");
  return t.dtype == NW_F16 ? LLVMBuildBitCast(g->b, v, nwc_type(g, t), "") : v;
}

LLVMValueRef nwc_to_memory(nwc *g, LLVMValueRef v, nw_type t) {
  if (t.dtype == NW_BOOL) return LLVMBuildZExt(g->b, v, nwc_memory_type(g, t), "");
  return t.dtype == NW_F16 ? LLVMBuildBitCast(g->b, v, nwc_memory_type(g, t), "") : v;
}

static bool always(const nw_expr *mask) {
  return !mask || nw_is_const(mask->op == NW_OP_BROADCAST ? mask->arg[0] : mask, 1);
}

LLVMValueRef nwc_load(nwc *g, const nw_expr *e) {
  const nw_expr *mask = e->n > 1 && !always(e->arg[1]) ? e->arg[1] : NULL;
  LLVMValueRef m = mask ? nwc_condition(g, mask, (nw_dtype)e->type.dtype) : NULL;
  LLVMValueRef v = raw_load(g, e, m);
  g->nloads++;
  return nwc_from_memory(g, v, e->type);
}

static void masked_store(nwc *g, const char *name, LLVMValueRef v, LLVMValueRef ptr, int align, LLVMValueRef mask) {
  LLVMTypeRef over[] = {LLVMTypeOf(v), LLVMTypeOf(ptr)};
  LLVMValueRef args[] = {v, ptr, i32_of(g, align), mask};
  nwc_intrinsic(g, name, 2, over, 4, args);
}

// Stores the active lanes of v to consecutive elements. The number of lanes is a power of two.
static void store_line(nwc *g, LLVMTypeRef elem, LLVMValueRef v, LLVMValueRef ptr, int bytes, int lanes,
                       LLVMValueRef mask) {
  if (!masks_by_sign(g, bytes)) {
    masked_store(g, "llvm.masked.store", v, ptr, bytes, mask);
    return;
  }
  for (int done = 0, n; done < lanes; done += n) {
    n = lanes_of_piece(lanes - done, bytes);
    masked_store(g, "llvm.masked.store", nwc_slice(g, v, done, n), beyond(g, elem, ptr, done), bytes,
                 hidden_mask(g, nwc_slice(g, mask, done, n), n, bytes));
  }
}

static void aligned_store(nwc *g, LLVMValueRef v, LLVMValueRef ptr, int align) {
  LLVMSetAlignment(LLVMBuildStore(g->b, v, ptr), (unsigned)align);
}

// Returns `bytes` bytes of the vector, from lane `from`, as 32-bit words. The words hide the element type from LLVM. If
// LLVM saw that the value was narrowed, it would narrow and store the value with one instruction. That instruction has
// no streaming form.
static LLVMValueRef words_of(nwc *g, LLVMValueRef v, nw_type t, int from, int bytes) {
  int each = nw_dtype_bytes(t.dtype);
  LLVMValueRef part = t.lanes * each == bytes ? v : nwc_slice(g, v, from, bytes / each);
  part = LLVMBuildBitCast(g->b, part, nwc_int_type(g, 32, bytes / 4), "");
  return nwc_opaque(g, part);
}

static void stream_piece(nwc *g, LLVMValueRef v, LLVMValueRef ptr, int align) {
  LLVMValueRef store = LLVMBuildStore(g->b, v, ptr);
  LLVMSetAlignment(store, (unsigned)align);
  LLVMMetadataRef one = LLVMValueAsMetadata(LLVMConstInt(LLVMInt32TypeInContext(g->lc), 1, false));
  LLVMSetMetadata(store, LLVMGetMDKindIDInContext(g->lc, "nontemporal", 11),
                  LLVMMetadataAsValue(g->lc, LLVMMDNodeInContext2(g->lc, &one, 1)));
}

// Emits a streaming store. Buffers are 64-byte aligned, and the lowered program guarantees the alignment of the index.
static void streaming_store(nwc *g, const nw_stmt *s, nw_type t, LLVMValueRef v) {
  const nw_expr *index = s->store.index;
  int each = nw_dtype_bytes(t.dtype), all = t.lanes * each;
  if (shape_of(index, true) != LINE || s->store.mask || all % 16) {
    nwc_fail(g, "a streaming store of %s is not a whole vector", s->store.buffer);
    return;
  }
  int most = nwc_register_bytes(g), bytes = all < most ? all : most;
  LLVMTypeRef elem = nwc_memory_type(g, (nw_type){t.dtype, 1});
  LLVMValueRef base = base_of(g, s->store.buffer);
  for (int done = 0; done < all; done += bytes) {
    LLVMValueRef ptr = address(g, base, elem, index->arg[0], done / each);
    stream_piece(g, words_of(g, v, t, done / each, bytes), ptr, bytes);
  }
}

bool nwc_streams(const nw_stmt *s) {
  bool any = s->kind == NW_STORE && s->store.stream;
  for (int i = 0; !any && i < s->nkids; i++) any = nwc_streams(s->kid[i]);
  return any;
}

// Emits a fence that makes earlier streaming stores visible to other threads before any later store.
void nwc_stream_fence(nwc *g) {
  const char *fence = nwc_isa_of(g->p->target)->fence;
  if (fence)
    nwc_intrinsic(g, fence, 0, NULL, 0, NULL);
  else
    LLVMBuildFence(g->b, LLVMAtomicOrderingSequentiallyConsistent, false, "");
}

static void raw_store(nwc *g, const char *buffer, const nw_expr *index, nw_type t, LLVMValueRef v, LLVMValueRef mask) {
  LLVMTypeRef elem = nwc_memory_type(g, (nw_type){t.dtype, 1});
  LLVMValueRef base = base_of(g, buffer);
  int align = nw_dtype_bytes(t.dtype);
  switch (shape_of(index, true)) {
  case ONE: aligned_store(g, v, address(g, base, elem, index, 0), align); break;
  case LINE: {
    LLVMValueRef ptr = address(g, base, elem, index->arg[0], 0);
    if (mask && !NW_MUTATED(llvm_store_mask))
      store_line(g, elem, v, ptr, align, t.lanes, mask);
    else
      aligned_store(g, v, ptr, nwc_alignment(g, t.dtype, index->arg[0]));
    break;
  }
  default:
    if (!mask) mask = all_lanes(g, t.lanes);
    masked_store(g, "llvm.masked.scatter", v, pointers(g, base, elem, index), align, mask);
  }
}

static void store_one_if(nwc *g, const char *buffer, const nw_expr *index, nw_type t, LLVMValueRef v,
                         LLVMValueRef cond) {
  LLVMBasicBlockRef then = nwc_block(g, "store"), join = nwc_block(g, "");
  LLVMBuildCondBr(g->b, cond, then, join);
  nwc_at(g, then);
  nwc_region r = nwc_region_open(g);
  raw_store(g, buffer, index, t, v, NULL);
  nwc_region_close(g, r);
  LLVMBuildBr(g->b, join);
  nwc_at(g, join);
}

static void store_if(nwc *g, const nw_stmt *s, LLVMValueRef cond) {
  LLVMBasicBlockRef then = nwc_block(g, "store"), join = nwc_block(g, "");
  LLVMBuildCondBr(g->b, cond, then, join);
  nwc_at(g, then);
  nwc_region r = nwc_region_open(g);
  LLVMValueRef v = nwc_value(g, s->store.value);
  raw_store(g, s->store.buffer, s->store.index, s->store.value->type, nwc_to_memory(g, v, s->store.value->type), NULL);
  nwc_region_close(g, r);
  LLVMBuildBr(g->b, join);
  nwc_at(g, join);
}

enum { MOST_PIECES = NW_LANES_ROOM };

// Stores a vector in pieces. The values of all pieces are computed before any piece is stored, because the values may
// depend on elements that are overwritten.
static void store_pieces(nwc *g, const nw_stmt *s, const nw_expr *mask) {
  LLVMValueRef value[MOST_PIECES], on[MOST_PIECES];
  nwc_piece piece[MOST_PIECES];
  nw_type t = s->store.value->type;
  int n = nwc_pieces_of(g, s, piece);
  for (int i = 0; i < n; i++) {
    nw_type one = {t.dtype, (uint16_t)(t.lanes > 1 ? piece[i].lanes : 1)};
    value[i] = nwc_to_memory(g, nwc_value(g, nwc_lanes_of(s->store.value, piece[i])), one);
    if (t.lanes == 1) value[i] = nwc_splat(g, value[i], piece[i].lanes);
    on[i] =
        mask && !NW_MUTATED(llvm_piece_mask) ? nwc_condition(g, nwc_lanes_of(mask, piece[i]), (nw_dtype)t.dtype) : NULL;
  }
  for (int i = 0; i < n; i++) {
    nw_type part = {t.dtype, (uint16_t)piece[i].lanes};
    const nw_expr *index = nwc_lanes_of(s->store.index, piece[i]);
    if (on[i] && part.lanes == 1)
      store_one_if(g, s->store.buffer, index, part, value[i], on[i]);
    else
      raw_store(g, s->store.buffer, index, part, value[i], on[i]);
  }
}

// Emits a store. The value has as many lanes as the index, or it is a scalar that every lane stores.
void nwc_store(nwc *g, const nw_stmt *s) {
  if (s->store.async && nwc_async(g, s)) return;
  const nw_expr *mask = always(s->store.mask) ? NULL : s->store.mask;
  if (mask && mask->type.lanes == 1) {
    store_if(g, s, nwc_value(g, mask));
    return;
  }
  if (nwc_in_pieces(s)) {
    store_pieces(g, s, mask);
    return;
  }
  nw_type t = s->store.value->type;
  LLVMValueRef m = mask ? nwc_condition(g, mask, (nw_dtype)t.dtype) : NULL;
  LLVMValueRef v = nwc_to_memory(g, nwc_value(g, s->store.value), t);
  int lanes = s->store.index->type.lanes;
  if (t.lanes == 1 && lanes > 1) {
    v = nwc_splat(g, v, lanes);
    t.lanes = (uint16_t)lanes;
  }
  if (s->store.stream && !g->kernel)
    streaming_store(g, s, t, v);
  else
    raw_store(g, s->store.buffer, s->store.index, t, v, m);
}

// Emits a prefetch for reading, into all levels of the cache. LLVM has none for a GPU.
void nwc_prefetch(nwc *g, const nw_stmt *s) {
  if (g->kernel) return;
  const nw_buffer *b = nw_find_buffer(g->p, s->prefetch.buffer);
  LLVMTypeRef elem = nwc_memory_type(g, (nw_type){(uint8_t)b->dtype, 1});
  LLVMValueRef ptr = address(g, base_of(g, b->name), elem, s->prefetch.min[0], 0);
  LLVMTypeRef type = LLVMTypeOf(ptr);
  LLVMValueRef args[] = {ptr, i32_of(g, 0), i32_of(g, 3), i32_of(g, 1)};
  nwc_intrinsic(g, "llvm.prefetch", 1, &type, 4, args);
}
