// Builds the graph of the counts of a run, and adds the counts up.
#include "cache/exact/model_tally.h"
#include <stdlib.h>

typedef struct counted {
  int cell;
  int64_t n;
} counted;

struct nw_tally {
  int64_t times; // used only in nw_tally_sum: how many times the tally is counted
  int nparts, ncounted;
  nw_tally_part *part;
  counted *counted;
};

void nw_tallies_open(nw_tallies *all) { *all = (nw_tallies){.arena = nw_arena_scratch()}; }

void nw_tallies_close(nw_tallies *all) {
  if (all->arena) nw_arena_free(all->arena);
  nw_vec_free(&all->made);
}

void nw_counting_open(nw_counting *n, int ncells) {
  *n = (nw_counting){.cell = nw_xask((size_t)ncells + 1, sizeof *n->cell),
                     .used = nw_xask((size_t)ncells + 1, sizeof *n->used)};
}

void nw_counting_close(nw_counting *n) {
  nw_let_go(n->cell);
  nw_let_go(n->used);
  nw_let_go(n->part);
}

void nw_counting_clear(nw_counting *n) {
  for (int i = 0; i < n->nused; i++) n->cell[n->used[i]] = 0;
  n->nused = n->nparts = 0;
}

void nw_counting_part(nw_counting *n, nw_tally *of, int64_t times) {
  if (!of) return;
  if (n->nparts && n->part[n->nparts - 1].of == of) {
    n->part[n->nparts - 1].times += times;
    return;
  }
  if (n->nparts == n->cap) {
    n->cap = n->cap ? 2 * n->cap : 16;
    n->part = nw_xask_more(n->part, (size_t)n->cap, sizeof *n->part);
  }
  n->part[n->nparts++] = (nw_tally_part){of, times};
}

static nw_tally *only_part(const nw_counting *n) {
  return n->nparts == 1 && !n->nused && n->part[0].times == 1 ? n->part[0].of : NULL;
}

nw_tally *nw_counting_end(nw_counting *n, nw_tallies *all) {
  nw_tally *t = only_part(n);
  if (!t && n->nparts + n->nused) {
    t = NW_NEW(all->arena, nw_tally);
    t->nparts = n->nparts;
    t->part = NW_NEW_N(all->arena, nw_tally_part, n->nparts);
    if (n->nparts) memcpy(t->part, n->part, (size_t)n->nparts * sizeof *t->part);
    t->ncounted = n->nused;
    t->counted = NW_NEW_N(all->arena, counted, n->nused);
    for (int i = 0; i < n->nused; i++) t->counted[i] = (counted){n->used[i], n->cell[n->used[i]]};
    nw_vec_push(&all->made, t);
  }
  nw_counting_clear(n);
  return t;
}

// Adds a*b to *to. Returns false if the sum overflows.
static bool add_product(int64_t *to, int64_t a, int64_t b) {
  int64_t product;
  return !__builtin_mul_overflow(a, b, &product) && !__builtin_add_overflow(*to, product, to);
}

bool nw_tally_sum(const nw_tallies *all, nw_tally *root, int64_t *cell) {
  bool fits = true;
  for (int i = 0; i < all->made.n; i++) ((nw_tally *)all->made.at[i])->times = 0;
  if (root) root->times = 1;
  for (int i = all->made.n - 1; i >= 0; i--) {
    const nw_tally *t = all->made.at[i];
    for (int k = 0; k < t->nparts; k++) fits &= add_product(&t->part[k].of->times, t->times, t->part[k].times);
    for (int k = 0; k < t->ncounted; k++) fits &= add_product(&cell[t->counted[k].cell], t->times, t->counted[k].n);
  }
  return fits;
}
