// Emits the functions of a module: the kernel, and the bodies of parallel loops. Also emits the code that passes data
// to them.
//
// The kernel and the bodies are private functions. The parameters of a private function are the data pointers, the
// sizes and the captured values. A wrapper with the signature that the caller expects reads these values from memory
// and calls the private function. The pointers are parameters because only parameters can be declared noalias, that is,
// not to overlap.
#include "codegen/llvm/llvm.h"
#include "ir/program/tags.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { FRAME, THREAD, BEGIN, END, FIXED };

static LLVMTypeRef i64_type(nwc *g) { return LLVMInt64TypeInContext(g->lc); }

static void text_attribute(nwc *g, LLVMValueRef fn, const char *key, const char *value) {
  LLVMAttributeRef a = LLVMCreateStringAttribute(g->lc, key, (unsigned)strlen(key), value, (unsigned)strlen(value));
  LLVMAddAttributeAtIndex(fn, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
}

void nwc_attribute(nwc *g, LLVMValueRef fn, unsigned at, const char *name, uint64_t value) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(fn, at, LLVMCreateEnumAttribute(g->lc, kind, value));
}

void nwc_for_target(nwc *g, LLVMValueRef fn) {
  nwc_attribute(g, fn, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
  text_attribute(g, fn, "target-cpu", g->cpu);
  text_attribute(g, fn, "target-features", g->features);
}

LLVMValueRef nwc_new_function(nwc *g, const char *name, int nparams, LLVMTypeRef *params, bool public) {
  LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(g->lc), params, (unsigned)nparams, false);
  LLVMValueRef fn = LLVMAddFunction(g->module, name, t);
  if (!public) LLVMSetLinkage(fn, LLVMInternalLinkage);
  nwc_for_target(g, fn);
  if (nwc_register_bytes(g) == 64) text_attribute(g, fn, "prefer-vector-width", "512");
  return fn;
}

// The parameters of a private function are, in order: the frame, the thread and the range of iterations; data pointers
// from the frame; sizes and loop variables; data pointers from the enclosing function. The body of a parallel loop gets
// the pointer to a shared buffer from the enclosing function, where the pointer is noalias. If the body read the
// pointer from the frame again, LLVM would assume that the two pointers point to different memory. LLVM could then move
// stores from before the loop to after the loop.
typedef struct signature {
  int n, first_data, first_var, first_captured;
  LLVMTypeRef *type;
  bool *captured; // for each buffer: true if its pointer comes from the enclosing function
  bool inner; // true if the function is the body of a parallel loop
} signature;

static bool from_frame(const signature *s, const nw_storage *storage) {
  return storage->kind == NW_STORE_PER_THREAD || (!s->inner && storage->kind != NW_STORE_STACK);
}

// True if the statement itself does not use the buffer; then nw_walk_from goes on to the next statement.
static bool does_not_use(void *env, nw_stmt *s) {
  const char *buffer = env;
  switch (s->kind) {
  case NW_STORE:
    return strcmp(s->store.buffer, buffer) && !nw_uses_load(s->store.value, buffer) &&
           !nw_uses_load(s->store.index, buffer) && !(s->store.mask && nw_uses_load(s->store.mask, buffer));
  case NW_PREFETCH: return strcmp(s->prefetch.buffer, buffer);
  case NW_GUARD: return !nw_uses_load(s->guard.cond, buffer);
  case NW_LOOP: return !nw_uses_load(s->loop.begin, buffer) && !nw_uses_load(s->loop.extent, buffer);
  default: return true;
  }
}

// True if the body of a parallel loop uses buffer i of the enclosing function. A captured buffer cannot be kept in
// registers, so a buffer that the body does not use is not captured.
static bool captures(nwc *g, const nwc_function *outer, const nw_stmt *body, int i) {
  if (!outer || !outer->buffer[i] || g->exec->storage[i].kind == NW_STORE_PER_THREAD) return false;
  return !nw_walk_from(body, does_not_use, (void *)g->p->buffer[i]->name);
}

static void drop_signature(signature *s) {
  free(s->type);
  free(s->captured);
}

static signature signature_of(nwc *g, const nwc_function *outer, const nw_stmt *body, int nvars) {
  signature s = {.first_data = FIXED, .inner = outer != NULL};
  int nb = g->p->nbuffers;
  s.captured = nw_xcalloc((size_t)nb + 1, sizeof *s.captured);
  s.type = nw_xmalloc(sizeof *s.type * (size_t)(FIXED + 2 * nb + nvars));
  s.type[FRAME] = nwc_ptr(g);
  for (int i = THREAD; i < FIXED; i++) s.type[i] = i64_type(g);
  s.n = FIXED;
  for (int i = 0; i < nb; i++)
    if (from_frame(&s, &g->exec->storage[i])) s.type[s.n++] = nwc_ptr(g);
  s.first_var = s.n;
  for (int i = 0; i < nvars; i++) s.type[s.n++] = i64_type(g);
  s.first_captured = s.n;
  for (int i = 0; i < nb; i++)
    if ((s.captured[i] = captures(g, outer, body, i))) s.type[s.n++] = nwc_ptr(g);
  return s;
}

static void open_function(nwc *g, nwc_function *f, LLVMValueRef fn) {
  *f = (nwc_function){.fn = fn, .frame = LLVMGetParam(fn, FRAME), .thread = LLVMGetParam(fn, THREAD)};
  f->buffer = nw_xcalloc(2 * (size_t)g->p->nbuffers + 2, sizeof *f->buffer);
  f->array = f->buffer + g->p->nbuffers + 1;
  f->pure = f->loads = nwc_memo_open(&f->memo);
  g->f = f;
  f->entry = nwc_block(g, "entry");
  LLVMBasicBlockRef start = nwc_block(g, "start");
  nwc_at(g, f->entry);
  LLVMBuildBr(g->b, start);
  nwc_at(g, start);
}

static void close_function(nwc *g, nwc_function *f) {
  LLVMBuildRetVoid(g->b);
  nwc_memo_free(&f->memo);
  free(f->buffer);
  free(f->var);
}

// Returns the guaranteed alignment of a buffer, in bytes. A parameter is aligned to the size of its elements. If
// streaming stores write to the parameter, the caller guarantees a larger alignment.
static uint64_t alignment(const nw_storage *s) {
  return s->kind != NW_STORE_PARAM || s->streamed ? NW_STREAM_ALIGN : (uint64_t)nw_dtype_bytes(s->dtype);
}

// Names the parameters of the current function, and maps buffers and variables to them.
static void take_parameters(nwc *g, const signature *s, const nwc_var *vars, int nvars) {
  nwc_function *f = g->f;
  int data = s->first_data, captured = s->first_captured;
  for (int i = 0; i < g->p->nbuffers; i++) {
    bool given = from_frame(s, &g->exec->storage[i]);
    if (!given && !s->captured[i]) continue;
    int at = given ? data++ : captured++;
    f->buffer[i] = LLVMGetParam(f->fn, (unsigned)at);
    nwc_attribute(g, f->fn, (unsigned)at + 1, "noalias", 0);
    nwc_attribute(g, f->fn, (unsigned)at + 1, "align", alignment(&g->exec->storage[i]));
    const char *name = g->p->buffer[i]->name;
    LLVMSetValueName2(f->buffer[i], name, strlen(name));
  }
  for (int i = 0; i < nvars; i++) {
    LLVMValueRef v = LLVMGetParam(f->fn, (unsigned)(s->first_var + i));
    LLVMSetValueName2(v, vars[i].name, strlen(vars[i].name));
    nwc_bind(g, vars[i].name, v);
  }
}

static LLVMValueRef field(nwc *g, LLVMValueRef base, LLVMTypeRef t, size_t offset) {
  LLVMValueRef by = nwc_i64(g, (int64_t)offset);
  return LLVMBuildLoad2(g->b, t, LLVMBuildGEP2(g->b, LLVMInt8TypeInContext(g->lc), base, &by, 1, ""), "");
}

// Emits code of a wrapper that reads the pointer to buffer i from the frame.
static LLVMValueRef data_pointer(nwc *g, LLVMValueRef frame, LLVMValueRef thread, int i) {
  const nw_storage *s = &g->exec->storage[i];
  size_t table = s->kind == NW_STORE_PARAM ? offsetof(nw_frame, params) : offsetof(nw_frame, work);
  LLVMValueRef base = field(g, field(g, frame, nwc_ptr(g), table), nwc_ptr(g), sizeof(void *) * (size_t)i);
  if (s->kind != NW_STORE_PER_THREAD) return base;
  LLVMValueRef strides = field(g, frame, nwc_ptr(g), offsetof(nw_frame, stride));
  if (NW_MUTATED(llvm_thread_piece)) thread = LLVMBuildAdd(g->b, thread, nwc_i64(g, 1), "");
  LLVMValueRef by = LLVMBuildMul(g->b, thread, field(g, strides, i64_type(g), sizeof(int64_t) * (size_t)i), "");
  return LLVMBuildGEP2(g->b, LLVMInt8TypeInContext(g->lc), base, &by, 1, "");
}

static LLVMValueRef *wrapper_arguments(nwc *g, const signature *s, LLVMValueRef frame, LLVMValueRef thread) {
  LLVMValueRef *args = nw_xcalloc((size_t)s->n, sizeof *args);
  args[FRAME] = frame;
  args[THREAD] = thread;
  args[BEGIN] = args[END] = nwc_i64(g, 0);
  for (int i = 0, at = s->first_data; i < g->p->nbuffers; i++)
    if (from_frame(s, &g->exec->storage[i])) args[at++] = data_pointer(g, frame, thread, i);
  return args;
}

static void call_private(nwc *g, LLVMValueRef fn, const signature *s, LLVMValueRef *args) {
  LLVMBuildCall2(g->b, LLVMGlobalGetValueType(fn), fn, args, (unsigned)s->n, "");
  LLVMBuildRetVoid(g->b);
  free(args);
}

static void sizes_of(nwc *g, nwc_var *vars) {
  for (int i = 0; i < g->p->nsizes; i++) vars[i].name = g->p->size[i].name;
}

static void entry_wrapper(nwc *g, LLVMValueRef fn, const signature *s) {
  LLVMTypeRef ptr = nwc_ptr(g);
  LLVMValueRef w = nwc_new_function(g, g->name, 1, &ptr, true), frame = LLVMGetParam(w, 0);
  nwc_at(g, LLVMAppendBasicBlockInContext(g->lc, w, "entry"));
  LLVMValueRef *args = wrapper_arguments(g, s, frame, nwc_i64(g, 0));
  LLVMValueRef sizes = field(g, frame, ptr, offsetof(nw_frame, sizes));
  for (int i = 0; i < g->p->nsizes; i++)
    args[s->first_var + i] = field(g, sizes, i64_type(g), sizeof(int64_t) * (size_t)i);
  call_private(g, fn, s, args);
}

static void kernel(nwc *g) {
  nwc_function f;
  nwc_var *vars = nw_xcalloc((size_t)g->p->nsizes + 1, sizeof *vars);
  sizes_of(g, vars);
  signature s = signature_of(g, NULL, NULL, g->p->nsizes);
  LLVMValueRef fn = nwc_new_function(g, "kernel", s.n, s.type, false);
  open_function(g, &f, fn);
  take_parameters(g, &s, vars, g->p->nsizes);
  nwc_stmt(g, g->p->root);
  if (nwc_streams(g->p->root)) nwc_stream_fence(g);
  close_function(g, &f);
  entry_wrapper(g, fn, &s);
  drop_signature(&s);
  free(vars);
}

// ---- parallel loops

// Stores the captured values as an array of 64-bit words in the stack frame of the enclosing function. Returns the
// address of the array.
static LLVMValueRef capture(nwc *g, const signature *s, const nwc_function *outer) {
  int n = s->n - s->first_var, at = 0;
  LLVMTypeRef i64 = i64_type(g), array = LLVMArrayType2(i64, (uint64_t)(n > 0 ? n : 1));
  LLVMBasicBlockRef here = nwc_here(g);
  LLVMPositionBuilderBefore(g->b, LLVMGetLastInstruction(outer->entry));
  LLVMValueRef words = LLVMBuildAlloca(g->b, array, "captured");
  nwc_at(g, here);
  LLVMValueRef *value = nw_xcalloc((size_t)n + 1, sizeof *value);
  for (int i = 0; i < outer->nvars; i++) value[at++] = outer->var[i].value;
  for (int i = 0; i < g->p->nbuffers; i++)
    if (s->captured[i]) value[at++] = LLVMBuildPtrToInt(g->b, outer->buffer[i], i64, "");
  for (int i = 0; i < n; i++) {
    LLVMValueRef by = nwc_i64(g, i);
    LLVMBuildStore(g->b, value[i], LLVMBuildGEP2(g->b, i64, words, &by, 1, ""));
  }
  free(value);
  return words;
}

static LLVMValueRef body_function(nwc *g, const nw_stmt *loop, const signature *s, const nwc_function *outer) {
  nwc_function f;
  char name[64];
  snprintf(name, sizeof name, "kernel.%s", loop->loop.var->name);
  LLVMValueRef fn = nwc_new_function(g, name, s->n, s->type, false);
  open_function(g, &f, fn);
  take_parameters(g, s, outer->var, outer->nvars);
  LLVMValueRef first = nwc_value(g, loop->loop.begin);
  LLVMValueRef begin = LLVMBuildAdd(g->b, first, LLVMGetParam(fn, BEGIN), "");
  LLVMValueRef end = LLVMBuildAdd(g->b, first, LLVMGetParam(fn, END), "");
  nwc_clock_start(g, loop, true);
  nwc_loop_between(g, loop, begin, end, false);
  nwc_clock_stop(g, loop, true);
  if (nwc_streams(loop)) nwc_stream_fence(g);
  close_function(g, &f);
  return fn;
}

static LLVMValueRef body_wrapper(nwc *g, LLVMValueRef fn, const signature *s) {
  LLVMTypeRef ptr = nwc_ptr(g), i64 = i64_type(g), types[] = {ptr, ptr, i64, i64, i64};
  LLVMValueRef w = nwc_new_function(g, "parallel", 5, types, false);
  nwc_at(g, LLVMAppendBasicBlockInContext(g->lc, w, "entry"));
  LLVMValueRef *args = wrapper_arguments(g, s, LLVMGetParam(w, 0), LLVMGetParam(w, 4)), captured = LLVMGetParam(w, 1);
  args[BEGIN] = LLVMGetParam(w, 2);
  args[END] = LLVMGetParam(w, 3);
  for (int i = s->first_var; i < s->n; i++) {
    LLVMValueRef word = field(g, captured, i64, sizeof(int64_t) * (size_t)(i - s->first_var));
    args[i] = i < s->first_captured ? word : LLVMBuildIntToPtr(g->b, word, ptr, "");
  }
  call_private(g, fn, s, args);
  return w;
}

static void call_parallel_for(nwc *g, LLVMValueRef body, LLVMValueRef captured, LLVMValueRef n, int64_t chunk) {
  LLVMTypeRef ptr = nwc_ptr(g), types[] = {ptr, ptr, ptr, i64_type(g), i64_type(g)};
  LLVMTypeRef t = LLVMFunctionType(LLVMVoidTypeInContext(g->lc), types, 5, false);
  LLVMValueRef fn = LLVMGetNamedFunction(g->module, NW_PARALLEL_SYMBOL);
  if (!fn) fn = LLVMAddFunction(g->module, NW_PARALLEL_SYMBOL, t);
  LLVMValueRef args[] = {g->f->frame, body, captured, n, nwc_i64(g, chunk)};
  LLVMBuildCall2(g->b, t, fn, args, 5, "");
}

void nwc_parallel(nwc *g, const nw_stmt *loop) {
  nwc_function *outer = g->f;
  LLVMBasicBlockRef here = nwc_here(g);
  signature s = signature_of(g, outer, loop, outer->nvars);
  LLVMValueRef fn = body_function(g, loop, &s, outer), wrapper = body_wrapper(g, fn, &s);
  g->f = outer;
  nwc_at(g, here);
  LLVMValueRef n = nwc_value(g, loop->loop.extent), words = capture(g, &s, outer);
  if (nwc_streams(g->p->root)) nwc_stream_fence(g);
  call_parallel_for(g, wrapper, words, n, nw_chunk_of(loop));
  drop_signature(&s);
}

LLVMModuleRef nwc_module(LLVMContextRef lc, const nw_exec *e, const char *name, const char *cpu, const char *features,
                         char *error, size_t n) {
  nwc g = {
      .lc = lc, .exec = e, .p = e->p, .name = name, .cpu = cpu, .features = features, .error = error, .error_size = n};
  g.module = LLVMModuleCreateWithNameInContext(e->p->name ? e->p->name : "kernel", lc);
  g.b = LLVMCreateBuilderInContext(lc);
  kernel(&g);
  LLVMDisposeBuilder(g.b);
  if (!g.failed) return g.module;
  LLVMDisposeModule(g.module);
  return NULL;
}
