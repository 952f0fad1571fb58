// Finds classes of blocks with equal counts, so that one block of each class needs to be simulated.
//
// The counts of a block depend on its indices only through conditions, bounds of loops, and addresses. Two blocks have
// equal counts if every condition is the same in all threads and iterations of both, if all bounds are equal, and if the
// addresses of each load and store differ by a constant that is a multiple of the size of a cache line and of the row of
// all banks. This is examined for each dimension of the grid by itself. Along a dimension, each index gets a *key* with
// these numbers:
//   * for a condition that uses the index: whether it holds, if interval arithmetic shows that it always or never holds
//     in such a block; otherwise the index itself
//   * for a bound that uses the index: the index itself
//   * for an address c*index + rest, where c is constant and rest does not use the index: c*index modulo the line; for
//     any other address that uses the index: the index itself
// Blocks whose indices have equal keys along each dimension are a class. If two indices have equal keys, then replacing
// one by the other changes no count, whatever the other indices of the block are; so the dimensions can be examined
// separately.
#include "device/gpu/run.h"
#include <stdlib.h>

typedef struct span { // the least and the greatest value of a variable
  const char *name;
  int64_t lo, hi;
} span;

typedef struct item { // a number of the key
  enum { INDEX, SHIFT, TRUTH } kind;
  int64_t step; // SHIFT: bytes
  const nw_expr *cond; // TRUTH, with the spans of the variables
  int nspans, own; // own: the span of the index
  span *span;
} item;

typedef struct planning {
  const nwg_run *run;
  const nwg_kernel *k;
  nw_pool *pool;
  const char *name; // the index
  int64_t period; // a multiple of the bytes of a sector, of a line, and of a row of all banks
  bool data; // a condition or an address depends on data
  bool raw; // the key has the index itself
  int nspans, own;
  span span[2 * NW_MAX_DEPTH];
  int nitems, cap;
  item *item;
} planning;

// ---- intervals

static bool interval(int nspans, const span *s, const nw_expr *e, int64_t *lo, int64_t *hi);

static bool of_products(const int64_t *a, const int64_t *b, int64_t *lo, int64_t *hi) {
  for (int i = 0; i < 4; i++) {
    int64_t v;
    if (__builtin_mul_overflow(a[i & 1], b[i >> 1], &v)) return false;
    if (!i || v < *lo) *lo = v;
    if (!i || v > *hi) *hi = v;
  }
  return true;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

static bool combined(nw_op op, const int64_t *a, const int64_t *b, int64_t *lo, int64_t *hi) {
  bool fixed = b[0] == b[1] && b[0] > 0;
  switch (op) {
  case NW_OP_ADD: return !__builtin_add_overflow(a[0], b[0], lo) && !__builtin_add_overflow(a[1], b[1], hi);
  case NW_OP_SUB: return !__builtin_sub_overflow(a[0], b[1], lo) && !__builtin_sub_overflow(a[1], b[0], hi);
  case NW_OP_MUL: return of_products(a, b, lo, hi);
  case NW_OP_MIN: return *lo = least(a[0], b[0]), *hi = least(a[1], b[1]), true;
  case NW_OP_MAX: return *lo = most(a[0], b[0]), *hi = most(a[1], b[1]), true;
  case NW_OP_FLOORDIV:
    if (fixed) *lo = nw_floordiv_i64(a[0], b[0]), *hi = nw_floordiv_i64(a[1], b[0]);
    return fixed;
  case NW_OP_FLOORMOD:
    if (!fixed) return false;
    bool within = nw_floordiv_i64(a[0], b[0]) == nw_floordiv_i64(a[1], b[0]);
    *lo = within ? nw_floormod_i64(a[0], b[0]) : 0;
    *hi = within ? nw_floormod_i64(a[1], b[0]) : b[0] - 1;
    return true;
  default: return false;
  }
}

// Sets *lo and *hi to bounds of the value of an integer expression. Returns false if none are known.
static bool interval(int nspans, const span *s, const nw_expr *e, int64_t *lo, int64_t *hi) {
  int64_t a[2], b[2];
  if (e->op == NW_OP_INT) return *lo = *hi = e->i, true;
  if (e->op == NW_OP_VAR) {
    for (int i = nspans - 1; i >= 0; i--)
      if (!strcmp(s[i].name, e->name)) return *lo = s[i].lo, *hi = s[i].hi, true;
    return false;
  }
  if (e->n != 2 || e->type.lanes != 1 || e->type.dtype != NW_INDEX) return false;
  return interval(nspans, s, e->arg[0], &a[0], &a[1]) && interval(nspans, s, e->arg[1], &b[0], &b[1]) &&
         combined((nw_op)e->op, a, b, lo, hi);
}

// Returns 1 if a comparison always holds, 0 if it never holds, and -1 otherwise.
static int truth(int nspans, const span *s, const nw_expr *e) {
  int64_t a[2], b[2];
  if (!interval(nspans, s, e->arg[0], &a[0], &a[1]) || !interval(nspans, s, e->arg[1], &b[0], &b[1])) return -1;
  bool one = a[0] == a[1] && b[0] == b[1] && a[0] == b[0], apart = a[1] < b[0] || b[1] < a[0];
  switch (e->op) {
  case NW_OP_LT: return a[1] < b[0] ? 1 : a[0] >= b[1] ? 0 : -1;
  case NW_OP_LE: return a[1] <= b[0] ? 1 : a[0] > b[1] ? 0 : -1;
  case NW_OP_EQ: return one ? 1 : apart ? 0 : -1;
  case NW_OP_NE: return one ? 0 : apart ? 1 : -1;
  default: return -1;
  }
}

// ---- the items of keys

static item *add_item(planning *p) {
  if (p->nitems == p->cap) {
    p->cap = p->cap ? 2 * p->cap : 16;
    p->item = nw_xask_more(p->item, (uint64_t)p->cap, sizeof *p->item);
  }
  p->item[p->nitems] = (item){.kind = INDEX};
  return &p->item[p->nitems++];
}

static void add_raw(planning *p) {
  if (!p->raw) add_item(p)->kind = INDEX;
  p->raw = true;
}

static bool is_comparison(const nw_expr *e) {
  return e->type.lanes == 1 && e->n == 2 && nw_op_has((nw_op)e->op, 'C') && !nw_dtype_is_float(e->arg[0]->type.dtype);
}

static void plan_condition(planning *p, const nw_expr *e) {
  if (nw_uses_load(e, NULL)) p->data = true;
  if (!nw_uses_var(e, p->name)) return;
  if (e->op == NW_OP_AND || e->op == NW_OP_OR || e->op == NW_OP_NOT) {
    for (int i = 0; i < e->n; i++) plan_condition(p, e->arg[i]);
  } else if (is_comparison(e)) {
    item *t = add_item(p);
    t->kind = TRUTH, t->cond = e, t->nspans = p->nspans, t->own = p->own;
    t->span = nw_xask((uint64_t)p->nspans, sizeof *t->span);
    memcpy(t->span, p->span, sizeof *t->span * (size_t)p->nspans);
  } else {
    add_raw(p);
  }
}

static void plan_address(planning *p, const nw_expr *e, int bytes) {
  const nw_expr *rest;
  int64_t step;
  if (nw_uses_load(e, NULL)) p->data = true;
  if (!nw_uses_var(e, p->name)) return;
  if (e->op == NW_OP_RAMP && !nw_uses_var(e->arg[1], p->name)) return plan_address(p, e->arg[0], bytes);
  if (e->type.lanes != 1 || !nw_affine(p->pool, e, 1, &p->name, &step, &rest)) return add_raw(p);
  item *s = add_item(p);
  s->kind = SHIFT, s->step = step * bytes;
}

static int bytes_of(const planning *p, const char *buffer) {
  for (int i = 0; i < p->k->nbuffers; i++)
    if (!strcmp(p->k->buffer[i].name, buffer)) return p->k->buffer[i].bytes;
  return 1;
}

static bool plan_access(void *env, const nw_expr *e) {
  planning *p = env;
  if (e->op == NW_OP_LOAD) {
    plan_address(p, e->arg[0], bytes_of(p, e->name));
    if (e->n > 1) plan_condition(p, e->arg[1]);
  }
  bool lazy = e->op == NW_OP_SELECT && (nw_uses_load(e->arg[1], NULL) || nw_uses_load(e->arg[2], NULL));
  if (lazy) plan_condition(p, e->arg[0]);
  return true;
}

static void push_span(planning *p, const char *name, int64_t lo, int64_t hi) {
  if (p->nspans < NW_COUNT(p->span)) p->span[p->nspans++] = (span){name, lo, hi};
}

static void plan_loop(planning *p, const nw_stmt *s);

static void plan_stmt(planning *p, const nw_stmt *s) {
  if (s->kind == NW_LOOP) return plan_loop(p, s);
  if (s->kind == NW_GUARD) {
    plan_condition(p, s->guard.cond);
    nw_visit(s->guard.cond, plan_access, p);
  }
  if (s->kind == NW_STORE) {
    plan_address(p, s->store.index, bytes_of(p, s->store.buffer));
    if (s->store.mask) plan_condition(p, s->store.mask);
    nw_visit(s->store.value, plan_access, p);
  }
  for (int i = 0; s->kind == NW_CALL && i < s->call.ntiles; i++)
    plan_address(p, s->call.tile[i].index, bytes_of(p, s->call.tile[i].buffer));
  for (int i = 0; i < s->nkids; i++) plan_stmt(p, s->kid[i]);
}

static void plan_loop(planning *p, const nw_stmt *s) {
  int64_t lo = 0, hi = 0, from, to;
  if (nw_uses_load(s->loop.begin, NULL) || nw_uses_load(s->loop.extent, NULL)) p->data = true;
  if (nw_uses_var(s->loop.begin, p->name) || nw_uses_var(s->loop.extent, p->name)) add_raw(p);
  bool known = interval(p->nspans, p->span, s->loop.begin, &from, &to) &&
               interval(p->nspans, p->span, s->loop.extent, &lo, &hi) && !__builtin_add_overflow(to, hi - 1, &to);
  int before = p->nspans;
  if (known) push_span(p, s->loop.var->name, from, most(from, to));
  for (int i = 0; i < s->nkids; i++) plan_stmt(p, s->kid[i]);
  p->nspans = before;
}

// ---- keys

static int64_t part_of_key(const planning *p, const item *t, int64_t index) {
  if (t->kind == INDEX) return index;
  if (t->kind == SHIFT) return nw_floormod_i64(nw_floormod_i64(t->step, p->period) * index, p->period);
  t->span[t->own].lo = t->span[t->own].hi = index;
  int holds = truth(t->nspans, t->span, t->cond);
  return holds < 0 ? index : -1 - holds;
}

enum { CLASSES = 1024, MOST_DIFFERENT = 1 << 24 }; // most classes with several members; most blocks that are not alike

static nwg_classes *new_classes(nw_ctx *c, int64_t cap, int64_t known) {
  nwg_classes *all = nw_ask(c, "the classes of blocks", 1, sizeof *all);
  if (all) all->first = nw_ask(c, "the classes of blocks", (uint64_t)cap + 1, sizeof *all->first);
  if (all && all->first) all->members = nw_ask(c, "the classes of blocks", (uint64_t)cap + 1, sizeof *all->members);
  if (all && all->members) all->of = nw_ask(c, "the classes of blocks", (uint64_t)known + 1, sizeof *all->of);
  if (all && all->of) return all;
  nwg_classes_free(all);
  return NULL;
}

typedef struct keys {
  int n; // numbers of a key
  int64_t cap, *at; // at: the key of each class
  uint64_t *hash; // of each key
} keys;

// Returns the class with this key; all->n if there is none.
static int64_t find(const nwg_classes *all, const keys *k, const int64_t *key, uint64_t h) {
  for (int64_t i = 0; i < all->n; i++)
    if (k->hash[i] == h && !memcmp(k->at + i * k->n, key, sizeof *key * (size_t)k->n)) return i;
  return all->n;
}

// Adds indices with the key of `index`. Returns false if there are too many classes.
static bool add(const planning *p, keys *k, nwg_classes *all, int64_t index, int64_t members, int64_t known) {
  int64_t *key = k->at + all->n * k->n;
  uint64_t h = 0;
  for (int j = 0; j < k->n; j++) h = nw_hash_mix(h, (uint64_t)(key[j] = part_of_key(p, &p->item[j], index)));
  int64_t at = find(all, k, key, h);
  if (at == k->cap) return false;
  if (at == all->n) all->first[at] = index, k->hash[all->n++] = h;
  all->members[at] += members;
  if (index < known) all->of[index] = at;
  return true;
}

// True if each condition is the same for all indices from `from` to `to`.
static bool is_decided(const planning *p, int64_t from, int64_t to) {
  for (int i = 0; i < p->nitems; i++) {
    const item *t = &p->item[i];
    if (t->kind == INDEX) return false;
    if (t->kind == SHIFT) continue;
    t->span[t->own].lo = from, t->span[t->own].hi = to - 1;
    if (truth(t->nspans, t->span, t->cond) < 0) return false;
  }
  return true;
}

// Classifies the indices from `from` to `to`. The key of an address has a period, so where no condition changes, the indices
// of a long range are counted and not visited.
static bool classify_range(const planning *p, keys *k, nwg_classes *all, int64_t from, int64_t to, int64_t known) {
  int64_t n = to - from, period = p->period;
  bool counted = n > 2 * period && from >= known && is_decided(p, from, to);
  if (n > 2 * period && !counted)
    return classify_range(p, k, all, from, from + n / 2, known) && classify_range(p, k, all, from + n / 2, to, known);
  for (int64_t i = 0; i < (counted ? period : n); i++)
    if (!add(p, k, all, from + i, counted ? (n - i + period - 1) / period : 1, known)) return false;
  return true;
}

// Makes each index a class of its own.
static nwg_classes *all_different(nw_ctx *c, int64_t extent, int64_t known) {
  if (extent > MOST_DIFFERENT)
    return nw_fail(c, NW_ELIMIT, "give smaller sizes",
                   "%lld blocks that are not alike are too many to simulate: at most %d", (long long)extent,
                   MOST_DIFFERENT);
  nwg_classes *all = new_classes(c, extent, known);
  for (int64_t i = 0; all && i < extent; i++) {
    if (i < known) all->of[i] = i;
    all->first[all->n] = i, all->members[all->n++] = 1;
  }
  return all;
}

static nwg_classes *classify(const planning *p, int64_t extent, int64_t known) {
  nw_ctx *c = p->run->ctx;
  if (p->raw) return all_different(c, extent, known);
  keys k = {.n = p->nitems, .cap = least(extent, CLASSES)};
  nwg_classes *all = new_classes(c, k.cap, known);
  k.at = all ? nw_ask(c, "the classes of blocks", (uint64_t)((k.cap + 1) * (k.n + 1)), sizeof *k.at) : NULL;
  k.hash = k.at ? nw_ask(c, "the classes of blocks", (uint64_t)k.cap + 1, sizeof *k.hash) : NULL;
  bool good = k.hash != NULL, alike = good && classify_range(p, &k, all, 0, extent, known);
  nw_let_go(k.at);
  nw_let_go(k.hash);
  if (alike) return all;
  nwg_classes_free(all);
  return good ? all_different(c, extent, known) : NULL;
}

static void push_known(planning *p, const int64_t *var) {
  const nw_program *q = p->run->exec->p;
  for (int i = 0; i < q->nsizes; i++) push_span(p, q->size[i].name, p->run->sizes[i], p->run->sizes[i]);
  for (int i = 0; i < p->k->launch->nvars; i++) push_span(p, p->k->launch->var[i]->name, var[i], var[i]);
  for (int d = 0; d < NW_GRID_DIMS; d++) {
    if (nw_grid_index[d] == p->name) p->own = p->nspans;
    push_span(p, nw_grid_index[d], 0, p->k->extent[d] - 1);
  }
}

static int64_t common_multiple(int64_t a, int64_t b) { return a / nw_gcd(a, b) * b; }

nwg_classes *nwg_classes_of(const nwg_run *r, const nwg_kernel *k, int d, const int64_t *var, int64_t known) {
  planning p = {.run = r, .k = k, .pool = r->launches->p->pool, .name = nw_grid_index[d]};
  p.period = common_multiple(common_multiple(k->line, k->sector), 4 * k->banks);
  push_known(&p, var);
  plan_stmt(&p, k->launch->body);
  nwg_classes *all =
      p.data ? nw_fail(r->ctx, NW_EINVAL, "run nw.simulate on arrays", "which elements are accessed depends on data")
             : classify(&p, k->extent[d], known);
  for (int i = 0; i < p.nitems; i++) nw_let_go(p.item[i].span);
  nw_let_go(p.item);
  return all;
}

void nwg_classes_free(nwg_classes *all) {
  if (!all) return;
  nw_let_go(all->first);
  nw_let_go(all->members);
  nw_let_go(all->of);
  nw_let_go(all);
}
