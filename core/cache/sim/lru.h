// Keeps the lines that are in a cache level, with LRU replacement. The first line has the number 1.
#pragma once
#include "base/base.h"

// The result of a request.
typedef struct nw_lru_answer {
  bool hit;
  bool dirty; // true if the evicted line was dirty
  uint32_t gone; // the evicted line; 0 if no line was evicted
} nw_lru_answer;

// Sets with a few ways. Each set has a row of words in `way`, one for each line, from the most recent line to the least
// recent line. A word is 2 * (number of the line), plus 1 if the line is dirty.
typedef struct nw_sets {
  uint32_t *way;
  int ways;
  uint32_t sets, mask; // `mask`: sets - 1 if `sets` is a power of two; otherwise 0
  uint64_t before; // address of line 0 divided by the line size; needed to find the set of a line
} nw_sets;
void nw_sets_init(nw_sets *s, int64_t lines, int ways, uint64_t before);
void nw_sets_free(nw_sets *s);
bool nw_sets_soil(nw_sets *s, uint32_t line); // marks a line as dirty; returns false if it is not in its set

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

// A single set of any size, as a linked list of lines.
typedef struct nw_list {
  // For each line: the next less recent line (`next`) and the next more recent line (`prev`), or 0 at an end of the
  // list. next[0] is the most recent line, and prev[0] is the least recent line.
  uint32_t *next, *prev;
  uint8_t *state; // for each line: 1 if it is in the list, plus 2 if it is dirty
  int64_t held, room;
} nw_list;
void nw_list_init(nw_list *l, int64_t room, uint32_t lines);
void nw_list_free(nw_list *l);
bool nw_list_soil(nw_list *l, uint32_t line);
nw_lru_answer nw_list_ask(nw_list *l, uint32_t line, bool write);
