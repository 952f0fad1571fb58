// The part that all workers for GPUs share: it gets requests from a socket and answers them. What a request needs of the
// GPU is done by a driver. A worker loads neither LLVM nor the library of the session.
#pragma once
#include "run/gpu/wire.h"
#include <stdbool.h>
#include <stddef.h>

// Functions that use a GPU through a library. Each returns false, after nw_gpu_failed or a function that calls it, on
// failure. `open` is called first; no other function is called if it fails.
typedef struct nw_gpu_driver {
  bool (*open)(nw_gpu_reply *r, nw_gpu_facts *out);
  // Loads a text with n kernels of these names. Describes each kernel in `out`. Sets *module also on failure, if something
  // must be unloaded.
  bool (*load)(nw_gpu_reply *r, const char *text, int n, const char *const *name, nw_gpu_function *out, void **module);
  bool (*unload)(nw_gpu_reply *r, void *module);
  bool (*alloc)(nw_gpu_reply *r, uint64_t bytes, uint64_t *memory);
  bool (*release)(nw_gpu_reply *r, uint64_t memory);
  bool (*put)(nw_gpu_reply *r, uint64_t memory, uint64_t offset, const void *from, uint64_t bytes);
  bool (*get)(nw_gpu_reply *r, uint64_t memory, uint64_t offset, void *to, uint64_t bytes);
  // Between `begin` and `end`, launches are timed. `end` waits for them, and is called also after a failure, then with
  // NULL. An argument of a kernel is a memory or a 64-bit integer.
  bool (*begin)(nw_gpu_reply *r);
  bool (*launch)(nw_gpu_reply *r, void *module, const nw_gpu_launch *l, uint64_t *argument);
  bool (*end)(nw_gpu_reply *r, float *milliseconds);
} nw_gpu_driver;

bool nw_gpu_failed(nw_gpu_reply *r, nw_gpu_failure what, const char *text); // returns false
// Opens a library, finds functions in it and writes their addresses to a table of pointers.
typedef struct nw_gpu_symbol {
  const char *name;
  size_t offset; // of the pointer in the table of functions
} nw_gpu_symbol;
bool nw_gpu_open_library(nw_gpu_reply *r, const char *library, int n, const nw_gpu_symbol *symbol, void *table);
int nw_gpu_serve(const nw_gpu_driver *d); // answers requests until the socket is closed; returns the exit status

enum { NW_GPU_MOST_ARGUMENTS = 4096 }; // of a kernel
