// Counts hits in the L1 cache of each multiprocessor and in the L2 cache. Both are set-associative, with LRU replacement
// of lines; a line holds the sectors that were requested. Multiprocessors get blocks in turn, and run them in the order
// of their numbers. Stores write through: they do not allocate lines in L1.
#include "device/gpu/run.h"
#include <stdlib.h>

enum {
  WAYS = 16, // machine records have no number of ways
  LEAST_L1 = 8 << 10, // bytes of the L1 cache that shared memory cannot take
};

typedef struct level {
  int64_t sets;
  uint64_t *tag; // WAYS for each set, the last used line first; 0: unused
  uint32_t *valid; // sectors of the line
} level;

struct nwg_caches {
  int64_t sms;
  level l1, l2; // l1: the sets of all multiprocessors
  uint64_t *base; // address of each buffer
};

// Looks up sectors of a line. Returns the number of those that hit. Adds the others, if `allocates` is true.
static int look_up(level *c, int64_t set, uint64_t line, uint32_t sectors, bool allocates) {
  uint64_t *tag = c->tag + set * WAYS;
  uint32_t *valid = c->valid + set * WAYS, held = 0;
  int at = 0;
  while (at < WAYS && tag[at] != line + 1) at++;
  if (at == WAYS && !allocates) return 0;
  if (at < WAYS)
    held = valid[at];
  else
    at = WAYS - 1;
  memmove(tag + 1, tag, sizeof *tag * (size_t)at);
  memmove(valid + 1, valid, sizeof *valid * (size_t)at);
  tag[0] = line + 1;
  valid[0] = held | (allocates ? sectors : 0);
  return __builtin_popcount(held & sectors);
}

typedef struct wanted { // a line, with the sectors that a request needs
  uint64_t line;
  uint32_t sectors;
} wanted;

static int lines_of(const nwg_worker *w, uint64_t base, int bytes, const nwg_pattern *p, const int64_t *index, int each,
                    wanted *out) {
  uint64_t line = (uint64_t)w->k->line, sector = (uint64_t)w->k->sector;
  int n = 0;
  for (uint32_t m = p->mask; m; m &= m - 1) {
    uint64_t from = base + (uint64_t)(index[__builtin_ctz(m)] * bytes), to = from + (uint64_t)each - 1;
    for (uint64_t s = from / sector; s <= to / sector; s++) {
      uint64_t l = s * sector / line;
      int i = n - 1;
      while (i >= 0 && out[i].line != l) i--;
      if (i < 0) out[i = n++] = (wanted){l, 0};
      out[i].sectors |= 1u << (s - l * line / sector);
    }
  }
  return n;
}

void nwg_touch_caches(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index, int bytes) {
  const nwg_site *s = &w->k->site[site];
  struct nwg_caches *c = w->caches;
  nwg_counts *count = &w->count[site];
  wanted line[NWG_LANES * 17];
  int n = lines_of(w, c->base[s->buffer], w->k->buffer[s->buffer].bytes, p, index, bytes, line);
  int64_t sm = w->block_number[w->nblocks - 1] % c->sms, each = c->l1.sets / c->sms;
  for (int i = 0; i < n; i++) {
    uint64_t at = line[i].line;
    int64_t l1 = sm * each + (int64_t)(at % (uint64_t)each), l2 = (int64_t)(at % (uint64_t)c->l2.sets);
    int sectors = __builtin_popcount(line[i].sectors);
    int hits = s->atomic ? 0 : look_up(&c->l1, l1, at, line[i].sectors, !s->write);
    if (!s->write) count->l1_hits += hits;
    if (s->write || hits < sectors) {
      int found = look_up(&c->l2, l2, at, line[i].sectors, true);
      count->l2_hits += s->write ? found : found > hits ? found - hits : 0;
    }
  }
}

static bool make_level(nw_ctx *c, level *l, int64_t bytes, int64_t line, int64_t copies) {
  int64_t sets = bytes / line / WAYS;
  l->sets = (sets > 0 ? sets : 1) * copies;
  l->tag = nw_ask(c, "the simulated caches", (uint64_t)l->sets * WAYS, sizeof *l->tag);
  l->valid = l->tag ? nw_ask(c, "the simulated caches", (uint64_t)l->sets * WAYS, sizeof *l->valid) : NULL;
  return l->valid != NULL;
}

struct nwg_caches *nwg_caches_open(nwg_run *r) {
  struct nwg_caches *c = NW_NEW(r->arena, struct nwg_caches);
  uint64_t at = 0;
  if (!r->gpu.sms) {
    nw_fail(r->ctx, NW_EINVAL, "give a machine: {caches = true, machine = \"a100\"}",
            "caches: the sizes of the caches are not known");
    return NULL;
  }
  if (r->gpu.line / r->gpu.sector > 32) {
    nw_fail(r->ctx, NW_ELIMIT, NULL, "caches: lines with more than 32 sectors are not simulated");
    return NULL;
  }
  c->base = NW_NEW_N(r->arena, uint64_t, r->exec->p->nbuffers + 1);
  for (int i = 0; i < r->exec->p->nbuffers; i++) {
    c->base[i] = at;
    at += ((uint64_t)r->buffer[i].count * (uint64_t)r->buffer[i].bytes + 511) / 256 * 256;
  }
  c->sms = r->gpu.sms;
  return make_level(r->ctx, &c->l2, r->gpu.l2_bytes, r->gpu.line, 1) ? c : NULL;
}

// Makes the L1 caches for a kernel: the shared memory of its blocks takes a part of them. They are empty at first.
bool nwg_caches_launch(nwg_run *r, struct nwg_caches *c, const nw_gpu_kernel *row) {
  int64_t bytes = r->gpu.l1_bytes - row->resident * row->shared_bytes;
  nw_let_go(c->l1.tag), nw_let_go(c->l1.valid);
  c->l1 = (level){0};
  return make_level(r->ctx, &c->l1, bytes > LEAST_L1 ? bytes : LEAST_L1, r->gpu.line, c->sms);
}

void nwg_caches_free(struct nwg_caches *c) {
  if (!c) return;
  nw_let_go(c->l1.tag), nw_let_go(c->l1.valid), nw_let_go(c->l2.tag), nw_let_go(c->l2.valid);
}
