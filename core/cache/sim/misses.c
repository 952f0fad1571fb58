// Simulates the accesses of a program, and counts the misses of each load and store.
#include "cache/sim/misses.h"
#include <stdlib.h>

struct nw_misses {
  nw_arena *arena;
  int n;
  nw_missed *at;
};

static bool feed(void *env, const nw_ref *ref, int n) {
  nw_sim_feed(env, ref, n, NULL);
  return true;
}

nw_misses *nw_misses_new(int most) {
  nw_misses *m = nw_xcalloc(1, sizeof *m);
  m->arena = nw_arena_scratch();
  m->at = NW_NEW_N(m->arena, nw_missed, most + 1);
  return m;
}

void nw_misses_add(nw_misses *m, int level, const char *tensor, const char *loop, bool write,
                   const nw_sim_counts *count) {
  m->at[m->n++] = (nw_missed){.level = level,
                              .tensor = nw_arena_strdup(m->arena, tensor),
                              .loop = loop ? nw_arena_strdup(m->arena, loop) : NULL,
                              .write = write,
                              .count = *count};
}

static nw_misses *gather(const nw_walker *w, const nw_sim *k, int nlevels) {
  nw_misses *m = nw_misses_new(nlevels * nw_walker_sites(w));
  for (int level = 0; level < nlevels; level++)
    for (int s = 0; s < nw_walker_sites(w); s++) {
      const nw_ref_site *at = nw_walker_site(w, s);
      nw_misses_add(m, level, at->place->buffer->name, at->loop ? at->loop->loop.var->name : NULL, at->write,
                    nw_sim_site(k, level, s));
    }
  return m;
}

nw_misses *nw_misses_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o) {
  nw_walker *w = nw_walker_for(c, p, walk);
  if (!w) return NULL;
  const nw_places *places = nw_walker_places(w);
  nw_sim *k = nw_sim_new(c, o, places->from, places->to, nw_walker_sites(w));
  nw_misses *m = k && nw_walk_refs(w, feed, NULL, k) ? gather(w, k, o->nlevels) : NULL;
  nw_sim_free(k);
  nw_walker_free(w);
  return m;
}

void nw_misses_free(nw_misses *m) {
  if (m) nw_arena_free(m->arena);
  free(m);
}

int nw_misses_count(const nw_misses *m) { return m->n; }
const nw_missed *nw_misses_at(const nw_misses *m, int i) { return &m->at[i]; }
