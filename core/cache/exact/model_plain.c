// Simulates every access, or the accesses to a sample of the sets. These are the slowest methods of the model.
#include "cache/exact/model_ask.h"
#include "cache/sim/sampled.h"

typedef struct plain {
  nw_sim *sim[2];
  int64_t accesses, most;
} plain;

static bool feed(void *env, const nw_ref *ref, int n) {
  plain *p = env;
  p->accesses += n;
  for (int i = 0; i < 2; i++)
    if (p->sim[i]) nw_sim_feed(p->sim[i], ref, n, NULL);
  return p->accesses <= p->most;
}

static nw_sim *sim_of(nw_asking *q, const nw_sim_opts *o) {
  uint64_t from, to;
  nw_affine_span(q->nest, &from, &to);
  return nw_sim_new(q->ctx, o, from, to, q->nest->nsites);
}

static nw_answered run(nw_asking *q, plain *p) {
  bool done = nw_affine_refs(q->ctx, q->nest, q->o->share, feed, p);
  return done ? NW_ANSWERED : p->accesses > p->most ? NW_TOO_MANY : NW_FAILED;
}

static void gather(nw_asking *q, const nw_sim *k, int from, int level) {
  q->m->exact[level] = true;
  q->m->error[level] = 0;
  for (int s = 0; s < q->m->nsites; s++) {
    nw_counts_at(q, level)[s] = *nw_sim_site(k, from, s);
    q->m->touched += nw_counts_at(q, level)[s].asked;
  }
}

nw_answered nw_plain_all(nw_asking *q, int64_t most) {
  plain p = {.sim = {sim_of(q, &q->o->caches)}, .most = most};
  if (!p.sim[0]) return NW_FAILED;
  nw_answered a = run(q, &p);
  if (a == NW_ANSWERED) q->m->accesses = p.accesses;
  for (int level = 0; level < q->m->nlevels && a == NW_ANSWERED; level++) gather(q, p.sim[0], level, level);
  if (a != NW_ANSWERED) q->m->touched += p.accesses;
  nw_sim_free(p.sim[0]);
  return a;
}

nw_answered nw_plain_level(nw_asking *q, int level, int64_t most) {
  nw_sim_opts o = q->o->caches;
  o.nlevels = 1;
  o.level[0] = o.level[level];
  plain p = {.sim = {sim_of(q, &o)}, .most = most};
  if (!p.sim[0]) return NW_FAILED;
  nw_answered a = run(q, &p);
  if (a == NW_ANSWERED) gather(q, p.sim[0], 0, level);
  nw_sim_free(p.sim[0]);
  return a;
}

// ---- sampling sets

typedef struct sampling {
  nw_sampled *sampled;
  int64_t accesses, most;
} sampling;

static bool feed_some(void *env, const nw_ref *ref, int n) {
  sampling *p = env;
  p->accesses += n;
  nw_sampled_feed(p->sampled, ref, n);
  return p->accesses <= p->most;
}

// Simulates a sample of the sets. If the simulation stops early, its line requests are still counted as touches.
static nw_answered sample(nw_asking *q, const nw_sim_opts *o, sampling *p) {
  uint64_t from, to;
  if (!nw_sampled_can(o)) return NW_TOO_MANY;
  nw_affine_span(q->nest, &from, &to);
  p->sampled = nw_sampled_new(q->ctx, o, from, to, q->nest->nsites);
  if (!p->sampled) return NW_FAILED;
  bool done = nw_affine_refs(q->ctx, q->nest, q->o->share, feed_some, p);
  for (int s = 0; s < q->nest->nsites; s++) q->m->touched += o->nlevels * nw_sampled_looked(p->sampled, s);
  return done ? NW_ANSWERED : p->accesses > p->most ? NW_TOO_MANY : NW_FAILED;
}

static void note(nw_asking *q, const nw_sampled *k, int from, int level) {
  q->m->exact[level] = false;
  q->m->error[level] = nw_sampled_error(k, from);
}

// The numbers of requested lines and of cold misses are already known exactly, so they are not estimated.
nw_answered nw_plain_sampled(nw_asking *q, int level, int64_t most) {
  nw_sim_opts o = q->o->caches;
  o.nlevels = 1;
  o.level[0] = o.level[level];
  sampling p = {.most = most};
  nw_answered a = q->m->accesses > most ? NW_TOO_MANY : sample(q, &o, &p);
  if (a == NW_ANSWERED) note(q, p.sampled, 0, level);
  for (int s = 0; s < q->m->nsites && a == NW_ANSWERED; s++) {
    nw_sim_counts n = nw_sampled_site(p.sampled, 0, s);
    nw_count_estimated(&nw_counts_at(q, level)[s], n.read_misses, n.write_misses, n.written_back,
                       n.outcome[NW_CONFLICT]);
  }
  nw_sampled_free(p.sampled);
  return a;
}

nw_answered nw_plain_sampled_all(nw_asking *q, int64_t most) {
  nw_sim_opts o = q->o->caches;
  o.misses = false;
  sampling p = {.most = most};
  nw_answered a = sample(q, &o, &p);
  if (a == NW_ANSWERED) q->m->accesses = p.accesses;
  for (int level = 0; level < q->m->nlevels && a == NW_ANSWERED; level++) {
    note(q, p.sampled, level, level);
    for (int s = 0; s < q->m->nsites; s++) nw_counts_at(q, level)[s] = nw_sampled_site(p.sampled, level, s);
  }
  nw_sampled_free(p.sampled);
  return a;
}

// ---- mode MISSES

static double misses(nw_sim_counts n) { return (double)(n.read_misses + n.write_misses); }

bool nw_plain_apart(nw_asking *q, int64_t first, double *apart) {
  nw_sim_opts full = q->o->caches;
  full.misses = false;
  plain p = {.sim = {sim_of(q, &q->o->caches), sim_of(q, &full)}, .most = first};
  bool done = p.sim[0] && p.sim[1] && run(q, &p) != NW_FAILED;
  for (int level = 0; done && level < q->m->nlevels; level++) {
    double a = misses(nw_sim_total(p.sim[0], level)), b = misses(nw_sim_total(p.sim[1], level));
    apart[level] = (a > b ? a - b : b - a) / (a > 1 ? a : 1);
  }
  q->m->touched += 2 * p.accesses;
  for (int i = 0; i < 2; i++) nw_sim_free(p.sim[i]);
  return done;
}
