// What a program costs: the core model with the bytes that its caches move.
#include "cost/core_time.h"
#include "cost/traffic.h"
#include <stdlib.h>

struct nw_cost {
  nw_core *core;
  nw_traffic *traffic;
  nw_core_cost whole;
  double cycles, seconds;
  int nloops;
  const nw_core_node **loop;
};

static int count_bodies(const nw_core_node *at) {
  int n = 1;
  for (int i = 0; i < at->nkids; i++) n += count_bodies(at->kid[i]);
  return n;
}

static void list_bodies(nw_cost *k, const nw_core_node *at) {
  k->loop[k->nloops++] = at;
  for (int i = 0; i < at->nkids; i++) list_bodies(k, at->kid[i]);
}

static bool find_cost(nw_ctx *c, nw_cost *k, const nw_program *p, const nw_cost_opts *o) {
  nw_exec *e = nw_lower(p, NULL);
  k->core = e ? nw_core_new(c, e, o->sizes, o->machine) : NULL;
  nw_exec_release(e);
  if (!k->core || !nw_core_count(k->core, 0, o->threads) || !nw_core_shape(k->core)) return false;
  k->traffic = nw_traffic_of(c, k->core->exec, o->sizes, o->machine, 0, o->threads);
  if (!k->traffic) return false;
  nw_traffic_charge(k->traffic, k->core);
  k->whole = nw_core_time(k->core);
  k->cycles = k->core->root->cycles;
  k->seconds = k->cycles / (o->machine->clock * 1e9);
  k->loop = NW_NEW_N(k->core->arena, const nw_core_node *, count_bodies(k->core->root));
  list_bodies(k, k->core->root);
  return true;
}

nw_cost *nw_cost_of(nw_ctx *c, const nw_program *p, const nw_cost_opts *o) {
  if (o->machine->kind != NW_MACHINE_CPU)
    return nw_fail(c, NW_EINVAL, "nw.machine{} is this host's; nw.machines() names others.",
                   "%s is no processor: only those are modelled", o->machine->name);
  nw_cost *k = nw_xcalloc(1, sizeof *k);
  if (find_cost(c, k, p, o)) return k;
  nw_cost_free(k);
  return NULL;
}

void nw_cost_free(nw_cost *k) {
  if (!k) return;
  nw_core_free(k->core);
  nw_traffic_free(k->traffic);
  free(k);
}

double nw_cost_cycles(const nw_cost *k) { return k->cycles; }
double nw_cost_seconds(const nw_cost *k) { return k->seconds; }
const char *nw_cost_bound(const nw_cost *k) { return nw_core_bound_name(k->core->root->bound); }
nw_cost_missed nw_cost_missed_at(const nw_cost *k, int i) {
  const nw_traffic_row *r = &k->traffic->row[i];
  return (nw_cost_missed){.level = r->level,
                          .tensor = r->site->place->buffer->name,
                          .loop = r->site->loop ? r->site->loop->loop.var->name : NULL,
                          .write = r->site->write,
                          .count = r->count};
}

int nw_cost_misses(const nw_cost *k) { return k->traffic->n; }
bool nw_cost_exact(const nw_cost *k, int level, double *error) {
  *error = k->traffic->error[level];
  return k->traffic->exact[level];
}

int nw_cost_terms(const nw_cost *k) {
  (void)k;
  return NW_CORE_BOUNDS + 1;
}

nw_cost_term nw_cost_term_at(const nw_cost *k, int i) {
  return (nw_cost_term){nw_core_bound_name(i), i < NW_CORE_BOUNDS ? k->whole.busy[i] : k->whole.wait};
}

int nw_cost_loops(const nw_cost *k) { return k->nloops; }

nw_cost_loop nw_cost_loop_at(const nw_cost *k, int i) {
  const nw_core_node *at = k->loop[i];
  return (nw_cost_loop){.name = at->stmt->kind == NW_LOOP ? at->stmt->loop.var->name : NULL,
                        .depth = at->depth,
                        .times = at->times,
                        .cycles = at->cycles,
                        .bound = nw_core_bound_name(at->bound)};
}
