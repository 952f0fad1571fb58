// LRU replacement: the lines that are in a level. Lines are numbered from 1.
#pragma once
#include "base/base.h"

// The result of a request: hit or miss, and the evicted line (0 if there is none).
typedef struct nw_lru_answer {
  bool hit;
  bool dirty; // the evicted line was dirty
  uint32_t gone;
} nw_lru_answer;

// Sets of a few ways: each row has the most recent line first. A word is the number of a line; its lowest bit is the
// dirty bit.
typedef struct nw_sets {
  uint32_t *way;
  int ways;
  uint32_t sets, mask; // mask: sets - 1 if sets is a power of two, else 0
  uint64_t before; // address of line 0 divided by the line size; it determines the set of each line
} nw_sets;
void nw_sets_init(nw_sets *s, int64_t lines, int ways, uint64_t before);
void nw_sets_free(nw_sets *s);
bool nw_sets_soil(nw_sets *s, uint32_t line); // marks a line as dirty; false if it is not in its set

static inline uint32_t nw_sets_row(const nw_sets *s, uint32_t line) {
  uint64_t at = s->before + line;
  return s->mask ? (uint32_t)at & s->mask : s->sets == 1 ? 0 : (uint32_t)(at % s->sets);
}

static inline nw_lru_answer nw_sets_ask(nw_sets *s, uint32_t line, bool write) {
  uint32_t *way = s->way + (size_t)nw_sets_row(s, line) * (size_t)s->ways, found = way[0];
  if (found >> 1 == line) return way[0] |= write, (nw_lru_answer){.hit = true};
  int k = 1;
  for (; k < s->ways; k++) {
    uint32_t next = way[k];
    way[k] = found;
    found = next;
    if (found >> 1 == line) break;
  }
  bool hit = k < s->ways;
  way[0] = line << 1 | write | (hit ? found & 1 : 0);
  return hit ? (nw_lru_answer){.hit = true} : (nw_lru_answer){.gone = found >> 1, .dirty = found & 1};
}

// One set of any size: a linked list over all lines.
typedef struct nw_list {
  uint32_t *next, *prev; // by line; 0 at the end of the list. next[0] is the most recent line, prev[0] the least recent
  uint8_t *state; // by line: bit 1: in the list; bit 2: dirty
  int64_t held, room;
} nw_list;
void nw_list_init(nw_list *l, int64_t room, uint32_t lines);
void nw_list_free(nw_list *l);
bool nw_list_soil(nw_list *l, uint32_t line);
nw_lru_answer nw_list_ask(nw_list *l, uint32_t line, bool write);
