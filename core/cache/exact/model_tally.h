// Represents the counts of a part of a nest as a graph of tallies. A *tally* consists of counts and of other tallies,
// its *parts*. Each part has a multiplicity. So a loop of 10^18 iterations needs only a few dozen tallies. The counts
// are added up once, at the end of a run. Private to the model.
#pragma once
#include "base/base.h"

typedef struct nw_tally nw_tally;

typedef struct nw_tallies { // the tallies of a run, in order of creation; the parts of a tally come before the tally
  nw_arena *arena;
  nw_vec made;
} nw_tallies;
void nw_tallies_open(nw_tallies *all);
void nw_tallies_close(nw_tallies *all);

typedef struct nw_tally_part {
  nw_tally *of;
  int64_t times;
} nw_tally_part;

typedef struct nw_counting { // a tally under construction
  int64_t *cell;
  int *used; // cells that are not 0
  int nused;
  nw_tally_part *part;
  int nparts, cap;
} nw_counting;
void nw_counting_open(nw_counting *n, int ncells);
void nw_counting_close(nw_counting *n);
void nw_counting_clear(nw_counting *n);
void nw_counting_part(nw_counting *n, nw_tally *of, int64_t times);
nw_tally *nw_counting_end(nw_counting *n, nw_tallies *all); // returns the finished tally, and starts another
bool nw_tally_sum(const nw_tallies *all, nw_tally *root, int64_t *cell); // adds up the counts; false if a sum overflows

static inline void nw_counting_add(nw_counting *n, int cell, int64_t by) {
  if (!n->cell[cell]) n->used[n->nused++] = cell;
  n->cell[cell] += by;
}
