// Makes the fold (model_fold.h) of a whole nest. Private to the model.
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
  int64_t sets; // number of sets of the level; 1 if sets do not matter
  nw_affine_share share;
  int64_t most; // limit of touches
  int64_t plain; // number of accesses, if there are few enough to simulate; otherwise 0
  // If not 0, the result is an estimate. It ignores the positions of regions within the sets, and runs only samples of
  // the iterations. With 1, a request with an unknown outcome counts as a miss. With 2, such a request counts as a hit,
  // and different samples are used.
  int rough;
  struct nw_run *roomy; // for a level with several sets: the run with one set (nw_run_open_roomy), or NULL
  const struct nw_fold_run *lines; // for a level: the run that found the accessed lines, or NULL
  // results
  int64_t touched;
  bool hopeless; // true if the run gave up before it reached the limit of touches
  nw_tallies tallies;
  nw_fold *fold; // the fold of the whole nest; its lines are relative to 0
  struct nw_run *run; // the run that made the fold, for queries by other runs
} nw_fold_run;

// Opens a run that makes folds for a single set with the capacity of all sets of the level. The run of a level with
// several sets uses these folds for loops whose lines fit in its sets.
struct nw_run *nw_run_open_roomy(const nw_fold_run *r);
void nw_run_close_roomy(struct nw_run *e);

bool nw_fold_nest(nw_fold_run *r); // returns false if it is interrupted, or if there are too many touches
void nw_fold_run_free(nw_fold_run *r); // must be called after nw_fold_nest, even if that failed
