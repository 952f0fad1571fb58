// Declares loop nests that have no schedule. They are parsed from a text or made from a program.
#pragma once
#include "nestwright/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nw_loopnest nw_loopnest;
// Parses a nest; docs/cost.md has the grammar. If `set` is not NULL, the parameters first get their values from the set
// of sizes with this name. Then n parameters get the values that the arrays `name` and `value` give.
NW_API nw_loopnest *nw_loopnest_parse(nw_ctx *c, const char *text, const char *set, int n, const char *const *name,
                                      const int64_t *value);
// Returns the memory accesses of a program as a nest. Fails with NW_ELIMIT if the accesses are not affine.
NW_API nw_loopnest *nw_loopnest_of(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_loopnest_free(nw_loopnest *n);
NW_API char *nw_loopnest_print(const nw_loopnest *n); // heap; can be parsed again
NW_API int nw_loopnest_params(const nw_loopnest *n);
NW_API const char *nw_loopnest_param(const nw_loopnest *n, int i, int64_t *value);
NW_API int nw_loopnest_arrays(const nw_loopnest *n); // in the order of their addresses
NW_API const char *nw_loopnest_array(const nw_loopnest *n, int i, uint64_t *address, int64_t *bytes, int *element);

typedef struct nw_count_opts {
  nw_sim_opts caches;
  // threads > 0: count for thread number `thread` of `threads`, which has its own caches; threads = 0: count for one
  // thread that does all the work
  int thread, threads;
  bool simulate; // simulate every access instead of using the model
  bool exact; // true: fail with NW_ELIMIT instead of estimating the counts
  int64_t budget; // limit on the number of lines that the model requests; 0: enough for a few seconds of work
} nw_count_opts;

typedef struct nw_counted {
  int64_t accesses; // number of accesses of the nest
  int64_t touched; // number of line requests that were made to count the misses, as an average over the levels
  bool exact[NW_MAX_LEVELS]; // for each level: if false, the counts are estimates with the relative error below
  double error[NW_MAX_LEVELS];
} nw_counted;

// Returns the misses, with one row for each level and each reference to an array. The `loop` of a row is the innermost
// loop around the reference.
NW_API nw_misses *nw_loopnest_misses(nw_ctx *c, const nw_loopnest *n, const nw_count_opts *o, nw_counted *how);

// The work of a nest consists of its operations, calls and bytes. Each operation in the text of a statement counts once
// for each execution of the statement. The operations are unknown for a nest that was made from a program.
enum { NW_NEST_OPERATIONS = 64 };
typedef struct nw_nest_operation {
  const char *name; // name of a class of operations (hw/machine.h)
  int bits; // width of the numbers; 0: unknown
  double count;
} nw_nest_operation;
typedef struct nw_nest_work {
  int n;
  nw_nest_operation row[NW_NEST_OPERATIONS];
  double calls; // calls of functions without a class
  double statements; // executed statements
  double read, written; // bytes read and written by the core
  bool exact; // true if the counts are exact; for large triangular loops they are estimates
} nw_nest_work;
NW_API bool nw_loopnest_work(nw_ctx *c, const nw_loopnest *n, nw_nest_work *out);
NW_API nw_trace *nw_loopnest_trace(nw_ctx *c, const nw_loopnest *n, int thread, int threads, int64_t most,
                                   const nw_sim_opts *o);

#ifdef __cplusplus
}
#endif
