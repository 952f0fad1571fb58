// Enumerates the executions of a program's blocks and its memory accesses, in program order.
#pragma once
#include "nestwright/array.h"
#include "nestwright/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// Options for enumerating the accesses of a program without running the program.
typedef struct nw_walk_opts {
  const int64_t *sizes; // values of the symbolic sizes, in order
  // threads > 0: simulate thread number `thread` of `threads`; threads = 0: run all iterations sequentially
  int thread, threads;
} nw_walk_opts;

// ---- the executions of a program's blocks, in order

typedef struct nw_visit_loop { // a loop around a block
  const char *name, *mark; // mark: "", "parallel", "vectorize", ...
} nw_visit_loop;
typedef struct nw_visit_axis { // an axis of the stage that a block computes
  const char *name;
  char kind; // 's' spatial, 'r' reduce, 'o' ordered
  int64_t lo, extent; // first value, number of values
  const int64_t *step; // for each loop: change of the axis value per iteration; INT64_MIN if it is not constant
} nw_visit_axis;
typedef struct nw_visit_block {
  const char *name, *stage; // stage: the stage that the block computes
  bool init; // true if this block contains only the init of a reduction
  int naxes, nloops, nindex;
  const nw_visit_axis *axis;
  const nw_visit_loop *loop; // outermost first
  // the buffer of the block's first output, which has nindex indices; NULL if an index depends on data
  const char *buffer;
} nw_visit_block;
typedef struct nw_visited { // an execution of a block
  int block;
  const int64_t *axis, *loop; // values of the axes and loops
  const int64_t *index; // indices of the element that the execution writes
} nw_visited;
typedef struct nw_visits nw_visits;
// Prepares a query for executions. Returns NULL if the order of execution depends on data.
NW_API nw_visits *nw_visits_new(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_visits_free(nw_visits *v);
NW_API int nw_visits_blocks(const nw_visits *v);
NW_API const nw_visit_block *nw_visits_block(const nw_visits *v, int block);
// nw_visits_ask adds a block to the query. nw_visits_only restricts an axis of this block to the given values, which
// must be in ascending order. Only the executions of the query are enumerated.
NW_API void nw_visits_ask(nw_visits *v, int block);
NW_API void nw_visits_only(nw_visits *v, int block, int axis, int n, const int64_t *values);
// Finds the executions of the query in program order. The iterations of a vectorized loop run together; all other
// loops, even parallel ones, run sequentially. Returns false if there are more than `most` executions (error code
// NW_ELIMIT), or after an interrupt.
NW_API bool nw_visits_walk(nw_visits *v, int64_t most);
NW_API int64_t nw_visits_count(const nw_visits *v);
NW_API const nw_visited *nw_visits_at(const nw_visits *v, int64_t i);
// Returns the execution of a block for these values of its loops, even if the program never runs this execution.
NW_API const nw_visited *nw_visits_there(nw_visits *v, int block, const int64_t *loop);

// A loop around a load or store, and how the address of the access changes with this loop.
typedef struct nw_moved {
  const char *loop;
  int64_t extent; // trip count of the loop; -1 if it is not constant
  int64_t bytes; // change of the address per iteration
  bool parallel;
} nw_moved;
typedef struct nw_sweeps nw_sweeps;
NW_API nw_sweeps *nw_sweeps_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk);
NW_API void nw_sweeps_free(nw_sweeps *s);
NW_API int nw_sweeps_count(const nw_sweeps *s); // number of accesses with affine addresses
NW_API const char *nw_sweep_tensor(const nw_sweeps *s, int i);
NW_API bool nw_sweep_writes(const nw_sweeps *s, int i);
NW_API int nw_sweep_loops(const nw_sweeps *s, int i); // number of enclosing loops
NW_API nw_moved nw_sweep_loop(const nw_sweeps *s, int i, int k); // enclosing loop k; 0 is the outermost

#ifdef __cplusplus
}
#endif
