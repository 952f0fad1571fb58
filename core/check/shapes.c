// Finds shapes for a check. They have sizes of 0 and 1, sizes near the tiles of the schedule, and primes. Also computes
// the number of block executions for a shape.
#include "check/inside.h"
#include <stdlib.h>

#define MAX_CANDIDATES 40
#define RANDOM_TRIES 400

typedef struct binding {
  const nw_program *p;
  const int64_t *sizes;
} binding;

static const nw_expr *size_value(void *env, const nw_expr *var) {
  const binding *b = env;
  for (int i = 0; i < b->p->nsizes; i++) {
    if (!strcmp(b->p->size[i].name, var->name)) return nw_index(b->p->pool, b->sizes[i]);
  }
  return NULL;
}

static const nw_expr *bound(const nw_program *p, const nw_expr *e, const int64_t *sizes) {
  binding b = {p, sizes};
  return nw_rewrite(p->pool, e, size_value, NULL, &b);
}

int64_t nw_check_value(const nw_program *p, const nw_expr *e, const int64_t *sizes) {
  int64_t v = 0;
  nw_is_int(bound(p, e, sizes), &v);
  return v;
}

static bool allowed(const nw_program *p, const int64_t *sizes) {
  for (int i = 0; i < p->nsizes; i++) {
    if (sizes[i] < nw_check_value(p, p->size[i].lo, sizes)) return false;
  }
  for (int i = 0; i < p->nfacts; i++) {
    if (!nw_is_const(bound(p, p->fact[i], sizes), 1)) return false;
  }
  return true;
}

static double work_below(const nw_program *p, const nw_stmt *s, const int64_t *sizes) {
  double sum = s->kind == NW_BLOCK;
  for (int i = 0; i < s->nkids; i++) sum += work_below(p, s->kid[i], sizes);
  if (s->kind != NW_LOOP) return sum;
  int64_t n = nw_check_value(p, s->loop.extent, sizes);
  return n > 0 ? sum * (double)n : 0;
}

// Returns the number of block executions. The number is exact, since the loop bounds of the naive program depend only
// on sizes.
double nw_check_work(const nw_program *naive, const int64_t *sizes) { return work_below(naive, naive->root, sizes); }

char *nw_check_shape_text(const nw_program *p, const int64_t *sizes) {
  nw_str s = {0};
  for (int i = 0; i < p->nsizes; i++) nw_str_fmt(&s, "%s%s=%lld", i ? ", " : "", p->size[i].name, (long long)sizes[i]);
  if (!p->nsizes) nw_str_add(&s, "as it is");
  return nw_str_take(&s);
}

// ---- candidates for one size

typedef struct candidates {
  int n;
  int64_t at[MAX_CANDIDATES];
} candidates;

static void candidate(candidates *c, int64_t v) {
  for (int i = 0; i < c->n; i++) {
    if (c->at[i] == v) return;
  }
  if (v >= 0 && c->n < MAX_CANDIDATES) c->at[c->n++] = v;
}

static void around(candidates *c, int64_t tile) {
  if (tile < 2 || tile > 4096) return;
  candidate(c, tile - 1);
  candidate(c, tile);
  candidate(c, tile + 1);
  candidate(c, 2 * tile + tile / 2 + 1);
}

static void tiles_of(candidates *c, const nw_stmt *s) {
  int64_t n;
  if (s->kind == NW_LOOP && nw_is_int(s->loop.extent, &n)) around(c, n);
  for (int i = 0; i < s->nkids; i++) tiles_of(c, s->kid[i]);
}

static bool constant_in_fact(void *env, const nw_expr *e) {
  candidates *c = env;
  if (e->op == NW_OP_INT && e->i > 1 && e->i < 4096) {
    for (int k = 1; k <= 3; k++) candidate(c, k * e->i);
  }
  return true;
}

static candidates candidates_of(const nw_program *p) {
  candidates c = {0};
  static const int64_t small[] = {0, 1, 2, 3, 5, 7, 13, 17, 31};
  for (int i = 0; i < NW_COUNT(small); i++) candidate(&c, small[i]);
  for (int i = 0; i < p->nfacts; i++) nw_visit(p->fact[i], constant_in_fact, &c);
  tiles_of(&c, p->root);
  return c;
}

// ---- rows

typedef struct rows {
  const nw_program *naive, *p;
  int n, max;
  int empty; // number of rows with a size of 0; at most two are added
  int64_t **at;
} rows;

static bool has_zero(const rows *r, const int64_t *sizes) {
  for (int i = 0; i < r->p->nsizes; i++) {
    if (!sizes[i]) return true;
  }
  return false;
}

static void add_row(rows *r, const int64_t *sizes) {
  size_t bytes = (size_t)r->p->nsizes * sizeof *sizes;
  bool zero = has_zero(r, sizes);
  if (r->n == r->max || (zero && r->empty == 2) || !allowed(r->p, sizes) ||
      nw_check_work(r->naive, sizes) > NW_CHECK_WORK)
    return;
  for (int i = 0; i < r->n; i++) {
    if (!memcmp(r->at[i], sizes, bytes)) return;
  }
  r->empty += zero;
  r->at[r->n] = nw_xmalloc(bytes + 1);
  memcpy(r->at[r->n++], sizes, bytes);
}

static void same_everywhere(rows *r, int64_t *sizes, int64_t v) {
  for (int i = 0; i < r->p->nsizes; i++) sizes[i] = v;
  add_row(r, sizes);
}

// Adds rows in which one size is 0 and all other sizes are 3.
static void one_empty(rows *r, int64_t *sizes) {
  for (int k = 0; k < r->p->nsizes; k++) {
    for (int i = 0; i < r->p->nsizes; i++) sizes[i] = i == k ? 0 : 3;
    add_row(r, sizes);
  }
}

static void random_rows(rows *r, int64_t *sizes, const candidates *c) {
  uint64_t h = 1;
  for (int t = 0; t < RANDOM_TRIES; t++) {
    for (int i = 0; i < r->p->nsizes; i++) {
      h = nw_hash_mix(h, (uint64_t)(t * 64 + i));
      sizes[i] = c->at[h % (uint64_t)c->n];
    }
    add_row(r, sizes);
  }
}

// Adds rows with one value for all sizes, then rows with one size 0, then random mixtures. If there are no sizes, adds
// one row without values.
int nw_check_shapes(const nw_program *naive, const nw_program *p, int max, int64_t **row) {
  rows r = {.naive = naive, .p = p, .max = max, .at = row};
  int64_t *sizes = nw_xcalloc((size_t)p->nsizes + 1, sizeof *sizes);
  if (!p->nsizes) {
    add_row(&r, sizes);
  } else {
    candidates c = candidates_of(p);
    static const int64_t first[] = {0, 1, 7};
    for (int i = 0; i < NW_COUNT(first); i++) same_everywhere(&r, sizes, first[i]);
    one_empty(&r, sizes);
    random_rows(&r, sizes, &c);
  }
  free(sizes);
  return r.n;
}
