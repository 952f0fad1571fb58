// Declares the state and the functions that codegen/llvm uses while it makes an LLVM module. This header is private to
// codegen/llvm and run/jit.
#pragma once
#include "codegen/codegen.h"
#include "codegen/known.h"
#include <llvm-c/Core.h>

// The memo holds the values of expressions for which code was already emitted. Each value belongs to a scope: code that
// is emitted in a scope dominates all later code of the scope. When a scope is closed, its values are forgotten.
typedef struct nwc_memo {
  int n, cap; // cap is the number of entries, a power of two; n of them are in use
  struct nwc_memo_entry {
    const nw_expr *key;
    LLVMValueRef value;
    int scope;
    bool loads; // true if the value depends on memory
  } * at;
  nw_vec alive; // one entry for each scope, not NULL while the scope is open
} nwc_memo;
int nwc_memo_open(nwc_memo *m);
void nwc_memo_close(nwc_memo *m, int scope);
LLVMValueRef nwc_memo_get(const nwc_memo *m, const nw_expr *e, bool *loads);
void nwc_memo_put(nwc_memo *m, const nw_expr *e, LLVMValueRef v, int scope, bool loads);
void nwc_memo_free(nwc_memo *m);

typedef struct nwc_var {
  const char *name;
  LLVMValueRef value;
} nwc_var;

// An LLVM function under construction: the kernel, or the body of a parallel loop.
typedef struct nwc_function {
  LLVMValueRef fn, frame, thread;
  LLVMBasicBlockRef entry; // allocas are added at the end of this block
  LLVMValueRef *buffer; // pointer to each buffer; NULL if this function cannot use the buffer
  // The array of each buffer in the stack frame of this function. NULL if the array is not made yet.
  LLVMValueRef *array;
  int nvars, capvars;
  nwc_var *var; // the sizes, then the loop variables in scope, innermost last
  nwc_memo memo;
  // Scopes of new values. A value that does not depend on memory gets the scope `pure`, and is valid to the end of the
  // loop body. A value that depends on memory gets the scope `loads`.
  int pure, loads;
} nwc_function;

typedef struct nwc {
  LLVMContextRef lc;
  LLVMModuleRef module;
  LLVMBuilderRef b;
  const nw_exec *exec;
  const nw_program *p;
  const char *name; // name of the public entry
  nwc_function *f;
  // Number of uses so far of values that depend on memory. If the number grows while an expression is emitted, the
  // expression depends on memory.
  int nloads;
  const nw_vec *alone; // loads of the current statements that LLVM must not merge (llvm_alone.c); may be NULL
  int data_bits; // bits of the elements that the condition being emitted is for; 0 if they are not known
  const char *cpu, *features;
  // For the kernels of a GPU; NULL for a CPU. `known` has the ranges and facts at the current statement of the kernel.
  const nw_launch *kernel;
  nw_ranges *known;
  char *error;
  size_t error_size;
  bool failed;
} nwc;
void nwc_fail(nwc *g, const char *fmt, ...) NW_PRINTF(2, 3);

// Builds the whole module of an executable program, with one public function `name` of type nw_entry.
LLVMModuleRef nwc_module(LLVMContextRef lc, const nw_exec *e, const char *name, const char *cpu, const char *features,
                         char *error, size_t n);

// Builds the module of the launches of e, for a GPU. The names and the arguments of the kernels are those of lower/launch.h.
LLVMModuleRef nwc_device_module(LLVMContextRef lc, const nw_exec *e, const nw_launches *l, const char *cpu,
                                const char *features, char *error, size_t n);

// ---- llvm_target.c: properties of the instruction set
typedef struct nwc_isa {
  const char *triple;
  const char *cpu; // the CPU name that LLVM gets if the target has no CPU name
  // Inline assembly that returns its vector operand unchanged, to hide the value from LLVM. NULL if the target does not
  // need it.
  const char *opaque;
  const char *fence; // the intrinsic to call after streaming stores; NULL if a full fence is used instead
  const char *clock, *clock_result; // inline assembly that reads the processor's constant clock, and its constraints
  void (*info)(void), (*target)(void), (*code)(void), (*printer)(void); // LLVM's initializers
} nwc_isa;

const nwc_isa *nwc_isa_of(const nw_target *t);
int nwc_capability(const nw_target *t); // of an NVIDIA GPU, times 10, as far as LLVM knows it; 0 for another machine
char *nwc_features_text(const nw_target *t); // for example "+sse4.2,+avx", on the heap
LLVMValueRef nwc_read_clock(nwc *g);
int nwc_register_bytes(const nwc *g); // bytes of the widest vector register
// True if a lane is active when the sign bit of its mask is set. Such masks must be hidden from LLVM's optimizer.
bool nwc_masks_by_sign(const nwc *g);
LLVMValueRef nwc_opaque(nwc *g, LLVMValueRef v); // hides a value from LLVM's optimizer where needed

// ---- types and small helpers
LLVMTypeRef nwc_type(nwc *g, nw_type t); // type of a value: bool is i1, bf16 is an i16 with the same bits
LLVMTypeRef nwc_memory_type(nwc *g, nw_type t); // type in memory: bool is i8, f16 and bf16 are i16
LLVMTypeRef nwc_int_type(nwc *g, int bits, int lanes);
LLVMTypeRef nwc_ptr(nwc *g);
LLVMValueRef nwc_i64(nwc *g, int64_t v);
LLVMValueRef nwc_const_int(LLVMTypeRef t, int64_t v); // if t is a vector type, every lane is v
LLVMValueRef nwc_const_real(LLVMTypeRef t, double v);
LLVMValueRef nwc_iota(nwc *g, LLVMTypeRef elem, int lanes, int64_t stride); // 0, stride, 2*stride, ...
LLVMValueRef nwc_splat(nwc *g, LLVMValueRef v, int lanes);
LLVMValueRef nwc_slice(nwc *g, LLVMValueRef v, int from, int n); // n lanes, beginning with lane `from`
LLVMValueRef nwc_join(nwc *g, LLVMValueRef a, int na, LLVMValueRef b, int nb);
// Emits a call of an intrinsic of LLVM, overloaded on the types of `over`.
LLVMValueRef nwc_intrinsic(nwc *g, const char *name, int nover, LLVMTypeRef *over, int nargs, LLVMValueRef *args);
LLVMValueRef nwc_intrinsic1(nwc *g, const char *name, LLVMValueRef a); // overloaded on the type of its operands
LLVMValueRef nwc_intrinsic2(nwc *g, const char *name, LLVMValueRef a, LLVMValueRef b);
LLVMBasicBlockRef nwc_block(nwc *g, const char *name);
void nwc_at(nwc *g, LLVMBasicBlockRef block);
LLVMBasicBlockRef nwc_here(nwc *g);

// ---- expressions
LLVMValueRef nwc_value(nwc *g, const nw_expr *e);
LLVMValueRef nwc_condition(nwc *g, const nw_expr *e, nw_dtype data); // a condition or mask for such data
LLVMValueRef nwc_arith(nwc *g, const nw_expr *e); // for operations that evaluate all their operands
LLVMValueRef nwc_divide(nwc *g, nw_op op, nw_type t, LLVMValueRef a, const nw_expr *divisor);
// Emits a minimum or maximum of floats, or the negative of a maximum. Returns NULL if LLVM's own code is as good.
LLVMValueRef nwc_extreme(nwc *g, const nw_expr *e);
// Emits a comparison of vectors of indices. Its result has the width of the data for which it is used, if possible.
LLVMValueRef nwc_compare_lanes(nwc *g, const nw_expr *e);
LLVMValueRef nwc_cast(nwc *g, LLVMValueRef v, nw_type from, nw_dtype to);
LLVMValueRef nwc_reinterpret(nwc *g, const nw_expr *e);
LLVMValueRef nwc_ldexp(nwc *g, const nw_expr *e);
LLVMValueRef nwc_frexp(nwc *g, const nw_expr *e); // the mantissa or the exponent
LLVMValueRef nwc_math(nwc *g, const nw_expr *e);
// Emits a math function for a GPU, of operands of type t.
LLVMValueRef nwc_device_function(nwc *g, nw_op op, nw_type t, int n, LLVMValueRef *args);
LLVMValueRef nwc_load(nwc *g, const nw_expr *e);
void nwc_store(nwc *g, const nw_stmt *s);
void nwc_prefetch(nwc *g, const nw_stmt *s);
// ---- loads that are not merged
void nwc_find_alone(nwc *g, const nw_stmt *s, nw_vec *out); // finds those of the children of s
bool nwc_is_alone(const nwc *g, const nw_expr *load);
// ---- stores in pieces
typedef struct nwc_piece {
  int from, lanes;
} nwc_piece;
bool nwc_in_pieces(const nw_stmt *s);
int nwc_pieces_of(const nwc *g, const nw_stmt *s,
                  nwc_piece *piece); // returns the number of pieces, at most the number of lanes
const nw_expr *nwc_lanes_of(const nw_expr *e,
                            nwc_piece piece); // returns the lanes of e in the piece, or e if e is a scalar
// ---- memory, calls and atomic updates
LLVMValueRef nwc_address(nwc *g, const char *buffer, const nw_expr *index); // address of an element
void nwc_call(nwc *g, const nw_stmt *s);
struct nw_intrinsic;
void nwc_instruction(nwc *g, const nw_stmt *s,
                     const struct nw_intrinsic *in); // emits a call of an instruction of a warp
void nwc_atomic(nwc *g, const nw_stmt *s);
LLVMValueRef nwc_from_memory(nwc *g, LLVMValueRef v, nw_type t);
LLVMValueRef nwc_to_memory(nwc *g, LLVMValueRef v, nw_type t);
bool nwc_streams(const nw_stmt *s); // true if s contains a streaming store
void nwc_stream_fence(nwc *g);
// A region is code that is executed only under a condition. The values that are emitted in a region are forgotten at
// its end.
typedef struct nwc_region {
  int scope, pure, loads;
} nwc_region;
nwc_region nwc_region_open(nwc *g);
void nwc_region_close(nwc *g, nwc_region r);

// ---- clocks around the loops that are timed
// `part` is true for the part of a parallel loop that a thread runs. Nothing is emitted for a loop without a clock.
void nwc_clock_start(nwc *g, const nw_stmt *loop, bool part);
void nwc_clock_stop(nwc *g, const nw_stmt *loop, bool part);

// ---- kernels for a GPU (llvm_device.c, llvm_async.c)
void nwc_barrier(nwc *g, bool warp); // warp: only the threads of each warp wait for each other
bool nwc_shuffle(nwc *g, const nw_stmt *s); // emits a guard or a store that is a shuffle; returns false if s is neither
void nwc_commit(nwc *g);
void nwc_wait(nwc *g, int groups);
// Emits an asynchronous copy. Returns false, and emits nothing, if the GPU cannot make this copy; then it is a store.
bool nwc_async(nwc *g, const nw_stmt *s);
// Returns the bytes to which an access of vectors is aligned, at most NW_BLOCK_ARRAY_ALIGN. `first` is the index of its first
// element.
int nwc_alignment(nwc *g, nw_dtype t, const nw_expr *first);
void nwc_enter(nwc *g, const nw_stmt *s); // the statements that follow are inside the loop or guard s
void nwc_leave(nwc *g, const nw_stmt *s);

// ---- statements and functions
void nwc_attribute(nwc *g, LLVMValueRef fn, unsigned at, const char *name, uint64_t value);
void nwc_for_target(nwc *g, LLVMValueRef fn); // tells LLVM for which processor the function is
LLVMValueRef nwc_new_function(nwc *g, const char *name, int nparams, LLVMTypeRef *params, bool public);
void nwc_stmt(nwc *g, const nw_stmt *s);
void nwc_parallel(nwc *g, const nw_stmt *loop);
void nwc_loop_between(nwc *g, const nw_stmt *s, LLVMValueRef begin, LLVMValueRef end, bool some);
void nwc_bind(nwc *g, const char *name, LLVMValueRef v);
void nwc_unbind(nwc *g);
LLVMValueRef nwc_lookup(nwc *g, const char *name);
int nwc_buffer_index(const nwc *g, const char *name);
