// An L1 cache for each multiprocessor, and an L2 cache. Both have LRU replacement of lines; a line holds the sectors that were
// requested. The set of a line is chosen by a hash, as in GPUs, so that distances that are powers of two do not conflict.
// Stores write through L1, do not allocate lines in it, and stay in L2 until their line is replaced.
#include "device/gpu/caches.h"
#include <stdlib.h>

enum { LEAST_L1 = 8 << 10 }; // bytes of the L1 cache that shared memory cannot take

// Returns the number of sectors in a set of at most NWG_MOST_SECTORS.
static int count(uint32_t sectors) {
  sectors -= sectors >> 1 & 0x55;
  sectors = (sectors & 0x33) + (sectors >> 2 & 0x33);
  return (int)((sectors + (sectors >> 4)) & 0xf);
}

// Moves the way at `at` of a set to the front.
static void move_to_front(nwg_set *s, int at) {
  uint32_t tag = s->tag[at];
  uint8_t valid = s->valid[at], dirty = s->dirty[at];
  for (int i = at; i > 0; i--) s->tag[i] = s->tag[i - 1], s->valid[i] = s->valid[i - 1], s->dirty[i] = s->dirty[i - 1];
  s->tag[0] = tag, s->valid[0] = valid, s->dirty[0] = dirty;
}

// Looks up a line in `sets` sets that begin at `set`. Returns its set, whose first way has the line then. Returns NULL if the line
// is not there, and `allocates` is false.
static nwg_set *find(nwg_set *set, int64_t sets, uint64_t line, bool allocates) {
  uint32_t tag = (uint32_t)line + 1;
  set += (tag * UINT64_C(0x9e3779b97f4a7c15) >> 32) * (uint64_t)sets >> 32;
  if (set->tag[0] == tag) return set;
  int at = 1;
  while (at < NWG_WAYS && set->tag[at] != tag) at++;
  if (at == NWG_WAYS) {
    if (!allocates) return NULL;
    at = NWG_WAYS - 1;
    set->tag[at] = tag;
    set->valid[at] = set->dirty[at] = 0; // dirty sectors were counted as written when they became dirty
  }
  move_to_front(set, at);
  return set;
}

static uint32_t in_l1(struct nwg_caches *c, int64_t sm, uint64_t line, uint32_t sectors, bool allocates) {
  int64_t each = c->l1.sets / c->sms;
  nwg_set *set = find(c->l1.set + sm * each, each, line, allocates);
  if (!set) return 0;
  uint32_t held = set->valid[0] & sectors;
  if (allocates) set->valid[0] |= (uint8_t)sectors;
  return held;
}

static uint32_t in_l2(struct nwg_caches *c, uint64_t line, uint32_t sectors, bool writes, nwg_hits *h) {
  nwg_set *set = find(c->l2.set, c->l2.sets, line, true);
  uint32_t held = set->valid[0] & sectors;
  set->valid[0] |= (uint8_t)sectors;
  if (writes) {
    h->written += count(sectors & ~(uint32_t)set->dirty[0]);
    set->dirty[0] |= (uint8_t)sectors;
  }
  return held;
}

void nwg_look_up(struct nwg_caches *c, int64_t sm, uint64_t line, uint32_t sectors, const nwg_site *s, nwg_hits *h) {
  uint32_t held = s->atomic ? 0 : in_l1(c, sm, line, sectors, !s->write);
  h->sectors += count(sectors);
  if (!s->write) {
    h->l1 += count(held);
    sectors &= ~held;
  }
  if (sectors) h->l2 += count(in_l2(c, line, sectors, s->write, h));
}

// ---- memory

static bool make_level(nw_ctx *c, nwg_level *l, int64_t bytes, int64_t line, int64_t copies) {
  int64_t sets = bytes / line / NWG_WAYS;
  l->sets = (sets > 0 ? sets : 1) * copies;
  l->set = nw_ask(c, "the simulated caches", (uint64_t)l->sets, sizeof *l->set);
  return l->set != NULL;
}

static void free_level(nwg_level *l) {
  nw_let_go(l->set);
  *l = (nwg_level){0};
}

struct nwg_caches *nwg_caches_open(nwg_run *r) {
  struct nwg_caches *c = NW_NEW(r->arena, struct nwg_caches);
  uint64_t at = 0;
  if (!r->gpu.sms) {
    nw_fail(r->ctx, NW_EINVAL, "give a machine: {caches = true, machine = \"a100\"}",
            "caches: the sizes of the caches are not known");
    return NULL;
  }
  if (r->gpu.line / r->gpu.sector > NWG_MOST_SECTORS) {
    nw_fail(r->ctx, NW_ELIMIT, NULL, "caches: lines with more than %d sectors are not simulated", NWG_MOST_SECTORS);
    return NULL;
  }
  c->base = NW_NEW_N(r->arena, uint64_t, r->exec->p->nbuffers + 1);
  for (int i = 0; i < r->exec->p->nbuffers; i++) {
    c->base[i] = at;
    at += ((uint64_t)r->buffer[i].count * (uint64_t)r->buffer[i].bytes + 511) / 256 * 256;
  }
  if (at / (uint64_t)r->gpu.line >= UINT32_MAX) {
    nw_fail(r->ctx, NW_ELIMIT, "give smaller tensors", "caches: tensors of %llu bytes are not simulated",
            (unsigned long long)at);
    return NULL;
  }
  c->sms = r->gpu.sms, c->line = r->gpu.line, c->sector = r->gpu.sector;
  c->fits = at <= (uint64_t)r->gpu.l2_bytes;
  r->caches = c;
  return make_level(r->ctx, &c->l2, r->gpu.l2_bytes, r->gpu.line, 1) ? c : NULL;
}

// Makes the L1 caches for a kernel: the shared memory of its blocks takes a part of them. They are empty at first.
bool nwg_l1_open(nwg_run *r, const nw_gpu_kernel *row) {
  struct nwg_caches *c = r->caches;
  int64_t bytes = r->gpu.l1_bytes - row->resident * row->shared_bytes;
  free_level(&c->l1);
  return make_level(r->ctx, &c->l1, bytes > LEAST_L1 ? bytes : LEAST_L1, r->gpu.line, c->sms);
}

void nwg_l2_clear(struct nwg_caches *c) { memset(c->l2.set, 0, sizeof *c->l2.set * (size_t)c->l2.sets); }

void nwg_caches_free(struct nwg_caches *c) {
  if (!c) return;
  free_level(&c->l1);
  free_level(&c->l2);
}
