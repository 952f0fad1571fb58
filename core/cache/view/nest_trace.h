// Lists the accesses of an affine nest.
#pragma once
#include "access/affine/affine_walk.h"

// Returns the trace of a nest. Returns NULL on failure, for example if there are more than `most` accesses. `o`
// describes the caches to simulate; it may be NULL.
nw_trace *nw_trace_of_nest(nw_ctx *c, const nw_affine_nest *n, nw_affine_share share, int64_t most,
                           const nw_sim_opts *o);
