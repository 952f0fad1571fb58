// Lists the accesses of an affine nest by running its loops.
#pragma once
#include "access/affine/affine.h"
#include "access/walker.h"

// Selects the accesses of one thread, or all accesses if `threads` is 0. Iterations of outermost parallel loops are
// distributed as in walker.h, and everything outside of these loops belongs to thread 0.
typedef struct nw_affine_share {
  int thread, threads;
} nw_affine_share;

// Calls f with batches of the accesses, in order, as nw_walk_refs does. Returns false when interrupted, or when f ended
// the walk.
bool nw_affine_refs(nw_ctx *c, const nw_affine_nest *n, nw_affine_share share, nw_refs_fn f, void *env);
// Finds the range of addresses from the first byte of all arrays to the last.
void nw_affine_span(const nw_affine_nest *n, uint64_t *from, uint64_t *to);

// Computes the first and the last value of a loop from the slots of the enclosing loops. If last < first, the loop does
// not run.
void nw_affine_bounds(const nw_affine_node *loop, const int64_t *slot, int64_t *first, int64_t *last);
int64_t nw_affine_rounds(const nw_affine_node *loop, int64_t first, int64_t last);
bool nw_affine_holds(const nw_affine_node *guard, const int64_t *slot);
