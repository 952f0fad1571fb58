// Checks whether each element of a buffer has only one value as long as the buffer exists. If so, the value of a read
// depends only on its index, and other files need only check that the write comes before the read.
#include "poly/internal.h"

static bool same_index(const nw_use *a, const nw_use *b) {
  if (a->n != b->n) return false;
  for (int d = 0; d < a->n; d++)
    if (a->index[d] != b->index[d]) return false;
  return true;
}

static bool one_origin(const nw_use *a, const nw_use *b) {
  return !strcmp(a->site->block->block.origin, b->site->block->block.origin);
}

// Collects one write for each origin. Returns false if two blocks of one origin have different indices for their
// writes, or if a block writes the buffer twice.
static bool writes_of(const nw_uses *u, nw_use **out, int *n) {
  const nw_site *last = NULL;
  *n = 0;
  for (int i = 0; i < u->n; i++) {
    nw_use *w = u->at[i];
    int at = 0;
    if (!w->write) continue;
    if (w->site == last) return false;
    last = w->site;
    while (at < *n && !one_origin(out[at], w)) at++;
    if (at == *n)
      out[(*n)++] = w;
    else if (!same_index(out[at], w))
      return false;
  }
  return true;
}

// Returns the map declared spatial instances -> elements.
static isl_map *elements(const nw_model *m, const nw_use *w) {
  isl_map *map = nw_declared_elements(m->f, w);
  for (int i = w->site->nvars - 1; i >= 0; i--)
    if (w->site->var[i]->kind == NW_REDUCE) map = isl_map_project_out(map, isl_dim_in, (unsigned)i, 1);
  return map;
}

static bool plainly_injective(const nw_use *w) { return nw_index_is_vars(w->site->block, w->n, w->index); }

static isl_bool apart(const nw_model *m, nw_use *const *w, int n) {
  isl_bool fine = isl_bool_true;
  isl_set *seen = NULL;
  for (int i = 0; i < n && fine == isl_bool_true; i++) {
    isl_map *map = elements(m, w[i]);
    if (!plainly_injective(w[i])) fine = isl_map_is_injective(map);
    isl_set *range = isl_map_range(map);
    if (i && fine == isl_bool_true) fine = isl_set_is_disjoint(seen, range);
    seen = i ? isl_set_union(seen, range) : range;
  }
  isl_set_free(seen);
  return fine;
}

static int fact_of(const nw_model *m, nw_use *const *w, int n) {
  nw_key k = {0};
  nw_key_add(&k, '1');
  for (int i = 0; i < n; i++) nw_key_declared(&k, w[i]);
  int fact = nw_fact_number(m->f, &k);
  nw_key_free(&k);
  return fact;
}

nw_answer nw_single_valued(const nw_model *m, const nw_buffer *b) {
  nw_uses u = nw_uses_of(m, b);
  nw_use **w = NW_NEW_N(m->arena, nw_use *, u.n + 1);
  int n;
  if (!NW_RULE(m->p->ctx, value_single)) return NW_HOLDS;
  if (!writes_of(&u, w, &n)) return NW_FAILS;
  for (int i = 0; i < n; i++)
    if (!nw_index_exact(w[i]) && NW_RULE(m->p->ctx, write_known)) return NW_FAILS;
  if (!n || (n == 1 && plainly_injective(w[0]))) return NW_HOLDS;
  int fact = fact_of(m, w, n);
  if (nw_fact_proved(m->f, fact)) return NW_HOLDS;
  if (nw_fact_denied(m->f, fact)) return NW_FAILS;
  nw_answer answer = nw_answer_of(m->f->s, apart(m, w, n));
  if (answer == NW_HOLDS) nw_fact_prove(m->f, fact);
  if (answer == NW_FAILS) nw_fact_deny(m->f, fact);
  return answer;
}
