// An estimate of what the caches do, for programs that make too many accesses to be simulated one by one: a part of the sets, over the
// whole program. What goes to one set has no influence on another, so those that are looked at are exact, at all levels, where
// a set's lines in one level are a whole number of sets' lines in the next. The rest is taken to be like them. R. E. Kessler, M. D.
// Hill, D. A. Wood, "A Comparison of Trace-Sampling Techniques for Multi-Megabyte Caches", 1994. Of a fully associative level a
// part of the lines in as small a part of the cache: C. A. Waldspurger et al., "Efficient MRC Construction with SHARDS", 2015.
#pragma once
#include "cache/sim/sim.h"

typedef struct nw_sampled nw_sampled;
bool nw_sampled_can(const nw_sim_opts *o); // has every level sets enough to take a part of them?
// As nw_sim_new, for levels of which that is true.
nw_sampled *nw_sampled_new(nw_ctx *c, const nw_sim_opts *o, uint64_t from, uint64_t to, int nsites);
void nw_sampled_free(nw_sampled *k);
void nw_sampled_feed(nw_sampled *k, const nw_ref *ref, int n);
// Of all sets, as far as can be told.
nw_sim_counts nw_sampled_site(const nw_sampled *k, int level, int site);
int64_t nw_sampled_looked(const nw_sampled *k, int site); // lines of it that were simulated
// Two standard errors of the misses, as a part of them: by how much the sets that were looked at differ from each other.
double nw_sampled_error(const nw_sampled *k, int level);
