// The share of a thread in the iterations 0..n of a parallel loop, piece by piece.
#pragma once
#include "base/base.h"

typedef struct nw_share {
  int64_t n, chunk, thread, threads;
  __int128 at;
} nw_share;

// chunk 0: one piece for each thread, n*t/T..n*(t+1)/T. Else pieces of |chunk| iterations, dealt in turn; those of a negative
// chunk go to whoever is free, which is counted as if they were dealt, too.
nw_share nw_share_of(int64_t n, int64_t chunk, int64_t thread, int64_t threads);
bool nw_share_next(nw_share *s, int64_t *from, int64_t *to); // false: there is no more
