// Finds how the lines that a loop accesses depend on the position of a region within a line. Only some positions
// matter. At these positions, the first or the last byte of a reference is in another line than at the previous
// position.
#include "cache/exact/model_making.h"

// Rotates a set of byte positions in a line by `by` bytes. Bit b of the set stands for byte b.
static uint64_t turned(uint64_t set, int64_t by, int line) {
  int n = (int)nw_floormod_i64(by, line);
  uint64_t all = line == 64 ? ~UINT64_C(0) : (UINT64_C(1) << line) - 1;
  return n ? (set << n | set >> (line - n)) & all : set;
}

// Returns the union of the sets that result if `set` is rotated by 0, step, 2*step, ..., (times - 1)*step bytes.
static uint64_t repeated(uint64_t set, int64_t step, int64_t times, int line) {
  if (times > line) times = line;
  for (int64_t n = 1; n < times; n *= 2) set |= turned(set, step * (n < times - n ? n : times - n), line);
  return set;
}

static uint64_t reflected(uint64_t set, int line) {
  uint64_t out = set & 1;
  for (int i = 1; i < line; i++) out |= (set >> i & 1) << (line - i);
  return out;
}

// An absolute loop (nw_shape) may begin with any value, so it is treated as a loop with `line` iterations.
void nw_making_phase(const nw_making *m, const nw_shape *loop, nw_anchor *at, const nw_access_form *r, int depth) {
  int line = m->line;
  if (line > 64) {
    at->turns = ~UINT64_C(0);
    return;
  }
  int64_t apart = nw_floormod_i64(r->at.rest - at->at.rest, line);
  uint64_t bytes = turned(1, apart, line) | turned(1, apart + r->bytes - 1, line);
  for (int d = loop->depth; d < depth; d++) {
    const nw_shape *l = m->around[d];
    bytes = repeated(bytes, r->at.coef[d] % line, l->absolute || l->hi >= line ? line : l->hi + 1, line);
  }
  at->turns |= reflected(bytes, line);
}

// Returns the last position among 0..`byte` at which the accessed lines change (nw_anchor.turns), or 0 if there is no
// such position. Returns `byte` if the lines change at every position.
int nw_shape_phase(const nw_anchor *a, int byte) {
  uint64_t upto = byte < 64 ? a->turns & ((UINT64_C(2) << byte) - 1) : 0;
  return byte >= 64 || a->turns == ~UINT64_C(0) ? byte : upto ? 63 - __builtin_clzll(upto) : 0;
}
