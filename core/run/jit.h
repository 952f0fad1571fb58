// Inside run/jit*: one LLJIT per session, one resource tracker per kernel, objects kept by content.
#pragma once
#include "run/run.h"
#include <llvm-c/LLJIT.h>
#include <llvm-c/TargetMachine.h>

#define NWJ_LEVELS 4

typedef struct nwj_key {
  uint64_t a, b;
} nwj_key;

// Object code by content. Newest first in memory, and on disk when NESTWRIGHT_CACHE names a directory.
typedef struct nwj_object {
  struct nwj_object *next;
  nwj_key key;
  size_t size;
  char *data;
} nwj_object;
typedef struct nwj_disk {
  size_t bytes; // of objects in the directory, as far as is known
  bool counted, refused;
  int told; // lines
} nwj_disk;
typedef struct nwj_cache {
  nwj_object *first;
  size_t bytes;
  nwj_disk disk;
} nwj_cache;
LLVMMemoryBufferRef nwj_cache_get(nwj_cache *c, nwj_key key); // a copy, or NULL
void nwj_cache_put(nwj_cache *c, nwj_key key, const char *data, size_t size);
void nwj_cache_drop(nwj_cache *c, nwj_key key); // what turned out not to be code
void nwj_cache_free(nwj_cache *c);
nwj_object *nwj_disk_read(nwj_disk *d, nwj_key key); // NULL: there is none that can be used
void nwj_disk_write(nwj_disk *d, const nwj_object *o);
void nwj_disk_forget(nwj_disk *d, nwj_key key);
nwj_key nwj_key_of(const nw_jit *j, const nw_exec *e, int opt);

struct nw_jit {
  LLVMOrcLLJITRef lljit;
  LLVMTargetMachineRef machine[NWJ_LEVELS]; // by level, made when first asked for
  char *triple, *cpu, *features;
  nwj_cache cache;
  nw_machine_code *live;
  nw_vec callees; // names of intrinsics' functions that are defined, char*
  uint64_t serial; // of objects made past the cache
  char report[512]; // the first thing the session reported
};

struct nw_machine_code {
  nw_jit *jit;
  nw_machine_code *next;
  int refs, opt;
  nwj_key key;
  nw_exec *exec; // counted, to show the code again
  LLVMOrcResourceTrackerRef tracker;
  nw_entry entry;
  size_t bytes; // of instructions
};

LLVMTargetMachineRef nwj_machine(nw_jit *j, int opt);
// The optimised module of a program, or the plain one; NULL and a message.
LLVMModuleRef nwj_module(nw_jit *j, LLVMContextRef lc, const nw_exec *e, int opt, bool optimise, const char *name,
                         char *error, size_t n);
char *nwj_text(nw_jit *j, const nw_machine_code *m, const char *what);
char *nwj_object_file(nw_jit *j, const nw_machine_code *m, const char *entry, size_t *size, char *error, size_t n);
void nwj_say(char *error, size_t n, const char *fmt, ...) NW_PRINTF(3, 4); // keeps what is there already
// Takes the error; its message goes to `error` unless something is there.
bool nwj_ok(LLVMErrorRef e, const char *what, char *error, size_t n);
