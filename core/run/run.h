// Tensors, the JIT, threads, clocks.
#pragma once
#include "codegen/codegen.h"

struct nw_array {
  int refs;
  nw_ctx *ctx;
  nw_dtype dtype;
  int ndim;
  int64_t *shape;
  int64_t count;
  void *data; // 64-byte aligned
  size_t bytes;
};

// The functions of the LLVM module. nw_jit_entry in nestwright-jit fills them in; it is found by dlsym after dlopen(RTLD_LOCAL).
typedef struct nw_jit nw_jit;
typedef struct nw_machine_code nw_machine_code;
typedef struct nw_jit_api {
  nw_jit *(*open)(char *error, size_t n);
  void (*close)(nw_jit *j);
  // *cached: in: the cache may be used; out: it was used.
  // Code of this host, loaded.
  nw_machine_code *(*compile)(nw_jit *j, const nw_exec *e, int opt, bool *cached, char *error, size_t n);
  nw_entry (*entry)(const nw_machine_code *m);
  // The text for any target that LLVM knows, from the program: "llvm", "llvm-plain", "asm"; NULL: there is no such view.
  char *(*text)(nw_jit *j, const nw_exec *e, int opt, const char *what);
  // The object file, for a linker, with this name as its public entry; heap.
  char *(*object)(nw_jit *j, const nw_exec *e, int opt, const char *entry, size_t *size, char *error, size_t n);
  size_t (*bytes)(const nw_machine_code *m); // of instructions
  void (*free)(nw_machine_code *m);
  const char *(*cpu)(const nw_jit *j);
} nw_jit_api;
typedef const nw_jit_api *(*nw_jit_entry_fn)(void);

// Runs native code guarded: an interrupt or a crash ends the call and leaves a diagnostic, and the session continues.
bool nw_guarded_call(nw_ctx *c, nw_entry entry, nw_frame *f);
bool nw_guarded_call_within(nw_ctx *c, nw_entry entry, nw_frame *f, double seconds); // NW_ELIMIT if it takes longer
void nw_guard_install(nw_ctx *c); // installs signal handlers; every call checks that they are still installed
// SIGINT's handler should call this first. True if native code was running and was told to stop.
NW_API bool nw_guard_interrupt(void);

// Called by generated code around a function that must not be jumped out of.
NW_API void nw_callee_begin(void);
NW_API void nw_callee_end(void);

NW_API void nw_parallel_for(nw_frame *f, nw_parallel_body body, void *captured, int64_t n, int64_t chunk);
double nw_now(void); // seconds, monotonic
double nw_cpu_now(void); // CPU seconds of the calling thread
