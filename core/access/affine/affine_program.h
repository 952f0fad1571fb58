// Converts programs to affine nests.
#pragma once
#include "access/affine/affine.h"
#include "access/walker.h"

// Converts the program of w to a nest in the arena. The nest makes the accesses that the walker lists, in the same
// order, with the same sites and addresses. Each thread makes the same accesses as in the walk. Returns NULL with a
// diagnostic of kind NW_ELIMIT if no affine nest has these accesses, or if the nest is too large.
nw_affine_nest *nw_affine_of(nw_arena *a, const nw_walker *w);
