// The accesses of an affine nest one after the other, by running its loops.
#pragma once
#include "access/affine/affine.h"
#include "access/walker.h"

// Whose accesses: all (0 threads), or what one thread does: its share of each outermost parallel loop, as the walker of programs
// deals it (walker.h); thread 0 also what is outside of them.
typedef struct nw_affine_share {
  int thread, threads;
} nw_affine_share;

// Gets the accesses in parts, in order, as nw_walk_refs hands them on. False when interrupted, or when f ended it.
bool nw_affine_refs(nw_ctx *c, const nw_affine_nest *n, nw_affine_share share, nw_refs_fn f, void *env);
// What lies between the arrays' first and last byte.
void nw_affine_span(const nw_affine_nest *n, uint64_t *from, uint64_t *to);

// The first and the last value of a loop, where the slots of those around it have theirs. It does not run where last < first.
void nw_affine_bounds(const nw_affine_node *loop, const int64_t *slot, int64_t *first, int64_t *last);
int64_t nw_affine_rounds(const nw_affine_node *loop, int64_t first, int64_t last);
bool nw_affine_holds(const nw_affine_node *guard, const int64_t *slot);
