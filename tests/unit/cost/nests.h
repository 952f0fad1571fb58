// Shared by the tests of the cache model: affine nests by hand and by chance, and the model held against the simulator.
#pragma once
#include "cost/model.h"

typedef struct drawn {
  nw_arena *a;
  nw_affine_nest nest;
  nw_affine_array array[8];
  uint64_t chance;
} drawn;

static inline drawn draw_open(void) { return (drawn){.a = nw_arena_new()}; }
static inline void draw_close(drawn *d) { nw_arena_free(d->a); }

// ---- pieces

static inline int add_array(drawn *d, int elem, int64_t bytes, int64_t gap) {
  int n = d->nest.narrays++;
  uint64_t from = n ? d->array[n - 1].address + (uint64_t)d->array[n - 1].bytes : 1 << 20;
  uint64_t align = (uint64_t)gap;
  d->array[n] = (nw_affine_array){"A", elem, (from + align - 1) / align * align, bytes};
  d->nest.array = d->array;
  return n;
}

static inline nw_form form_of(drawn *d, int64_t rest, int n, const int *slot, const int64_t *coef) {
  nw_form f = {.rest = rest, .cap = n, .slot = NW_NEW_N(d->a, int, n + 1), .coef = NW_NEW_N(d->a, int64_t, n + 1)};
  for (int i = 0; i < n; i++)
    if (coef[i]) f.slot[f.n] = slot[i], f.coef[f.n++] = coef[i];
  return f;
}

static inline nw_form number(drawn *d, int64_t v) { return form_of(d, v, 0, NULL, NULL); }

static inline nw_affine_node *node_of(drawn *d, nw_affine_kind kind, int nkids, nw_affine_node *const *kid) {
  nw_affine_node *x = NW_NEW(d->a, nw_affine_node);
  x->kind = kind;
  x->nkids = nkids;
  x->kid = NW_NEW_N(d->a, nw_affine_node *, nkids + 1);
  for (int i = 0; i < nkids; i++) x->kid[i] = kid[i];
  return x;
}

static inline void add_begin(drawn *d, nw_affine_node *x, nw_form f, int64_t div) {
  if (!x->begin) x->begin = NW_NEW_N(d->a, nw_affine_bound, 4);
  x->begin[x->nbegin++] = (nw_affine_bound){f, div};
}

static inline void add_end(drawn *d, nw_affine_node *x, nw_form f, int64_t div) {
  if (!x->end) x->end = NW_NEW_N(d->a, nw_affine_bound, 4);
  x->end[x->nend++] = (nw_affine_bound){f, div};
}

// A loop over a new slot; the caller adds bounds.
static inline nw_affine_node *loop_of(drawn *d, int slot, int64_t step, int nkids, nw_affine_node *const *kid) {
  nw_affine_node *x = node_of(d, NW_AFFINE_LOOP, nkids, kid);
  x->name = "i";
  x->slot = slot;
  x->step = step;
  if (d->nest.nslots <= slot) d->nest.nslots = slot + 1;
  return x;
}

static inline nw_affine_node *upto(drawn *d, int slot, int64_t n, nw_affine_node *kid) {
  nw_affine_node *x = loop_of(d, slot, 1, 1, &kid);
  add_begin(d, x, number(d, 0), 1);
  add_end(d, x, number(d, n - 1), 1);
  return x;
}

static inline nw_affine_node *stmt_of(drawn *d, int room) {
  nw_affine_node *x = node_of(d, NW_AFFINE_STMT, 0, NULL);
  x->ref = NW_NEW_N(d->a, nw_affine_ref, room);
  return x;
}

static inline void add_ref(drawn *d, nw_affine_node *stmt, int array, nw_form at, int bytes, bool write) {
  stmt->ref[stmt->nrefs++] = (nw_affine_ref){array, at, bytes, write, d->nest.nsites++};
}

// C[i][j] += A[i][k] * B[k][j]
static inline void draw_gemm(drawn *d, int64_t m, int64_t n, int64_t k, int elem) {
  int slot[] = {0, 1, 2};
  int a = add_array(d, elem, m * k * elem, 4096), b = add_array(d, elem, k * n * elem, 4096),
      c = add_array(d, elem, m * n * elem, 4096);
  nw_form in_c = form_of(d, 0, 3, slot, (int64_t[]){n * elem, elem, 0});
  nw_affine_node *s = stmt_of(d, 4);
  add_ref(d, s, c, in_c, elem, false);
  add_ref(d, s, a, form_of(d, 0, 3, slot, (int64_t[]){k * elem, 0, elem}), elem, false);
  add_ref(d, s, b, form_of(d, 0, 3, slot, (int64_t[]){0, elem, n * elem}), elem, false);
  add_ref(d, s, c, in_c, elem, true);
  d->nest.root = upto(d, 0, m, upto(d, 1, n, upto(d, 2, k, s)));
}

// ---- the model against the simulator

static inline const char *field_that_differs(const nw_sim_counts *a, const nw_sim_counts *b) {
  if (a->asked != b->asked) return "asked";
  static const char *outcome[] = {"hits", "cold", "capacity", "conflict"};
  for (int i = 0; i < NW_OUTCOMES; i++)
    if (a->outcome[i] != b->outcome[i]) return outcome[i];
  if (a->read_misses != b->read_misses) return "read misses";
  if (a->write_misses != b->write_misses) return "write misses";
  return a->written_back != b->written_back ? "written back" : NULL;
}

// NULL: they agree.
static inline const char *modelled_wrong(const nw_cached *m, const nw_sim *k, int nlevels, int nsites) {
  for (int level = 0; level < nlevels; level++)
    for (int s = 0; s < nsites && nw_cached_exact(m, level); s++) {
      const char *field = field_that_differs(nw_cached_site(m, level, s), nw_sim_site(k, level, s));
      if (field) return field;
    }
  return NULL;
}

static inline void assert_modelled(nw_ctx *c, const nw_affine_nest *n, const nw_cache_opts *o) {
  nw_sim *k = nw_affine_simulate(c, n, o->share, &o->caches);
  nw_cached *m = nw_cached_of(c, n, o);
  if (!k || !m) fail_msg("%s", nw_error(c)->message);
  for (int level = 0; level < o->caches.nlevels; level++) assert_true(nw_cached_exact(m, level));
  const char *wrong = modelled_wrong(m, k, o->caches.nlevels, n->nsites);
  if (wrong) fail_msg("%s differ", wrong);
  nw_cached_free(m);
  nw_sim_free(k);
}
