// The reference simulator of caches: every access of a stream, one after the other, exactly.
//
// Levels are set-associative or fully associative, replace the least recently used line, allocate on a write and write back.
// A line is asked for once by an access that covers it. How a level is fed:
//   FULL    every level sees every access, as if it were alone: what analytic models of reuse count.
//   MISSES  a level sees what missed in the one before, in that order, and no more: what cachegrind counts. A dirty line that
//           is thrown out makes its copy in the next level dirty, without touching it; where there is none it goes to memory.
// A miss is cold where the line was never touched before; a conflict where a fully associative level of the same size, fed
// alike, would have had it; else of capacity. Hill and Smith, "Evaluating Associativity in CPU Caches", 1989.
#pragma once
#include "access/walker.h"

typedef struct nw_sim nw_sim;
bool nw_sim_allowed(nw_ctx *c, const nw_sim_opts *o); // false, and a failure, for sizes that make no cache
// For addresses from..to. NULL and a failure for sizes that make no cache.
nw_sim *nw_sim_new(nw_ctx *c, const nw_sim_opts *o, uint64_t from, uint64_t to, int nsites);
void nw_sim_free(nw_sim *k);
// out (may be NULL): for each access, a byte per level: the worst outcome of its lines; NW_HIT where a level was not asked.
void nw_sim_feed(nw_sim *k, const nw_ref *ref, int n, uint8_t *out);
bool nw_sim_by_misses(const nw_sim *k); // MISSES, not FULL
uint32_t nw_sim_set(const nw_sim *k, int level, uint64_t line); // of an address, in lines: the set it goes to
int nw_sim_held(const nw_sim *k, int level, uint32_t set); // lines in a set
void nw_sim_counts_add(nw_sim_counts *sum, const nw_sim_counts *n);
nw_sim_counts nw_sim_total(const nw_sim *k, int level);
const nw_sim_counts *nw_sim_site(const nw_sim *k, int level, int site);
