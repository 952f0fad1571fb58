// Runs an affine nest through the reference simulator.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/sim/sim.h"

static inline bool feed_simulator(void *env, const nw_ref *ref, int n) {
  nw_sim_feed(env, ref, n, NULL);
  return true;
}

// Simulates the accesses of a nest. The simulator counts by the sites of the nest. Returns NULL after a failure or an
// interrupt.
static inline nw_sim *simulate(nw_ctx *c, const nw_affine_nest *n, nw_affine_share share, const nw_sim_opts *o) {
  uint64_t from, to;
  nw_affine_span(n, &from, &to);
  nw_sim *k = nw_sim_new(c, o, from, to, n->nsites);
  if (k && nw_affine_refs(c, n, share, feed_simulator, k)) return k;
  nw_sim_free(k);
  return NULL;
}
