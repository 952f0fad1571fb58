// Finds the first access to each line, and the number of accesses, without making them. Private to the model.
#pragma once
#include "access/affine/affine_walk.h"
#include "cache/exact/model_fold.h"

typedef struct nw_first_touch {
  int64_t time; // INT64_MAX: never
  int label; // 2 * site, and 1 for a write
} nw_first_touch;

typedef struct nw_firsts {
  nw_ctx *ctx;
  const nw_affine_nest *nest;
  int shift; // of a line
  bool counted; // accesses and asked are known
  int64_t accesses, *asked; // requested lines, by site
  int nregions, *region; // by array: arrays that share lines are one region
  int64_t *from, *to, *base; // by region: its lines, and the index of the first
  int64_t n; // lines
  nw_first_touch *at; // by number
  int64_t runs; // number of processed runs of lines
  // during the search
  int64_t ticks, polled, most;
  int64_t *slot, *lo, *hi; // by slot: its value, and the range of its values
  int64_t first[64]; // of the enclosing loops
  bool stop, astray;
} nw_firsts;

// False: interrupted, or not found within `most` ticks of a few nanoseconds. f must be freed in any case.
bool nw_firsts_find(nw_firsts *f, nw_ctx *c, const nw_affine_nest *n, int line, int64_t most);
void nw_firsts_free(nw_firsts *f);
bool nw_firsts_fit(const nw_firsts *f,
                   const nw_level_of *l); // true if no set of the level gets more lines than it holds
