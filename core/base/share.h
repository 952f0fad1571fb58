// Lists the iterations of a parallel loop over 0..n that one thread runs. Each piece is a range of consecutive
// iterations.
#pragma once
#include "base/base.h"

typedef struct nw_share {
  int64_t n, chunk, thread, threads;
  __int128 at;
} nw_share;

// If chunk = 0, thread t of T runs one piece, n*t/T..n*(t+1)/T. Otherwise the threads run pieces of |chunk| iterations
// in turn. If chunk is negative, a real run gives each piece to the next free thread (dynamic scheduling). In this
// case, too, the functions below assign the pieces in turn.
nw_share nw_share_of(int64_t n, int64_t chunk, int64_t thread, int64_t threads);
bool nw_share_next(nw_share *s, int64_t *from, int64_t *to); // false if there is no further piece
