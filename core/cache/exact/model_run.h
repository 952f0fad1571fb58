// Folds a whole nest. Private to the model.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/exact/model_fold.h"
#include "cache/exact/model_shape.h"

typedef struct nw_fold_run {
  nw_ctx *ctx;
  const nw_shaped *nest;
  const nw_fold_kind *kind;
  const void *of; // the kind's
  int line; // bytes
  int64_t sets; // regions may move together by multiples of this many lines without changing anything; 1: any number
  nw_affine_share share;
  int64_t most; // touches
  int64_t plain; // accesses, if they can be simulated instead; 0: they cannot
  // An estimate: a loop does the same wherever its regions are within the sets, and some iterations stand for others; 2: a second
  // estimate, with other iterations, that counts unknown outcomes as hits, not misses.
  int rough;
  struct nw_run *roomy; // for a level with sets; NULL: not used
  const struct nw_fold_run *lines; // for a level: the lines that each loop touches; NULL: unknown
  // out
  int64_t touched;
  bool hopeless; // it gave up before it reached the limit
  nw_tallies tallies;
  nw_fold *fold; // of everything, its lines counted from 0
  struct nw_run *run; // that made the fold, for queries by others
} nw_fold_run;

// A run that serves those of levels with sets.
struct nw_run *nw_run_open_roomy(const nw_fold_run *r);
void nw_run_close_roomy(struct nw_run *e);

bool nw_fold_nest(nw_fold_run *r); // false: interrupted, or too many touches; afterwards, in any case:
void nw_fold_run_free(nw_fold_run *r);
