// Declares tensors in memory, the JIT, threads and clocks.
#pragma once
#include "codegen/codegen.h"
#include "lower/launch.h"

typedef struct nw_resident nw_resident; // run/gpu/resident.h
struct nw_array {
  int refs;
  nw_ctx *ctx;
  nw_dtype dtype;
  int ndim;
  int64_t *shape, *stride; // one block of memory; strides are in elements, and may be negative
  int64_t count;
  bool dense; // the elements are in row-major order, without gaps
  void *data; // element 0; 64-byte aligned, unless nw_array_placed made the array or the array is a view
  void *low; // the lowest address of an element
  size_t bytes; // from there to the end of the element with the highest address
  void *block; // the block of memory that holds the data; NULL for a view
  nw_array *owner; // for a view: the array that has the memory; holds a reference
  nw_resident *resident; // its place on the GPU; NULL if it has none, and for a view
};

// ---- view.c
// Sets low, bytes and dense from the shape, the strides and the address of element 0.
void nw_array_measure(nw_array *a);
// Returns the distance of an element from element 0, in elements. `flat` is its position in row-major order.
int64_t nw_array_offset(const nw_array *a, int64_t flat);
// Returns an array with the same elements that is dense: a new reference to `a`, or a copy.
nw_array *nw_array_dense(nw_array *a);
char *nw_numbers_text(int n, const int64_t *at); // "[2, 3]"; the caller frees it
// Copies the elements of `from` to `to`, which has the same shape and dtype. Returns false, with a diagnostic, if
// interrupted.
bool nw_array_copy_to(nw_array *to, const nw_array *from);

// ---- overlap.c
// True if an element of one array has a byte in common with an element of the other array. If this is too hard to find
// out, returns true.
bool nw_arrays_overlap(const nw_array *a, const nw_array *b);

// The functions of the module nestwright-jit, which contains LLVM. The function nw_jit_entry of the module returns this
// table. dlsym finds nw_jit_entry after dlopen with RTLD_LOCAL.
typedef struct nw_jit nw_jit;
typedef struct nw_machine_code nw_machine_code;
typedef struct nw_jit_api {
  nw_jit *(*open)(char *error, size_t n);
  void (*close)(nw_jit *j);
  // Compiles and loads code for this host. Before the call, *cached is true if the cache may be used. After the call,
  // *cached is true if the cache was used.
  nw_machine_code *(*compile)(nw_jit *j, const nw_exec *e, int opt, bool *cached, char *error, size_t n);
  nw_entry (*entry)(const nw_machine_code *m);
  // Returns the code as text, for any target that LLVM supports. `what` is "llvm", "llvm-plain" or "asm"; for any other
  // name, returns NULL.
  char *(*text)(nw_jit *j, const nw_exec *e, int opt, const char *what);
  // Returns an object file for a linker, with `entry` as the name of its public function. The object file is on the
  // heap. Returns NULL, with a message in `error`, on failure.
  char *(*object)(nw_jit *j, const nw_exec *e, int opt, const char *entry, size_t *size, char *error, size_t n);
  size_t (*bytes)(const nw_machine_code *m); // size of the instructions
  void (*free)(nw_machine_code *m);
  // Returns LLVM's name of the CPU of a target, or of this host if t is NULL.
  const char *(*cpu)(nw_jit *j, const nw_target *t);
  // Returns the kernels of a GPU as text on the heap. `what` is "ptx", "llvm" (after optimisation) or "llvm-plain"; for any
  // other name, returns NULL without an error. Returns NULL, with a message in `error`, on failure.
  char *(*device)(nw_jit *j, const nw_exec *e, const nw_launches *l, int opt, const char *what, char *error, size_t n);
} nw_jit_api;
typedef const nw_jit_api *(*nw_jit_entry_fn)(void);

// Runs native code. An interrupt or a crash ends only the call, and the session continues. Returns false, with a
// diagnostic, if the call did not run to its end.
bool nw_guarded_call(nw_ctx *c, nw_entry entry, nw_frame *f);
// Like nw_guarded_call, but fails with NW_ELIMIT if the call takes longer.
bool nw_guarded_call_within(nw_ctx *c, nw_entry entry, nw_frame *f, double seconds);
void nw_guard_install(nw_ctx *c); // installs signal handlers; every call checks that they are still installed
// The handler of SIGINT should call this function first. If native code is running, the function requests that the code
// stops, and returns true.
NW_API bool nw_guard_interrupt(void);

// Generated code calls these functions before and after a function that must not be left by a jump.
NW_API void nw_callee_begin(void);
NW_API void nw_callee_end(void);

NW_API void nw_parallel_for(nw_frame *f, nw_parallel_body body, void *captured, int64_t n, int64_t chunk);
// If `packs` is true, returns a copy of a tensor with the layout or the strides of a parameter. If it is false, returns a
// row-major copy of a tensor that has them. If the parameter has neither, returns the tensor itself, or a row-major copy
// of a view. Returns NULL, with a diagnostic, on failure.
nw_array *nw_relayout(nw_ctx *c, const nw_program *p, int param, const int64_t *sizes, nw_array *a, bool packs);

double nw_now(void); // seconds of a monotonic clock
double nw_cpu_now(void); // CPU seconds of the calling thread
