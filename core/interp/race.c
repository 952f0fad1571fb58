// Detects races. The interpreter runs the blocks and threads of a GPU launch one after another. This file compares
// every access in a launch with earlier accesses to the same element. Two accesses are a race if at least one of them
// is a write, and if their order is undefined. The order of different blocks is undefined. The order of different
// threads of a block is undefined if there is no barrier between the accesses. A barrier of warps orders only accesses by
// threads of one warp. Two atomic updates are not a race. A parallel loop is treated like a launch with one block for each
// iteration. Some buffers have a part for each CPU thread. This part is undefined at the start of an iteration, because
// an earlier iteration may have used it.
//
// The detection is independent of the judge: it uses only barriers and addresses.
#include "interp/code.h"
#include <stdlib.h>

typedef struct touch {
  nwi_owner by;
  int64_t tick; // number of barriers before the access
  bool atomic; // true if the access is part of an atomic update
} touch;

#define SEVERAL UINT64_MAX // replaces the number of the block if several blocks made atomic writes

// Records accesses to one element: the last write, and up to three reads after this write. `read` is the last read.
// `other` is the last read by another thread of the same block. `far` is the last read by another block. If any read
// races with a later write, one of these three reads also does.
struct nwi_shadow {
  touch write, read, other, far;
};

// Records the last barrier of a block, or the last barrier of its warps. A barrier outside of block loops applies to all blocks.
struct nwi_wait {
  bool used, warp, all[3]; // all[d]: true if the barrier is outside of the block loop of dimension d
  uint64_t block;
  int64_t launch, tick;
};

// ---- indices

static uint64_t pack(const int64_t *i, unsigned low, unsigned high) {
  return (uint64_t)i[0] | (uint64_t)i[1] << low | (uint64_t)i[2] << high;
}

static uint64_t pack_block(const int64_t *i) { return pack(i, 31, 47); }

static nwi_owner here(const nwi_program *x) {
  const int64_t *i = x->grid.index;
  return (nwi_owner){x->grid.launch, pack_block(i), pack(i + 3, 20, 40)};
}

static void put_owner(nw_str *s, const nwi_program *x, nwi_owner o) {
  if (o.block == SEVERAL) return nw_str_add(s, "atomic updates of several iterations");
  if (x->grid.loop) return nw_str_fmt(s, "iteration %d of %s", (int)o.block, x->grid.loop);
  nw_str_fmt(s, "thread (%d, %d, %d) of block (%d, %d, %d)", (int)(o.thread & 0xfffff), (int)(o.thread >> 20 & 0xfffff),
             (int)(o.thread >> 40), (int)(o.block & 0x7fffffff), (int)(o.block >> 31 & 0xffff), (int)(o.block >> 47));
}

void nwi_private(nwi_program *x) {
  for (int i = 0; i < x->p->nbuffers; i++) {
    nwi_buffer *b = &x->buffer[i];
    if (x->exec->storage[i].kind != NW_STORE_PER_THREAD || !b->count) continue;
    memset(b->written, 0, (size_t)b->count);
    if (b->shadow) memset(b->shadow, 0, (size_t)b->count * sizeof *b->shadow);
  }
}

void nwi_grid_enter(nwi_program *x, const nwi_code *loop, int64_t index) {
  if (loop->parallel) nwi_private(x), x->grid.loop = loop->name;
  x->grid.index[loop->dim] = index;
  x->grid.inside[loop->dim] = true;
}

void nwi_grid_leave(nwi_program *x, const nwi_code *loop) {
  if (loop->parallel) nwi_private(x), x->grid.loop = NULL;
  x->grid.index[loop->dim] = 0;
  x->grid.inside[loop->dim] = false;
}

void nwi_launch(nwi_program *x, bool begins) { x->grid.launch = begins ? ++x->grid.launches : 0; }

// ---- barriers

static bool same_wait(const struct nwi_wait *a, const struct nwi_wait *b) {
  return a->block == b->block && a->launch == b->launch && a->warp == b->warp && !memcmp(a->all, b->all, sizeof a->all);
}

static struct nwi_wait *slot(const nwi_grid *g, const struct nwi_wait *key) {
  uint64_t h = nw_hash_mix(nw_hash_mix(key->block, (uint64_t)key->launch),
                           (uint64_t)(key->all[0] + 2 * key->all[1] + 4 * key->all[2] + 8 * key->warp));
  for (;; h++) {
    struct nwi_wait *w = &g->wait[h & (uint64_t)(g->capwaits - 1)];
    if (!w->used || same_wait(w, key)) return w;
  }
}

static void grow(nwi_grid *g) {
  nwi_grid old = *g;
  g->capwaits = old.capwaits ? 2 * old.capwaits : 64;
  g->wait = nw_xask((uint64_t)g->capwaits, sizeof *g->wait);
  for (int i = 0; i < old.capwaits; i++)
    if (old.wait[i].used) *slot(g, &old.wait[i]) = old.wait[i];
  nw_let_go(old.wait);
}

void nwi_barrier(nwi_program *x, bool warp) {
  nwi_grid *g = &x->grid;
  if (g->inside[3] || g->inside[4] || g->inside[5])
    return nwi_fail(&x->run, NW_ERACE, "a barrier is inside a thread loop, where not every thread reaches it");
  if (2 * (g->nwaits + 1) > g->capwaits) grow(g);
  struct nwi_wait key = {.used = true, .warp = warp, .launch = g->launch, .tick = ++g->tick};
  int64_t block[3];
  for (int d = 0; d < 3; d++) key.all[d] = !g->inside[d], block[d] = g->inside[d] ? g->index[d] : 0;
  key.block = pack_block(block);
  struct nwi_wait *w = slot(g, &key);
  g->nwaits += !w->used;
  *w = key;
}

// True if the current block has passed a barrier that is not one of the first `since` barriers of the run. A barrier of
// warps counts only if `warp` is true.
static bool waited(const nwi_grid *g, int64_t since, bool warp) {
  for (int mask = 0; mask < (warp ? 16 : 8) && g->nwaits; mask++) {
    struct nwi_wait key = {.launch = g->launch, .warp = mask >> 3};
    int64_t block[3];
    for (int d = 0; d < 3; d++) key.all[d] = mask >> d & 1, block[d] = key.all[d] ? 0 : g->index[d];
    key.block = pack_block(block);
    const struct nwi_wait *w = slot(g, &key);
    if (w->used && w->tick > since) return true;
  }
  return false;
}

// ---- accesses

static bool same_warp(const nwi_program *x, nwi_owner a, nwi_owner b) {
  uint64_t warp = (uint64_t)x->p->target->limit.launch.warp, low = 0xfffff;
  return a.thread >> 20 == b.thread >> 20 && (a.thread & low) / warp == (b.thread & low) / warp;
}

// True if the buffer is not the same memory for the two threads of one block.
static bool apart(const nwi_program *x, const nwi_buffer *b, nwi_owner s, nwi_owner t) {
  return b->local || (b->warp && !same_warp(x, s, t));
}

static bool races(const nwi_program *x, const nwi_buffer *b, const touch *t, const touch *n) {
  nwi_owner now = n->by;
  if (t->by.launch != now.launch || (t->atomic && n->atomic)) return false;
  if (t->by.block != now.block) return true;
  return t->by.thread != now.thread &&
         (apart(x, b, t->by, now) || !waited(&x->grid, t->tick, same_warp(x, t->by, now)));
}

static void report(nwi_program *x, const nwi_buffer *b, int64_t at, const touch *t, bool wrote, bool writes) {
  nw_str s = {0};
  nwi_owner now = here(x);
  nw_str_fmt(&s, "race: element %lld of %s is %s by ", (long long)at, b->name, wrote ? "written" : "read");
  put_owner(&s, x, t->by);
  nw_str_fmt(&s, ", and %s by ", writes ? "written" : "read");
  put_owner(&s, x, now);
  nwi_where(x, &s);
  nw_str_add(&s, x->grid.loop               ? "; the order of iterations is undefined"
                 : t->by.block != now.block ? "; the order of blocks is undefined"
                 : b->local                 ? "; but each thread has its own local storage"
                 : apart(x, b, t->by, now)  ? "; but each warp has its own storage"
                                            : ", with no barrier in between");
  nwi_fail(&x->run, NW_ERACE, "%s", s.s);
  nw_str_free(&s);
}

static void note_read(struct nwi_shadow *s, const touch *now) {
  if (s->read.by.launch != now->by.launch) {
    s->other = s->far = (touch){0};
  } else if (s->read.by.block != now->by.block) {
    s->far = s->read;
    s->other = (touch){0};
  } else if (s->read.by.thread != now->by.thread) {
    s->other = s->read;
  }
  s->read = *now;
}

void nwi_touch(nwi_program *x, nwi_buffer *b, int64_t at, bool write) {
  if (!x->grid.launch || !b->written) return; // an input is never written
  if (!b->shadow) b->shadow = nw_xask((uint64_t)(b->cap > b->count ? b->cap : b->count) + 1, sizeof *b->shadow);
  struct nwi_shadow *s = &b->shadow[at];
  touch now = {here(x), x->grid.tick, x->grid.atomic == b};
  if (now.atomic && !write) return; // the write of the same update is checked instead
  if (races(x, b, &s->write, &now)) return report(x, b, at, &s->write, true, write);
  if (!write) return note_read(s, &now);
  const touch *reads[] = {&s->read, &s->other, &s->far};
  for (int i = 0; i < NW_COUNT(reads); i++)
    if (races(x, b, reads[i], &now)) return report(x, b, at, reads[i], false, true);
  bool others = s->write.atomic && s->write.by.launch == now.by.launch && s->write.by.block != now.by.block;
  if (now.atomic && others) now.by.block = SEVERAL;
  *s = (struct nwi_shadow){.write = now};
}

// Called when execution enters an allocation. Forgets the recorded accesses if the memory is new. A block gets the same
// memory each time it enters the allocation, and different blocks get different memory. If the allocation is inside a
// thread loop, each thread gets its own memory.
void nwi_grid_alloc(nwi_program *x, nwi_buffer *b) {
  nwi_grid *g = &x->grid;
  if (!g->launch) return;
  nwi_owner now = here(x), last = b->owner;
  b->owner = now;
  bool own = b->local || g->inside[3] || g->inside[4] || g->inside[5];
  if (!b->shadow) return;
  if (own || now.launch != last.launch || now.block != last.block)
    memset(b->shadow, 0, (size_t)b->cap * sizeof *b->shadow);
}
