// The cache model: counts hits and misses of each cache level in a loop nest without simulating every access.
//
// Exact means equal to the reference simulator (sim.h), field by field. Lines are counted as in the simulator.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/sim/sim.h"

#define NW_CACHED_BUDGET INT64_C(12000000) // limit of touches of a level: some tenths of a second

typedef struct nw_cache_opts {
  nw_sim_opts caches;
  nw_affine_share share; // the share of one thread, alone in its caches; 0 threads: everything
  // The limit of touches per level; four times as many accesses may be simulated. 0: NW_CACHED_BUDGET
  int64_t budget;
  bool exact; // fail (NW_ELIMIT) instead of estimating if the budget is too small
} nw_cache_opts;

typedef struct nw_cached nw_cached;
// NULL: impossible cache sizes, interrupted, or beyond the budget.
nw_cached *nw_cached_of(nw_ctx *c, const nw_affine_nest *n, const nw_cache_opts *o);
void nw_cached_free(nw_cached *m);
const nw_sim_counts *nw_cached_site(const nw_cached *m, int level, int site);
nw_sim_counts nw_cached_total(const nw_cached *m, int level);
// True if equal to the simulator. Otherwise the counts are estimates: in 19 of 20 nests, the true error is at most `error`, a
// fraction of the misses.
bool nw_cached_exact(const nw_cached *m, int level);
double nw_cached_error(const nw_cached *m, int level);
int64_t nw_cached_accesses(const nw_cached *m); // that the nest makes
int64_t
nw_cached_touched(const nw_cached *m); // line requests that the model itself made; in a simulation, one per access
