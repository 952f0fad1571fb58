// What the caches do, by load and store of a program: counted by the model; where the program is no affine nest by the simulator, of
// all sets or, where that would take too long, of some.
#pragma once
#include "cost/cpu/core.h"
#include "access/walker.h"

typedef struct nw_traffic_row { // of one load or store and one level
  int level; // from 0
  const nw_ref_site *site;
  nw_sim_counts count;
} nw_traffic_row;

typedef struct nw_traffic {
  nw_walker *walker; // owns the sites
  int n;
  nw_traffic_row *row; // by level, then site
  bool exact[NW_MAX_LEVELS];
  double error[NW_MAX_LEVELS]; // of an estimate: a part of the misses
} nw_traffic;

// What one thread of so many does (0 threads: everything). NULL: a failure.
nw_traffic *nw_traffic_of(nw_ctx *c, const nw_exec *e, const nw_cost_opts *o, int thread, int threads);
void nw_traffic_free(nw_traffic *t);
// Cycles of the transfers, by body of the core model: in place of what was there.
void nw_traffic_charge(const nw_traffic *t, nw_core *k);
