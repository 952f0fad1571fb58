// Finds the first access to each line, and the number of accesses, without listing all accesses. Private to the model.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/exact/model_fold.h"

typedef struct nw_first_touch {
  int64_t time; // INT64_MAX if the line was never accessed
  int label; // 2 * site, plus 1 for a write
} nw_first_touch;

typedef struct nw_firsts {
  nw_ctx *ctx;
  const nw_affine_nest *nest;
  int shift; // log2 of the bytes of a line
  bool counted; // true if `accesses` and `asked` are known
  int64_t accesses, *asked; // `asked`: the number of lines that each site requests
  int nregions, *region; // the region of each array: arrays that share lines are in the same region
  int64_t *from, *to; // the lines of each region
  int64_t *base; // for each region: the index in `at` of its first line
  int64_t n; // number of lines
  nw_first_touch *at; // one for each line
  int64_t runs; // number of sequences of adjacent lines that were processed at once
  // The following fields are used only during the search.
  int64_t ticks, polled, most;
  int64_t *slot, *lo, *hi; // the value of each slot, and the range of its values
  int64_t first[64]; // first values of the enclosing loops
  bool stop, astray; // stop: true if the search must end; astray: true if a reference leaves its array
} nw_firsts;

// Runs the search. Returns false if it is interrupted, or if it takes more than `most` ticks. A *tick* is the cost of a
// small operation, a few nanoseconds. f must be freed even after a failure.
bool nw_firsts_find(nw_firsts *f, nw_ctx *c, const nw_affine_nest *n, int line, int64_t most);
void nw_firsts_free(nw_firsts *f);
// True if no set of the level gets more lines than it can hold.
bool nw_firsts_fit(const nw_firsts *f, const nw_level_of *l);
