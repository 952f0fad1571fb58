// Counts the lines in each set of a cache over time.
#include "cache/sim/sim.h"
#include <stdlib.h>

struct nw_filling {
  int64_t time;
  int columns, sets;
  uint16_t *held, *asked; // for each column and set
};

typedef struct watching {
  nw_filling *f;
  nw_sim *sim;
  int level, nlevels, shift;
  uint64_t first; // address of line 0 divided by the line size
  uint32_t *seen; // for each line: 1 + the column of its last request; 0 before its first request
  uint8_t *out;
  int column;
  int64_t time, until; // `until`: the number of the first access in the next column
} watching;

static bool count_refs(void *env, const nw_ref *ref, int n) {
  (void)ref;
  ((nw_filling *)env)->time += n;
  return true;
}

static uint16_t *cell(uint16_t *of, const nw_filling *f, int column, int set) {
  return &of[(size_t)column * (size_t)f->sets + (size_t)set];
}

static void close_column(watching *x) {
  for (int set = 0; set < x->f->sets; set++) {
    int held = nw_sim_held(x->sim, x->level, (uint32_t)set);
    *cell(x->f->held, x->f, x->column, set) = (uint16_t)(held < UINT16_MAX ? held : UINT16_MAX);
  }
}

static void go_on(watching *x) {
  for (; x->time >= x->until; x->column++) {
    if (x->column >= 0) close_column(x);
    x->until = (int64_t)(((__int128)(x->column + 2) * x->f->time + x->f->columns - 1) / x->f->columns);
  }
}

static void see_line(watching *x, const nw_ref *r, uint64_t line) {
  nw_ref one = {.address = line << x->shift, .site = r->site, .bytes = 1, .write = r->write};
  nw_sim_feed(x->sim, &one, 1, x->out);
  for (int i = 0; i < x->level; i++)
    if (x->out[i] == NW_HIT && nw_sim_by_misses(x->sim)) return; // in mode MISSES, the level was not accessed
  uint32_t *seen = &x->seen[line - x->first], now = (uint32_t)x->column + 1;
  if (*seen == now) return;
  *seen = now;
  uint16_t *n = cell(x->f->asked, x->f, x->column, (int)nw_sim_set(x->sim, x->level, line));
  if (*n < UINT16_MAX) ++*n;
}

static bool see_refs(void *env, const nw_ref *ref, int n) {
  watching *x = env;
  for (int i = 0; i < n; i++) {
    if (x->time >= x->until) go_on(x);
    uint64_t last = (ref[i].address + ref[i].bytes - 1) >> x->shift;
    for (uint64_t line = ref[i].address >> x->shift; line <= last; line++) see_line(x, &ref[i], line);
    x->time++;
  }
  return true;
}

static bool watch(nw_ctx *c, nw_filling *f, nw_walker *w, const nw_sim_opts *o, int level) {
  const nw_places *places = nw_walker_places(w);
  watching x = {.f = f, .level = level, .nlevels = o->nlevels, .column = -1};
  x.sim = nw_sim_new(c, o, places->from, places->to, nw_walker_sites(w));
  nw_walker_does(w, "counting the accesses");
  if (!x.sim || !nw_walk_refs(w, count_refs, NULL, f)) return nw_sim_free(x.sim), false;
  nw_walker_does(w, NULL);
  const nw_sim_level *l = &o->level[level];
  x.shift = __builtin_ctz((unsigned)o->line);
  x.first = places->from >> x.shift;
  if (f->columns > f->time) f->columns = f->time > 0 ? (int)f->time : 1;
  f->sets = l->ways ? (int)(l->bytes / o->line / l->ways) : 1;
  size_t cells = (size_t)f->columns * (size_t)f->sets;
  f->held = nw_xask(cells, sizeof *f->held);
  f->asked = nw_xask(cells, sizeof *f->asked);
  x.seen = nw_xask((places->to >> x.shift) - x.first + 2, sizeof *x.seen);
  x.out = nw_xask((size_t)o->nlevels, 1);
  bool ok = nw_walk_refs(w, see_refs, NULL, &x);
  if (ok && x.column >= 0) close_column(&x);
  nw_let_go(x.seen);
  nw_let_go(x.out);
  nw_sim_free(x.sim);
  return ok;
}

nw_filling *nw_filling_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o, int level,
                          int columns) {
  nw_walker *w = nw_walker_for(c, p, walk);
  if (!w) return NULL;
  nw_filling *f = nw_xask(1, sizeof *f);
  f->columns = columns;
  bool ok = watch(c, f, w, o, level);
  nw_walker_free(w);
  if (ok) return f;
  nw_filling_free(f);
  return NULL;
}

void nw_filling_free(nw_filling *f) {
  if (f) nw_let_go(f->held), nw_let_go(f->asked);
  nw_let_go(f);
}

int64_t nw_filling_time(const nw_filling *f) { return f->time; }
int nw_filling_columns(const nw_filling *f) { return f->columns; }
int nw_filling_sets(const nw_filling *f) { return f->sets; }
int nw_filling_held(const nw_filling *f, int column, int set) { return *cell(f->held, f, column, set); }
int nw_filling_asked(const nw_filling *f, int column, int set) { return *cell(f->asked, f, column, set); }
