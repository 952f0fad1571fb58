// What the caches do, and what the bytes that they move cost.
#include "cost/traffic.h"
#include "cost/affine_program.h"
#include "cost/model.h"
#include "ir/fold.h" // nw_gcd
#include <math.h>
#include <stdlib.h>

enum { MOST_SIMULATED = 100000000 }; // accesses: a few seconds

// As much of a level as a thread can count on: what others leave of its ways, and of those its part where several share it.
static nw_sim_level level_of(const nw_machine_level *x, int threads) {
  int64_t sharers = threads > x->shared_by ? x->shared_by : threads < 1 ? 1 : threads;
  int64_t left = nw_machine_effective_ways(x), ways = left / sharers > 0 ? left / sharers : 1;
  return (nw_sim_level){x->bytes / x->ways * ways, (int)ways};
}

nw_sim_opts nw_cost_caches(const nw_machine *m, int threads) {
  nw_sim_opts o = {.nlevels = m->nlevels, .line = (int)m->level[0].line, .misses = true};
  for (int i = 0; i < m->nlevels; i++) o.level[i] = level_of(&m->level[i], threads);
  return o;
}

static void add_row(nw_traffic *t, int level, int site, nw_sim_counts count) {
  t->row[t->n++] = (nw_traffic_row){level, nw_walker_site(t->walker, site), count};
}

// ---- by the model

static bool by_model(nw_ctx *c, nw_traffic *t, const nw_sim_opts *caches, nw_affine_share share) {
  nw_arena *a = nw_arena_new();
  nw_affine_nest *nest = nw_affine_of(a, t->walker);
  nw_cache_opts o = {.caches = *caches, .share = share};
  nw_cached *m = nest ? nw_cached_of(c, nest, &o) : NULL;
  for (int level = 0; m && level < caches->nlevels; level++) {
    t->exact[level] = nw_cached_exact(m, level);
    t->error[level] = nw_cached_error(m, level);
    for (int s = 0; s < nw_walker_sites(t->walker); s++) add_row(t, level, s, *nw_cached_site(m, level, s));
  }
  bool ok = m != NULL;
  nw_cached_free(m);
  nw_arena_free(a);
  return ok;
}

// ---- by the simulator

typedef struct feeding {
  nw_sim *sim;
  int64_t n;
} feeding;

static bool feed(void *env, const nw_ref *ref, int n) {
  feeding *f = env;
  nw_sim_feed(f->sim, ref, n, NULL);
  f->n += n;
  return f->n < MOST_SIMULATED;
}

static bool too_many(nw_ctx *c) {
  nw_fail(c, NW_ELIMIT, "Smaller sizes, or a machine whose caches are simple.",
          "the caches of this program cannot be modelled, and it makes more than %d accesses: too many to simulate",
          MOST_SIMULATED);
  return false;
}

static bool by_simulator(nw_ctx *c, nw_traffic *t, const nw_sim_opts *caches) {
  const nw_places *places = nw_walker_places(t->walker);
  feeding f = {.sim = nw_sim_new(c, caches, places->from, places->to, nw_walker_sites(t->walker))};
  bool ok = f.sim && nw_walk_refs(t->walker, feed, NULL, &f);
  if (f.sim && !ok && f.n >= MOST_SIMULATED) too_many(c);
  for (int level = 0; ok && level < caches->nlevels; level++) {
    t->exact[level] = true;
    for (int s = 0; s < nw_walker_sites(t->walker); s++) add_row(t, level, s, *nw_sim_site(f.sim, level, s));
  }
  t->simulated = true;
  nw_sim_free(f.sim);
  return ok;
}

nw_traffic *nw_traffic_of(nw_ctx *c, const nw_exec *e, const int64_t *sizes, const nw_machine *m, int thread,
                          int threads, bool conflicts) {
  nw_traffic *t = nw_xcalloc(1, sizeof *t);
  nw_sim_opts caches = nw_cost_caches(m, threads);
  caches.conflicts = conflicts;
  t->walker = nw_walker_new(c, e, sizes);
  if (!t->walker) return nw_traffic_free(t), NULL;
  t->row = nw_xcalloc((size_t)(m->nlevels * nw_walker_sites(t->walker)) + 1, sizeof *t->row);
  bool ok = by_model(c, t, &caches, (nw_affine_share){thread, threads});
  if (!ok && nw_error(c)->code == NW_ELIMIT && !threads) {
    nw_clear(c);
    t->n = 0;
    ok = by_simulator(c, t, &caches);
  }
  if (ok) return t;
  nw_traffic_free(t);
  return NULL;
}

void nw_traffic_free(nw_traffic *t) {
  if (!t) return;
  nw_walker_free(t->walker);
  free(t->row);
  free(t);
}

// ---- what it costs

static const nw_core_access *access_of(const nw_core *k, const nw_ref_site *s) {
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *a = k->access.at[i];
    if (a->stmt == s->stmt && a->write == s->write && k->exec->p->buffer[a->buffer] == s->place->buffer) return a;
  }
  return NULL;
}

static double average(const nw_core_node *at) { return at->entered ? (double)at->times / (double)at->entered : 0; }

typedef struct spread { // of lines over sets, from the innermost dimension out
  int64_t apart; // bytes between two of them, at least, within a way
  double lines;
} spread;

// 1: more lines than their sets hold; 0: they go to many sets; -1: not known yet.
static int widen(spread *x, int64_t step, double count, const nw_machine_level *level) {
  int64_t way = level->bytes / level->ways;
  if (!step || count <= 1) return -1;
  x->apart = nw_gcd(x->apart ? x->apart : way, step);
  x->lines *= count;
  if (x->apart < 4 * level->line) return 0;
  return x->lines > (double)(way / x->apart * level->ways) ? 1 : -1;
}

// Does one access after the other fall into a quarter of the sets or fewer, until there are more lines than those sets hold? Lines
// that come in for one set wait for those that go out of it.
static bool crowded(const nw_core_access *a, const nw_machine_level *level) {
  if (!a->affine) return false;
  spread x = {0, 1};
  int known = a->scattered ? widen(&x, a->at.step * a->elem, a->lanes, level) : -1;
  for (const nw_core_node *at = a->body; at && known < 0; at = at->up)
    if (at->stmt->kind == NW_LOOP) known = widen(&x, nw_form_coef(&a->at, at->slot) * a->elem, average(at), level);
  return known == 1;
}

// Cycles for a line to come from a level, or from memory, behind `level`.
typedef struct behind {
  double in, back, crowded, crowded_store;
} behind;

static behind behind_of(const nw_machine *m, int level) {
  double line = (double)m->level[level].line;
  if (level == m->nlevels - 1) {
    double in = line / (m->memory.bandwidth / m->clock);
    return (behind){in, in, in, 2 * in};
  }
  const nw_machine_level *x = &m->level[level + 1];
  behind b = {line / x->bytes_per_cycle, line / x->back_per_cycle, x->crowded, x->crowded_store};
  if (!(b.crowded > 0)) b.crowded = fmax(b.in, x->latency / 4);
  if (!(b.crowded_store > 0)) b.crowded_store = fmax(b.in + b.back, x->latency * 2 / 3);
  return b;
}

// Where lines crowd into few sets, those that go out are what takes long, and those that come in come beside them.
static void charge(nw_core_node *at, int level, const nw_sim_counts *n, const behind *b, bool crowded, double warm) {
  double cold = (double)n->outcome[NW_COLD] * (1 - warm), all = (double)(n->read_misses + n->write_misses);
  double part = all > 0 ? (all - cold) / all : 1;
  double reads = part * (double)n->read_misses, writes = part * (double)n->write_misses,
         back = part * (double)n->written_back;
  if (!crowded) {
    at->transfer[level] += (reads + writes) * b->in + back * b->back;
    return;
  }
  at->crowded_in[level] += (reads + writes) * b->crowded;
  at->crowded_back[level] += fmax(writes, back) * b->crowded_store;
}

// The part of what is touched that a level no longer has when the program is called again: none where all fits; else that of
// random replacement, 1 - m = exp(-m F/C), since no cache is so unlucky as one that is strictly LRU.
static double lost_between_calls(const nw_core *k, int level) {
  double f = (double)(k->places.to - k->places.from) / (double)k->machine->level[level].bytes, m = 1;
  if (f <= 1) return 0;
  for (int i = 0; i < 200; i++) m = 1 - exp(-m * f);
  return m;
}

static void clear(nw_core_node *at) {
  for (int i = 0; i < NW_MACHINE_LEVELS; i++) at->transfer[i] = at->crowded_in[i] = at->crowded_back[i] = 0;
  for (int i = 0; i < at->nkids; i++) clear(at->kid[i]);
}

void nw_traffic_charge(const nw_traffic *t, nw_core *k) {
  clear(k->root);
  for (int i = 0; i < t->n; i++) {
    const nw_traffic_row *r = &t->row[i];
    const nw_core_access *a = access_of(k, r->site);
    behind b = behind_of(k->machine, r->level);
    nw_core_node *at = a ? a->body : k->root;
    bool few = a && crowded(a, &k->machine->level[0]);
    charge(at, r->level, &r->count, &b, few, lost_between_calls(k, r->level));
  }
}
