// Holds the state of a query to the cache model. Private to the model.
#pragma once
#include "cache/exact/model.h"
#include "cache/exact/model_first.h"
#include "cache/exact/model_run.h"

struct nw_cached {
  int nlevels, nsites;
  nw_sim_counts *count; // the counts of a site in a level are at level * nsites + site
  bool exact[NW_MAX_LEVELS];
  double error[NW_MAX_LEVELS];
  int64_t accesses, touched;
};

// NW_TOO_MANY means that the method does not apply, or would need too many touches or accesses. There is then no
// diagnostic.
typedef enum nw_answered { NW_FAILED, NW_ANSWERED, NW_TOO_MANY } nw_answered;

typedef struct nw_asking {
  nw_ctx *ctx;
  const nw_affine_nest *nest;
  const nw_cache_opts *o;
  int64_t most; // limit of touches
  nw_arena *arena;
  nw_shaped shape;
  nw_spares *spares;
  struct nw_run *roomy; // the run with one set (nw_run_open_roomy); NULL if it is not open
  // The accessed lines and the first access to each line. Only one of these two fields is set.
  const nw_fold_run *lines;
  const nw_firsts *firsts;
  nw_cached *m;
} nw_asking;

nw_sim_counts *nw_counts_at(const nw_asking *q, int level);

// ---- model_plain.c

// These functions return NW_TOO_MANY if there are more than `most` accesses.

// Simulates the accesses one by one, for all levels.
nw_answered nw_plain_all(nw_asking *q, int64_t most);
// Simulates the accesses one by one, for one level, in mode FULL (sim.h).
nw_answered nw_plain_level(nw_asking *q, int level, int64_t most);
// Estimates the counts of one level from a sample of its sets.
nw_answered nw_plain_sampled(nw_asking *q, int level, int64_t most);
// Estimates the counts of all levels from samples of their sets. This method is used if the accessed lines are unknown.
nw_answered nw_plain_sampled_all(nw_asking *q, int64_t most);

// Finds, for each level, the relative difference between the misses in mode FULL and in mode MISSES (sim.h), over the
// first `first` accesses. Returns false on failure.
bool nw_plain_apart(nw_asking *q, int64_t first, double *apart);

// ---- model_count.c

nw_answered nw_fold_run_of(nw_asking *q, nw_fold_run *r, int64_t most);
// Counts, for each site, the requested lines and the cold misses.
bool nw_count_cold(nw_asking *q);
// True if no set of the level gets more lines than it can hold.
bool nw_holds_all(const nw_asking *q, const nw_level_of *l);
nw_level_of nw_level_asked(nw_asking *q, int level);
bool nw_count_level(nw_asking *q, const nw_fold_run *r, int level);
// Sets the counts of a site from an estimate. Corrects an estimate that contradicts the known requests or cold misses.
void nw_count_estimated(nw_sim_counts *c, int64_t read_misses, int64_t write_misses, int64_t written_back,
                        int64_t conflicts);
