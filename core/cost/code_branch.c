// Which way branches go: a predictor of the kind that processors have, tables by ever longer histories (TAGE: Seznec and Michaud,
// JILP 8, 2006). The history is that of branches taken, up to 194 of them (Yavarzadeh and others, IEEE S&P 2023, of Golden Cove).
#include "cost/code_core.h"
#include <stdlib.h>

enum { TABLES = 6, ENTRIES = 4096, PATH = 256 };
static const int length[TABLES] = {3, 8, 20, 48, 100, 194};

typedef struct guess {
  uint16_t tag;
  int8_t sure; // taken from 0 on
  uint8_t useful;
} guess;

struct nw_code_guesses {
  guess table[TABLES][ENTRIES];
  int8_t *first; // by instruction: where no table knows better
  uint32_t folded[TABLES]; // each length of the history, in 32 bits
  uint32_t path[PATH];
  unsigned at;
};

nw_code_guesses *nw_code_guesses_new(int instructions) {
  nw_code_guesses *g = nw_xcalloc(1, sizeof *g);
  g->first = nw_xcalloc((size_t)instructions + 1, sizeof *g->first);
  return g;
}

void nw_code_guesses_free(nw_code_guesses *g) {
  if (!g) return;
  free(g->first);
  free(g);
}

static uint32_t turned(uint32_t v, int by) { return by % 32 ? v << by % 32 | v >> (32 - by % 32) : v; }

enum { TURN = 5 };

void nw_code_path(nw_code_guesses *g, int from, int to) {
  uint32_t v = (uint32_t)from * 2654435761u ^ (uint32_t)to * 40503u;
  for (int t = 0; t < TABLES; t++) {
    uint32_t oldest = g->path[(g->at - (unsigned)length[t]) % PATH];
    g->folded[t] = turned(g->folded[t], TURN) ^ v ^ turned(oldest, TURN * length[t]);
  }
  g->path[g->at++ % PATH] = v;
}

typedef struct place {
  guess *entry;
  uint16_t tag;
} place;

static place place_in(nw_code_guesses *g, int t, int at) {
  uint32_t h = (g->folded[t] ^ (uint32_t)at * 2246822519u) * 2654435761u;
  return (place){&g->table[t][h >> 20], (uint16_t)((h ^ h >> 7 ^ (uint32_t)at << 3) | 1)};
}

// After a miss, one of the tables of longer histories begins to know better.
static void learn(const place *at, int from, bool taken) {
  for (int t = from; t < TABLES; t++)
    if (!at[t].entry->useful) {
      *at[t].entry = (guess){at[t].tag, taken ? 0 : -1, 0};
      return;
    }
  for (int t = from; t < TABLES; t++) at[t].entry->useful--;
}

static void move(int8_t *sure, bool taken) {
  if (taken && *sure < 3) ++*sure;
  if (!taken && *sure > -4) --*sure;
}

bool nw_code_foretold(nw_code_guesses *g, int at, bool taken) {
  place by[TABLES];
  guess *found = NULL;
  int next = 0;
  for (int t = 0; t < TABLES; t++) {
    by[t] = place_in(g, t, at);
    if (by[t].entry->tag == by[t].tag) found = by[t].entry, next = t + 1;
  }
  int8_t *sure = found ? &found->sure : &g->first[at];
  bool right = (*sure >= 0) == taken;
  move(sure, taken);
  if (right && found && found->useful < 3) found->useful++;
  if (!right) learn(by, next, taken);
  return right;
}
