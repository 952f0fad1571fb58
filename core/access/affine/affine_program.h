// Converts programs to affine nests.
#pragma once
#include "access/affine/affine.h"
#include "access/walker.h"

// The nest has the same accesses, sites and addresses as the walker, in the same order, also for each thread's share. It is
// allocated in the arena. NULL, with NW_ELIMIT and the reason: the program is not an affine nest, or the nest is too large.
nw_affine_nest *nw_affine_of(nw_arena *a, const nw_walker *w);
