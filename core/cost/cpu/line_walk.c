// Finds how an access moves from line to line.
//
// Two accesses of a body are *similar* if they use the same buffer and move by the same steps in all loops. In this
// file, a *run* is a contiguous range of bytes. It has the elements of an access, and adjacent elements of similar
// accesses. The enclosing loops extend the run, from the innermost loop outwards. A loop *jumps* if its step is longer
// than both the run and a line. Then each iteration of the loop has a separate run.
#include "cost/cpu/line_walk.h"
#include "cost/cpu/core_access.h"
#include <math.h>
#include <stdlib.h>

static bool alike(const nw_core_access *a, const nw_core_access *b) {
  if (a->buffer != b->buffer || a->body != b->body || !b->affine || b->scattered || a->at.n != b->at.n) return false;
  for (int i = 0; i < a->at.n; i++)
    if (nw_form_coef(&b->at, a->at.slot[i]) != a->at.coef[i]) return false;
  return true;
}

static int by_begin(const void *a, const void *b) {
  const nw_core_access *x = *(nw_core_access *const *)a, *y = *(nw_core_access *const *)b;
  return (x->at.rest > y->at.rest) - (x->at.rest < y->at.rest);
}

// Joins the accesses `first` to `last` - 1 into one run, which ends before element `end`.
static void set_span(nw_core_access **run, int first, int last, int64_t end) {
  for (int i = first; i < last; i++) run[i]->span = (end - run[first]->at.rest) * run[i]->elem;
}

// Sorts similar accesses, and joins accesses that are less than a line apart into one run.
static void set_spans(int n, nw_core_access **like, int64_t line) {
  qsort(like, (size_t)n, sizeof *like, by_begin);
  int first = 0;
  int64_t end = like[0]->at.rest + like[0]->lanes;
  for (int i = 1; i < n; i++) {
    int64_t begin = like[i]->at.rest, to = begin + like[i]->lanes;
    if (begin > end + line / like[i]->elem - 1) set_span(like, first, i, end), first = i, end = to;
    if (to > end) end = to;
  }
  set_span(like, first, n, end);
}

static void clear(nw_core_access *a) {
  a->span = 0;
  a->lead = NULL;
  for (int i = 0; i < NW_MACHINE_LEVELS; i++) a->came[i] = 0;
}

// Finds the *lead* of each access, which is the first of the similar accesses. The lead stores the data that similar
// accesses have in common.
static void lead(const nw_core *k, int n, nw_core_access **like) {
  like[0]->crossings = 0;
  for (int i = 0; i < n; i++) {
    like[i]->lead = like[0];
    if (like[i]->issued) like[0]->crossings += nw_core_crossings(k, like[i]);
  }
}

static double average(const nw_core_node *at) { return at->entered ? (double)at->times / (double)at->entered : 0; }

static int64_t step_of(const nw_core_access *a, const nw_core_node *at) {
  return at->stmt->kind == NW_LOOP ? llabs(nw_form_coef(&a->at, at->slot)) * a->elem : 0;
}

static void clear_streams(nw_core_node *at) {
  at->streams = 0;
  for (int i = 0; i < at->nkids; i++) clear_streams(at->kid[i]);
}

// Adds the number of streams of an access to the bodies around it. A stream is a run that is accessed in turn with
// other runs. Each iteration of a loop that jumps begins another stream.
static void add_streams(const nw_core *k, const nw_core_access *a) {
  double streams = a->scattered ? a->lanes : 1;
  for (nw_core_node *at = a->body; at; at = at->up) {
    at->streams += streams;
    if (step_of(a, at) > k->machine->level[0].line) streams *= fmax(1, average(at));
  }
}

void nw_line_spans(nw_core *k) {
  int64_t line = k->machine->level[0].line;
  int n = k->access.n;
  nw_core_access **like = nw_xmalloc((size_t)(n + 1) * sizeof *like);
  for (int i = 0; i < n; i++) clear(k->access.at[i]);
  clear_streams(k->root);
  for (int i = 0; i < n; i++) {
    nw_core_access *a = k->access.at[i];
    int found = 0;
    if (a->affine && a->scattered) add_streams(k, a);
    if (a->span || !a->affine || a->scattered) continue;
    for (int j = i; j < n; j++)
      if (alike(a, k->access.at[j])) like[found++] = k->access.at[j];
    lead(k, found, like);
    add_streams(k, a);
    set_spans(found, like, line);
  }
  free(like);
}

typedef struct spread { // the distribution of runs over sets
  int64_t apart; // least distance in bytes between two runs, modulo the size of a way
  double lines;
} spread;

// Adds a loop that jumps `count` times by `step` bytes to the distribution x. Returns a number from 0 to 1 that says
// how few cache sets the lines use. The number is 0 if the lines use at least a quarter of all sets, and 1 if they use
// only one set. Returns -1 if the lines use less than a quarter of the sets, but fit in these sets.
static double widen(spread *x, double run_lines, int64_t step, double count, const nw_machine_level *level) {
  int64_t way = level->bytes / level->ways;
  x->apart = nw_gcd(x->apart ? x->apart : way, step);
  x->lines *= count;
  double part = (double)x->apart / (run_lines * (double)level->line);
  if (part <= 4) return 0;
  if (x->lines <= (double)(way / x->apart * level->ways)) return -1;
  return fmin(1, log2(part / 4) / log2((double)way / (4 * (double)level->line)));
}

// Stores that jump cost more if their runs have fewer than LINES_STORED lines. Loads that jump cost more only if a run
// is a single line, since hardware fetches the adjacent line, too.
enum { LINES_STORED = 8, STREAMS = 64 }; // STREAMS: number of runs that prefetchers can follow at the same time
static const double lines_loaded = 1.5,
                    lines_unforeseen = 2; // lines of a run that are loaded before a prefetcher detects the run

nw_line_walk nw_line_walk_of(const nw_core *k, const nw_core_access *a) {
  const nw_machine_level *level = &k->machine->level[0];
  nw_line_walk w = {0};
  if (!a->affine) return w;
  bool lanes = a->scattered && llabs(a->at.step) * a->elem >= level->line;
  double run = (double)(a->scattered ? a->elem : a->span), line = (double)level->line;
  spread x = {0, 1};
  double few = lanes ? widen(&x, 1, llabs(a->at.step) * a->elem, a->lanes, level) : -1;
  bool jumps = lanes;
  for (const nw_core_node *at = a->body; at; at = at->up) {
    double step = (double)step_of(a, at), times = average(at);
    if (step == 0 || times <= 1) continue;
    if (step <= fmax(run, line) && (!jumps || at->streams <= STREAMS)) {
      run += (times - 1) * step;
      jumps = false;
      continue;
    }
    jumps = true;
    if (few < 0) few = widen(&x, fmax(1, run / line), (int64_t)step, times, level);
  }
  double lines = 1 + (run - 1) / line; // number of lines in a run, on average over all start positions
  if (jumps && run <= line && !(a->lanes > 1 && !a->scattered)) lines = 1;
  w.loads_jump = jumps && lines < lines_loaded;
  w.stores_jump = jumps && lines < LINES_STORED;
  w.unforeseen = jumps ? fmin(1, lines_unforeseen / lines) : 0;
  w.crowding = jumps ? fmax(0, few) : 0;
  return w;
}
