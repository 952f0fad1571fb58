// Finds and stores patterns of sites.
#include "cache/exact/model_pattern.h"
#include <stdlib.h>

enum { LONG = 512 };

void nw_patterns_open(nw_patterns *p) {
  *p = (nw_patterns){.arena = nw_arena_scratch(), .room = 64};
  p->slot = nw_xask((size_t)p->room, sizeof *p->slot);
}

void nw_patterns_close(nw_patterns *p) {
  if (p->arena) nw_arena_free(p->arena);
  nw_vec_free(&p->all);
  nw_let_go(p->slot);
}

static const nw_pattern **slot_of(const nw_patterns *p, const int *label, int n, uint64_t hash) {
  int i = (int)(hash & (uint64_t)(p->room - 1));
  for (;; i = (i + 1) & (p->room - 1)) {
    const nw_pattern *x = p->slot[i];
    if (!x || (x->hash == hash && x->n == n && !memcmp(x->label, label, (size_t)n * sizeof *label))) return &p->slot[i];
  }
}

static void grow(nw_patterns *p) {
  nw_let_go(p->slot);
  p->room *= 2;
  p->slot = nw_xask((size_t)p->room, sizeof *p->slot);
  for (int i = 0; i < p->all.n; i++) {
    const nw_pattern *x = p->all.at[i];
    *slot_of(p, x->label, x->n, x->hash) = x;
  }
}

const nw_pattern *nw_pattern_of(nw_patterns *p, const int *label, int n) {
  uint64_t hash = nw_hash_bytes(label, (size_t)n * sizeof *label);
  const nw_pattern **at = slot_of(p, label, n, hash);
  if (*at) return *at;
  nw_pattern *x = nw_arena_alloc(p->arena, sizeof *x + (size_t)n * sizeof *label);
  x->n = n;
  x->hash = hash;
  memcpy(x->label, label, (size_t)n * sizeof *label);
  *at = x;
  nw_vec_push(&p->all, x);
  if (2 * p->all.n > p->room) grow(p);
  return x;
}

// Returns the period of the labels. It is n minus the length of the longest border (a proper prefix that is also a
// suffix). The border is found by the method of Knuth, Morris and Pratt.
static int period_of(const int *label, int n) {
  int border[LONG + 1];
  border[0] = -1;
  for (int i = 0, k = -1; i < n; border[++i] = ++k)
    while (k >= 0 && label[i] != label[k]) k = border[k];
  return n - border[n];
}

// True if the rotation of the labels that starts at a is less than the rotation that starts at b.
static bool is_less(const int *label, int n, int a, int b) {
  for (int i = 0; i < n; i++) {
    int x = label[(a + i) % n], y = label[(b + i) % n];
    if (x != y) return x < y;
  }
  return false;
}

const nw_pattern *nw_pattern_in(nw_patterns *p, const int *label, int n, int *phase) {
  int period = n > LONG ? n : period_of(label, n), begin = 0, turned[LONG];
  *phase = 0;
  if (period > 64) return nw_pattern_of(p, label, period);
  for (int i = 1; i < period; i++)
    if (is_less(label, period, i, begin)) begin = i;
  for (int i = 0; i < period; i++) turned[i] = label[(begin + i) % period];
  *phase = (period - begin) % period;
  return nw_pattern_of(p, turned, period);
}
