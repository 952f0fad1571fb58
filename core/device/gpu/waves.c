// Replays the requests of the blocks of a wave in the caches. In turn, each warp of each block makes a request; a warp that
// waits at a barrier makes none until all warps of its block wait there. Blocks are given to multiprocessors in turn.
//
// If one block of each class was simulated, two waves are replayed: the first, and one that finds in L2 what the first has
// left. A block of a class has the requests of the block that was simulated, with lines that are shifted: the address of an
// access is c*index + rest along each dimension of the grid along which blocks are alike (classes.c). All other waves are
// assumed to be like the second. So the hits of a grid with more waves are an estimate.
//
// If warps make very many requests, only the first of them are replayed, and all numbers are in proportion. What the rest would
// leave in L2 is not known then: if the tensors do not fit in L2, the next wave finds nothing of its own there.
#include "device/gpu/caches.h"
#include <math.h>
#include <stdlib.h>

enum {
  MOST_REPLAYED = 1 << 24, // requests of the classes of blocks
  MOST_KEPT = 1 << 26, // requests in memory
};

// ---- replaying

typedef struct walker { // a block
  const nwg_trace *trace;
  const int64_t *shift; // NULL: no line is shifted
  int64_t sm;
  int64_t *at; // of each warp, the next request
} walker;

static void look_up(struct nwg_caches *c, const walker *b, uint64_t request, nwg_hits *hits) {
  int site = (int)(request >> NWG_SITE_AT);
  uint64_t line = (request & NWG_LINE_MASK) + (b->shift ? (uint64_t)b->shift[site] : 0);
  nwg_look_up(c, b->sm, line, request >> NWG_SECTORS_AT & 0xff, &c->k->site[site], &hits[site]);
}

// Each warp of a block makes its next request. Returns false if all warps have ended.
static bool step(struct nwg_caches *c, const walker *b, nwg_hits *hits) {
  int warps = c->k->warps, ended = 0, waiting = 0;
  for (int i = 0; i < warps; i++) {
    const nwg_queue *q = &b->trace->warp[i];
    if (b->at[i] == q->n)
      ended++;
    else if (q->at[b->at[i]] == NWG_ALL_WAIT)
      waiting++;
    else
      look_up(c, b, q->at[b->at[i]++], hits);
  }
  for (int i = 0; i < warps && ended + waiting == warps; i++) b->at[i] += b->at[i] < b->trace->warp[i].n;
  return ended < warps;
}

static bool replay(struct nwg_caches *c, nw_ctx *ctx, int64_t n, walker *block, nwg_hits *hits) {
  while (n) {
    int64_t left = 0;
    for (int64_t i = 0; i < n; i++)
      if (step(c, &block[i], hits)) block[left++] = block[i];
    n = left;
    if (nw_stopped(ctx)) return false;
  }
  return true;
}

bool nwg_replay(struct nwg_caches *c, nw_ctx *ctx, int64_t from, int64_t to, const int64_t *of, const int64_t *shift) {
  int64_t n = to - from, warps = c->k->warps;
  walker *block = nw_ask(ctx, "the blocks of a wave", (uint64_t)n + 1, sizeof *block);
  int64_t *at = block ? nw_ask(ctx, "the blocks of a wave", (uint64_t)(n * warps) + 1, sizeof *at) : NULL;
  for (int64_t i = 0; at && i < n; i++)
    block[i] = (walker){.trace = &c->trace[of ? of[i] : i],
                        .shift = shift ? shift + i * c->k->nsites : NULL,
                        .sm = i % c->sms,
                        .at = at + i * warps};
  if (from && c->cut && !c->fits) nwg_l2_clear(c);
  bool good = at && replay(c, ctx, n, block, from ? c->rest : c->first);
  c->replayed += n;
  nw_let_go(at);
  nw_let_go(block);
  return good;
}

// ---- a launch

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t nwg_wave(const nwg_run *r, const nw_gpu_kernel *row) {
  return r->gpu.sms * (row->resident > 0 ? row->resident : 1);
}

static void let_go(struct nwg_caches *c) {
  for (int64_t i = 0; c->trace && i < c->ntraces; i++) nwg_trace_free(c->k, &c->trace[i]);
  nwg_trace_free(c->k, &c->now);
  void **each[] = {(void **)&c->trace, (void **)&c->before, (void **)&c->first, (void **)&c->rest, (void **)&c->slot};
  for (int i = 0; i < NW_COUNT(each); i++) {
    nw_let_go(*each[i]);
    *each[i] = NULL;
  }
  c->ntraces = 0;
}

// Finds the class of a block: its number among the combinations of the classes of the dimensions.
static int64_t class_of(const nwg_kernel *k, nwg_classes *const *class, int64_t block) {
  int64_t x = block % k->extent[0], y = block / k->extent[0] % k->extent[1], z = block / k->extent[0] / k->extent[1];
  return class[0]->of[x] + class[0]->n * (class[1] -> of[y] + class[1] -> n *class[2] -> of[z]);
}

// Notes which classes have a block in the waves that will be replayed. Returns the number of these classes.
static int64_t choose(struct nwg_caches *c, nwg_classes *const *class, int64_t classes) {
  int64_t n = 0;
  for (int64_t i = 0; i < classes; i++) c->slot[i] = -1;
  for (int64_t b = 0; b < least(c->blocks, 2 * c->wave); b++) {
    int64_t *slot = &c->slot[class_of(c->k, class, b)];
    if (*slot < 0) *slot = n++;
  }
  return n;
}

bool nwg_caches_launch(nwg_run *r, nwg_entry *e, const nwg_kernel *k, nwg_classes *const *class, int64_t simulated) {
  struct nwg_caches *c = r->caches;
  nw_ctx *x = r->ctx;
  uint64_t sites = (uint64_t)k->nsites + 1;
  c->k = k, c->replayed = 0, c->ntraces = 0, c->cut = false;
  c->blocks = k->extent[0] * k->extent[1] * k->extent[2], c->wave = nwg_wave(r, &e->row);
  if (k->nsites > NWG_MOST_CACHED_SITES)
    return nw_fail(x, NW_ELIMIT, "leave out caches = true", "caches: a kernel with %d loads and stores is too large",
                   k->nsites);
  bool good = nwg_l1_open(r, &e->row) && (c->before = nw_ask(x, "the counts of accesses", sites, sizeof *c->before)) &&
              (c->first = nw_ask(x, "the counts of accesses", sites, sizeof *c->first)) &&
              (c->rest = nw_ask(x, "the counts of accesses", sites, sizeof *c->rest));
  if (good && class[0])
    good = (c->slot = nw_ask(x, "the classes of blocks", (uint64_t)simulated, sizeof *c->slot)) != NULL;
  if (!good) return false;
  int64_t waves = class[0] ? 2 : 1, replayed = least(c->blocks, waves * c->wave);
  int64_t kept = class[0] ? choose(c, class, simulated) : replayed;
  c->most = (class[0] ? least(MOST_REPLAYED / replayed, MOST_KEPT / kept) : MOST_KEPT / kept) / k->warps;
  for (int i = 0; i < k->nsites; i++) c->before[i] = e->count[i].sectors;
  return (c->trace = nw_ask(x, "the requests of blocks", (uint64_t)kept, sizeof *c->trace)) != NULL;
}

// ---- the blocks

bool nwg_caches_begin(nwg_worker *w, int64_t number) {
  struct nwg_caches *c = w->caches;
  c->recording = !c->slot || c->slot[number] >= 0;
  if (c->recording) c->now.warp = nw_ask(w->ctx, "the requests of a block", (uint64_t)w->k->warps, sizeof *c->now.warp);
  return !c->recording || c->now.warp;
}

bool nwg_caches_end(nwg_worker *w, int64_t number) {
  struct nwg_caches *c = w->caches;
  if (!c->recording) return true;
  c->recording = false;
  c->cut |= c->now.cut;
  c->trace[c->slot ? c->slot[number] : c->ntraces] = c->now;
  c->ntraces++;
  c->now = (nwg_trace){0};
  if (c->slot || (c->ntraces < c->wave && number + 1 < c->blocks)) return true;
  bool good = nwg_replay(c, w->ctx, number + 1 - c->ntraces, number + 1, NULL, NULL);
  for (int64_t i = 0; i < c->ntraces; i++) nwg_trace_free(c->k, &c->trace[i]);
  c->ntraces = 0;
  return good;
}

// ---- blocks that are alike

// Returns the number of bytes by which an address grows with the index of dimension d.
static int64_t step_of(const nwg_run *r, const nwg_buffer *b, const nw_expr *e, int d) {
  const nw_expr *rest;
  int64_t step = 0;
  if (e->op == NW_OP_RAMP) return step_of(r, b, e->arg[0], d);
  if (e->type.lanes != 1 || !nw_affine(r->launches->p->pool, e, 1, &nw_grid_index[d], &step, &rest)) return 0;
  return step * b->bytes;
}

// Sets the shifts of a block: shift[i] for access i.
static void set_shifts(const struct nwg_caches *c, nwg_classes *const *class, const int64_t *steps, int64_t block,
                       int64_t *shift) {
  const nwg_kernel *k = c->k;
  int64_t at[3] = {block % k->extent[0], block / k->extent[0] % k->extent[1], block / k->extent[0] / k->extent[1]};
  for (int i = 0; i < k->nsites; i++) {
    int64_t bytes = 0;
    for (int d = 0; d < 3; d++) bytes += steps[3 * i + d] * (at[d] - class[d] -> first[class[d] -> of[at[d]]]);
    shift[i] = nw_floordiv_i64(bytes, c->line);
  }
}

static bool replay_classes(nwg_run *r, nwg_classes *const *class, int64_t from, int64_t to, const int64_t *steps) {
  struct nwg_caches *c = r->caches;
  int64_t n = to - from;
  int64_t *of = nw_ask(r->ctx, "the blocks of a wave", (uint64_t)n + 1, sizeof *of);
  int64_t *shift = of ? nw_ask(r->ctx, "the blocks of a wave", (uint64_t)(n * c->k->nsites) + 1, sizeof *shift) : NULL;
  for (int64_t i = 0; shift && i < n; i++) {
    of[i] = c->slot[class_of(c->k, class, from + i)];
    set_shifts(c, class, steps, from + i, shift + i * c->k->nsites);
  }
  bool good = shift && nwg_replay(c, r->ctx, from, to, of, shift);
  nw_let_go(shift);
  nw_let_go(of);
  return good;
}

static bool replay_two(nwg_run *r, nwg_classes *const *class) {
  struct nwg_caches *c = r->caches;
  const nwg_kernel *k = c->k;
  int64_t *steps = nw_ask(r->ctx, "the addresses of accesses", 3 * (uint64_t)k->nsites + 1, sizeof *steps);
  for (int i = 0; steps && i < k->nsites; i++)
    for (int d = 0; d < 3; d++) steps[3 * i + d] = step_of(r, &k->buffer[k->site[i].buffer], k->site[i].index, d);
  bool good = steps && replay_classes(r, class, 0, least(c->wave, c->blocks), steps);
  if (good && c->blocks > c->wave) good = replay_classes(r, class, c->wave, least(2 * c->wave, c->blocks), steps);
  nw_let_go(steps);
  return good;
}

// ---- the counts

// Returns the hits of an access in all waves: those of the first wave, and of the other waves those that were replayed, times
// `factor`, all in proportion to the number of sectors that the access really has. If no request of the access was replayed,
// each element of the buffer is assumed to be moved once.
static nwg_hits in_all(const struct nwg_caches *c, int site, int64_t sectors, double factor) {
  const nwg_hits *a = &c->first[site], *b = &c->rest[site];
  const nwg_site *s = &c->k->site[site];
  const nwg_buffer *buffer = &c->k->buffer[s->buffer];
  double seen = (double)a->sectors + (double)b->sectors * factor, part = seen > 0 ? (double)sectors / seen : 0;
  int64_t moved = least(sectors, (buffer->count * buffer->bytes + c->sector - 1) / c->sector);
  if (seen == 0) return (nwg_hits){.sectors = sectors, .l2 = sectors - moved, .written = s->write ? moved : 0};
  return (nwg_hits){.sectors = sectors,
                    .l1 = llround(((double)a->l1 + (double)b->l1 * factor) * part),
                    .l2 = llround(((double)a->l2 + (double)b->l2 * factor) * part),
                    .written = llround(((double)a->written + (double)b->written * factor) * part)};
}

static void add_hits(const struct nwg_caches *c, nwg_entry *e) {
  int64_t once = least(c->wave, c->blocks), more = c->replayed - once;
  double factor = more > 0 ? (double)(c->blocks - once) / (double)more : 0;
  for (int i = 0; i < c->k->nsites; i++) {
    const nwg_site *s = &c->k->site[i];
    nwg_hits h = in_all(c, i, e->count[i].sectors - c->before[i], factor);
    e->count[i].l1_hits += h.l1, e->count[i].l2_hits += h.l2;
    if (!s->write || s->atomic) e->row.dram_read += (h.sectors - h.l1 - h.l2) * c->sector;
    e->row.dram_written += h.written * c->sector;
  }
  e->row.waves += (c->blocks + c->wave - 1) / c->wave;
  e->row.replayed += (c->replayed + c->wave - 1) / c->wave;
  e->row.cut |= c->cut;
}

bool nwg_caches_finish(nwg_run *r, nwg_entry *e, nwg_classes *const *class) {
  bool good = !class[0] || replay_two(r, class);
  if (good) add_hits(r->caches, e);
  return good;
}

void nwg_caches_leave(struct nwg_caches *c) {
  if (!c || !c->k) return;
  let_go(c);
  c->k = NULL;
}
