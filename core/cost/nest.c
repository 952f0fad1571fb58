// Loop nests by themselves: read, made, printed, counted.
#include "cost/affine_program.h"
#include "cost/misses.h"
#include "cost/model.h"
#include "cost/nest_text.h"
#include "cost/nest_trace.h"
#include "cost/work.h"
#include <stdlib.h>

struct nw_loopnest {
  nw_ctx *ctx;
  nw_arena *arena;
  nw_text *text; // NULL: of a program, written when it is asked for
  bool given[NW_TEXT_PARAMS]; // parameters that do not have the value in the text
  int64_t value[NW_TEXT_PARAMS];
  nw_affine_nest *nest;
};

static nw_loopnest *loopnest_new(nw_ctx *c) {
  nw_loopnest *n = nw_xcalloc(1, sizeof *n);
  n->ctx = c;
  n->arena = nw_arena_scratch();
  return n;
}

void nw_loopnest_free(nw_loopnest *n) {
  if (!n) return;
  nw_text_free(n->text);
  nw_arena_free(n->arena);
  free(n);
}

nw_loopnest *nw_loopnest_parse(nw_ctx *c, const char *text, const char *set, int nvalues, const char *const *name,
                               const int64_t *value) {
  nw_loopnest *n = loopnest_new(c);
  n->text = nw_text_parse(c, text);
  if (n->text && nw_text_values(c, n->text, set, nvalues, name, value, n->given, n->value))
    n->nest = nw_text_nest(c, n->arena, n->text, n->value);
  if (n->nest) return n;
  nw_loopnest_free(n);
  return NULL;
}

nw_loopnest *nw_loopnest_of(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  nw_walker *w = nw_walker_for(c, p, &(nw_walk_opts){.sizes = sizes});
  if (!w) return NULL;
  nw_loopnest *n = loopnest_new(c);
  n->nest = nw_affine_of(n->arena, w);
  nw_walker_free(w);
  if (n->nest) return n;
  nw_loopnest_free(n);
  return NULL;
}

char *nw_loopnest_print(const nw_loopnest *n) {
  nw_str s = {0};
  nw_text *made = n->text ? NULL : nw_text_of(n->ctx, n->nest);
  nw_text_print(&s, made ? made : n->text, n->given, n->value);
  nw_text_free(made);
  while (s.n && s.s[s.n - 1] == '\n') s.s[--s.n] = 0;
  return nw_str_take(&s);
}

int nw_loopnest_params(const nw_loopnest *n) { return n->text ? n->text->param.n : 0; }

const char *nw_loopnest_param(const nw_loopnest *n, int i, int64_t *value) {
  *value = n->value[i];
  return ((nw_text_param *)n->text->param.at[i])->name;
}

int nw_loopnest_arrays(const nw_loopnest *n) { return n->nest->narrays; }

const char *nw_loopnest_array(const nw_loopnest *n, int i, uint64_t *address, int64_t *bytes, int *element) {
  const nw_affine_array *a = &n->nest->array[i];
  *address = a->address;
  *bytes = a->bytes;
  *element = a->elem;
  return a->name;
}

// ---- counting

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

bool nw_loopnest_work(nw_ctx *c, const nw_loopnest *n, nw_nest_work *out) {
  nw_text *made = n->text ? NULL : nw_text_of(n->ctx, n->nest);
  bool ok = nw_text_work(c, made ? made : n->text, n->value, out);
  nw_text_free(made);
  return ok;
}

nw_trace *nw_loopnest_trace(nw_ctx *c, const nw_loopnest *n, int thread, int threads, int64_t most,
                            const nw_sim_opts *o) {
  return nw_trace_of_nest(c, n->nest, (nw_affine_share){thread, threads}, most, o);
}
