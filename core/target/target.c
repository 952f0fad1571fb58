// Makes targets from machine records, and counts references to them. Also makes the target of this host.
#include "target/target.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST_BACKENDS = 4 }; // for a kind of machine

// The data that a session stores about targets: the target of this host, and the registered back ends and cost models.
typedef struct known {
  nw_target *host;
  const nw_backend *backend[NW_MACHINE_KINDS][MOST_BACKENDS];
  const nw_cost_model *model[NW_MACHINE_KINDS];
} known;

static void free_known(void *data) {
  known *k = data;
  nw_target_release(k->host);
  free(k);
}

static known *known_of(nw_ctx *c) {
  nw_slot *slot = &c->slot[NW_SLOT_TARGET];
  if (!slot->data) nw_slot_fill(c, NW_SLOT_TARGET, nw_xcalloc(1, sizeof(known)), free_known, NULL);
  return slot->data;
}

// ---- the limits of a machine

static void add_scope(nw_limits *l, const char *name, const char *owner, int64_t bytes) {
  nw_scope_limit *s = &l->scope[l->nscopes++];
  *s = (nw_scope_limit){.owner = owner, .bytes = bytes};
  snprintf(s->name, sizeof s->name, "%s", name);
}

static void add_scopes(nw_limits *l, const nw_machine *m) {
  add_scope(l, "global", "the machine", m->memory.bytes);
  for (int i = 0; m->kind == NW_MACHINE_ACCELERATOR && i < m->accelerator.nbuffers; i++)
    add_scope(l, m->accelerator.buffer[i].name, "the machine", m->accelerator.buffer[i].bytes);
  if (m->kind == NW_MACHINE_ACCELERATOR) return;
  add_scope(l, "local", "a thread", m->stack_bytes);
  add_scope(l, "shared", "a block", l->launch.shared_bytes);
  add_scope(l, "warp", "a warp", 4 * l->launch.warp * l->launch.registers); // in the registers of its threads
  if (m->kind == NW_MACHINE_GPU) add_scope(l, "register", "a thread", 4 * m->gpu.limit.registers);
}

static const nw_backend *backend_for(const known *k, const nw_machine *m) {
  for (int i = 0; i < MOST_BACKENDS; i++) {
    const nw_backend *b = k->backend[m->kind][i];
    if (b && (!b->serves || b->serves(m))) return b;
  }
  return NULL;
}

nw_target *nw_target_new(nw_ctx *c, const nw_machine *m) {
  const known *k = known_of(c);
  nw_target *t = nw_xcalloc(1, sizeof *t);
  *t = (nw_target){.refs = 1,
                   .machine = *m,
                   .features = nw_machine_features(m),
                   .backend = backend_for(k, m),
                   .model = k->model[m->kind]};
  t->limit.lanes = m->loop_lanes;
  t->limit.registers = m->kind == NW_MACHINE_GPU ? m->gpu.limit.registers : m->vector_registers;
  t->limit.launch = nw_machine_launch_limit(m);
  add_scopes(&t->limit, m);
  return t;
}

nw_target *nw_target_retain(nw_target *t) {
  if (t) t->refs++;
  return t;
}

void nw_target_release(nw_target *t) {
  if (t && --t->refs == 0) free(t);
}

// ---- this host

// Returns a record that has only the default limits and the values of nw_host. A prediction of costs needs a complete
// record, which lua/nestwright/hw/host.lua makes.
static nw_machine host_machine(void) {
  const nw_machine_info *h = nw_host();
  nw_machine m;
  nw_machine_limits(&m);
  snprintf(m.name, sizeof m.name, "host");
  snprintf(m.cpu, sizeof m.cpu, "host");
  m.isa = (int)h->isa;
  m.cores = h->cores;
  m.vector_bytes = h->vector_bytes;
  m.vector_registers = h->vector_registers;
  m.memory.bytes = h->memory_bytes;
  m.nlevels = h->ncaches;
  for (int i = 0; i < h->ncaches; i++)
    m.level[i] = (nw_machine_level){.bytes = h->cache[i].bytes,
                                    .ways = h->cache[i].ways,
                                    .line = h->cache[i].line,
                                    .shared_by = h->cache[i].shared_by,
                                    .effective_bytes = h->cache[i].bytes};
  return m;
}

nw_target *nw_target_host(nw_ctx *c) {
  known *k = known_of(c);
  if (!k->host) {
    nw_machine m = host_machine();
    k->host = nw_target_new(c, &m);
  }
  return k->host;
}

void nw_target_provide(nw_ctx *c, nw_machine_kind kind, const nw_backend *backend, const nw_cost_model *model) {
  known *k = known_of(c);
  int at = 0;
  while (backend && at + 1 < MOST_BACKENDS && k->backend[kind][at] && k->backend[kind][at] != backend) at++;
  if (backend) k->backend[kind][at] = backend;
  if (model) k->model[kind] = model;
  if (!k->host || kind != NW_MACHINE_CPU) return;
  k->host->backend = backend_for(k, &k->host->machine);
  k->host->model = k->model[kind];
}

// ---- queries

bool nw_target_here(const nw_target *t) {
  return nw_machine_is_host(&t->machine) && t->machine.isa == (int)nw_host()->isa;
}

nw_features nw_target_features_here(const nw_target *t) { return t->features & nw_host()->features; }

const nw_scope_limit *nw_target_scope(const nw_target *t, const char *name) {
  for (int i = 0; i < t->limit.nscopes; i++)
    if (!strcmp(t->limit.scope[i].name, name)) return &t->limit.scope[i];
  return NULL;
}
