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
  int64_t
      sets; // which lines a region may move by without changing what it does: multiples of so many, with the others; 1: any
  nw_affine_share share;
  int64_t most; // touches
  int64_t plain; // accesses, where they can be simulated instead; 0: else there is no exact answer
  // An estimate: a loop does the same wherever its regions lie within the sets, and some rounds speak for others; 2: other
  // ones, and what they do not know is a hit, not a miss.
  int rough;
  struct nw_run *roomy; // of a level with sets; NULL: it does without
  const struct nw_fold_run *lines; // of a level: how many lines each loop touches; NULL: not known
  // out
  int64_t touched;
  bool hopeless; // it gave up before it had made so many touches
  nw_tallies tallies;
  nw_fold *fold; // of everything, its lines counted from 0
  struct nw_run *run; // that made it, for others to ask
} nw_fold_run;

// A run beside those of levels with sets, for them and for smaller ones after them.
struct nw_run *nw_run_open_roomy(const nw_fold_run *r);
void nw_run_close_roomy(struct nw_run *e);

bool nw_fold_nest(nw_fold_run *r); // false: interrupted, or too many touches; in any case:
void nw_fold_run_free(nw_fold_run *r);
