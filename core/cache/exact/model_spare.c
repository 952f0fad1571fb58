// Keeps blocks of memory for reuse.
#include "cache/exact/model_spare.h"
#include <stdlib.h>

enum { MOST = 64 << 20 }; // maximum number of bytes that a session keeps between runs

typedef struct head {
  size_t power, pad;
} head;

static head *head_of(const void *block) { return (head *)block - 1; }

void *nw_spare_get(nw_spares *s, size_t bytes) {
  size_t power = 6;
  while (((size_t)1 << power) < bytes) power++;
  nw_vec *v = &s->of[power];
  if (v->n) return v->at[--v->n];
  head *h = nw_xmalloc(sizeof *h + ((size_t)1 << power));
  h->power = power;
  s->bytes += (size_t)1 << power;
  return h + 1;
}

void nw_spare_give(nw_spares *s, void *block) {
  if (block) nw_vec_push(&s->of[head_of(block)->power], block);
}

size_t nw_spare_room(const void *block) { return block ? (size_t)1 << head_of(block)->power : 0; }

void *nw_spare_more(nw_spares *s, void *block, size_t used, size_t bytes) {
  void *out = nw_spare_get(s, bytes);
  if (used) memcpy(out, block, used);
  nw_spare_give(s, block);
  return out;
}

static void empty(nw_spares *s) {
  for (int i = 0; i < NW_COUNT(s->of); i++) {
    for (int k = 0; k < s->of[i].n; k++) free(head_of(s->of[i].at[k]));
    nw_vec_free(&s->of[i]);
  }
  s->bytes = 0;
}

void nw_spares_trim(nw_spares *s) {
  if (s->bytes > MOST) empty(s);
}

static void spares_free(void *s) {
  empty(s);
  free(s);
}

nw_spares *nw_spares_of(nw_ctx *c) {
  nw_slot *slot = &c->slot[NW_SLOT_COST];
  if (!slot->data) nw_slot_fill(c, NW_SLOT_COST, nw_xcalloc(1, sizeof(nw_spares)), spares_free, NULL);
  return slot->data;
}
