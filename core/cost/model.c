// The cache model: counts level by level.
#include "cost/model.h"
#include <stdlib.h>

struct nw_cached {
  int nlevels, nsites;
  nw_sim_counts *count; // by level, then site
  bool exact[NW_MAX_LEVELS];
  double error[NW_MAX_LEVELS];
  int64_t accesses, touched;
};

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

static void gather(nw_cached *m, const nw_sim *k) {
  for (int level = 0; level < m->nlevels; level++) {
    m->exact[level] = true;
    for (int s = 0; s < m->nsites; s++) {
      m->count[level * m->nsites + s] = *nw_sim_site(k, level, s);
      m->touched += m->count[level * m->nsites + s].asked;
    }
  }
}

// Every access, one after the other.
static bool simulate(nw_ctx *c, nw_cached *m, const nw_affine_nest *n, const nw_cache_opts *o, int64_t most) {
  uint64_t from, to;
  nw_affine_span(n, &from, &to);
  plain p = {.sim = nw_sim_new(c, &o->caches, from, to, n->nsites), .most = most};
  bool done = p.sim && nw_affine_refs(c, n, o->share, feed, &p);
  if (done) gather(m, p.sim);
  m->accesses = p.accesses;
  nw_sim_free(p.sim);
  if (!done && p.accesses > most)
    nw_fail(c, NW_ELIMIT, "Give a larger budget, or smaller sizes.",
            "the nest makes more than %lld accesses, and there is no short cut for it", (long long)most);
  return done;
}

nw_cached *nw_cached_of(nw_ctx *c, const nw_affine_nest *n, const nw_cache_opts *o) {
  nw_cached *m = nw_xcalloc(1, sizeof *m);
  m->nlevels = o->caches.nlevels;
  m->nsites = n->nsites;
  m->count = nw_xcalloc((size_t)(NW_MAX_LEVELS * n->nsites) + 1, sizeof *m->count);
  if (simulate(c, m, n, o, o->budget ? o->budget : NW_CACHED_BUDGET)) return m;
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
