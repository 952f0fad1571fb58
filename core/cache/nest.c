// Counts the cache misses of a loop nest (nest/nest.h), by simulation or by the model.
#include "cache/exact/model.h"
#include "cache/sim/misses.h"
#include "cache/view/nest_trace.h"
#include "nest/nest.h"

static void add_site(nw_misses *m, const nw_affine_nest *n, int level, int site, const nw_sim_counts *count) {
  const nw_affine_site *s = &n->site[site];
  nw_misses_add(m, level, n->array[s->array].name, s->loop, s->write, count);
}

typedef struct counting {
  nw_sim *sim;
  int64_t accesses;
} counting;

static bool feed(void *env, const nw_ref *ref, int n) {
  counting *x = env;
  x->accesses += n;
  nw_sim_feed(x->sim, ref, n, NULL);
  return true;
}

static nw_misses *simulated(nw_ctx *c, const nw_affine_nest *n, const nw_count_opts *o, nw_counted *how) {
  uint64_t from, to;
  nw_affine_span(n, &from, &to);
  nw_sim *k = nw_sim_new(c, &o->caches, from, to, n->nsites);
  counting x = {k, 0};
  if (!k || !nw_affine_refs(c, n, (nw_affine_share){o->thread, o->threads}, feed, &x)) return nw_sim_free(k), NULL;
  how->accesses = x.accesses;
  nw_misses *m = nw_misses_new(o->caches.nlevels * n->nsites);
  for (int level = 0; level < o->caches.nlevels; level++) {
    how->exact[level] = true;
    how->touched += nw_sim_total(k, level).asked;
    for (int s = 0; s < n->nsites; s++) add_site(m, n, level, s, nw_sim_site(k, level, s));
  }
  how->touched /= o->caches.nlevels;
  nw_sim_free(k);
  return m;
}

static nw_misses *modelled(nw_ctx *c, const nw_affine_nest *n, const nw_count_opts *o, nw_counted *how) {
  nw_cache_opts with = {.caches = o->caches, .share = {o->thread, o->threads}, .budget = o->budget, .exact = o->exact};
  nw_cached *k = nw_cached_of(c, n, &with);
  if (!k) return NULL;
  nw_misses *m = nw_misses_new(o->caches.nlevels * n->nsites);
  how->accesses = nw_cached_accesses(k);
  how->touched = nw_cached_touched(k);
  for (int level = 0; level < o->caches.nlevels; level++) {
    how->exact[level] = nw_cached_exact(k, level);
    how->error[level] = nw_cached_error(k, level);
    for (int s = 0; s < n->nsites; s++) add_site(m, n, level, s, nw_cached_site(k, level, s));
  }
  nw_cached_free(k);
  return m;
}

nw_misses *nw_loopnest_misses(nw_ctx *c, const nw_loopnest *n, const nw_count_opts *o, nw_counted *how) {
  *how = (nw_counted){0};
  return (o->simulate ? simulated : modelled)(c, n->nest, o, how);
}

nw_trace *nw_loopnest_trace(nw_ctx *c, const nw_loopnest *n, int thread, int threads, int64_t most,
                            const nw_sim_opts *o) {
  return nw_trace_of_nest(c, n->nest, (nw_affine_share){thread, threads}, most, o);
}
