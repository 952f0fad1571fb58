// Folds a whole nest. Private to the model.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/exact/model_fold.h"
#include "cache/exact/model_shape.h"

typedef struct nw_fold_run {
  nw_ctx *ctx;
  const nw_shaped *nest;
  const nw_fold_kind *kind;
  const void *of; // the parameter of the functions in `kind`
  int line; // bytes of a line
  int64_t sets; // a move of all regions by a multiple of this number of lines changes nothing
  nw_affine_share share;
  int64_t most; // limit of touches
  int64_t plain; // number of accesses, if they can be simulated instead; otherwise 0
  // If not 0, the result is an estimate: it assumes that the positions of regions within the sets do not matter, and
  // uses some iterations in place of others. With 1, unknown outcomes count as misses. With 2, they count as hits, and
  // other iterations are used.
  int rough;
  struct nw_run *roomy; // for a level with several sets: see nw_run_open_roomy; NULL if it is not used
  const struct nw_fold_run *lines; // for a level: the run that folded the touched lines; NULL if there is none
  // results
  int64_t touched;
  bool hopeless; // true if the run gave up before it reached the limit
  nw_tallies tallies;
  nw_fold *fold; // the fold of the whole nest; its lines are relative to 0
  struct nw_run *run; // the run that made the fold, for queries by other runs
} nw_fold_run;

// Opens a run that folds as if one set had the capacity of all sets. The run of a level with several sets uses it.
struct nw_run *nw_run_open_roomy(const nw_fold_run *r);
void nw_run_close_roomy(struct nw_run *e);

bool nw_fold_nest(nw_fold_run *r); // false if interrupted, or if there are too many touches
void nw_fold_run_free(nw_fold_run *r); // must be called after nw_fold_nest, even if that failed
