// Programs as affine nests.
#pragma once
#include "access/affine/affine.h"
#include "access/walker.h"

// The same accesses, sites and addresses as those of the walker, in the same order, also for each share of threads. All of it lies
// in the arena. NULL, with NW_ELIMIT and the reason: its accesses are not those of an affine nest, or that would be too large.
nw_affine_nest *nw_affine_of(nw_arena *a, const nw_walker *w);
