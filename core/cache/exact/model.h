// The cache model counts hits and misses of each cache level in a loop nest without simulating every access.
//
// A result is exact if every count equals that of the reference simulator (sim.h). The cost of the model is measured in
// *touches*. A touch is one request for a cache line that the model processes.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/sim/sim.h"

#define NW_CACHED_BUDGET INT64_C(12000000) // limit of touches per level; these touches take a few tenths of a second

typedef struct nw_cache_opts {
  nw_sim_opts caches;
  nw_affine_share share; // the thread whose accesses are counted; other threads do not use its caches
  // The limit of touches per level. The model may simulate up to four times as many accesses. 0 means NW_CACHED_BUDGET.
  int64_t budget;
  bool exact; // true: if the budget is too small, fail with NW_ELIMIT instead of estimating
} nw_cache_opts;

typedef struct nw_cached nw_cached;
// Runs the model. Returns NULL if the cache sizes are impossible, if the model is interrupted, or if `exact` is true
// and the budget is too small.
nw_cached *nw_cached_of(nw_ctx *c, const nw_affine_nest *n, const nw_cache_opts *o);
void nw_cached_free(nw_cached *m);
const nw_sim_counts *nw_cached_site(const nw_cached *m, int level, int site);
nw_sim_counts nw_cached_total(const nw_cached *m, int level);
// True if the counts of the level are exact. Otherwise they are estimates. In 19 of 20 nests, the true error is at most
// nw_cached_error, which is a fraction of the misses.
bool nw_cached_exact(const nw_cached *m, int level);
double nw_cached_error(const nw_cached *m, int level);
int64_t nw_cached_accesses(const nw_cached *m); // number of accesses of the nest
// Returns the average number of touches per level. A simulation makes one touch for each line request.
int64_t nw_cached_touched(const nw_cached *m);
