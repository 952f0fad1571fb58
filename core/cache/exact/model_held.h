// Holds the lines in the sets of a stack (model_stack.h), in the order of their last requests. Private to the model.
//
// A set with few ways is a *row* of *places*; a place holds one line. The LRU order of a row is a permutation of its
// places, packed into one word. The *mark* of a line is a one-byte hash. To find a line in a row, its mark is compared
// with the marks of all lines in the row. A set with more ways is a linked list. A hash table contains the lines of all
// lists.
#pragma once
#include "cache/exact/model_spare.h"
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { NW_HELD_ROW = 16 }; // the largest number of ways of a row

typedef struct nw_held_line { // the line in a place; places are numbered from 1
  int64_t line;
  int writer, first;
  uint32_t born;
  uint16_t region;
  bool stayed;
} nw_held_line;

typedef struct nw_held_row {
  uint64_t order; // numbers of places, four bits each; the place of the most recent line is in the lowest bits
  uint8_t mark[NW_HELD_ROW]; // the mark of the line at each place
  uint32_t era, held;
} nw_held_row;

typedef struct nw_held_list {
  uint32_t head, tail, held, era;
} nw_held_list;

typedef struct nw_held_link { // the neighbours of a line in its set: the next more recent, and the next less recent
  uint32_t prev, next;
} nw_held_link;

enum { NW_HELD_NEAR_BITS = 2, NW_HELD_NEAR = 4 }; // NW_HELD_NEAR adjacent lines share a slot of the hash table

typedef struct nw_held_slot { // a slot of the hash table
  int64_t block; // number of the block of adjacent lines
  uint32_t era;
  uint32_t at[NW_HELD_NEAR];
} nw_held_slot;

typedef struct nw_held {
  nw_spares *spares;
  int64_t sets, mask; // mask: sets - 1 if sets is a power of two
  bool odd; // true if `sets` is not a power of two
  uint32_t ways, last; // `last`: bit position of the least recent place in the order of a full row
  uint64_t upwards; // the order of a full row in which each place is more recent than the place before it
  uint32_t era; // the number of times that all sets were emptied; a row, list or slot with another era is empty
  uint32_t live; // number of lines in all sets
  nw_held_line *at;
  uint32_t *used; // the sets that hold lines
  int nused;
  nw_held_row *row; // NULL if the sets are lists
  nw_held_list *list;
  nw_held_link *link;
  uint32_t n, cap; // numbers of used and of allocated places of lists
  nw_held_slot *slot;
  uint32_t slots, taken; // slots: number of slots minus 1, used as a mask; taken: number of slots used in this era
  int shift;
} nw_held;

void nw_held_open(nw_held *h, nw_spares *spares, int64_t sets, int64_t ways);
void nw_held_close(nw_held *h);
void nw_held_clear(nw_held *h);

// These functions implement the operations below for sets that are lists.
uint32_t nw_held_list_find(const nw_held *h, int64_t line);
void nw_held_list_refresh(nw_held *h, uint32_t set, uint32_t e);
void nw_held_list_age(nw_held *h, uint32_t set, uint32_t e);
uint32_t nw_held_list_enter(nw_held *h, uint32_t set, int64_t line);

static inline uint32_t nw_held_set(const nw_held *h, int64_t line) {
  return (uint32_t)(h->odd ? line % h->sets : line & h->mask);
}

static inline uint64_t nw_held_mark(int64_t line) { return (uint64_t)line * UINT64_C(0x9e3779b97f4a7c15) >> 56; }

static inline uint32_t nw_held_place(const nw_held *h, uint32_t set, unsigned place) {
  return 1 + set * h->ways + place;
}

// Returns a word in which bit i is 1 if the line in place i of the row has this mark.
static inline uint32_t nw_held_marked(const nw_held_row *r, uint64_t mark) {
#ifdef __SSE2__
  __m128i all = _mm_set1_epi8((char)mark), marks = _mm_loadu_si128((const __m128i *)r->mark);
  return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(marks, all));
#else
  uint32_t places = 0;
  for (int i = 0; i < NW_HELD_ROW; i++) places |= (uint32_t)(r->mark[i] == mark) << i;
  return places;
#endif
}

static inline uint32_t nw_held_row_find(const nw_held *h, uint32_t set, int64_t line) {
  const nw_held_row *r = &h->row[set];
  if (r->era != h->era) return 0;
  for (uint32_t m = nw_held_marked(r, nw_held_mark(line)) & ((UINT32_C(1) << r->held) - 1); m; m &= m - 1) {
    uint32_t e = nw_held_place(h, set, (uint32_t)__builtin_ctz(m));
    if (h->at[e].line == line) return e;
  }
  return 0;
}

// Returns the bit position of `place` in the order.
static inline unsigned nw_held_below(uint64_t order, uint64_t place) {
  uint64_t v = order ^ place * UINT64_C(0x1111111111111111);
  return (unsigned)__builtin_ctzll((v - UINT64_C(0x1111111111111111)) & ~v & UINT64_C(0x8888888888888888)) & ~3u;
}

static inline void nw_held_row_refresh(nw_held_row *r, uint64_t place) {
  if ((r->order & 15) == place) return;
  unsigned below = nw_held_below(r->order, place);
  uint64_t before = r->order & ((UINT64_C(1) << below) - 1), upto = (UINT64_C(16) << below) - 1;
  r->order = (r->order & ~upto) | before << 4 | place;
}

static inline void nw_held_row_age(nw_held_row *r, uint64_t place) {
  unsigned below = nw_held_below(r->order, place), last = 4 * (r->held - 1);
  uint64_t before = r->order & ((UINT64_C(1) << below) - 1), behind = (r->order >> below >> 4) << below;
  r->order = before | behind | place << last;
}

static inline void nw_held_use(nw_held *h, uint32_t set) { h->used[h->nused++] = set; }

static inline uint32_t nw_held_row_enter(nw_held *h, uint32_t set, int64_t line, bool full) {
  nw_held_row *r = &h->row[set];
  if (r->era != h->era) *r = (nw_held_row){.era = h->era}, nw_held_use(h, set);
  uint64_t place = full ? r->order >> h->last & 15 : r->held++;
  h->live += !full;
  // Drops the place in the bits from h->last on. In a full row, this is `place`. In other rows, these bits are unused.
  r->order = (r->order & ((UINT64_C(1) << h->last) - 1)) << 4 | place;
  r->mark[place] = (uint8_t)nw_held_mark(line);
  return nw_held_place(h, set, (unsigned)place);
}

// ---- operations of a stack

// In these functions, `rows` is a compile-time constant. It is true if the sets are rows, and false if they are lists.

// Returns the place of a line in its set, or 0 if the line is not in the set.
static inline uint32_t nw_held_find(const nw_held *h, bool rows, uint32_t set, int64_t line) {
  return rows ? nw_held_row_find(h, set, line) : nw_held_list_find(h, line);
}

static inline uint32_t nw_held_in(const nw_held *h, bool rows, uint32_t set) {
  if (rows) return h->row[set].era == h->era ? h->row[set].held : 0;
  return h->list[set].era == h->era ? h->list[set].held : 0;
}

static inline uint64_t nw_held_row_place(const nw_held *h, uint32_t set, uint32_t e) { return e - 1 - set * h->ways; }

// Makes place e the most recent of its set.
static inline void nw_held_refresh(nw_held *h, bool rows, uint32_t set, uint32_t e) {
  if (rows)
    nw_held_row_refresh(&h->row[set], nw_held_row_place(h, set, e));
  else
    nw_held_list_refresh(h, set, e);
}

// Makes place e the least recent of its set.
static inline void nw_held_age(nw_held *h, bool rows, uint32_t set, uint32_t e) {
  if (rows)
    nw_held_row_age(&h->row[set], nw_held_row_place(h, set, e));
  else
    nw_held_list_age(h, set, e);
}

// Returns a place for a new line. In a full set, this is the place of the least recent line. The data in the place is
// not cleared.
static inline uint32_t nw_held_enter(nw_held *h, bool rows, uint32_t set, int64_t line, bool full) {
  return rows ? nw_held_row_enter(h, set, line, full) : nw_held_list_enter(h, set, line);
}

// Sets the order of a full set, so that place 0 of the set is the least recent, place 1 is the next, and so on.
static inline void nw_held_reorder(nw_held *h, uint32_t set) { h->row[set].order = h->upwards; }
static inline void nw_held_put(nw_held *h, uint32_t set, uint32_t place, int64_t line) {
  h->row[set].mark[place] = (uint8_t)nw_held_mark(line);
}

// Iterates over a set from the least recent line to the most recent line. Returns the next more recent place after e,
// or 0 if e is the most recent place. `step` is the number of previous calls.
static inline uint32_t nw_held_next(const nw_held *h, uint32_t set, uint32_t e, uint32_t step) {
  if (!h->row) return step ? h->link[e].prev : h->list[set].tail;
  const nw_held_row *r = &h->row[set];
  return step < r->held ? nw_held_place(h, set, r->order >> 4 * (r->held - 1 - step) & 15) : 0;
}
