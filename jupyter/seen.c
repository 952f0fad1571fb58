// Implements the set of seen.h. It has two generations. Each generation is a hash table with open addressing, and is at
// most half full.
#include "seen.h"
#include <pthread.h>
#include <stdlib.h>

enum { SLOTS = 2 * NWJ_REMEMBERED };

struct nwj_seen {
  pthread_mutex_t lock;
  uint64_t *young, *old; // tables of marks; 0: a free slot
  int n; // number of marks in young
};

void nwj_seen_free(nwj_seen *s) {
  if (!s) return;
  pthread_mutex_destroy(&s->lock);
  free(s->young);
  free(s->old);
  free(s);
}

nwj_seen *nwj_seen_new(void) {
  nwj_seen *s = calloc(1, sizeof *s);
  if (!s) return NULL;
  pthread_mutex_init(&s->lock, NULL);
  s->young = calloc(SLOTS, sizeof *s->young);
  s->old = calloc(SLOTS, sizeof *s->old);
  if (s->young && s->old) return s;
  nwj_seen_free(s);
  return NULL;
}

// Returns the slot that holds the mark. If there is none, returns the free slot for it. The search begins at slot `mark
// % SLOTS`. No hash function is needed, because the bits of a signature are random enough.
static uint64_t *slot_of(uint64_t *table, uint64_t mark) {
  uint64_t at = mark % SLOTS;
  while (table[at] && table[at] != mark) at = (at + 1) % SLOTS;
  return &table[at];
}

static void forget_oldest(nwj_seen *s) {
  uint64_t *was = s->old;
  s->old = s->young;
  s->young = was;
  s->n = 0;
  for (int i = 0; i < SLOTS; i++) was[i] = 0;
}

bool nwj_seen_before(nwj_seen *s, uint64_t mark) {
  if (!mark) mark = 1; // 0 is a free slot
  pthread_mutex_lock(&s->lock);
  bool before = *slot_of(s->old, mark) || *slot_of(s->young, mark);
  if (!before) {
    if (s->n == NWJ_REMEMBERED) forget_oldest(s);
    *slot_of(s->young, mark) = mark;
    s->n++;
  }
  pthread_mutex_unlock(&s->lock);
  return before;
}
