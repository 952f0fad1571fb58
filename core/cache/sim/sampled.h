// Estimates the misses of programs that have too many accesses to simulate all of them. A sample of the sets is
// simulated over the whole program. The other sets are assumed to behave in the same way. Sets do not influence each
// other, so the counts of the sampled sets are exact. This holds for several levels, too, if the lines of a set in one
// level are the lines of a whole number of sets in the next level. For a fully associative level, a fraction of the
// lines is simulated, in a cache whose size is reduced to the same fraction.
//
// See R. E. Kessler, M. D. Hill, D. A. Wood, "A Comparison of Trace-Sampling Techniques for Multi-Megabyte Caches",
// 1994, and, for fully associative levels, C. A. Waldspurger et al., "Efficient MRC Construction with SHARDS", 2015.
#pragma once
#include "cache/sim/sim.h"

typedef struct nw_sampled nw_sampled;
bool nw_sampled_can(const nw_sim_opts *o); // true if every level has enough sets to sample
// Makes a simulator as nw_sim_new does, for levels that can be sampled.
nw_sampled *nw_sampled_new(nw_ctx *c, const nw_sim_opts *o, uint64_t from, uint64_t to, int nsites);
void nw_sampled_free(nw_sampled *k);
void nw_sampled_feed(nw_sampled *k, const nw_ref *ref, int n);
// Returns the estimated counts over all sets.
nw_sim_counts nw_sampled_site(const nw_sampled *k, int level, int site);
int64_t nw_sampled_looked(const nw_sampled *k, int site); // number of simulated line requests of the site
// Returns two standard errors of the estimated misses, as a fraction of the misses. The standard error follows from the
// variance among the sampled sets.
double nw_sampled_error(const nw_sampled *k, int level);
