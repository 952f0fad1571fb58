// Finds numbers that consist of digits. The blocks in a loop may divide one number by products of sizes. For example,
// i = f // N and j = f % N divide f, which then has the digits i and j. This file finds the number and the extents of
// its digits. See docs/fused.md.
#include "poly/whole.h"

static bool is_division(const nw_expr *e) {
  int64_t c;
  return (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && e->type.dtype == NW_INDEX && !nw_is_int(e->arg[1], &c);
}

bool nw_see_division(void *env, const nw_expr *e) {
  nw_dividing *x = env;
  const nw_expr *base = e;
  if (!is_division(e)) return true;
  while (is_division(base)) base = base->arg[0];
  if (x->loop && !nw_uses_var(base, x->loop->loop.var->name)) return true;
  x->several |= x->base && x->base != base;
  x->base = base;
  nw_vec_push(&x->use, (void *)e);
  return true;
}

bool nw_divides_nothing(void *env, nw_stmt *s) {
  nw_dividing *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) nw_visit(s->block.var[i].bind, nw_see_division, x);
  return !x->base;
}

bool nw_digits_only(const nw_stmt *loop) {
  int64_t c;
  for (int d = 1; d < loop->loop.nfused; d++)
    if (!nw_is_int(loop->loop.fused[d], &c)) return true;
  return false;
}

bool nw_binds_digits(const nw_stmt *loop) {
  nw_dividing x = {.loop = loop};
  nw_walk_from(loop, nw_divides_nothing, &x);
  nw_vec_free(&x.use);
  return x.base && !(x.base == loop->loop.var && nw_digits_only(loop));
}

// ---- products of sizes: an integer times factors that are not products

enum { MOST_ATOMS = 12 };
typedef struct product {
  int64_t number;
  int n;
  const nw_expr *atom[MOST_ATOMS];
} product;

static bool multiply(product *x, const nw_expr *e) {
  int64_t c;
  if (nw_is_int(e, &c)) return c > 0 && !__builtin_mul_overflow(x->number, c, &x->number);
  if (e->op == NW_OP_MUL) return multiply(x, e->arg[0]) && multiply(x, e->arg[1]);
  if (x->n == MOST_ATOMS) return false;
  x->atom[x->n++] = e;
  return true;
}

static bool multiply_all(product *x, const product *by) {
  if (__builtin_mul_overflow(x->number, by->number, &x->number) || x->n + by->n > MOST_ATOMS) return false;
  for (int i = 0; i < by->n; i++) x->atom[x->n++] = by->atom[i];
  return true;
}

// Sets *out to x / by. Returns false if the quotient may not be an integer.
static bool divide(const product *x, const product *by, product *out) {
  *out = *x;
  if (x->number % by->number) return false;
  out->number /= by->number;
  for (int i = 0; i < by->n; i++) {
    int k = 0;
    while (k < out->n && out->atom[k] != by->atom[i]) k++;
    if (k == out->n) return false;
    out->atom[k] = out->atom[--out->n];
  }
  return true;
}

static const nw_expr *expr_of(nw_pool *pool, const product *x) {
  const nw_expr *e = nw_index(pool, x->number);
  for (int i = 0; i < x->n; i++) e = nw_mul(pool, x->atom[i], e);
  return e;
}

// ---- cuts: a division by N cuts a number into the digits above N and the digits below N

typedef struct cuts {
  int n;
  product at[NW_MOST_DIGITS];
} cuts;

// Adds a cut. Cuts are sorted by size, and each cut must be a multiple of the previous cut. Returns false if this is
// not possible, or if there are too many cuts.
static bool add_cut(cuts *x, const product *cut) {
  product whole;
  int i = 0;
  for (; i < x->n && divide(cut, &x->at[i], &whole); i++)
    if (whole.number == 1 && !whole.n) return true;
  if (x->n == (int)NW_COUNT(x->at) || (i < x->n && !divide(&x->at[i], cut, &whole))) return false;
  memmove(&x->at[i + 1], &x->at[i], (size_t)(x->n - i) * sizeof *x->at);
  x->at[i] = *cut;
  x->n++;
  return true;
}

// Adds the cuts of a chain of divisions, and sets *weight to the weight of its result. If x has the weight w, x // N
// has the weight w*N, and x % N has the weight w. Returns false if a cut cannot be added.
static bool cut_by(cuts *x, const nw_expr *e, product *weight) {
  if (!is_division(e)) return *weight = (product){.number = 1}, true;
  product by = {.number = 1};
  if (!cut_by(x, e->arg[0], weight) || !multiply(&by, e->arg[1]) || !multiply_all(&by, weight)) return false;
  if (e->op == NW_OP_FLOORDIV) *weight = by;
  return add_cut(x, &by);
}

int nw_digit_extents(nw_pool *pool, const nw_dividing *found, const nw_expr *end, const nw_expr **out) {
  cuts c = {0};
  product all = {.number = 1}, weight, below = {.number = 1}, digit;
  if (!multiply(&all, end)) return 0;
  for (int i = 0; i < found->use.n; i++)
    if (!cut_by(&c, found->use.at[i], &weight)) return 0;
  if (!add_cut(&c, &all) || !divide(&c.at[c.n - 1], &all, &digit)) return 0;
  const nw_expr *box = nw_index(pool, 1);
  for (int i = 0; i < c.n; i++) {
    if (!divide(&c.at[i], &below, &digit)) return 0;
    out[c.n - 1 - i] = expr_of(pool, &digit);
    below = c.at[i];
  }
  for (int i = 0; i < c.n; i++) box = nw_mul(pool, box, out[i]);
  return box == end ? c.n : 0;
}
