// Divides the iterations of a parallel loop among threads. The same rule is used when a loop runs and when its accesses
// are simulated. Exported C text has a copy of the rule (codegen/c/c_glue.c).
#include "base/share.h"

nw_share nw_share_of(int64_t n, int64_t chunk, int64_t thread, int64_t threads) {
  nw_share s = {.n = n, .chunk = chunk < 0 ? -chunk : chunk, .thread = thread, .threads = threads};
  s.at = s.chunk ? (__int128)thread * s.chunk : 0;
  return s;
}

bool nw_share_next(nw_share *s, int64_t *from, int64_t *to) {
  if (s->at >= s->n) return false;
  if (s->chunk) {
    *from = (int64_t)s->at;
    *to = s->n - *from < s->chunk ? s->n : *from + s->chunk;
    s->at += (__int128)s->threads * s->chunk;
    return true;
  }
  *from = (int64_t)((__int128)s->n * s->thread / s->threads);
  *to = (int64_t)((__int128)s->n * (s->thread + 1) / s->threads);
  s->at = s->n;
  return *from < *to;
}
