// Implements a set of numbers as a hash table with open addressing that is at most half full. A query must be fast,
// since a run may make millions of queries.
#include "check/numbers.h"
#include "base/base.h"
#include <stdlib.h>

static uint64_t key_of(uint64_t number) { return number + 1 ? number + 1 : 1; }

static uint64_t *slot_of(const nw_numbers *s, uint64_t key) {
  for (uint64_t h = nw_hash_mix(1, key);; h++) {
    uint64_t *at = &s->slot[h % (uint64_t)s->cap];
    if (!*at || *at == key) return at;
  }
}

static void make_room(nw_numbers *s) {
  if (2 * s->n < s->cap) return;
  nw_numbers old = *s;
  s->cap = old.cap ? 4 * old.cap : 16;
  s->slot = nw_xcalloc((size_t)s->cap, sizeof *s->slot);
  for (int i = 0; i < old.cap; i++)
    if (old.slot[i]) *slot_of(s, old.slot[i]) = old.slot[i];
  free(old.slot);
}

bool nw_numbers_add(nw_numbers *s, uint64_t number) {
  make_room(s);
  uint64_t key = key_of(number), *at = slot_of(s, key);
  if (*at) return false;
  *at = key;
  s->n++;
  return true;
}

bool nw_numbers_has(const nw_numbers *s, uint64_t number) { return s->n && *slot_of(s, key_of(number)); }

void nw_numbers_free(nw_numbers *s) {
  free(s->slot);
  *s = (nw_numbers){0};
}
