// Builds folds (model_fold.h) that contain all accessed lines, with the first access to each line. These folds give the
// cold misses, and show whether all lines fit in a cache level. In this file, a *run* is a sequence of adjacent lines.
#include "cache/exact/model_fold.h"
#include <stdlib.h>

typedef nw_run_of_lines run;

typedef struct runs { // a list of runs, sorted by line and without overlaps
  run *at;
  int n, cap;
  int64_t lines;
} runs;

typedef struct lines_fold {
  nw_fold base;
  runs runs;
} lines_fold;

enum { BUFFER = 1024, RECENT = 256 };

typedef struct fresh { // a single line that was added
  int64_t line;
  int order, label;
  uint16_t region;
} fresh;

typedef struct lines_folder {
  nw_folder base;
  const nw_lines_of *of;
  runs runs, spare, placed;
  fresh buffer[BUFFER], sorted[BUFFER];
  int *begin; // for each ground (model_shape.h): the index in `sorted` at which its lines begin
  int nbuffer;
  int kept; // number of runs that the current merge does not change
  int64_t recent[RECENT]; // lines that were added recently
} lines_folder;

const run *nw_fold_lines(const nw_fold *x, int *n) {
  const lines_fold *f = (const lines_fold *)x;
  *n = f->runs.n;
  return f->runs.at;
}

// ---- runs

static int phase_at(const run *r, int64_t line) {
  return r->pattern->n == 1 ? 0 : (int)((r->phase + (line - r->from)) % r->pattern->n);
}

static void add_run(runs *to, run r) {
  run *last = to->n ? &to->at[to->n - 1] : NULL;
  to->lines += r.to - r.from;
  if (last && last->to == r.from && last->pattern == r.pattern && last->region == r.region &&
      phase_at(last, r.from) == r.phase) {
    last->to = r.to;
    return;
  }
  if (to->n == to->cap) {
    to->cap = to->cap ? 2 * to->cap : 64;
    to->at = nw_xask_more(to->at, (size_t)to->cap, sizeof *to->at);
  }
  to->at[to->n++] = r;
}

static void begin_at(run *r, int64_t line) {
  r->phase = phase_at(r, line);
  r->from = line;
}

// Adds the runs of `old` up to r, and the parts of r that are not in `old`. The first i runs of `old` have already been
// added. Returns the number of runs of `old` that have been added now.
static int add_rest(runs *to, const runs *old, int i, run r) {
  while (r.from < r.to) {
    while (i < old->n && old->at[i].to <= r.from) add_run(to, old->at[i++]);
    int64_t until = i < old->n && old->at[i].from < r.to ? old->at[i].from : r.to;
    if (until > r.from) {
      run part = r;
      part.to = until;
      add_run(to, part);
      if (until == r.to) break;
      begin_at(&r, until);
    } else {
      begin_at(&r, old->at[i].to < r.to ? old->at[i].to : r.to);
    }
  }
  return i;
}

static bool is_inside(const nw_lines_of *of, const run *r) {
  return r->from >= of->from[r->region] && r->to <= of->to[r->region];
}

static int merge_run(lines_folder *f, int i, run r) {
  if (!is_inside(f->of, &r)) *f->of->astray = true;
  return add_rest(&f->spare, &f->runs, i, r);
}

// Prepares to rebuild the runs that contain `line` or come after it. Returns the index of the first of these runs.
static int begin_merge(lines_folder *f, int64_t line) {
  int in = 0, out = f->runs.n;
  while (in < out) {
    int mid = in + (out - in) / 2;
    if (f->runs.at[mid].to <= line)
      in = mid + 1;
    else
      out = mid;
  }
  f->kept = in;
  f->spare.n = 0, f->spare.lines = 0;
  return in;
}

static void end_merge(lines_folder *f, int i) {
  runs *r = &f->runs;
  while (i < r->n) add_run(&f->spare, r->at[i++]);
  for (i = f->kept; i < r->n; i++) r->lines -= r->at[i].to - r->at[i].from;
  r->n = f->kept;
  for (i = 0; i < f->spare.n; i++) add_run(r, f->spare.at[i]);
}

// ---- single lines

static int by_line(const void *a, const void *b) {
  const fresh *x = a, *y = b;
  return x->line != y->line ? (x->line < y->line ? -1 : 1) : x->order - y->order;
}

static bool in_order(const fresh *x, int n) {
  for (int i = 1; i < n; i++)
    if (x[i].line < x[i - 1].line) return false;
  return true;
}

// Sorts the lines by ground, and then by line. Lines in a ground mostly come in increasing order, so they rarely need
// sorting.
static void sort_buffer(lines_folder *f) {
  int ngrounds = f->of->ngrounds;
  const int *ground = f->of->ground;
  memset(f->begin, 0, ((size_t)ngrounds + 2) * sizeof *f->begin);
  for (int i = 0; i < f->nbuffer; i++) f->begin[ground[f->buffer[i].region] + 2]++;
  for (int r = 2; r <= ngrounds + 1; r++) f->begin[r] += f->begin[r - 1];
  for (int i = 0; i < f->nbuffer; i++) f->sorted[f->begin[ground[f->buffer[i].region] + 1]++] = f->buffer[i];
  for (int r = 0; r < ngrounds; r++) {
    fresh *x = f->sorted + f->begin[r];
    int n = f->begin[r + 1] - f->begin[r];
    if (!in_order(x, n)) qsort(x, (size_t)n, sizeof *x, by_line);
  }
}

static void flush(lines_folder *f) {
  if (!f->nbuffer) return;
  sort_buffer(f);
  int i = begin_merge(f, f->sorted[0].line);
  for (int k = 0; k < f->nbuffer; k++) {
    const fresh *x = &f->sorted[k];
    if (k && x->line == x[-1].line) continue;
    i = merge_run(f, i, (run){x->line, x->line + 1, nw_pattern_of(f->of->patterns, &x->label, 1), 0, x->region});
  }
  end_merge(f, i);
  f->nbuffer = 0;
}

static void lines_ask(nw_folder *base, int64_t line, int region, int site, bool write) {
  lines_folder *f = (lines_folder *)base;
  nw_counting_add(&base->count, site, 1);
  int64_t *known = &f->recent[line & (RECENT - 1)];
  if (*known == line) return;
  *known = line;
  if (f->nbuffer == BUFFER) flush(f);
  f->buffer[f->nbuffer] = (fresh){line, f->nbuffer, 2 * site + write, (uint16_t)region};
  f->nbuffer++;
}

// ---- folds

static nw_folder *lines_open(const void *of) {
  lines_folder *f = nw_xask(1, sizeof *f);
  f->of = of;
  f->begin = nw_xask((size_t)f->of->ngrounds + 2, sizeof *f->begin);
  memset(f->recent, 0xff, sizeof f->recent);
  nw_counting_open(&f->base.count, f->of->nsites + 1);
  return &f->base;
}

static void lines_free(nw_folder *base) {
  lines_folder *f = (lines_folder *)base;
  nw_counting_close(&base->count);
  nw_let_go(f->runs.at);
  nw_let_go(f->spare.at);
  nw_let_go(f->placed.at);
  nw_let_go(f->begin);
  nw_let_go(f);
}

static void lines_clear(nw_folder *base) {
  lines_folder *f = (lines_folder *)base;
  nw_counting_clear(&base->count);
  f->runs.n = f->nbuffer = 0;
  f->runs.lines = 0;
  memset(f->recent, 0xff, sizeof f->recent);
}

static int by_from(const void *a, const void *b) {
  const run *x = a, *y = b;
  return x->from < y->from ? -1 : x->from > y->from;
}

// Moves the runs of a fold to the given origins. Sorts them again, since the regions on a ground may then be in another
// order.
static void place(lines_folder *f, const runs *x, const int64_t *origin) {
  runs *to = &f->placed;
  if (to->cap < x->n) {
    to->cap = 2 * x->n;
    to->at = nw_xask_more(to->at, (size_t)to->cap, sizeof *to->at);
  }
  to->n = x->n;
  bool ordered = true;
  for (int k = 0; k < x->n; k++) {
    run r = x->at[k];
    r.from += origin[r.region];
    r.to += origin[r.region];
    ordered = ordered && (!k || to->at[k - 1].from < r.from);
    to->at[k] = r;
  }
  if (!ordered) qsort(to->at, (size_t)to->n, sizeof *to->at, by_from);
}

static void lines_apply(nw_folder *base, const nw_fold *from, const int64_t *origin) {
  lines_folder *f = (lines_folder *)base;
  flush(f);
  place(f, &((const lines_fold *)from)->runs, origin);
  if (!f->placed.n) return;
  int i = begin_merge(f, f->placed.at[0].from);
  for (int k = 0; k < f->placed.n; k++) i = merge_run(f, i, f->placed.at[k]);
  end_merge(f, i);
}

// ---- patterns

enum { SHORT = 64, LONG = 512 };

static bool goes_on(const run *x, const run *next) {
  return x->to == next->from && x->region == next->region && x->to - x->from <= SHORT && next->to - next->from <= SHORT;
}

static bool has_short_ones(const runs *r) { // true if there are two adjacent short runs
  for (int i = 1; i < r->n; i++)
    if (goes_on(&r->at[i - 1], &r->at[i])) return true;
  return false;
}

// Concatenates the labels of adjacent short runs, beginning with run i. Returns the number of these short runs.
static int side_by_side(const runs *r, int i, int *label, int *n) {
  int k = i;
  for (*n = 0; k < r->n; k++) {
    const run *x = &r->at[k];
    int64_t lines = x->to - x->from;
    if (lines > SHORT || *n + lines > LONG || (k > i && (x->from != x[-1].to || x->region != x[-1].region))) break;
    for (int64_t line = x->from; line < x->to; line++) label[(*n)++] = x->pattern->label[phase_at(x, line)];
  }
  return k - i;
}

// Merges adjacent short runs into one run with a pattern.
static void find_patterns(lines_folder *f) {
  int label[LONG], n;
  if (!has_short_ones(&f->runs)) return;
  begin_merge(f, INT64_MIN);
  for (int i = 0; i < f->runs.n;) {
    int k = side_by_side(&f->runs, i, label, &n);
    run r = f->runs.at[i];
    if (k > 1) {
      int phase;
      r.to = r.from + n;
      r.pattern = nw_pattern_in(f->of->patterns, label, n, &phase);
      r.phase = phase;
    }
    add_run(&f->spare, r);
    i += k > 1 ? k : 1;
  }
  end_merge(f, f->runs.n);
}

static lines_fold *copy_of(const runs *from, const int64_t *by, int sign) {
  lines_fold *x = nw_xask(1, sizeof *x);
  x->base.weight = from->n;
  x->base.lines = from->lines;
  x->runs = *from;
  x->runs.cap = from->n;
  x->runs.at = nw_xask((size_t)from->n + 1, sizeof *from->at);
  for (int i = 0; i < from->n; i++) {
    run r = from->at[i];
    int64_t shift = by ? sign * by[r.region] : 0;
    r.from += shift;
    r.to += shift;
    x->runs.at[i] = r;
  }
  return x;
}

static nw_fold *lines_end(nw_folder *base, const int64_t *origin) {
  lines_folder *f = (lines_folder *)base;
  flush(f);
  find_patterns(f);
  return &copy_of(&f->runs, origin, -1)->base;
}

// True if the last repetition of a fold added no line and moved no region. Then no further repetition adds a line.
static bool lines_moved(nw_folder *base, const nw_fold *x, const int64_t *origin, const int64_t *by) {
  (void)origin;
  lines_folder *f = (lines_folder *)base;
  flush(f);
  if (f->runs.lines != ((const lines_fold *)x)->runs.lines) return false;
  for (int i = 0; i < f->of->nregions; i++)
    if (by[i]) return false;
  return true;
}

static nw_fold *lines_moved_on(const void *of, const nw_fold *x, const int64_t *by) {
  (void)of;
  (void)by;
  return &copy_of(&((const lines_fold *)x)->runs, NULL, 0)->base;
}

static void lines_drop(const void *of, nw_fold *x) {
  (void)of;
  nw_let_go(((lines_fold *)x)->runs.at);
  nw_let_go(x);
}

static int64_t lines_size(nw_folder *base) {
  lines_folder *f = (lines_folder *)base;
  flush(f);
  return f->runs.n;
}

static int64_t lines_most(const nw_folder *base) {
  (void)base;
  return INT64_MAX;
}

static int64_t lines_overhead(const nw_folder *base) { return ((const lines_folder *)base)->runs.n; }

const nw_fold_kind nw_lines_kind = {lines_open,  lines_free,     lines_clear, lines_ask,  lines_apply, lines_end,
                                    lines_moved, lines_moved_on, lines_drop,  lines_size, lines_most,  lines_overhead};
