// Implements sets that are linked lists, and the hash table of their lines.
#include "cache/exact/model_held.h"
#include <stdlib.h>

static void new_table(nw_held *h, int bits) {
  size_t bytes = sizeof *h->slot << bits;
  h->slot = memset(nw_spare_get(h->spares, bytes), 0, bytes);
  h->slots = (uint32_t)((UINT64_C(1) << bits) - 1);
  h->shift = 64 - bits;
}

static void open_lists(nw_held *h) {
  h->n = 1;
  h->cap = 256;
  h->list = nw_xask((size_t)h->sets, sizeof *h->list);
  h->link = nw_spare_get(h->spares, h->cap * sizeof *h->link);
  h->at = nw_spare_get(h->spares, h->cap * sizeof *h->at);
  new_table(h, 9);
}

void nw_held_open(nw_held *h, nw_spares *spares, int64_t sets, int64_t ways) {
  *h = (nw_held){.spares = spares, .sets = sets, .ways = (uint32_t)ways, .era = 1};
  h->odd = (sets & (sets - 1)) != 0;
  h->mask = sets - 1;
  h->last = ways <= NW_HELD_ROW ? 4 * (uint32_t)(ways - 1) : 0;
  h->used = nw_xask((size_t)sets, sizeof *h->used);
  if (ways > NW_HELD_ROW) {
    open_lists(h);
    return;
  }
  for (int64_t place = 0; place < ways; place++) h->upwards = h->upwards << 4 | (uint64_t)place;
  h->row = nw_xask((size_t)sets, sizeof *h->row);
  h->at = nw_spare_get(spares, (size_t)(sets * ways + 1) * sizeof *h->at);
}

void nw_held_close(nw_held *h) {
  nw_let_go(h->used);
  nw_let_go(h->row);
  nw_let_go(h->list);
  nw_spare_give(h->spares, h->at);
  nw_spare_give(h->spares, h->link);
  nw_spare_give(h->spares, h->slot);
}

void nw_held_clear(nw_held *h) {
  h->era++;
  h->nused = 0;
  h->n = 1;
  h->live = h->taken = 0;
}

// ---- lines by number

// Finds the slot of a line. Lines are mostly requested in order, so adjacent blocks have adjacent slots, in rows of
// sixteen. The order of the slots within a row differs between rows, so that lines at large equal distances do not all
// use the same slot of each row. If a slot is taken, the next slot of the next row is tried.
static nw_held_slot *slot_of(const nw_held *h, int64_t line) {
  enum { ROW = 16, ROW_BITS = 4 };
  int64_t block = line >> NW_HELD_NEAR_BITS;
  uint64_t hash = (uint64_t)(block >> ROW_BITS) * UINT64_C(0x9e3779b97f4a7c15) >> h->shift;
  uint32_t i = (uint32_t)(hash ^ (uint64_t)(block & (ROW - 1)));
  while (h->slot[i].era == h->era && h->slot[i].block != block) i = (i + ROW + 1) & h->slots;
  return &h->slot[i];
}

uint32_t nw_held_list_find(const nw_held *h, int64_t line) {
  const nw_held_slot *s = slot_of(h, line);
  return s->era == h->era ? s->at[line & (NW_HELD_NEAR - 1)] : 0;
}

static bool in_use(const nw_held *h, const nw_held_slot *s) {
  return s->era == h->era && (s->at[0] | s->at[1] | s->at[2] | s->at[3]);
}

// Moves the used slots to a new table. Slots of removed lines become free only in this way.
static void renew_table(nw_held *h) {
  nw_held_slot *old = h->slot;
  uint32_t n = h->slots + 1, used = 0;
  for (uint32_t i = 0; i < n; i++) used += in_use(h, &old[i]);
  new_table(h, 64 - h->shift + (4 * used > n));
  h->taken = used;
  for (uint32_t i = 0; i < n; i++)
    if (in_use(h, &old[i])) *slot_of(h, old[i].block * NW_HELD_NEAR) = old[i];
  nw_spare_give(h->spares, old);
}

static void put(nw_held *h, int64_t line, uint32_t e) {
  nw_held_slot *s = slot_of(h, line);
  if (s->era != h->era) {
    if (2 * ++h->taken > h->slots) {
      h->taken--;
      renew_table(h);
      h->taken++;
      s = slot_of(h, line);
    }
    *s = (nw_held_slot){.block = line >> NW_HELD_NEAR_BITS, .era = h->era};
  }
  s->at[line & (NW_HELD_NEAR - 1)] = e;
}

// ---- recency

static void unlink_line(nw_held *h, nw_held_list *l, uint32_t e) {
  nw_held_link x = h->link[e];
  *(x.prev ? &h->link[x.prev].next : &l->head) = x.next;
  *(x.next ? &h->link[x.next].prev : &l->tail) = x.prev;
}

static void link_first(nw_held *h, nw_held_list *l, uint32_t e) {
  h->link[e] = (nw_held_link){0, l->head};
  *(l->head ? &h->link[l->head].prev : &l->tail) = e;
  l->head = e;
}

void nw_held_list_refresh(nw_held *h, uint32_t set, uint32_t e) {
  nw_held_list *l = &h->list[set];
  if (l->head == e) return;
  unlink_line(h, l, e);
  link_first(h, l, e);
}

void nw_held_list_age(nw_held *h, uint32_t set, uint32_t e) {
  nw_held_list *l = &h->list[set];
  if (l->tail == e) return;
  unlink_line(h, l, e);
  h->link[e] = (nw_held_link){l->tail, 0};
  h->link[l->tail].next = e;
  l->tail = e;
}

static uint32_t new_place(nw_held *h) {
  if (h->n == h->cap) {
    h->cap *= 2;
    h->at = nw_spare_more(h->spares, h->at, h->n * sizeof *h->at, h->cap * sizeof *h->at);
    h->link = nw_spare_more(h->spares, h->link, h->n * sizeof *h->link, h->cap * sizeof *h->link);
  }
  return h->n++;
}

uint32_t nw_held_list_enter(nw_held *h, uint32_t set, int64_t line) {
  nw_held_list *l = &h->list[set];
  if (l->era != h->era) *l = (nw_held_list){.era = h->era}, nw_held_use(h, set);
  uint32_t e;
  if (l->held < h->ways) {
    e = new_place(h);
    l->held++;
    h->live++;
  } else {
    e = l->tail;
    unlink_line(h, l, e);
    slot_of(h, h->at[e].line)->at[h->at[e].line & (NW_HELD_NEAR - 1)] = 0;
  }
  link_first(h, l, e);
  put(h, line, e);
  return e;
}
