// Predicts branches as CPUs do, with tables for histories of increasing length. The algorithm is TAGE (Seznec and
// Michaud, JILP 8, 2006). The longest history has 194 taken branches, as in Golden Cove (Yavarzadeh and others, IEEE
// S&P 2023).
#include "cost/asm/code_core.h"
#include <stdlib.h>

enum { TABLES = 6, ENTRIES = 4096, PATH = 256 };
#define FACTOR UINT64_C(6364136223846793005)
static const int length[TABLES] = {3, 8, 20, 48, 100, 194};

typedef struct guess {
  uint16_t tag;
  int8_t sure; // if it is >= 0, the branch is predicted to be taken
  uint8_t useful;
} guess;

struct nw_code_guesses {
  guess table[TABLES][ENTRIES];
  int8_t *first; // for each instruction: the prediction that is used if no table has an entry
  uint64_t sum[TABLES]; // for each length: the hash of the history, which is a polynomial in FACTOR
  uint64_t oldest[TABLES]; // FACTOR to the power of the history's length
  uint64_t path[PATH];
  unsigned at;
};

nw_code_guesses *nw_code_guesses_new(int instructions) {
  nw_code_guesses *g = nw_xcalloc(1, sizeof *g);
  g->first = nw_xcalloc((size_t)instructions + 1, sizeof *g->first);
  for (int t = 0; t < TABLES; t++) {
    g->oldest[t] = 1;
    for (int i = 0; i < length[t]; i++) g->oldest[t] *= FACTOR;
  }
  return g;
}

void nw_code_guesses_free(nw_code_guesses *g) {
  if (!g) return;
  free(g->first);
  free(g);
}

// Adds a taken branch to the history. The hash of the history is a polynomial. It is not an exclusive or of rotated
// words, because the words cancel out if the history repeats, as in a loop.
void nw_code_path(nw_code_guesses *g, int from, int to) {
  uint64_t v = ((uint64_t)from << 32 | (uint32_t)to) * UINT64_C(0x9e3779b97f4a7c15);
  for (int t = 0; t < TABLES; t++)
    g->sum[t] = g->sum[t] * FACTOR + v - g->path[(g->at - (unsigned)length[t]) % PATH] * g->oldest[t];
  g->path[g->at++ % PATH] = v;
}

typedef struct place {
  guess *entry;
  uint16_t tag;
} place;

static place place_in(nw_code_guesses *g, int t, int at) {
  uint64_t h = (g->sum[t] + (uint64_t)at * UINT64_C(0xbf58476d1ce4e5b9)) * UINT64_C(0x94d049bb133111eb);
  return (place){&g->table[t][h >> 52], (uint16_t)(h >> 36 | 1)};
}

// Adds an entry after a misprediction. It goes to the first table from number `from` on in which the old entry is not
// useful; these tables have longer histories. If all old entries are useful, reduces their usefulness instead.
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
