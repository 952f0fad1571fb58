// Declares the parts of the JIT. This header is private to run/jit. A session has one LLJIT, each kernel has a resource
// tracker, and a cache has the objects of the programs that were compiled before.
#pragma once
#include "run/run.h"
#include <llvm-c/LLJIT.h>
#include <llvm-c/TargetMachine.h>

#define NWO_LEVELS 4

typedef struct nwo_key {
  uint64_t a, b;
} nwo_key;

// Object code in the cache. The key is a hash of the program. In memory, the newest object is first. Objects are also
// on disk if NESTWRIGHT_CACHE names a directory.
typedef struct nwo_object {
  struct nwo_object *next;
  nwo_key key;
  size_t size;
  char *data;
} nwo_object;
typedef struct nwo_disk {
  size_t bytes; // estimated bytes of the objects in the directory
  bool counted, refused; // counted: true if `bytes` is known; refused: true if the directory caused an error
  int told; // number of problems so far; only the first problems are printed
} nwo_disk;
typedef struct nwo_cache {
  nwo_object *first;
  size_t bytes;
  nwo_disk disk;
} nwo_cache;
LLVMMemoryBufferRef nwo_cache_get(nwo_cache *c, nwo_key key); // returns a copy, or NULL if there is no object
void nwo_cache_put(nwo_cache *c, nwo_key key, const char *data, size_t size);
void nwo_cache_drop(nwo_cache *c, nwo_key key); // removes an object that is not valid code
void nwo_cache_free(nwo_cache *c);
nwo_object *nwo_disk_read(nwo_disk *d, nwo_key key); // returns NULL if there is no usable object
void nwo_disk_write(nwo_disk *d, const nwo_object *o);
void nwo_disk_forget(nwo_disk *d, nwo_key key);
nwo_key nwo_key_of(const nw_jit *j, const nw_exec *e, int opt);

typedef struct nwo_maker { // LLVM's code generators for a target
  struct nwo_maker *next;
  char *triple, *cpu, *features;
  LLVMTargetMachineRef machine[NWO_LEVELS]; // for each level; made when it is first used
} nwo_maker;

struct nw_jit {
  LLVMOrcLLJITRef lljit;
  nwo_maker host, *other;
  nwo_cache cache;
  nw_machine_code *live;
  nw_vec callees; // char*: names of the functions of intrinsics that are already defined
  uint64_t serial; // number of objects compiled without the cache
  char report[512]; // the first error that LLVM reported
};

struct nw_machine_code {
  nw_jit *jit;
  nw_machine_code *next;
  int refs, opt;
  nwo_key key;
  nw_exec *exec; // the compiled program; holds a reference
  LLVMOrcResourceTrackerRef tracker;
  nw_entry entry;
  size_t bytes; // size of the instructions
};

nwo_maker *nwo_maker_of(nw_jit *j, const nw_target *t);
LLVMTargetMachineRef nwo_machine(nwo_maker *m, int opt);
// Builds the module of a program. Returns NULL, with a message in `error`, on failure.
LLVMModuleRef nwo_module(nw_jit *j, LLVMContextRef lc, const nw_exec *e, int opt, const char *name, char *error,
                         size_t n);

typedef struct nwo_finish { // a module to optimise, and the code that is generated from it
  nwo_maker *maker;
  int opt;
  LLVMModuleRef module;
  LLVMTargetMachineRef code; // the generator; NULL if the module is only optimised
  LLVMCodeGenFileType type;
  const char *pipeline; // the passes; NULL: those of the level
  LLVMMemoryBufferRef out; // the generated code; NULL on failure
  char *error;
  size_t n;
  bool good;
} nwo_finish;
// Optimises the module and generates code. Reports the progress if this takes long. Returns false, with a message in
// x->error, on failure.
bool nwo_finished(const nw_exec *e, nwo_finish *x);
char *nwo_text(nw_jit *j, const nw_exec *e, int opt, const char *what);
char *nwo_object_file(nw_jit *j, const nw_exec *e, int opt, const char *entry, size_t *size, char *error, size_t n);
char *nwo_device_text(nw_jit *j, const nw_exec *e, const nw_launches *l, int opt, const char *what, char *error,
                      size_t n);
bool nwo_verified(LLVMModuleRef m, char *error, size_t n); // true if LLVM accepts the module
// Writes the message to `error` if `error` is empty.
void nwo_say(char *error, size_t n, const char *fmt, ...) NW_PRINTF(3, 4);
// Returns true if e is NULL. Otherwise disposes of e, writes its message to `error` if `error` is empty, and returns
// false.
bool nwo_ok(LLVMErrorRef e, const char *what, char *error, size_t n);
