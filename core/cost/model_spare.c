// Memory that is used again.
#include "cost/model_spare.h"
#include <stdlib.h>

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

void nw_spares_free(nw_spares *s) {
  for (int i = 0; i < NW_COUNT(s->of); i++) {
    for (int k = 0; k < s->of[i].n; k++) free(head_of(s->of[i].at[k]));
    nw_vec_free(&s->of[i]);
  }
}
