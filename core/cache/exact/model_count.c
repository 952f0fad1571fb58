// Makes folds and reads counts from them.
#include "cache/exact/model_ask.h"
#include <stdlib.h>

// Returns the run with one set (nw_run_open_roomy). It is opened for the largest level that has several sets. The
// smaller levels use the same run. But if conflict misses are counted, each level has its own run.
static struct nw_run *roomy_of(nw_asking *q, const nw_fold_run *r) {
  if (r->kind != &nw_level_kind || r->sets == 1 || r->rough) return NULL;
  if (((const nw_level_of *)r->of)->shadow) nw_run_close_roomy(q->roomy), q->roomy = NULL;
  if (!q->roomy) q->roomy = nw_run_open_roomy(r);
  return q->roomy;
}

nw_answered nw_fold_run_of(nw_asking *q, nw_fold_run *r, int64_t most) {
  r->ctx = q->ctx;
  r->nest = &q->shape;
  r->line = q->o->caches.line;
  r->share = q->o->share;
  r->most = most;
  r->roomy = roomy_of(q, r);
  bool done = nw_fold_nest(r);
  q->m->touched += r->touched;
  return done ? NW_ANSWERED : r->hopeless || r->touched > r->most ? NW_TOO_MANY : NW_FAILED;
}

static bool too_many(nw_asking *q) {
  return nw_fail(q->ctx, NW_ERANGE, "Smaller sizes show the same pattern.",
                 "the program makes about 2^63 accesses or more: too many to count");
}

static void add_first_touches(nw_sim_counts *c, const nw_run_of_lines *r) {
  int64_t lines = r->to - r->from;
  int n = r->pattern->n;
  for (int i = 0; i < n && i < lines; i++) {
    int label = r->pattern->label[(r->phase + i) % n];
    int64_t times = (lines - i + n - 1) / n;
    nw_sim_counts *at = &c[label / 2];
    at->outcome[NW_COLD] += times;
    *(label & 1 ? &at->write_misses : &at->read_misses) += times;
  }
}

static bool cold_of_lines(nw_asking *q, const nw_fold_run *r) {
  int nsites = q->m->nsites, n;
  int64_t *cell = nw_xcalloc((size_t)nsites + 1, sizeof *cell);
  bool fits = nw_tally_sum(&r->tallies, r->fold->tally, cell);
  q->m->accesses = cell[nsites];
  const nw_run_of_lines *run = nw_fold_lines(r->fold, &n);
  for (int level = 0; level < q->m->nlevels; level++) {
    nw_sim_counts *c = nw_counts_at(q, level);
    for (int s = 0; s < nsites; s++) c[s].asked = cell[s];
    for (int i = 0; i < n; i++) add_first_touches(c, &run[i]);
  }
  free(cell);
  return fits || too_many(q);
}

static void cold_of_firsts(nw_asking *q, const nw_firsts *f) {
  q->m->accesses = f->accesses;
  q->m->touched += f->runs;
  for (int level = 0; level < q->m->nlevels; level++) {
    nw_sim_counts *c = nw_counts_at(q, level);
    for (int s = 0; s < q->m->nsites; s++) c[s].asked = f->asked[s];
    for (int64_t i = 0; i < f->n; i++) {
      if (f->at[i].time == INT64_MAX) continue;
      nw_sim_counts *at = &c[f->at[i].label / 2];
      at->outcome[NW_COLD]++;
      (*(f->at[i].label & 1 ? &at->write_misses : &at->read_misses))++;
    }
  }
}

bool nw_count_cold(nw_asking *q) {
  if (q->lines) return cold_of_lines(q, q->lines);
  cold_of_firsts(q, q->firsts);
  return true;
}

// True if no set gets more lines than it has ways. The lines in each set are counted from the first and the last line
// of each sequence of adjacent lines.
static bool holds_lines(const nw_level_of *l, const nw_fold *lines) {
  int n;
  const nw_run_of_lines *run = nw_fold_lines(lines, &n);
  int64_t *change = nw_xcalloc((size_t)l->sets + 1, sizeof *change), held = 0;
  bool all = true;
  for (int i = 0; i < n; i++) {
    int64_t from = run[i].from % l->sets, to = run[i].to % l->sets;
    held += (run[i].to - run[i].from) / l->sets + (to < from);
    change[from]++;
    change[to]--;
  }
  for (int64_t s = 0; s < l->sets && all; s++) {
    held += change[s];
    all = held <= l->ways;
  }
  free(change);
  return all;
}

bool nw_holds_all(const nw_asking *q, const nw_level_of *l) {
  return q->lines ? holds_lines(l, q->lines->fold) : nw_firsts_fit(q->firsts, l);
}

nw_level_of nw_level_asked(nw_asking *q, int level) {
  const nw_sim_level *l = &q->o->caches.level[level];
  int64_t lines = l->bytes / q->o->caches.line, ways = l->ways ? l->ways : lines;
  bool shadow = q->o->caches.conflicts && ways < lines;
  return (nw_level_of){lines / ways, ways, shadow ? lines : 0, q->m->nsites, q->spares};
}

// Limits an estimate to possible values. The misses are at least the known cold misses, and at most the requested
// lines.
static void keep_possible(nw_sim_counts *c, int64_t cold_reads, int64_t cold_writes) {
  if (c->read_misses < cold_reads) c->read_misses = cold_reads;
  if (c->write_misses < cold_writes) c->write_misses = cold_writes;
  int64_t over = c->read_misses + c->write_misses - c->asked;
  if (over <= 0) return;
  int64_t reads = c->read_misses - cold_reads < over ? c->read_misses - cold_reads : over;
  c->read_misses -= reads;
  c->write_misses -= over - reads;
}

static void take_counts(nw_sim_counts *c, int64_t read_misses, int64_t write_misses, int64_t written_back,
                        int64_t conflicts) {
  c->read_misses = read_misses;
  c->write_misses = write_misses;
  c->written_back = written_back;
  c->outcome[NW_CONFLICT] = conflicts;
  c->outcome[NW_CAPACITY] = read_misses + write_misses - c->outcome[NW_COLD] - conflicts;
}

void nw_count_estimated(nw_sim_counts *c, int64_t read_misses, int64_t write_misses, int64_t written_back,
                        int64_t conflicts) {
  int64_t cold_reads = c->read_misses; // only cold misses have been counted so far
  nw_sim_counts n = {.asked = c->asked, .read_misses = read_misses, .write_misses = write_misses};
  keep_possible(&n, cold_reads, c->outcome[NW_COLD] - cold_reads);
  take_counts(c, n.read_misses, n.write_misses, written_back, conflicts);
}

// Adds two kinds of misses. The fold of the whole nest has counted all misses that are not cold. The first lines of
// this fold (model_stack.h) are the cold misses.
bool nw_count_level(nw_asking *q, const nw_fold_run *r, int level) {
  int64_t *cell = nw_xcalloc((size_t)q->m->nsites * NW_LEVEL_CELLS + 1, sizeof *cell);
  bool fits = nw_tally_sum(&r->tallies, r->fold->tally, cell);
  const nw_stacked *s = nw_fold_stacked(r->fold);
  for (int i = 0; i < s->nfirst; i++)
    cell[s->first[i].site * NW_LEVEL_CELLS + (s->first[i].write ? NW_CELL_WRITE : NW_CELL_READ)]++;
  for (int i = 0; i < q->m->nsites; i++) {
    const int64_t *at = cell + i * NW_LEVEL_CELLS;
    (r->rough ? nw_count_estimated : take_counts)(&nw_counts_at(q, level)[i], at[NW_CELL_READ], at[NW_CELL_WRITE],
                                                  at[NW_CELL_BACK], at[NW_CELL_CONFLICT]);
  }
  free(cell);
  return fits || too_many(q);
}
