// The memory of the threads of the host that simulate. Memory of buffers is kept from one launch to the next.
#include "device/gpu/run.h"
#include <stdlib.h>

// Returns the number of elements of which a worker has a copy, or a shadow.
static int64_t elements_of(const nwg_kernel *k, const nwg_buffer *b) {
  switch (b->space) {
  case NWG_WARP: return b->count * k->groups;
  case NWG_LOCAL: return b->count * k->warps * NWG_LANES;
  default: return b->count;
  }
}

// Makes an array, if there is none.
static bool need(nwg_run *r, const char *name, int64_t n, int bytes, void *array) {
  void **at = array;
  if (!*at) *at = nw_ask(r->ctx, name, (uint64_t)n + NWG_LANES, (uint64_t)bytes);
  return *at != NULL;
}

static void drop(nwg_mem *m, bool data) {
  if (data) nw_let_go(m->data);
  nw_let_go(m->write), nw_let_go(m->read), nw_let_go(m->other), nw_let_go(m->flying), nw_let_go(m->since);
  *m = (nwg_mem){0};
}

static bool open_buffer(nwg_run *r, nwg_worker *w, int i) {
  const nwg_buffer *b = &w->k->buffer[i];
  nwg_mem *m = &w->mem[i];
  bool global = b->space == NWG_GLOBAL, local = b->space == NWG_LOCAL;
  int64_t n = elements_of(w->k, b), *room = &r->room[w->id * w->k->nbuffers + i];
  if (!b->used) return true;
  if (n > *room) drop(m, !global), *room = n;
  bool good = global || need(r, b->name, n, b->bytes, &m->data);
  if (global) m->data = b->data;
  m->written = b->written;
  m->from = w->now;
  bool shadow = !global || (b->writes && !r->blank);
  if (shadow) good = good && need(r, b->name, n, sizeof *m->write, &m->write);
  if (!local && b->reads && shadow)
    good = good && need(r, b->name, n, sizeof *m->read, &m->read) && need(r, b->name, n, sizeof *m->other, &m->other);
  if (!local && b->async && shadow) good = good && need(r, b->name, n, 1, &m->flying);
  if (!global) good = good && need(r, b->name, w->k->warps, sizeof *m->since, &m->since);
  return good;
}

// Sets the indices of the threads of each warp.
static void set_lanes(nwg_worker *w) {
  const nwg_kernel *k = w->k;
  for (int warp = 0; warp < k->warps; warp++) {
    w->full[warp] = 0;
    for (int l = 0; l < NWG_LANES; l++) {
      int64_t t = warp * k->lanes + l, *at = w->lane_index + warp * 3 * NWG_LANES + l;
      if (l < k->lanes && t < k->threads) w->full[warp] |= 1u << l;
      at[0] = t % k->extent[3];
      at[NWG_LANES] = t / k->extent[3] % k->extent[4];
      at[2 * NWG_LANES] = t / k->extent[3] / k->extent[4];
      int64_t row = at[NWG_LANES] + k->extent[4] * at[2 * NWG_LANES];
      w->group[warp * NWG_LANES + l] = row * ((k->extent[3] + k->lanes - 1) / k->lanes) + at[0] / k->lanes;
    }
  }
}

static void set_register(nwg_worker *w, uint32_t reg, int64_t value) {
  for (int l = 0; l < NWG_LANES; l++) NWG_I(w, reg)[l] = value;
}

static void set_variables(const nwg_run *r, nwg_worker *w, const int64_t *var) {
  for (int i = 0; i < r->exec->p->nsizes; i++) set_register(w, w->k->size[i], r->sizes[i]);
  for (int i = 0; i < w->k->launch->nvars; i++) set_register(w, w->k->var[i], var[i]);
}

static bool open_worker(nwg_run *r, nwg_worker *w, const nwg_kernel *k, int64_t blocks) {
  nw_ctx *c = r->ctx;
  uint64_t warps = (uint64_t)k->warps, lanes = warps * NWG_LANES, wide = (uint64_t)k->nwide;
  w->k = k;
  w->now += UINT64_C(1) << NWG_TIME_SHIFT;
  w->nblocks = w->issued = w->active = w->barriers = 0;
  w->nflights = 0;
  w->counting = true;
  bool good = (w->reg_room = nw_ask(c, "the registers of a warp", k->bytes + 64, 1)) &&
              (w->times = nw_ask(c, "the counts of instructions", (uint64_t)k->ninstrs + 1, sizeof *w->times)) &&
              (w->ignored = nw_ask(c, "the counts of instructions", (uint64_t)k->ninstrs + 1, sizeof *w->ignored)) &&
              (w->count = nw_ask(c, "the counts of accesses", (uint64_t)k->nsites + 1, sizeof *w->count)) &&
              (w->runs = nw_ask(c, "the counts of loops", (uint64_t)k->nruns + 1, sizeof *w->runs)) &&
              (w->last = nw_ask(c, "the patterns of accesses", (uint64_t)k->nsites + 1, 1)) &&
              (w->pattern =
                   nw_ask(c, "the patterns of accesses", (uint64_t)k->nsites * NWG_PATTERNS + 1, sizeof *w->pattern)) &&
              (w->lane_index = nw_ask(c, "the indices of threads", lanes * 3, sizeof *w->lane_index)) &&
              (w->group = nw_ask(c, "the warps of a block", lanes, sizeof *w->group)) &&
              (w->full = nw_ask(c, "the warps of a block", warps, sizeof *w->full)) &&
              (w->masks = nw_ask(c, "the warps of a block", warps * (wide + 1), sizeof *w->masks)) &&
              (w->wide_begin = nw_ask(c, "the loops of a block", lanes * (wide + 1), sizeof *w->wide_begin)) &&
              (w->wide_extent = nw_ask(c, "the loops of a block", lanes * (wide + 1), sizeof *w->wide_extent)) &&
              (w->commits = nw_ask(c, "the threads of a block", lanes, sizeof *w->commits)) &&
              (w->block_number = nw_ask(c, "the blocks of a grid", (uint64_t)blocks, sizeof *w->block_number)) &&
              (w->block_begin = nw_ask(c, "the blocks of a grid", (uint64_t)blocks, sizeof *w->block_begin));
  if (good) w->reg = (char *)(((uintptr_t)w->reg_room + 63) & ~(uintptr_t)63);
  for (int i = 0; i < k->nbuffers && good; i++) good = open_buffer(r, w, i);
  if (good) set_lanes(w);
  return good;
}

// The first worker may run all blocks (launch.c).
bool nwg_workers_open(nwg_run *r, int n, const nwg_kernel *k, const int64_t *var, int64_t blocks) {
  bool good = true;
  for (int i = 0; i < n && good; i++) {
    good = open_worker(r, &r->worker[i], k, i ? blocks / n + 1 : blocks + 1);
    if (good) set_variables(r, &r->worker[i], var);
  }
  return good;
}

void nwg_workers_close(nwg_run *r, int n) {
  for (int i = 0; i < n; i++) {
    nwg_worker *w = &r->worker[i];
    void **each[] = {
        (void **)&w->reg_room,     (void **)&w->times,       (void **)&w->ignored, (void **)&w->count,
        (void **)&w->last,         (void **)&w->pattern,     (void **)&w->full,    (void **)&w->lane_index,
        (void **)&w->masks,        (void **)&w->wide_begin,  (void **)&w->commits, (void **)&w->wide_extent,
        (void **)&w->block_number, (void **)&w->block_begin, (void **)&w->group,   (void **)&w->runs};
    for (int k = 0; k < NW_COUNT(each); k++) {
      nw_let_go(*each[k]);
      *each[k] = NULL;
    }
    w->nfindings = 0;
  }
}

void nwg_workers_free(nwg_run *r) {
  for (int i = 0; i < r->nworkers; i++) {
    for (int k = 0; k < r->exec->p->nbuffers; k++) drop(&r->worker[i].mem[k], r->buffer[k].space != NWG_GLOBAL);
    free(r->worker[i].flight);
  }
}
