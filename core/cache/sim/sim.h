// Simulates caches exactly, one access after the other. The cache model is compared with this reference simulator.
//
// Levels are set-associative or fully associative, with LRU replacement, write-allocate and write-back. An access makes
// one request for each line that it covers. There are two modes:
//   FULL    every level gets every access, as if it were the only level. Models that use stack distances count in this
//           way.
//   MISSES  a level gets only the misses of the previous level, in order, as in cachegrind. When a dirty line is
//           evicted, its copy in an outer level becomes dirty, but not more recent. If there is no copy, the line is
//           written to memory.
//
// A miss is cold if the line was never requested before. It is a conflict miss if a fully associative level of the same
// size that gets the same requests has a hit. Otherwise it is a capacity miss. See Hill and Smith, "Evaluating
// Associativity in CPU Caches", 1989.
#pragma once
#include "access/walker.h"

typedef struct nw_sim nw_sim;
// Returns false, with a diagnostic, if the cache sizes are impossible.
bool nw_sim_allowed(nw_ctx *c, const nw_sim_opts *o);
// Makes a simulator for the addresses `from` to `to`. Returns NULL, with a diagnostic, if the cache sizes are
// impossible.
nw_sim *nw_sim_new(nw_ctx *c, const nw_sim_opts *o, uint64_t from, uint64_t to, int nsites);
void nw_sim_free(nw_sim *k);
// Simulates n accesses. If `out` is not NULL, a byte is written to it for each access and level. This byte is the
// greatest nw_outcome of the lines of the access, or NW_HIT if the level was not accessed.
void nw_sim_feed(nw_sim *k, const nw_ref *ref, int n, uint8_t *out);
bool nw_sim_by_misses(const nw_sim *k); // true in mode MISSES
uint32_t nw_sim_set(const nw_sim *k, int level, uint64_t line); // returns the set of a line
int nw_sim_held(const nw_sim *k, int level, uint32_t set); // returns the number of lines in a set
void nw_sim_counts_add(nw_sim_counts *sum, const nw_sim_counts *n);
nw_sim_counts nw_sim_total(const nw_sim *k, int level);
const nw_sim_counts *nw_sim_site(const nw_sim *k, int level, int site);
