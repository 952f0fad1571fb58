// Loop nests by themselves.
#pragma once
#include "nestwright/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- loop nests by themselves, from a text or from a program

typedef struct nw_loopnest nw_loopnest;
// Parameters that are not to be as written: those of a set of sizes (NULL: none), and n by name. docs/cost.md has the grammar.
NW_API nw_loopnest *nw_loopnest_parse(nw_ctx *c, const char *text, const char *set, int n, const char *const *name,
                                      const int64_t *value);
// What a program touches, as a nest. NW_ELIMIT: it is not affine.
NW_API nw_loopnest *nw_loopnest_of(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_loopnest_free(nw_loopnest *n);
NW_API char *nw_loopnest_print(const nw_loopnest *n); // heap; reads back
NW_API int nw_loopnest_params(const nw_loopnest *n);
NW_API const char *nw_loopnest_param(const nw_loopnest *n, int i, int64_t *value);
NW_API int nw_loopnest_arrays(const nw_loopnest *n); // in the order of their addresses
NW_API const char *nw_loopnest_array(const nw_loopnest *n, int i, uint64_t *address, int64_t *bytes, int *element);

typedef struct nw_count_opts {
  nw_sim_opts caches;
  int thread, threads; // what this thread of so many does, in caches of its own; 0 threads: everything
  bool simulate; // every access through the simulator, instead of the model
  bool exact; // fail (NW_ELIMIT) rather than estimate
  int64_t budget; // lines that the model may ask for; 0: as many as take a few seconds
} nw_count_opts;

typedef struct nw_counted {
  int64_t accesses, touched; // made by the nest; lines that were asked for to count them, of all levels together
  bool exact[NW_MAX_LEVELS]; // by level; otherwise estimated, with this error, a part of the misses
  double error[NW_MAX_LEVELS];
} nw_counted;

// Misses by level, array and reference; the loop is the innermost around it.
NW_API nw_misses *nw_loopnest_misses(nw_ctx *c, const nw_loopnest *n, const nw_count_opts *o, nw_counted *how);

// What its statements do, as they are written. Of a nest that comes from a program no operations are known.
enum { NW_NEST_OPERATIONS = 64 };
typedef struct nw_nest_operation {
  const char *name; // of a class of operations: hw/machine.h
  int bits; // of the numbers; 0: not known
  double count;
} nw_nest_operation;
typedef struct nw_nest_work {
  int n;
  nw_nest_operation row[NW_NEST_OPERATIONS];
  double calls; // of functions that are in no class
  double statements; // that run
  double read, written; // bytes, by the core
  bool exact; // are these counts; of large triangles they are estimated
} nw_nest_work;
NW_API bool nw_loopnest_work(nw_ctx *c, const nw_loopnest *n, nw_nest_work *out);
NW_API nw_trace *nw_loopnest_trace(nw_ctx *c, const nw_loopnest *n, int thread, int threads, int64_t most,
                                   const nw_sim_opts *o);

#ifdef __cplusplus
}
#endif
