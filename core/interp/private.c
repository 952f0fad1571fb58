// Gives each thread of a launch its own part of a local buffer.
//
// The elements of one thread are a part of `count` elements. A thread gets a part at its first access after the
// allocation is entered, so there are only as many parts as threads that use the buffer.
#include "interp/code.h"

typedef struct part {
  bool used;
  uint64_t thread;
  int64_t number;
} part;

struct nwi_parts {
  int n, cap; // number of parts; capacity of `at`, a hash table
  part *at;
  part last; // the part that was used last
};

static part *slot(const struct nwi_parts *s, uint64_t thread) {
  for (uint64_t h = nw_hash_mix(thread, 0);; h++) {
    part *p = &s->at[h & (uint64_t)(s->cap - 1)];
    if (!p->used || p->thread == thread) return p;
  }
}

static void grow_table(struct nwi_parts *s) {
  struct nwi_parts old = *s;
  s->cap = old.cap ? 2 * old.cap : 64;
  s->at = nw_xask((uint64_t)s->cap, sizeof *s->at);
  for (int i = 0; i < old.cap; i++)
    if (old.at[i].used) *slot(s, old.at[i].thread) = old.at[i];
  nw_let_go(old.at);
}

static void *larger(void *old, int64_t had, int64_t n, size_t each) {
  if (!old) return NULL;
  void *data = nw_xask((uint64_t)n, each);
  memcpy(data, old, (size_t)had * each);
  nw_let_go(old);
  return data;
}

// Makes room for the elements of n parts.
static void grow_buffer(nwi_buffer *b, int64_t n) {
  int64_t cap = b->cap > 0 ? b->cap : 1;
  if (n * b->count <= b->cap) return;
  while (cap < n * b->count) cap *= 2;
  b->data = larger(b->data, b->cap, cap, (size_t)nw_dtype_bytes(b->dtype));
  b->written = larger(b->written, b->cap, cap, 1);
  if (b->shadow) nw_let_go(b->shadow), b->shadow = NULL; // accesses of other threads are to other parts
  b->cap = cap;
}

void nwi_parts_reset(nwi_buffer *b) {
  if (!b->parts) return;
  if (b->parts->at) memset(b->parts->at, 0, (size_t)b->parts->cap * sizeof *b->parts->at);
  b->parts->n = 0;
  b->parts->last = (part){0};
}

void nwi_parts_free(nwi_buffer *b) {
  if (b->parts) nw_let_go(b->parts->at);
  nw_let_go(b->parts);
}

int64_t nwi_room(const nwi_program *x, nwi_buffer *b, int64_t at) {
  const int64_t *i = x->grid.index;
  if (!b->local || !x->exec || !x->grid.launch) return at;
  if (!b->parts) b->parts = nw_xask(1, sizeof *b->parts);
  struct nwi_parts *s = b->parts;
  uint64_t thread = (uint64_t)i[3] | (uint64_t)i[4] << 20 | (uint64_t)i[5] << 40;
  if (!s->last.used || s->last.thread != thread) {
    if (2 * (s->n + 1) > s->cap) grow_table(s);
    part *p = slot(s, thread);
    if (!p->used) {
      *p = (part){true, thread, s->n++};
      grow_buffer(b, s->n);
      if (b->written) memset(b->written + p->number * b->count, 0, (size_t)b->count);
    }
    s->last = *p;
  }
  return s->last.number * b->count + at;
}
