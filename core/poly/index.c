// Makes two tables for a program. They give the accesses of a buffer, and the sites that do the same work, without a
// search through the whole program.
#include "poly/internal.h"
#include <stdlib.h>

static int row_of(const nw_program *p, const nw_buffer *b) {
  int i = 0;
  while (i < p->nbuffers && p->buffer[i] != b) i++;
  return i;
}

// Lists the accesses of each buffer in the order of the sites. The first pass counts the accesses, and the second pass
// fills the lists.
static void index_uses(nw_model *m) {
  int n = m->p->nbuffers;
  m->of = NW_NEW_N(m->arena, nw_uses, n + 1);
  for (int fill = 0; fill < 2; fill++) {
    for (int i = 0; i < n && fill; i++) {
      m->of[i].at = NW_NEW_N(m->arena, nw_use *, m->of[i].n + 1);
      m->of[i].n = 0;
    }
    for (int i = 0; i < m->nsites; i++)
      for (int j = 0; j < m->site[i]->nuses; j++) {
        nw_use *a = &m->site[i]->use[j];
        if (!a->buffer) continue;
        nw_uses *u = &m->of[row_of(m->p, a->buffer)];
        if (fill) u->at[u->n] = a;
        u->n++;
      }
  }
}

static bool makes_init(const nw_site *s) { return s->init || s->block->block.init_part; }

static int by_work(const nw_site *a, const nw_site *b) {
  int order = strcmp(a->block->block.origin, b->block->block.origin);
  return order ? order : makes_init(a) - makes_init(b);
}

static int by_work_and_place(const void *a, const void *b) {
  const nw_site *x = *(nw_site *const *)a, *y = *(nw_site *const *)b;
  int order = by_work(x, y);
  return order ? order : x->seq - y->seq;
}

void nw_model_index(nw_model *m) {
  index_uses(m);
  m->by_work = NW_NEW_N(m->arena, nw_site *, m->nsites + 1);
  memcpy(m->by_work, m->site, (size_t)m->nsites * sizeof *m->site);
  qsort(m->by_work, (size_t)m->nsites, sizeof *m->by_work, by_work_and_place);
}

nw_uses nw_uses_of(const nw_model *m, const nw_buffer *b) {
  int row = row_of(m->p, b);
  return row < m->p->nbuffers ? m->of[row] : (nw_uses){0};
}

nw_sites nw_sites_like(const nw_model *m, const nw_site *s) {
  int lo = 0, hi = m->nsites;
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2;
    if (by_work(m->by_work[middle], s) < 0)
      lo = middle + 1;
    else
      hi = middle;
  }
  int n = 0;
  while (lo + n < m->nsites && !by_work(m->by_work[lo + n], s)) n++;
  return (nw_sites){n, m->by_work + lo};
}

// Sites are in the order of the text, so the sites inside one loop are adjacent.
nw_sites nw_sites_below(const nw_model *m, const nw_stmt *loop) {
  int first = 0, n = 0;
  while (first < m->nsites && nw_site_level(m->site[first], loop) < 0) first++;
  while (first + n < m->nsites && nw_site_level(m->site[first + n], loop) >= 0) n++;
  return (nw_sites){n, m->site + first};
}

int nw_site_level(const nw_site *s, const nw_stmt *loop) {
  for (int i = 0; i < s->nloops; i++)
    if (s->loop[i] == loop) return i;
  return -1;
}
