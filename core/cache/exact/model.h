// The cache model: what each level of a cache does in a loop nest, counted without making every access.
//
// Exact means equal to the reference simulator (sim.h), field for field. Lines are counted as it counts them.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/sim/sim.h"

#define NW_CACHED_BUDGET INT64_C(12000000) // touches of a level: some tenths of a second

typedef struct nw_cache_opts {
  nw_sim_opts caches;
  nw_affine_share share; // what one thread does of it, alone in its caches; 0 threads: everything
  // Touches of a level it may make, at most, or four times as many plain accesses, or touches where those are no more; 0:
  // NW_CACHED_BUDGET
  int64_t budget;
  bool exact; // refuse (NW_ELIMIT) what cannot be counted within the budget, instead of estimating it
} nw_cache_opts;

typedef struct nw_cached nw_cached;
// NULL: sizes that make no cache, interrupted, or beyond the budget.
nw_cached *nw_cached_of(nw_ctx *c, const nw_affine_nest *n, const nw_cache_opts *o);
void nw_cached_free(nw_cached *m);
const nw_sim_counts *nw_cached_site(const nw_cached *m, int level, int site);
nw_sim_counts nw_cached_total(const nw_cached *m, int level);
// Equal to the simulator. Otherwise estimated: the error is a part of the misses, and in 19 of 20 nests no less than it is off.
bool nw_cached_exact(const nw_cached *m, int level);
double nw_cached_error(const nw_cached *m, int level);
int64_t nw_cached_accesses(const nw_cached *m); // that the nest makes
int64_t nw_cached_touched(
    const nw_cached *m); // times that the model itself asked a level for a line; a simulator: once an access
