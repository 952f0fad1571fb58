// What a program executes and touches, in order.
#pragma once
#include "nestwright/array.h"
#include "nestwright/program.h"

#ifdef __cplusplus
extern "C" {
#endif

// A run of a program that is looked at without being run.
typedef struct nw_walk_opts {
  const int64_t *sizes; // values of the symbolic sizes, in order
  int thread, threads; // what this thread of so many does of it; 0 threads: everything, one after the other
} nw_walk_opts;

// ---- the executions of a program's blocks, in order

typedef struct nw_visit_loop { // a loop around a block
  const char *name, *mark; // mark: "", "parallel", "vectorize", ...
} nw_visit_loop;
typedef struct nw_visit_axis { // an axis of its stage
  const char *name;
  char kind; // 's'patial, 'r'educe, 'o'rdered
  int64_t lo, extent; // from lo
  const int64_t *step; // by loop: what a round of it adds to the axis; INT64_MIN: not always the same
} nw_visit_axis;
typedef struct nw_visit_block {
  const char *name, *stage; // stage: what its executions are instances of
  bool init; // the split-off init of a reduction
  int naxes, nloops, nindex;
  const nw_visit_axis *axis;
  const nw_visit_loop *loop; // outermost first
  const char *buffer; // what it writes first, at nindex indices; NULL where they are data
} nw_visit_block;
typedef struct nw_visited { // an execution
  int block;
  const int64_t *axis, *loop; // values
  const int64_t *index; // of the element that it writes
} nw_visited;
typedef struct nw_visits nw_visits;
// NULL where what runs depends on data.
NW_API nw_visits *nw_visits_new(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_visits_free(nw_visits *v);
NW_API int nw_visits_blocks(const nw_visits *v);
NW_API const nw_visit_block *nw_visits_block(const nw_visits *v, int block);
// Asks for the executions of a block; of an axis only these values, ascending. Nothing is walked that was not asked for.
NW_API void nw_visits_ask(nw_visits *v, int block);
NW_API void nw_visits_only(nw_visits *v, int block, int axis, int n, const int64_t *values);
// Finds them, in the order in which they run: iterations of a vectorized loop side by side, other loops in sequence, also those
// that threads share. False when there are more than `most` (NW_ELIMIT), and when interrupted.
NW_API bool nw_visits_walk(nw_visits *v, int64_t most);
NW_API int64_t nw_visits_count(const nw_visits *v);
NW_API const nw_visited *nw_visits_at(const nw_visits *v, int64_t i);
// The execution of a block where its loops have these values, whether it is ever reached or not.
NW_API const nw_visited *nw_visits_there(nw_visits *v, int block, const int64_t *loop);

// A load or store, and how its address moves with the loops around it.
typedef struct nw_moved {
  const char *loop;
  int64_t extent; // -1: it varies
  int64_t bytes; // what an iteration adds to the address
  bool parallel;
} nw_moved;
typedef struct nw_sweeps nw_sweeps;
NW_API nw_sweeps *nw_sweeps_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk);
NW_API void nw_sweeps_free(nw_sweeps *s);
NW_API int nw_sweeps_count(const nw_sweeps *s); // of those whose addresses are affine
NW_API const char *nw_sweep_tensor(const nw_sweeps *s, int i);
NW_API bool nw_sweep_writes(const nw_sweeps *s, int i);
NW_API int nw_sweep_loops(const nw_sweeps *s, int i); // around it, the outermost first
NW_API nw_moved nw_sweep_loop(const nw_sweeps *s, int i, int k);

#ifdef __cplusplus
}
#endif
