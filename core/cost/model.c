// The cache model: counts level by level.
//
// One fold of the nest gives the lines that are touched, and by whom first: cold misses, the same for all levels. A level that
// holds all of them has no others; of any other level a fold of its own counts the misses.
#include "cost/model.h"
#include "cost/model_run.h"
#include <stdlib.h>

struct nw_cached {
  int nlevels, nsites;
  nw_sim_counts *count; // by level, then site
  bool exact[NW_MAX_LEVELS];
  double error[NW_MAX_LEVELS];
  int64_t accesses, touched;
};

typedef struct asking {
  nw_ctx *ctx;
  const nw_affine_nest *nest;
  const nw_cache_opts *o;
  int64_t most;
  nw_arena *arena;
  nw_shaped shape;
  nw_spares *spares;
  nw_cached *m;
} asking;

static nw_sim_counts *counts_of(const asking *q, int level) { return q->m->count + level * q->m->nsites; }

// ---- every access, one after the other

typedef struct plain {
  nw_sim *sim;
  int64_t accesses, most;
} plain;

static bool feed(void *env, const nw_ref *ref, int n) {
  plain *p = env;
  p->accesses += n;
  nw_sim_feed(p->sim, ref, n, NULL);
  return p->accesses <= p->most;
}

static void gather(asking *q, const nw_sim *k) {
  for (int level = 0; level < q->m->nlevels; level++) {
    q->m->exact[level] = true;
    for (int s = 0; s < q->m->nsites; s++) {
      counts_of(q, level)[s] = *nw_sim_site(k, level, s);
      q->m->touched += counts_of(q, level)[s].asked;
    }
  }
}

static bool refuse(asking *q, int64_t most) {
  return nw_fail(q->ctx, NW_ELIMIT, "Give a larger budget, or smaller sizes.",
                 "more than %lld accesses would have to be simulated: there is no short cut for this nest",
                 (long long)most);
}

static bool simulate(asking *q) {
  uint64_t from, to;
  nw_affine_span(q->nest, &from, &to);
  plain p = {.sim = nw_sim_new(q->ctx, &q->o->caches, from, to, q->nest->nsites), .most = q->most};
  bool done = p.sim && nw_affine_refs(q->ctx, q->nest, q->o->share, feed, &p);
  if (done) gather(q, p.sim);
  q->m->accesses = p.accesses;
  nw_sim_free(p.sim);
  return done || (p.accesses > p.most ? refuse(q, q->most) : false);
}

// ---- folds

static bool fold(asking *q, nw_fold_run *r) {
  r->ctx = q->ctx;
  r->nest = &q->shape;
  r->line = q->o->caches.line;
  r->share = q->o->share;
  r->most = q->most;
  bool done = nw_fold_nest(r);
  q->m->touched += r->touched;
  return done || (r->touched > r->most ? refuse(q, r->most) : false);
}

static bool too_many(asking *q) {
  return nw_fail(q->ctx, NW_ELIMIT, "Smaller sizes have the same shape.",
                 "the nest makes more accesses than can be counted");
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

// Lines asked for by each site, and those it was the first to ask for.
static bool count_cold(asking *q, const nw_fold_run *r) {
  int nsites = q->m->nsites, n;
  int64_t *cell = nw_xcalloc((size_t)nsites + 1, sizeof *cell);
  bool fits = nw_tally_sum(&r->tallies, r->fold->tally, cell);
  q->m->accesses = cell[nsites];
  const nw_run_of_lines *run = nw_fold_lines(r->fold, &n);
  for (int level = 0; level < q->m->nlevels; level++) {
    nw_sim_counts *c = counts_of(q, level);
    for (int s = 0; s < nsites; s++) c[s].asked = cell[s];
    for (int i = 0; i < n; i++) add_first_touches(c, &run[i]);
  }
  free(cell);
  return fits || too_many(q);
}

// Does no set of the level get more lines than it holds? Runs of lines are counted where they begin and end, going around.
static bool holds_all(const nw_level_of *l, const nw_fold *lines) {
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

static nw_level_of level_of(asking *q, int level) {
  const nw_sim_level *l = &q->o->caches.level[level];
  int64_t lines = l->bytes / q->o->caches.line, ways = l->ways ? l->ways : lines;
  bool shadow = q->o->caches.conflicts && ways < lines;
  return (nw_level_of){lines / ways, ways, shadow ? lines : 0, q->m->nsites, q->spares};
}

// The first lines of everything are cold; all other misses were counted on the way.
static bool count_level(asking *q, const nw_fold_run *r, int level) {
  int64_t *cell = nw_xcalloc((size_t)q->m->nsites * NW_LEVEL_CELLS + 1, sizeof *cell);
  bool fits = nw_tally_sum(&r->tallies, r->fold->tally, cell);
  const nw_stacked *s = nw_fold_stacked(r->fold);
  for (int i = 0; i < s->nfirst; i++)
    cell[s->first[i].site * NW_LEVEL_CELLS + (s->first[i].write ? NW_CELL_WRITE : NW_CELL_READ)]++;
  for (int i = 0; i < q->m->nsites; i++) {
    const int64_t *at = cell + i * NW_LEVEL_CELLS;
    nw_sim_counts *c = &counts_of(q, level)[i];
    c->read_misses = at[NW_CELL_READ];
    c->write_misses = at[NW_CELL_WRITE];
    c->written_back = at[NW_CELL_BACK];
    c->outcome[NW_CONFLICT] = at[NW_CELL_CONFLICT];
    c->outcome[NW_CAPACITY] = c->read_misses + c->write_misses - c->outcome[NW_COLD] - c->outcome[NW_CONFLICT];
  }
  free(cell);
  return fits || too_many(q);
}

static bool fold_level(asking *q, const nw_fold_run *lines, int level) {
  nw_level_of of = level_of(q, level);
  q->m->exact[level] = true;
  if (holds_all(&of, lines->fold)) return true;
  nw_fold_run r = {.kind = &nw_level_kind, .of = &of, .sets = of.sets, .lines = lines};
  bool done = fold(q, &r) && count_level(q, &r, level);
  nw_fold_run_free(&r);
  return done;
}

static void count_hits(asking *q) {
  for (int i = 0; i < q->m->nlevels * q->m->nsites; i++) {
    nw_sim_counts *c = &q->m->count[i];
    c->outcome[NW_HIT] = c->asked - c->read_misses - c->write_misses;
  }
}

// astray: a reference leaves its array, and then regions cannot be told apart.
static bool fold_all(asking *q, bool *astray) {
  nw_patterns patterns;
  nw_patterns_open(&patterns);
  nw_lines_of of = {q->m->nsites, q->shape.nregions, q->shape.from, q->shape.to, astray, &patterns};
  nw_fold_run r = {.kind = &nw_lines_kind, .of = &of, .sets = 1};
  bool done = fold(q, &r) && !*astray && count_cold(q, &r);
  for (int level = 0; done && level < q->m->nlevels; level++) done = fold_level(q, &r, level);
  if (done) count_hits(q);
  nw_fold_run_free(&r);
  nw_patterns_close(&patterns);
  return done;
}

// ---- asking

static bool count_all(asking *q) {
  const nw_sim_opts *s = &q->o->caches;
  if (s->misses || !nw_shape_of(q->arena, q->nest, s->line, &q->shape)) return simulate(q);
  bool astray = false;
  return fold_all(q, &astray) || (astray && simulate(q));
}

nw_cached *nw_cached_of(nw_ctx *c, const nw_affine_nest *n, const nw_cache_opts *o) {
  if (!nw_sim_allowed(c, &o->caches)) return NULL;
  nw_cached *m = nw_xcalloc(1, sizeof *m);
  m->nlevels = o->caches.nlevels;
  m->nsites = n->nsites;
  m->count = nw_xcalloc((size_t)(NW_MAX_LEVELS * n->nsites) + 1, sizeof *m->count);
  asking q = {.ctx = c,
              .nest = n,
              .o = o,
              .most = o->budget ? o->budget : NW_CACHED_BUDGET,
              .arena = nw_arena_new(),
              .spares = nw_spares_of(c),
              .m = m};
  bool done = count_all(&q);
  nw_arena_free(q.arena);
  nw_spares_trim(q.spares);
  if (done) return m;
  nw_cached_free(m);
  return NULL;
}

void nw_cached_free(nw_cached *m) {
  if (m) free(m->count);
  free(m);
}

const nw_sim_counts *nw_cached_site(const nw_cached *m, int level, int site) {
  return &m->count[level * m->nsites + site];
}

nw_sim_counts nw_cached_total(const nw_cached *m, int level) {
  nw_sim_counts sum = {0};
  for (int s = 0; s < m->nsites; s++) {
    const nw_sim_counts *n = nw_cached_site(m, level, s);
    sum.asked += n->asked;
    for (int i = 0; i < NW_OUTCOMES; i++) sum.outcome[i] += n->outcome[i];
    sum.read_misses += n->read_misses;
    sum.write_misses += n->write_misses;
    sum.written_back += n->written_back;
  }
  return sum;
}

bool nw_cached_exact(const nw_cached *m, int level) { return m->exact[level]; }
double nw_cached_error(const nw_cached *m, int level) { return m->error[level]; }
int64_t nw_cached_accesses(const nw_cached *m) { return m->accesses; }
int64_t nw_cached_touched(const nw_cached *m) { return m->touched; }
