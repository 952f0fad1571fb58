// Computes stack distances.
#include "access/view/recency.h"
#include <stdlib.h>

enum { LEAST_SLOTS = 4096 };

void nw_recency_init(nw_recency *r, uint32_t lines) {
  uint64_t slots = 2 * (uint64_t)lines + LEAST_SLOTS;
  *r = (nw_recency){.slots = (uint32_t)(slots < UINT32_MAX - 64 ? slots : UINT32_MAX - 64), .next = 1};
  r->words = r->slots / 64 + 1;
  r->slot = nw_xask((size_t)lines + 1, sizeof *r->slot);
  r->line = nw_xask((size_t)r->words * 64, sizeof *r->line);
  r->here = nw_xask(r->words, sizeof *r->here);
  r->tree = nw_xask((size_t)r->words + 1, sizeof *r->tree);
}

void nw_recency_free(nw_recency *r) {
  nw_let_go(r->slot);
  nw_let_go(r->line);
  nw_let_go(r->here);
  nw_let_go(r->tree);
}

static void add(nw_recency *r, uint32_t word, uint32_t by) {
  for (uint32_t i = word + 1; i <= r->words; i += i & -i) r->tree[i] += by;
}

static void set(nw_recency *r, uint32_t slot) {
  r->here[slot >> 6] |= UINT64_C(1) << (slot & 63);
  add(r, slot >> 6, 1);
}

static void unset(nw_recency *r, uint32_t slot) {
  r->here[slot >> 6] &= ~(UINT64_C(1) << (slot & 63));
  add(r, slot >> 6, UINT32_MAX); // adds -1
}

// Returns the number of lines in the slots 1 to `slot`.
static uint32_t up_to(const nw_recency *r, uint32_t slot) {
  uint32_t n = (uint32_t)__builtin_popcountll(r->here[slot >> 6] << (63 - (slot & 63)));
  for (uint32_t i = slot >> 6; i; i &= i - 1) n += r->tree[i];
  return n;
}

// Moves the lines to the first slots. The order of the lines does not change.
static void move_together(nw_recency *r) {
  uint32_t to = 1;
  for (uint32_t from = 1; from < r->next; from++) {
    if (!(r->here[from >> 6] >> (from & 63) & 1)) continue;
    r->line[to] = r->line[from];
    r->slot[r->line[to]] = to;
    to++;
  }
  r->next = to;
  memset(r->here, 0, sizeof *r->here * r->words);
  memset(r->tree, 0, sizeof *r->tree * ((size_t)r->words + 1));
  for (uint32_t s = 1; s < to; s++) set(r, s);
}

int64_t nw_recency_ask(nw_recency *r, uint32_t line) {
  uint32_t was = r->slot[line];
  if (was && was == r->next - 1) return 0;
  int64_t distance = was ? (int64_t)r->live - up_to(r, was) : -1;
  if (was) unset(r, was);
  r->live += !was;
  if (r->next >= r->slots) move_together(r);
  r->slot[line] = r->next;
  r->line[r->next] = line;
  set(r, r->next++);
  return distance;
}
