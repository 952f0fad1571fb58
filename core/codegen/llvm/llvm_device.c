// Emits the kernels of a GPU for LLVM's NVPTX target. Each launch is a function. The indices of its blocks and threads
// are registers of the GPU, and the arrays of a block are in the address space of shared memory.
#include "codegen/llvm/llvm.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

// LLVM's address spaces of a GPU, and its number of the calling convention of kernels.
enum { IN_GLOBAL = 1, IN_SHARED = 3 };

// ---- names

static void plain_name(const char *prefix, const char *of, char *out, size_t room) {
  int n = snprintf(out, room, "%s_%.64s", prefix, of);
  for (int i = 0; i < n && (size_t)i < room; i++)
    if (!isalnum((unsigned char)out[i])) out[i] = out[i] ? '_' : 0;
}

// ---- indices

// Tells LLVM that v is at least 0 and less than n.
static void set_range(nwc *g, LLVMValueRef v, int64_t n) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->lc);
  LLVMMetadataRef of[] = {LLVMValueAsMetadata(LLVMConstInt(i32, 0, false)),
                          LLVMValueAsMetadata(LLVMConstInt(i32, (unsigned long long)n, false))};
  LLVMSetMetadata(v, LLVMGetMDKindIDInContext(g->lc, "range", 5),
                  LLVMMetadataAsValue(g->lc, LLVMMDNodeInContext2(g->lc, of, 2)));
}

// Makes an index of the grid a variable of the kernel, as a number of 64 bits with a known range.
static void bind_index(nwc *g, int d) {
  static const char *const registers[NW_GRID_DIMS] = {"ctaid.x", "ctaid.y", "ctaid.z", "tid.x", "tid.y", "tid.z"};
  char name[64];
  int64_t n, limit = g->p->target->limit.launch.extent[d];
  if (!nw_is_int(g->kernel->extent[d], &n) || n > limit) n = limit;
  snprintf(name, sizeof name, "llvm.nvvm.read.ptx.sreg.%s", registers[d]);
  LLVMValueRef v = nwc_intrinsic(g, name, 0, NULL, 0, NULL);
  set_range(g, v, n > 0 ? n : 1);
  nwc_bind(g, nw_known_index(d), LLVMBuildZExt(g->b, v, LLVMInt64TypeInContext(g->lc), nw_known_index(d)));
}

// ---- arrays

static LLVMValueRef bytes_after(nwc *g, LLVMValueRef base, LLVMValueRef by) {
  return LLVMBuildGEP2(g->b, LLVMInt8TypeInContext(g->lc), base, &by, 1, "");
}

// Returns the shared memory that the launch requests.
static LLVMValueRef requested(nwc *g) {
  static const char name[] = "shared_memory";
  LLVMValueRef all = LLVMGetNamedGlobal(g->module, name);
  if (all) return all;
  LLVMTypeRef bytes = LLVMArrayType2(LLVMInt8TypeInContext(g->lc), 0);
  all = LLVMAddGlobalInAddressSpace(g->module, bytes, name, IN_SHARED);
  LLVMSetAlignment(all, NW_BLOCK_ARRAY_ALIGN);
  return all;
}

static LLVMValueRef block_array(nwc *g, const nw_block_array *a) {
  char name[192];
  if (nw_launch_asks(g->kernel)) return bytes_after(g, requested(g), nwc_i64(g, a->offset));
  int64_t n = a->bytes / nw_dtype_bytes(a->dtype);
  plain_name(g->kernel->name, a->buffer, name, sizeof name);
  LLVMTypeRef type = LLVMArrayType2(nwc_memory_type(g, (nw_type){(uint8_t)a->dtype, 1}), (uint64_t)(n > 0 ? n : 1));
  LLVMValueRef v = LLVMAddGlobalInAddressSpace(g->module, type, name, IN_SHARED);
  LLVMSetLinkage(v, LLVMInternalLinkage);
  LLVMSetInitializer(v, LLVMGetUndef(type));
  LLVMSetAlignment(v, NW_BLOCK_ARRAY_ALIGN);
  return v;
}

// Returns the number of the thread's warp in its block. A warp has the same indices along y and z.
static LLVMValueRef warp_index(nwc *g) {
  int64_t warp = g->p->target->limit.launch.warp, across = 1, rows = 1;
  if (nw_is_int(g->kernel->extent[3], &across)) across = (across + warp - 1) / warp;
  nw_is_int(g->kernel->extent[4], &rows);
  LLVMValueRef x = LLVMBuildUDiv(g->b, nwc_lookup(g, nw_known_index(3)), nwc_i64(g, warp), "");
  LLVMValueRef z = LLVMBuildMul(g->b, nwc_lookup(g, nw_known_index(5)), nwc_i64(g, rows), "");
  LLVMValueRef row = LLVMBuildAdd(g->b, z, nwc_lookup(g, nw_known_index(4)), "");
  return LLVMBuildAdd(g->b, LLVMBuildMul(g->b, row, nwc_i64(g, across), ""), x, "");
}

static void place_array(nwc *g, const nw_block_array *a) {
  LLVMValueRef base = block_array(g, a);
  int64_t each = a->elements * nw_dtype_bytes(a->dtype);
  if (a->scope == NW_WARP) base = bytes_after(g, base, LLVMBuildMul(g->b, warp_index(g), nwc_i64(g, each), ""));
  g->f->buffer[nwc_buffer_index(g, a->buffer)] = base;
}

// ---- arguments

// True if no other argument and no other thread changes what the kernel reads through this pointer. With barriers, other
// threads may write what this thread reads, and LLVM would not expect that a barrier changes memory that is noalias.
static bool is_alone(const nw_launch *l, const nw_launch_buffer *b) { return !(b->read && b->written && l->barriers); }

static void take_arguments(nwc *g) {
  const nw_launch *l = g->kernel;
  unsigned at = 0;
  for (int i = 0; i < l->nbuffers; i++, at++) {
    const nw_launch_buffer *b = &l->buffer[i];
    LLVMValueRef v = g->f->buffer[nwc_buffer_index(g, b->name)] = LLVMGetParam(g->f->fn, at);
    LLVMSetValueName2(v, b->name, strlen(b->name));
    if (is_alone(l, b)) nwc_attribute(g, g->f->fn, at + 1, "noalias", 0);
    if (!b->written) nwc_attribute(g, g->f->fn, at + 1, "readonly", 0);
    nwc_attribute(g, g->f->fn, at + 1, "nocapture", 0);
    nwc_attribute(g, g->f->fn, at + 1, "align", NW_BLOCK_ARRAY_ALIGN);
  }
  for (int i = 0; i < g->p->nsizes; i++) nwc_bind(g, g->p->size[i].name, LLVMGetParam(g->f->fn, at++));
  for (int i = 0; i < l->nvars; i++) nwc_bind(g, l->var[i]->name, LLVMGetParam(g->f->fn, at++));
}

static LLVMValueRef function_of(nwc *g, const nw_launch *l) {
  int n = l->nbuffers, all = n + g->p->nsizes + l->nvars;
  LLVMTypeRef *type = nw_xcalloc((size_t)all + 1, sizeof *type);
  for (int i = 0; i < all; i++)
    type[i] = i < n ? LLVMPointerTypeInContext(g->lc, IN_GLOBAL) : LLVMInt64TypeInContext(g->lc);
  LLVMValueRef fn = nwc_new_function(g, l->name, all, type, true);
  free(type);
  return fn;
}

// ---- kernels

// Adds a property to the list from which the code generator knows the kernels.
static void annotate(nwc *g, LLVMValueRef fn, const char *key, int64_t value) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(g->lc);
  LLVMMetadataRef of[] = {LLVMValueAsMetadata(fn), LLVMMDStringInContext2(g->lc, key, strlen(key)),
                          LLVMValueAsMetadata(LLVMConstInt(i32, (unsigned long long)value, false))};
  LLVMAddNamedMetadataOperand(g->module, "nvvm.annotations",
                              LLVMMetadataAsValue(g->lc, LLVMMDNodeInContext2(g->lc, of, 3)));
}

// Tells the code generator the number of threads of a block, if it is constant.
static void annotate_threads(nwc *g, LLVMValueRef fn) {
  static const char *const most[] = {"maxntidx", "maxntidy", "maxntidz"};
  int64_t n[3];
  for (int t = 0; t < 3; t++)
    if (!nw_is_int(g->kernel->extent[3 + t], &n[t]) || n[t] < 1) return;
  for (int t = 0; t < 3; t++) annotate(g, fn, most[t], n[t]);
}

static void emit_kernel(nwc *g, const nw_launch *l) {
  nwc_function f = {.fn = NULL};
  nw_ranges *known = nw_known_open(g->p, l);
  g->kernel = l;
  g->known = known;
  f.fn = function_of(g, l);
  f.buffer = nw_xcalloc(2 * (size_t)g->p->nbuffers + 2, sizeof *f.buffer);
  f.array = f.buffer + g->p->nbuffers + 1;
  f.pure = f.loads = nwc_memo_open(&f.memo);
  g->f = &f;
  f.entry = nwc_block(g, "entry");
  LLVMBasicBlockRef start = nwc_block(g, "start");
  nwc_at(g, f.entry);
  LLVMBuildBr(g->b, start);
  nwc_at(g, start);
  take_arguments(g);
  for (int d = 0; d < NW_GRID_DIMS; d++) bind_index(g, d);
  for (int i = 0; i < l->narrays; i++)
    if (!l->array[i].shuffle) place_array(g, &l->array[i]);
  nwc_stmt(g, l->body);
  LLVMBuildRetVoid(g->b);
  annotate(g, f.fn, "kernel", 1);
  annotate_threads(g, f.fn);
  nwc_memo_free(&f.memo);
  free(f.buffer);
  free(f.var);
  nw_known_close(known);
}

LLVMModuleRef nwc_device_module(LLVMContextRef lc, const nw_exec *e, const nw_launches *l, const char *cpu,
                                const char *features, char *error, size_t n) {
  nwc g = {.lc = lc, .exec = e, .p = l->p, .cpu = cpu, .features = features, .error = error, .error_size = n};
  g.module = LLVMModuleCreateWithNameInContext(l->p->name ? l->p->name : "kernels", lc);
  g.b = LLVMCreateBuilderInContext(lc);
  for (int i = 0; i < l->n && !g.failed; i++) emit_kernel(&g, &l->launch[i]);
  LLVMDisposeBuilder(g.b);
  if (!g.failed) return g.module;
  LLVMDisposeModule(g.module);
  return NULL;
}

// ---- statements of a kernel

static LLVMValueRef word(nwc *g, uint32_t n) { return LLVMConstInt(LLVMInt32TypeInContext(g->lc), n, false); }

void nwc_barrier(nwc *g, bool warp) {
  LLVMValueRef all = word(g, UINT32_MAX);
  if (!g->kernel)
    nwc_fail(g, "only a GPU has barriers between threads");
  else if (warp && !nw_warps_share_memory(g->kernel))
    return;
  else if (warp)
    nwc_intrinsic(g, "llvm.nvvm.bar.warp.sync", 0, NULL, 1, &all);
  else
    nwc_intrinsic(g, "llvm.nvvm.barrier0", 0, NULL, 0, NULL);
}

// Returns the word of the lane that is `by` lanes higher.
static LLVMValueRef word_from(nwc *g, LLVMValueRef v, int by) {
  LLVMValueRef args[] = {word(g, UINT32_MAX), v, word(g, (uint32_t)by), word(g, 31)};
  return nwc_intrinsic(g, "llvm.nvvm.shfl.sync.down.i32", 0, NULL, 4, args);
}

// Returns the value of the lane that is `by` lanes higher. A value of 64 bits is shuffled in two words.
static LLVMValueRef shuffled(nwc *g, LLVMValueRef v, nw_dtype t, int by) {
  LLVMTypeRef type = LLVMTypeOf(v), i32 = LLVMInt32TypeInContext(g->lc);
  LLVMTypeRef bits = LLVMIntTypeInContext(g->lc, 8 * (unsigned)nw_dtype_bytes(t));
  v = LLVMBuildBitCast(g->b, v, bits, "");
  if (nw_dtype_bytes(t) <= 4) {
    v = LLVMBuildTrunc(g->b, word_from(g, LLVMBuildZExt(g->b, v, i32, ""), by), bits, "");
    return LLVMBuildBitCast(g->b, v, type, "");
  }
  LLVMValueRef half = LLVMConstInt(bits, 32, false);
  LLVMValueRef low = word_from(g, LLVMBuildTrunc(g->b, v, i32, ""), by);
  LLVMValueRef high = word_from(g, LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, v, half, ""), i32, ""), by);
  high = LLVMBuildShl(g->b, LLVMBuildZExt(g->b, high, bits, ""), half, "");
  return LLVMBuildBitCast(g->b, LLVMBuildOr(g->b, LLVMBuildZExt(g->b, low, bits, ""), high, ""), type, "");
}

bool nwc_shuffle(nwc *g, const nw_stmt *s) {
  const nw_stmt *store = g->kernel ? nw_shuffle_in(g->kernel, s) : NULL;
  if (!store) return false;
  const nw_block_array *a = nw_shuffled(g->kernel, store->store.buffer);
  nw_type type = {(uint8_t)a->dtype, 1};
  LLVMValueRef v = nwc_to_memory(g, nwc_value(g, store->store.value), type);
  LLVMBuildStore(g->b, shuffled(g, v, a->dtype, a->shuffle), g->f->buffer[nwc_buffer_index(g, a->buffer)]);
  return true;
}

void nwc_enter(nwc *g, const nw_stmt *s) {
  if (g->known) nw_known_enter(g->known, s);
}

void nwc_leave(nwc *g, const nw_stmt *s) {
  if (g->known) nw_known_leave(g->known, s);
}

int nwc_alignment(nwc *g, nw_dtype t, const nw_expr *first) {
  int each = nw_dtype_bytes(t), bytes = g->known ? NW_BLOCK_ARRAY_ALIGN : each;
  while (bytes > each && !nw_known_divides(g->known, first, bytes / each)) bytes /= 2;
  return bytes > each ? bytes : each;
}
