// Counts cache misses, and computes the cost of the bytes that they move.
#include "cost/traffic.h"
#include "access/affine/affine_program.h"
#include "cost/cpu/line_walk.h"
#include "cache/exact/model.h"
#include "access/ready.h"
#include "cache/sim/sampled.h"
#include <math.h>
#include <stdlib.h>

// Limits on the number of simulated accesses. A simulation that reaches its limit takes a few seconds.
enum {
  MOST_SIMULATED = 20000000, // limit if all cache sets are simulated
  MOST_SAMPLED = 100000000 // limit if an eighth of the cache sets is simulated
};

// Returns the part of a level that one thread can use. This part has the effective ways of the level, divided by the
// number of threads that share the level.
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
  nw_arena *a = nw_arena_scratch();
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
  nw_sim *all; // NULL if there are too many accesses to simulate all sets
  nw_sampled *some; // NULL if sampling is not possible
  int64_t n;
} feeding;

// Simulates the next n accesses. Returns false if there have been too many accesses.
static bool feed(void *env, const nw_ref *ref, int n) {
  feeding *f = env;
  f->n += n;
  if (f->all && f->n > MOST_SIMULATED) {
    nw_sim_free(f->all);
    f->all = NULL;
  }
  if (f->all) nw_sim_feed(f->all, ref, n, NULL);
  if (f->some) nw_sampled_feed(f->some, ref, n);
  return f->n <= (f->some ? MOST_SAMPLED : MOST_SIMULATED);
}

static void take_counts(nw_traffic *t, const feeding *f, int nlevels) {
  for (int level = 0; level < nlevels; level++) {
    t->exact[level] = f->all != NULL;
    t->error[level] = f->all ? 0 : nw_sampled_error(f->some, level);
    for (int s = 0; s < nw_walker_sites(t->walker); s++)
      add_row(t, level, s, f->all ? *nw_sim_site(f->all, level, s) : nw_sampled_site(f->some, level, s));
  }
}

static bool too_many(nw_ctx *c, bool some) {
  return nw_fail(
      c, NW_ELIMIT, "Give smaller sizes, or a machine with simpler caches.",
      "the caches of this program cannot be modelled, and it makes more than %d accesses: too many to simulate",
      some ? MOST_SAMPLED : MOST_SIMULATED);
}

static bool by_simulator(nw_ctx *c, nw_traffic *t, const nw_sim_opts *caches) {
  const nw_places *places = nw_walker_places(t->walker);
  int sites = nw_walker_sites(t->walker);
  feeding f = {.all = nw_sim_new(c, caches, places->from, places->to, sites)};
  if (f.all && nw_sampled_can(caches)) f.some = nw_sampled_new(c, caches, places->from, places->to, sites);
  bool ok = f.all && nw_walk_refs(t->walker, feed, NULL, &f);
  if (ok)
    take_counts(t, &f, caches->nlevels);
  else if (f.n > (f.some ? MOST_SAMPLED : MOST_SIMULATED))
    too_many(c, f.some);
  nw_sim_free(f.all);
  nw_sampled_free(f.some);
  return ok;
}

nw_traffic *nw_traffic_of(nw_ctx *c, const nw_exec *e, const nw_cost_opts *o, int thread, int threads) {
  nw_traffic *t = nw_xcalloc(1, sizeof *t);
  nw_sim_opts caches = nw_cost_caches(&o->target->machine, threads);
  caches.conflicts = o->conflicts;
  caches.misses = !o->full;
  t->walker = nw_walker_estimating(c, e, o->sizes);
  if (!t->walker) return nw_traffic_free(t), NULL;
  t->row = nw_xcalloc((size_t)(caches.nlevels * nw_walker_sites(t->walker)) + 1, sizeof *t->row);
  bool ok = by_model(c, t, &caches, (nw_affine_share){thread, threads});
  if (!ok && nw_error(c)->code == NW_ELIMIT) {
    nw_clear(c);
    t->n = 0;
    t->walker->thread = thread;
    t->walker->threads = threads;
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

// ---- the cost of transfers

static const nw_core_access *access_of(const nw_core *k, const nw_ref_site *s) {
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *a = k->access.at[i];
    if (a->stmt == s->stmt && a->write == s->write && k->exec->p->buffer[a->buffer] == s->place->buffer) return a;
  }
  return NULL;
}

// The cycles to move a line between a cache level and the next level. After the last cache level comes memory.
typedef struct behind {
  double in, back; // in: to load a line that is adjacent to the previous line; back: to write back an adjacent line
  double strided; // to load a line that is not adjacent to the previously loaded line
  double strided_store; // for a store: to load and write back a line that is not adjacent to the previous line
  double crowded_store; // like strided_store, if all lines are in one set
} behind;

static behind behind_of(const nw_machine *m, int level) {
  double line = (double)m->level[level].line;
  if (level == m->nlevels - 1) {
    double in = line / (m->memory.bandwidth / m->clock);
    return (behind){in, in, 2 * in, 2 * in, 2 * in};
  }
  const nw_machine_level *x = &m->level[level + 1];
  behind b = {line / x->bytes_per_cycle, line / x->back_per_cycle, x->strided, x->strided_store, x->crowded_store};
  if (!(b.strided > 0)) b.strided = fmax(b.in, x->latency / 4);
  if (!(b.strided_store > 0)) b.strided_store = fmax(b.in + b.back, x->latency / 3);
  if (!(b.crowded_store > 0)) b.crowded_store = fmax(b.in + b.back, x->latency * 2 / 3);
  return b;
}

typedef struct lines { // numbers of lines of one access that miss in a level
  double in, stored, back; // in: fetched for loads; stored: fetched for stores; back: written back
} lines;

// Returns the lines that miss. Only the fraction `warm` of the cold misses is counted. The other lines are still in the
// level, because the previous call of the program loaded them.
static lines lines_of(const nw_sim_counts *n, double warm) {
  double cold = (double)n->outcome[NW_COLD] * (1 - warm), all = (double)(n->read_misses + n->write_misses);
  double part = all > 0 ? (all - cold) / all : 1;
  return (lines){part * (double)n->read_misses, part * (double)n->write_misses, part * (double)n->written_back};
}

// Adds the cost of the lines `n` of an access that miss in a level. The lines `further` also miss in the next level.
// Adjacent lines are prefetched, and each line costs its transfer time. Other lines are requested one by one. Each of
// them occupies one of the few buffers for outstanding misses until it arrives. Write-backs of dirty lines take long,
// but overlap with loads of lines.
static void charge(const nw_core *k, const nw_core_access *a, nw_core_node *at, int level, const lines *n,
                   const lines *further, const nw_line_walk *walk) {
  behind b = behind_of(k->machine, level);
  at->transfer[level] += (n->in + n->stored) * b.in + n->back * b.back;
  double missed = n->in + n->stored, here = fmax(0, missed - (further->in + further->stored));
  double part = missed > 0 ? here / missed : 1;
  double store = b.strided_store + walk->crowding * fmax(0, b.crowded_store - b.strided_store);
  if (walk->loads_jump) at->under_way[0] += here * b.strided;
  if (a && !a->write && a->lead) a->lead->came[level] += here;
  if (walk->stores_jump) at->under_way[1] += part * fmax(n->stored, n->back) * store;
}

// Adds the cost of loads that access two lines. The core repeats such a load until both lines have arrived. A body may
// have several similar loads (line_walk.c). A line that is fetched for one of them is assumed to delay all of them,
// since many iterations are in the instruction window at the same time. If the lines come from several levels, the
// level furthest from the core determines the cost.
static void charge_across(const nw_core *k) {
  const nw_machine *m = k->machine;
  for (int i = 0; i < k->access.n; i++) {
    const nw_core_access *a = k->access.at[i];
    double runs = (double)a->body->times, left = 1;
    if (a->lead != a || !a->crossings || !runs) continue;
    double loads = runs * a->crossings * nw_line_walk_of(k, a).unforeseen;
    for (int level = m->nlevels - 1; level >= 0; level--) {
      int from = level + 1 < m->nlevels ? level + 1 : level; // memory costs as much as the last level
      double part = fmin(left, a->came[level] / runs);
      a->body->under_way[2] += loads * part * m->level[from].strided_across;
      left -= part;
    }
  }
}

// Adds the cost of streaming stores. Such stores do not fetch lines, and write directly to memory.
static void charge_streamed(const nw_core *k, nw_core_node *at, int level, const lines *n) {
  int last = k->machine->nlevels - 1;
  if (level == last) at->transfer[last] += n->stored * behind_of(k->machine, last).back;
}

// Returns the fraction m of the accessed lines that are no longer in a level when the program is called again. It is 0
// if all lines fit. Otherwise random replacement is assumed, because real caches keep more lines than a cache with
// strict LRU. Then m is the solution of 1 - m = exp(-m F/C), where F is the size of all buffers, and C is the size of
// the level.
static double lost_between_calls(const nw_core *k, int level) {
  double f = (double)(k->places.to - k->places.from) / (double)k->machine->level[level].bytes, m = 1;
  if (f <= 1) return 0;
  for (int i = 0; i < 200; i++) m = 1 - exp(-m * f);
  return m;
}

static void clear(nw_core_node *at) {
  for (int i = 0; i < NW_MACHINE_LEVELS; i++) at->transfer[i] = 0;
  at->under_way[0] = at->under_way[1] = at->under_way[2] = 0;
  for (int i = 0; i < at->nkids; i++) clear(at->kid[i]);
}

// Returns the lines that miss in the level after the level of row i, for the same access. There are no such lines if
// the level of row i is the last level. Rows are ordered by level, then by site.
static lines lines_behind(const nw_traffic *t, const nw_core *k, int i) {
  int level = t->row[i].level + 1, sites = nw_walker_sites(t->walker);
  if (level == k->machine->nlevels) return (lines){0};
  return lines_of(&t->row[i + sites].count, lost_between_calls(k, level));
}

void nw_traffic_charge(const nw_traffic *t, nw_core *k) {
  clear(k->root);
  nw_line_spans(k);
  for (int i = 0; i < t->n; i++) {
    const nw_traffic_row *r = &t->row[i];
    const nw_core_access *a = access_of(k, r->site);
    nw_core_node *at = a ? a->body : k->root;
    lines n = lines_of(&r->count, lost_between_calls(k, r->level)), further = lines_behind(t, k, i);
    nw_line_walk walk = a ? nw_line_walk_of(k, a) : (nw_line_walk){0};
    if (a && a->write && a->stmt->store.stream) {
      n.stored = (double)r->count.write_misses;
      charge_streamed(k, at, r->level, &n);
    } else
      charge(k, a, at, r->level, &n, &further, &walk);
  }
  charge_across(k);
}
