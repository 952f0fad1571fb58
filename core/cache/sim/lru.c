// Keeps the lines that are in a cache level, with LRU replacement.
#include "cache/sim/lru.h"
#include <stdlib.h>

// ---- sets

void nw_sets_init(nw_sets *s, int64_t lines, int ways, uint64_t before) {
  *s = (nw_sets){.ways = ways, .sets = (uint32_t)(lines / ways), .before = before};
  if (!(s->sets & (s->sets - 1))) s->mask = s->sets - 1;
  s->way = nw_xask((size_t)lines, sizeof *s->way);
}

void nw_sets_free(nw_sets *s) { nw_let_go(s->way); }

bool nw_sets_soil(nw_sets *s, uint32_t line) {
  uint32_t *way = s->way + (size_t)nw_sets_row(s, line) * (size_t)s->ways;
  for (int k = 0; k < s->ways; k++)
    if (way[k] >> 1 == line) return way[k] |= 1, true;
  return false;
}

// ---- a list

enum { HELD = 1, DIRTY = 2 };

void nw_list_init(nw_list *l, int64_t room, uint32_t lines) {
  *l = (nw_list){.room = room};
  l->next = nw_xask((size_t)lines + 1, sizeof *l->next);
  l->prev = nw_xask((size_t)lines + 1, sizeof *l->prev);
  l->state = nw_xask((size_t)lines + 1, 1);
}

void nw_list_free(nw_list *l) {
  nw_let_go(l->next);
  nw_let_go(l->prev);
  nw_let_go(l->state);
}

bool nw_list_soil(nw_list *l, uint32_t line) {
  if (!l->state[line]) return false;
  l->state[line] |= DIRTY;
  return true;
}

static void take_out(nw_list *l, uint32_t line) {
  l->next[l->prev[line]] = l->next[line];
  l->prev[l->next[line]] = l->prev[line];
}

static void put_first(nw_list *l, uint32_t line) {
  uint32_t first = l->next[0];
  l->next[line] = first;
  l->prev[line] = 0;
  l->prev[first] = line;
  l->next[0] = line;
}

nw_lru_answer nw_list_ask(nw_list *l, uint32_t line, bool write) {
  nw_lru_answer out = {.hit = l->state[line] != 0};
  uint8_t dirty = write ? DIRTY : 0;
  if (l->next[0] == line) return l->state[line] |= dirty, out;
  if (out.hit) {
    take_out(l, line);
  } else if (l->held == l->room) {
    out.gone = l->prev[0];
    out.dirty = l->state[out.gone] & DIRTY;
    l->state[out.gone] = 0;
    take_out(l, out.gone);
  } else {
    l->held++;
  }
  put_first(l, line);
  l->state[line] |= HELD | dirty;
  return out;
}
