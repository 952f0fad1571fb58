// Divides a parallel loop among threads. The loop has the iterations 0 to n - 1. nw_share lists the iterations that one
// thread runs, as pieces. A piece is a range of consecutive iterations.
#pragma once
#include "base/base.h"

typedef struct nw_share {
  int64_t n, chunk, thread, threads;
  __int128 at;
} nw_share;

// If chunk = 0, thread t of T threads runs one piece, which starts at iteration n*t/T and ends before iteration
// n*(t+1)/T. Otherwise each piece has |chunk| iterations, and the threads get the pieces in turn. If chunk is negative,
// a real run gives each piece to the next free thread (dynamic scheduling), but the functions below still assign the
// pieces in turn.
nw_share nw_share_of(int64_t n, int64_t chunk, int64_t thread, int64_t threads);
// Sets *from to the first iteration of the next piece, and *to to the end of the piece, exclusive. Returns false if
// there is no further piece.
bool nw_share_next(nw_share *s, int64_t *from, int64_t *to);
