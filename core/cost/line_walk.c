// How an access goes from line to line.
//
// A run is what it touches side by side: its own elements, those of like accesses of the same body next to them, and what loops
// around add to that, from the innermost out, until one jumps.
#include "cost/line_walk.h"
#include "ir/fold.h" // nw_gcd
#include <math.h>
#include <stdlib.h>

static bool alike(const nw_core_access *a, const nw_core_access *b) {
  if (a->buffer != b->buffer || a->body != b->body || !b->affine || b->scattered || a->at.n != b->at.n) return false;
  for (int i = 0; i < a->at.n; i++)
    if (nw_form_coef(&b->at, a->at.slot[i]) != a->at.coef[i]) return false;
  return true;
}

typedef struct range {
  int64_t from, to; // elements
} range;

static bool widen_by(range *r, const nw_core_access *b, int64_t gap) {
  int64_t from = b->at.rest, to = from + b->lanes;
  if (from > r->to + gap || to < r->from - gap || (from >= r->from && to <= r->to)) return false;
  if (from < r->from) r->from = from;
  if (to > r->to) r->to = to;
  return true;
}

// Bytes that the body touches side by side.
static int64_t span_of(const nw_core *k, const nw_core_access *a, int64_t line) {
  range r = {a->at.rest, a->at.rest + a->lanes};
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < k->access.n; i++) {
      const nw_core_access *b = k->access.at[i];
      if (alike(a, b)) more |= widen_by(&r, b, line / a->elem - 1);
    }
  }
  return (r.to - r.from) * a->elem;
}

static double average(const nw_core_node *at) { return at->entered ? (double)at->times / (double)at->entered : 0; }

typedef struct spread { // of runs over sets
  int64_t apart; // bytes between two of them, at least, within a way
  double lines;
} spread;

// How few sets share the lines, once there are more than these hold: 0 for a quarter of them or more, 1 for one; -1: not known yet.
static double widen(spread *x, double run_lines, int64_t step, double count, const nw_machine_level *level) {
  int64_t way = level->bytes / level->ways;
  x->apart = nw_gcd(x->apart ? x->apart : way, step);
  x->lines *= count;
  double part = (double)x->apart / (run_lines * (double)level->line);
  if (part <= 4) return 0;
  if (x->lines <= (double)(way / x->apart * level->ways)) return -1;
  return fmin(1, log2(part / 4) / log2((double)way / (4 * (double)level->line)));
}

static int64_t step_of(const nw_core_access *a, const nw_core_node *at) {
  return at->stmt->kind == NW_LOOP ? llabs(nw_form_coef(&a->at, at->slot)) * a->elem : 0;
}

// Stores that jump cost more as long as their runs are short; loads only where a run is one line, since the line beside comes
// with it.
enum { LINES_STORED = 8 };
static const double lines_loaded = 1.5;

nw_line_walk nw_line_walk_of(const nw_core *k, const nw_core_access *a) {
  const nw_machine_level *level = &k->machine->level[0];
  nw_line_walk w = {0};
  if (!a->affine) return w;
  bool lanes = a->scattered && llabs(a->at.step) * a->elem >= level->line;
  double run = (double)(a->scattered ? a->elem : span_of(k, a, level->line)), line = (double)level->line;
  spread x = {0, 1};
  double few = lanes ? widen(&x, 1, llabs(a->at.step) * a->elem, a->lanes, level) : -1;
  bool jumps = lanes;
  for (const nw_core_node *at = a->body; at; at = at->up) {
    double step = (double)step_of(a, at), times = average(at);
    if (step == 0 || times <= 1) continue;
    if (!jumps && step <= fmax(run, line)) {
      run += (times - 1) * step;
      continue;
    }
    jumps = true;
    if (few < 0) few = widen(&x, fmax(1, run / line), (int64_t)step, times, level);
  }
  double lines = 1 + (run - 1) / line; // touched, wherever it begins
  if (jumps && run <= line && !(a->lanes > 1 && !a->scattered)) lines = 1;
  w.loads_jump = jumps && lines < lines_loaded;
  w.stores_jump = jumps && lines < LINES_STORED;
  w.crowding = jumps ? fmax(0, few) : 0;
  return w;
}
