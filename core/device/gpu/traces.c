// Records the requests of the warps of a block to global memory.
#include "device/gpu/caches.h"
#include <stdlib.h>

// A warp that has as many requests as are recorded is cut: what comes after is not replayed.
static void add(struct nwg_caches *c, nwg_queue *q, uint64_t entry) {
  if (q->n >= c->most) {
    c->now.cut = true;
    return;
  }
  if (q->n == q->cap) {
    q->cap = q->cap ? 2 * q->cap : 64;
    q->at = nw_xask_more(q->at, (uint64_t)q->cap, sizeof *q->at);
  }
  q->at[q->n++] = entry;
}

typedef struct wanted { // the lines that a request needs
  int n;
  uint64_t line[NWG_LANES * 17];
  uint32_t sectors[NWG_LANES * 17];
} wanted;

// Adds the sectors of `bytes` bytes that begin at an address.
static void want(const struct nwg_caches *c, wanted *w, uint64_t address, int64_t bytes) {
  uint64_t last = (address + (uint64_t)bytes - 1) / (uint64_t)c->sector, each = (uint64_t)(c->line / c->sector);
  for (uint64_t s = address / (uint64_t)c->sector; s <= last; s++) {
    uint64_t line = s / each;
    int i = w->n - 1;
    while (i >= 0 && w->line[i] != line) i--;
    if (i < 0) i = w->n++, w->line[i] = line, w->sectors[i] = 0;
    w->sectors[i] |= 1u << s % each;
  }
}

void nwg_note_request(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index, int each) {
  struct nwg_caches *c = w->caches;
  const nwg_site *s = &w->k->site[site];
  int64_t bytes = w->k->buffer[s->buffer].bytes, first = index[__builtin_ctz(p->mask)];
  wanted all;
  all.n = 0;
  if (!c->recording) return;
  for (int i = 0; p->nparts <= NWG_PARTS && i < p->nparts; i++) {
    const nwg_part *part = &p->part[i];
    want(c, &all, c->base[s->buffer] + (uint64_t)((first + part->off) * bytes),
         (part->n - 1) * part->step * bytes + each);
  }
  for (uint32_t m = p->nparts > NWG_PARTS ? p->mask : 0; m; m &= m - 1)
    want(c, &all, c->base[s->buffer] + (uint64_t)(index[__builtin_ctz(m)] * bytes), each);
  for (int i = 0; i < all.n; i++)
    add(c, &c->now.warp[w->warp],
        (uint64_t)site << NWG_SITE_AT | (uint64_t)all.sectors[i] << NWG_SECTORS_AT | (all.line[i] & NWG_LINE_MASK));
}

void nwg_note_barrier(nwg_worker *w) {
  struct nwg_caches *c = w->caches;
  for (int i = 0; c->recording && i < w->k->warps; i++) add(c, &c->now.warp[i], NWG_ALL_WAIT);
}

void nwg_trace_free(const nwg_kernel *k, nwg_trace *t) {
  for (int i = 0; t->warp && i < k->warps; i++) nw_let_go(t->warp[i].at);
  nw_let_go(t->warp);
  *t = (nwg_trace){0};
}
