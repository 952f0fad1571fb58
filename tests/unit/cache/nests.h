// The tests of the cache model share this header. It makes affine nests, written by hand or random, and compares the
// model with the simulator.
#pragma once
#include "cache/exact/model.h"
#include "simulating.h"

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

// Returns a loop with step `step`, whose variable is in `slot`. The caller adds the bounds of the loop.
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

// Makes the nest C[i][j] += A[i][k] * B[k][j].
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

// Makes PolyBench's gemm: C *= beta, then for each k and j C[i][j] += A[i][k] * B[k][j].
static inline void draw_polybench_gemm(drawn *d, int64_t ni, int64_t nj, int64_t nk) {
  int scaled[] = {0, 1}, inner[] = {0, 2, 3};
  int a = add_array(d, 8, 8 * ni * nk, 4096), b = add_array(d, 8, 8 * nk * nj, 4096),
      c = add_array(d, 8, 8 * ni * nj, 4096);
  nw_form at = form_of(d, 0, 2, scaled, (int64_t[]){8 * nj, 8}),
          in = form_of(d, 0, 3, inner, (int64_t[]){8 * nj, 0, 8});
  nw_affine_node *s = stmt_of(d, 2), *t = stmt_of(d, 4);
  add_ref(d, s, c, at, 8, false);
  add_ref(d, s, c, at, 8, true);
  add_ref(d, t, c, in, 8, false);
  add_ref(d, t, a, form_of(d, 0, 3, inner, (int64_t[]){8 * nk, 8, 0}), 8, false);
  add_ref(d, t, b, form_of(d, 0, 3, inner, (int64_t[]){0, 8 * nj, 8}), 8, false);
  add_ref(d, t, c, in, 8, true);
  nw_affine_node *both[] = {upto(d, 1, nj, s), upto(d, 2, nk, upto(d, 3, nj, t))};
  d->nest.root = upto(d, 0, ni, node_of(d, NW_AFFINE_SEQ, 2, both));
}

// Makes PolyBench's jacobi-2d: a five-point stencil from A to B, then from B to A, repeatedly.
static inline void draw_jacobi(drawn *d, int64_t times, int64_t n) {
  int array[] = {add_array(d, 8, 8 * n * n, 4096), add_array(d, 8, 8 * n * n, 4096)};
  int64_t to[] = {0, -8, 8, 8 * n, -8 * n}, middle = 8 * n + 8;
  nw_affine_node *half[2];
  for (int h = 0; h < 2; h++) {
    int slot[] = {1 + 2 * h, 2 + 2 * h};
    nw_affine_node *s = stmt_of(d, 6);
    for (int k = 0; k < 5; k++)
      add_ref(d, s, array[h], form_of(d, middle + to[k], 2, slot, (int64_t[]){8 * n, 8}), 8, false);
    add_ref(d, s, array[1 - h], form_of(d, middle, 2, slot, (int64_t[]){8 * n, 8}), 8, true);
    half[h] = upto(d, slot[0], n - 2, upto(d, slot[1], n - 2, s));
  }
  d->nest.root = upto(d, 0, times, node_of(d, NW_AFFINE_SEQ, 2, half));
}

// Makes the nest A[i][j] -= A[i][k] * A[k][j] for k < j < i.
static inline void draw_triangle(drawn *d, int64_t n) {
  int a = add_array(d, 8, 8 * n * n, 4096), slot[] = {0, 1, 2};
  nw_form at = form_of(d, 0, 3, slot, (int64_t[]){8 * n, 8, 0});
  nw_affine_node *s = stmt_of(d, 4);
  add_ref(d, s, a, at, 8, false);
  add_ref(d, s, a, form_of(d, 0, 3, slot, (int64_t[]){8 * n, 0, 8}), 8, false);
  add_ref(d, s, a, form_of(d, 0, 3, slot, (int64_t[]){0, 8, 8 * n}), 8, false);
  add_ref(d, s, a, at, 8, true);
  nw_affine_node *in = s;
  for (int i = 2; i > 0; i--) {
    nw_affine_node *x = loop_of(d, i, 1, 1, &in);
    add_begin(d, x, number(d, 0), 1);
    add_end(d, x, form_of(d, -1, 1, &slot[i - 1], (int64_t[]){1}), 1);
    in = x;
  }
  d->nest.root = upto(d, 0, n, in);
}

// ---- random nests

static inline int64_t roll(drawn *d, int64_t n) { // 0..n-1
  d->chance = nw_hash_mix(d->chance + 1, 0x9e3779b97f4a7c15u);
  return (int64_t)((d->chance >> 20) % (uint64_t)n);
}

static inline int64_t between(drawn *d, int64_t lo, int64_t hi) { return lo + roll(d, hi - lo + 1); }

typedef struct around { // the surrounding loops, with the ranges of their slots
  int n, slot[8];
  int64_t lo[8], hi[8];
  int64_t rounds; // the largest product of the extents of the inner loops
} around;

typedef struct layout { // how an array is accessed
  int64_t stride[32]; // for each slot: the usual stride of the references to the array, in elements
  int64_t lo, hi; // the range of bytes that was accessed
} layout;

typedef struct drawing {
  drawn *d;
  layout layout[5];
  int elem[5], narrays, nrefs;
  nw_affine_ref *made[64];
  bool wild; // true: nests also have guards, triangles, and references to an array with other strides
} drawing;

static inline nw_form combine(drawing *g, const around *in, int64_t rest, const int64_t *by) {
  return form_of(g->d, rest, in->n, in->slot, by);
}

static inline void reach(const around *in, const int64_t *by, int64_t *lo, int64_t *hi) {
  for (int i = 0; i < in->n; i++) {
    int64_t x = by[i] * in->lo[i], y = by[i] * in->hi[i];
    *lo += x < y ? x : y;
    *hi += x < y ? y : x;
  }
}

static inline void draw_ref(drawing *g, const around *in, nw_affine_node *stmt) {
  int a = (int)roll(g->d, g->narrays), elem = g->elem[a];
  layout *l = &g->layout[a];
  int64_t by[8] = {0};
  for (int i = 0; i < in->n; i++) by[i] = elem * l->stride[in->slot[i]];
  if (g->wild && !roll(g->d, 8) && in->n) by[roll(g->d, in->n)] = elem * between(g->d, -3, 9);
  int lanes = roll(g->d, 3) ? 1 : (int)between(g->d, 1, 16);
  int64_t rest = elem * between(g->d, -2, 2), lo = rest, hi = rest;
  reach(in, by, &lo, &hi);
  if (lo < l->lo) l->lo = lo;
  if (hi + elem * lanes > l->hi) l->hi = hi + elem * lanes;
  g->made[g->nrefs++] = &stmt->ref[stmt->nrefs];
  add_ref(g->d, stmt, a, combine(g, in, rest, by), elem * lanes, !roll(g->d, 3));
}

static inline nw_affine_node *draw_stmt(drawing *g, const around *in) {
  nw_affine_node *s = stmt_of(g->d, 6);
  for (int64_t n = between(g->d, 1, 4); n > 0 && g->nrefs < 64; n--) draw_ref(g, in, s);
  return s;
}

static inline nw_affine_node *draw_part(drawing *g, around in, int depth);

static inline nw_affine_node *draw_body(drawing *g, const around *in, int depth) {
  nw_affine_node *kid[3];
  int n = roll(g->d, 3) ? 1 : (int)between(g->d, 2, 3);
  for (int i = 0; i < n; i++) kid[i] = draw_part(g, *in, depth);
  return n == 1 ? kid[0] : node_of(g->d, NW_AFFINE_SEQ, n, kid);
}

static inline int64_t draw_rounds(drawing *g, const around *in) {
  static const int64_t most[] = {3, 12, 40, 200};
  int64_t n = between(g->d, 1, most[roll(g->d, 4)]);
  return n < in->rounds ? n : in->rounds;
}

// Adds a second upper bound, `all - n*outer`, to a loop of `n` iterations, where `outer` is the variable of an
// enclosing loop. The loop then runs over one tile of `n` iterations, and the last tile may be shorter.
static inline void add_tail(drawing *g, nw_affine_node *x, const around *in, int64_t n) {
  int outer = (int)roll(g->d, in->n);
  int64_t by[8] = {0}, all = n * (in->hi[outer] + 1) - between(g->d, 0, n);
  by[outer] = -n;
  add_end(g->d, x, combine(g, in, all - 1, by), 1);
}

static inline void add_triangle(drawing *g, nw_affine_node *x, const around *in, int64_t n) {
  int outer = (int)roll(g->d, in->n);
  int64_t by[8] = {0};
  by[outer] = between(g->d, 0, 1) ? 1 : -1;
  int64_t div = between(g->d, 1, 2);
  add_end(g->d, x, combine(g, in, between(g->d, 0, n), by), div);
}

static inline void add_slope(drawing *g, nw_affine_node *x, const around *in) {
  int64_t by[8] = {0};
  by[roll(g->d, in->n)] = between(g->d, 1, 2);
  add_begin(g->d, x, combine(g, in, between(g->d, -3, 3), by), between(g->d, 1, 2));
}

static inline void draw_bounds(drawing *g, nw_affine_node *x, const around *in, int64_t n) {
  int64_t from = roll(g->d, 4) ? 0 : between(g->d, -5, 20);
  bool slope = g->wild && in->n && !roll(g->d, 8);
  if (!slope || !roll(g->d, 2)) add_begin(g->d, x, number(g->d, from), 1);
  if (slope) add_slope(g, x, in);
  add_end(g->d, x, number(g->d, from + (n - 1) * x->step), 1);
  if (in->n && !roll(g->d, 4)) add_tail(g, x, in, n);
  if (g->wild && in->n && !roll(g->d, 5)) add_triangle(g, x, in, n);
}

static inline nw_affine_node *draw_loop(drawing *g, const around *in, int depth) {
  int slot = g->d->nest.nslots++;
  int64_t n = draw_rounds(g, in), step = roll(g->d, 5) ? 1 : between(g->d, 2, 5);
  nw_affine_node *x = loop_of(g->d, slot, step, 1, &(nw_affine_node *){NULL});
  draw_bounds(g, x, in, n);
  x->parallel = !roll(g->d, 4);
  x->chunk = roll(g->d, 2) ? 0 : (int)between(g->d, -3, 5);
  around inner = *in;
  inner.slot[inner.n] = slot;
  inner.lo[inner.n] = -60;
  inner.hi[inner.n++] = 20 + n * step;
  inner.rounds /= n;
  x->kid[0] = draw_body(g, &inner, depth + 1);
  return x;
}

static inline nw_affine_node *draw_guard(drawing *g, const around *in, nw_affine_node *kid) {
  nw_affine_node *x = node_of(g->d, NW_AFFINE_GUARD, 1, &kid);
  x->nconds = (int)between(g->d, 1, 2);
  x->cond = NW_NEW_N(g->d->a, nw_form, 2);
  for (int i = 0; i < x->nconds; i++) {
    int64_t by[8] = {0}, lo = 0, hi = 0;
    for (int k = 0; k < in->n; k++) by[k] = roll(g->d, 2) ? 0 : between(g->d, -3, 3);
    reach(in, by, &lo, &hi);
    x->cond[i] = combine(g, in, -lo - between(g->d, 0, (hi - lo) * 2 / 3), by);
  }
  return x;
}

static inline nw_affine_node *draw_part(drawing *g, around in, int depth) {
  nw_affine_node *x = depth < 5 && in.rounds > 1 && (depth < 2 || roll(g->d, 2)) && g->d->nest.nslots < 32
                          ? draw_loop(g, &in, depth)
                          : draw_stmt(g, &in);
  return g->wild && in.n && !roll(g->d, 6) ? draw_guard(g, &in, x) : x;
}

// Places the arrays one after another in memory. Each array has the size of its accessed range. It begins at a line, at
// a page, or at a multiple of 8 bytes. In the last case, the array may share a line with the previous array.
static inline void draw_arrays(drawing *g) {
  for (int a = 0; a < g->narrays; a++) {
    static const int64_t gap[] = {64, 64, 4096, 4096, 4096, 8};
    layout *l = &g->layout[a];
    add_array(g->d, g->elem[a], l->hi - l->lo + (l->hi == l->lo), gap[roll(g->d, 6)]);
  }
  for (int i = 0; i < g->nrefs; i++) g->made[i]->at.rest -= g->layout[g->made[i]->array].lo;
}

static inline void draw_nest(drawn *d, bool wild) {
  drawing g = {.d = d, .wild = wild, .narrays = (int)between(d, 1, 5)};
  for (int a = 0; a < g.narrays; a++) {
    g.elem[a] = (int)(1 << between(d, 0, 3));
    static const int64_t strides[] = {0, 0, 1, 1, 1, -1, 2, 3, 8, 16, 17, 32, 64, 100, 128, 250, 256, 512};
    for (int s = 0; s < 32; s++) g.layout[a].stride[s] = strides[roll(d, 18)];
  }
  around none = {.rounds = 30000};
  d->nest.root = draw_body(&g, &none, 0);
  draw_arrays(&g);
}

// Makes a nest that accesses each array with a stride of its own, which may be 0. Some references also reach elements
// that were accessed in earlier iterations.
static inline void draw_stream(drawn *d) {
  int arrays = (int)between(d, 1, 4), elem = 4;
  int64_t rounds = between(d, 300, 1800), inner = between(d, 1, 8);
  nw_affine_node *s = stmt_of(d, 8);
  for (int a = 0; a < arrays; a++) {
    int64_t stride = 32 * (roll(d, 4) ? 2 * between(d, 0, 4) : between(d, 0, 9));
    add_array(d, elem, stride * rounds + elem * (18 * inner + 40), roll(d, 3) ? 64 : 4096);
    for (int64_t n = between(d, 1, 2); n > 0; n--) {
      int64_t by[] = {stride, elem * between(d, 0, 18)};
      add_ref(d, s, a, form_of(d, elem * between(d, 0, 20), 2, (int[]){0, 1}, by), elem, !roll(d, 3));
    }
  }
  d->nest.root = upto(d, 0, rounds, upto(d, 1, inner, s));
}

static inline nw_cache_opts draw_small_cache(drawn *d) {
  static const int64_t some[] = {61, 64, 97, 128, 160};
  int64_t ways = between(d, 2, 8), sets = some[roll(d, NW_COUNT(some))];
  return (nw_cache_opts){.caches = {.nlevels = 1, .level = {{ways * sets * 64, (int)ways}}, .line = 64}};
}

static inline nw_cache_opts draw_caches(drawn *d) {
  static const nw_sim_level level[] = {{1024, 0}, {1024, 8},   {3072, 12},   {4096, 16},    {4096, 0},
                                       {8192, 8}, {24576, 12}, {16384, 0},   {16384, 16},   {512, 1},
                                       {768, 4},  {320, 5},    {64 * 24, 8}, {64 * 36, 12}, {65536, 16}};
  nw_cache_opts o = {.caches = {.nlevels = (int)between(d, 1, 3), .line = roll(d, 5) ? 64 : 1 << between(d, 4, 7)}};
  for (int i = 0; i < o.caches.nlevels; i++) {
    o.caches.level[i] = level[roll(d, NW_COUNT(level))];
    o.caches.level[i].bytes = o.caches.level[i].bytes / 64 * o.caches.line;
  }
  o.caches.conflicts = roll(d, 2);
  if (!roll(d, 4)) o.share = (nw_affine_share){(int)roll(d, 3), 3};
  return o;
}

// ---- comparison of the model with the simulator

static inline const char *field_that_differs(const nw_sim_counts *a, const nw_sim_counts *b) {
  if (a->asked != b->asked) return "asked";
  static const char *outcome[] = {"hits", "cold", "capacity", "conflict"};
  for (int i = 0; i < NW_OUTCOMES; i++)
    if (a->outcome[i] != b->outcome[i]) return outcome[i];
  if (a->read_misses != b->read_misses) return "read misses";
  if (a->write_misses != b->write_misses) return "write misses";
  return a->written_back != b->written_back ? "written back" : NULL;
}

static inline void assert_modelled(nw_ctx *c, const char *name, const nw_affine_nest *n, const nw_cache_opts *o) {
  nw_sim *k = simulate(c, n, o->share, &o->caches);
  nw_cached *m = nw_cached_of(c, n, o);
  if (!k || !m) fail_msg("%s: %s", name, nw_error(c)->message);
  for (int level = 0; level < o->caches.nlevels; level++) {
    assert_true(nw_cached_exact(m, level));
    for (int s = 0; s < n->nsites; s++) {
      const char *field = field_that_differs(nw_cached_site(m, level, s), nw_sim_site(k, level, s));
      if (field) fail_msg("%s, level %d, site %d: %s", name, level + 1, s, field);
    }
  }
  nw_cached_free(m);
  nw_sim_free(k);
}

// Compares the model with the simulator, and frees the nest. Returns the number of touches (model.h) divided by the
// number of accesses.
static inline double touched_of(nw_ctx *c, const char *name, drawn *d, const nw_cache_opts *o) {
  assert_modelled(c, name, &d->nest, o);
  nw_cached *m = nw_cached_of(c, &d->nest, o);
  double part = (double)nw_cached_touched(m) / (double)nw_cached_accesses(m);
  nw_cached_free(m);
  draw_close(d);
  return part;
}
