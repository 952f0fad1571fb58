// Lists the accesses of an affine nest by running its loops.
#pragma once
#include "access/affine/affine.h"
#include "access/walker.h"

// Selects the accesses of thread number `thread` of `threads` threads. If `threads` is 0, selects all accesses. The
// iterations of outermost parallel loops are distributed as in walker.h. Thread 0 makes all accesses outside of these
// loops.
typedef struct nw_affine_share {
  int thread, threads;
} nw_affine_share;

// Calls f with batches of the accesses, in order (see nw_walk_refs). Returns false if interrupted, or if f ended the
// walk.
bool nw_affine_refs(nw_ctx *c, const nw_affine_nest *n, nw_affine_share share, nw_refs_fn f, void *env);
// Finds the range of addresses that contains all arrays.
void nw_affine_span(const nw_affine_nest *n, uint64_t *from, uint64_t *to);

// Computes the first and the last value of a loop's variable from the current values of the enclosing loops. The loop
// has no iterations if *last < *first.
void nw_affine_bounds(const nw_affine_node *loop, const int64_t *slot, int64_t *first, int64_t *last);
int64_t nw_affine_rounds(const nw_affine_node *loop, int64_t first, int64_t last); // number of iterations
bool nw_affine_holds(const nw_affine_node *guard, const int64_t *slot);
