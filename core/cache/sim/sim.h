// The reference simulator of caches: every access of a stream, one after the other, exactly.
//
// Levels are set-associative or fully associative, replace the least recently used line, allocate on a write and write back.
// An access requests each line that it covers once. Modes:
//   FULL    every level sees every access, as if it were the only level: what analytic models of reuse count.
//   MISSES  a level sees only the misses of the previous level, in order: what cachegrind counts. An evicted dirty line makes its
//           copy in the next level dirty, without touching it; if there is no copy, it goes to memory.
// A miss is cold if the line was never touched before. It is a conflict miss if a fully associative level of the same size, with
// the same input, would have hit. Otherwise it is a capacity miss. Hill and Smith, "Evaluating Associativity in CPU Caches", 1989.
#pragma once
#include "access/walker.h"

typedef struct nw_sim nw_sim;
bool nw_sim_allowed(nw_ctx *c, const nw_sim_opts *o); // false, and a failure, for impossible cache sizes
// For addresses from..to. NULL and a failure for impossible cache sizes.
nw_sim *nw_sim_new(nw_ctx *c, const nw_sim_opts *o, uint64_t from, uint64_t to, int nsites);
void nw_sim_free(nw_sim *k);
// out (may be NULL): for each access, a byte per level: the worst outcome of its lines; NW_HIT if a level was not accessed.
void nw_sim_feed(nw_sim *k, const nw_ref *ref, int n, uint8_t *out);
bool nw_sim_by_misses(const nw_sim *k); // MISSES, not FULL
uint32_t nw_sim_set(const nw_sim *k, int level, uint64_t line); // the set of a line
int nw_sim_held(const nw_sim *k, int level, uint32_t set); // lines in a set
void nw_sim_counts_add(nw_sim_counts *sum, const nw_sim_counts *n);
nw_sim_counts nw_sim_total(const nw_sim *k, int level);
const nw_sim_counts *nw_sim_site(const nw_sim *k, int level, int site);
