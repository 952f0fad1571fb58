// Counts the cache misses of each load and store of a program, with the cache model. If the program is not an affine
// nest, the caches are simulated instead. If the simulation of all sets takes too long, only some of the sets are
// simulated.
#pragma once
#include "cost/cpu/core.h"
#include "access/walker.h"

typedef struct nw_traffic_row { // the counts of one load or store in one level
  int level; // counted from 0
  const nw_ref_site *site;
  nw_sim_counts count;
} nw_traffic_row;

typedef struct nw_traffic {
  nw_walker *walker; // owns the sites
  int n;
  nw_traffic_row *row; // ordered by level, then by site
  bool exact[NW_MAX_LEVELS]; // for each level: true if the counts are exact
  double error[NW_MAX_LEVELS]; // for each level: estimated error of the misses, as a fraction of the misses
} nw_traffic;

// Counts the misses of one of `threads` threads, or of the whole program if `threads` is 0. Returns NULL on failure.
nw_traffic *nw_traffic_of(nw_ctx *c, const nw_exec *e, const nw_cost_opts *o, int thread, int threads);
void nw_traffic_free(nw_traffic *t);
// Sets the cycles of transfers (see nw_core_node) in each body of the core model.
void nw_traffic_charge(const nw_traffic *t, nw_core *k);
