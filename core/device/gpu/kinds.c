// Collects the kinds of blocks of a kernel, and the order in which their blocks begin. A GPU starts the blocks of a grid in the
// order of their numbers.
#include "device/gpu/kinds.h"
#include <stdlib.h>

bool nwg_kinds_launch(nwg_run *r, nwg_kinds *all, int64_t classes) {
  nw_let_go(all->of);
  all->classes = classes;
  return (all->of = nw_ask(r->ctx, "the classes of blocks", (uint64_t)classes + 1, sizeof *all->of)) != NULL;
}

// ---- kinds

// Returns a hash of the counts of a block on which its time depends. It is not 0.
static uint64_t hash_of(const nwg_worker *w) {
  uint64_t h = nw_hash_mix(1, (uint64_t)w->barriers);
  for (int i = 0; i < w->k->nruns; i++) h = nw_hash_mix(h, (uint64_t)w->runs[i]);
  for (int i = 0; i < w->k->nsites; i++) h = nw_hash_mix(h, (uint64_t)w->count[i].requests);
  return h ? h : 1;
}

// Adds `times` times the numbers of b to those of a.
static void add_numbers(int64_t *a, const int64_t *b, size_t n, int64_t times) {
  for (size_t i = 0; i < n; i++) a[i] += b[i] * times;
}

static void add_counts(nwg_kind *to, const nwg_kernel *k, const int64_t *runs, const nwg_counts *count, int64_t times) {
  size_t numbers = (size_t)k->nsites * (sizeof *count / sizeof(int64_t));
  add_numbers(to->runs, runs, (size_t)k->nruns, times);
  add_numbers((int64_t *)to->count, (const int64_t *)count, numbers, times);
}

static void drop(nwg_kind *one) {
  nw_let_go(one->runs);
  nw_let_go(one->count);
  *one = (nwg_kind){0};
}

// Merges the second of two kinds into the first.
static void merge(nwg_kind *to, nwg_kind *from, const nwg_kernel *k) {
  add_counts(to, k, from->runs, from->count, 1);
  to->blocks += from->blocks, to->barriers += from->barriers, to->hash = 0;
  drop(from);
}

// Makes half as many kinds. Kinds that follow each other are of blocks that follow each other, as in a nest whose loops become
// longer from block to block.
static void halve(nwg_kinds *all, const nwg_kernel *k) {
  for (int i = 0; i < all->n / 2; i++) {
    merge(&all->kind[2 * i], &all->kind[2 * i + 1], k);
    nwg_kind one = all->kind[2 * i];
    all->kind[2 * i] = (nwg_kind){0};
    all->kind[i] = one;
  }
  all->n /= 2;
  for (int64_t i = 0; i < all->classes; i++) all->of[i] /= 2;
  for (int i = 0; i < all->norder; i++) all->order[i].kind /= 2;
}

static nwg_kind *new_kind(nwg_kinds *all, nwg_worker *w, uint64_t hash) {
  if (all->n == NWG_KINDS) halve(all, w->k);
  nwg_kind *one = &all->kind[all->n];
  one->hash = hash;
  one->runs = nw_ask(w->ctx, "the counts of loops", (uint64_t)w->k->nruns + 1, sizeof *one->runs);
  if (one->runs) one->count = nw_ask(w->ctx, "the counts of accesses", (uint64_t)w->k->nsites + 1, sizeof *one->count);
  if (one->count) return all->n++, one;
  drop(one);
  return NULL;
}

bool nwg_kind_block(nwg_kinds *all, nwg_worker *w, int64_t number, int64_t times) {
  uint64_t hash = hash_of(w);
  nwg_kind *one = NULL;
  for (int i = all->n - 1; i >= 0 && !one; i--)
    if (all->kind[i].hash == hash) one = &all->kind[i];
  if (!one && !(one = new_kind(all, w, hash))) return false;
  all->of[number] = (uint8_t)(one - all->kind);
  one->blocks += times, one->barriers += w->barriers * times;
  add_counts(one, w->k, w->runs, w->count, times);
  return true;
}

// ---- the order

static void push(nwg_kinds *all, int kind, bool first) {
  nw_gpu_turn *last = all->norder ? &all->order[all->norder - 1] : NULL;
  if (last && !first && last->kind == kind) {
    last->blocks++;
    return;
  }
  if (all->norder == all->caporder) {
    all->caporder = all->caporder ? 2 * all->caporder : 16;
    all->order = nw_xrealloc(all->order, sizeof *all->order * (size_t)all->caporder);
  }
  all->order[all->norder++] = (nw_gpu_turn){.kind = kind, .blocks = 1, .first = first};
}

// The classes of all indices are found again, because only now it is known that there are several kinds.
bool nwg_kinds_order(nwg_run *r, nwg_kinds *all, const nwg_kernel *k, const int64_t *var) {
  nwg_classes *class[3] = {NULL};
  int64_t blocks = k->extent[0] * k->extent[1] * k->extent[2];
  bool good = true;
  all->lost |= blocks > NWG_MOST_ORDERED || (all->ordered += blocks) > NWG_MOST_ORDERED;
  if (all->lost) return true;
  for (int d = 0; d < 3 && good && all->n > 1; d++) good = (class[d] = nwg_classes_of(r, k, d, var, k->extent[d]));
  for (int64_t b = 0; b < blocks && good; b++) {
    int64_t x = b % k->extent[0], y = b / k->extent[0] % k->extent[1], z = b / k->extent[0] / k->extent[1];
    int64_t number =
        class[0] ? class[0]->of[x] + class[0]->n * (class[1] -> of[y] + class[1] -> n *class[2] -> of[z]) : 0;
    push(all, all->of[number], b == 0);
  }
  for (int d = 0; d < 3; d++) nwg_classes_free(class[d]);
  return good;
}

void nwg_kinds_free(nwg_kinds *all) {
  if (!all) return;
  for (int i = 0; i < all->n; i++) drop(&all->kind[i]);
  free(all->order);
  nw_let_go(all->of);
  free(all);
}
