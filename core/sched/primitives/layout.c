// Makes the layouts of copies. If a layout is a list of digits of the indices, such as j // 32, k, j % 32, then it is known
// here whether it is one-to-one. The judge finds this out for other layouts, such as k, j ~ k.
#include "ir/program/layout.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"
#include <stdlib.h>

// True if the digit is a constant, such as a digit of a dimension of extent 1. A constant digit carries no information.
static bool silent(const nw_expr *e) {
  int64_t v;
  return nw_is_int(e, &v) && v >= 0;
}

static bool covers(const nw_digit *d, int64_t reach, const nw_expr *extent) {
  int64_t n;
  if (d->div > reach) return false;
  return !d->mod || (nw_is_int(extent, &n) && n <= d->div * d->mod);
}

// True if the digits of one dimension together determine the index in this dimension. This is the case if the digits
// cover the extent without a gap.
static bool tells_apart(int n, const nw_digit *digits, int dim, const nw_expr *extent) {
  int64_t reach = 1;
  for (bool grew = true; grew;) {
    grew = false;
    for (int i = 0; i < n; i++) {
      if (digits[i].dim != dim) continue;
      if (covers(&digits[i], reach, extent)) return true;
      if (digits[i].div <= reach && digits[i].mod && digits[i].div * digits[i].mod > reach)
        reach = digits[i].div * digits[i].mod, grew = true;
    }
  }
  return nw_is_const(extent, 1);
}

static bool refuse(nw_step *st, const char *why) {
  return nw_step_refuse(st, why, NULL, "the layout is not one-to-one");
}

// Reads the layout as digits. Returns false if some position is another expression.
static bool are_digits(const nw_buffer *b, int n, const nw_expr *const *e, nw_digit *digits) {
  bool good = true;
  for (int i = 0; i < n && good; i++) {
    digits[i].dim = -1;
    good = silent(e[i]) || nw_digit_of(e[i], b->ndim, &digits[i]);
  }
  return good;
}

static bool is_injective(nw_step *st, const nw_buffer *b, int n, const nw_digit *digits) {
  for (int d = 0; d < b->ndim; d++)
    if (!tells_apart(n, digits, d, b->shape[d]))
      return refuse(st,
                    nw_arena_printf(st->scratch, "two elements that differ in index %d can have the same position", d));
  return true;
}

static void push_box(nw_step *st, nw_ranges *r, const nw_buffer *b, const char **name) {
  nw_pool *pool = st->p->pool;
  nw_ranges_of(r, st->p, NULL);
  for (int d = 0; d < b->ndim; d++) {
    name[d] = nw_pool_name(pool, nw_arena_printf(st->scratch, "_%d", d));
    nw_ranges_push(r, name[d], nw_index(pool, 0), nw_sub(pool, b->shape[d], nw_index(pool, 1)));
  }
}

// Sets a layout without checking it. The judge later checks that no two elements share a position. Returns false if the
// size of the layout is not known.
bool nw_put_layout(nw_step *st, nw_buffer *b, int n, const nw_expr *const *e) {
  nw_pool *pool = st->p->pool;
  const nw_expr **extent = NW_NEW_N(st->p->arena, const nw_expr *, n + 1);
  const char **name = NW_NEW_N(st->scratch, const char *, b->ndim + 1);
  nw_ranges r;
  push_box(st, &r, b, name);
  for (int i = 0; i < n; i++) {
    const nw_expr *last = nw_upper_over(&r, e[i], b->ndim, name);
    // a layout of a box without elements has no positions either
    const nw_expr *none = nw_index(pool, 0);
    extent[i] = last ? nw_simplify(&r, nw_max(pool, nw_add(pool, last, nw_index(pool, 1)), none)) : NULL;
  }
  nw_ranges_free(&r);
  for (int i = 0; i < n; i++)
    if (!extent[i]) return refuse(st, "the size of the layout is not known");
  b->nlayout = n;
  b->layout = NW_NEW_N(st->p->arena, const nw_expr *, n + 1);
  memcpy(b->layout, e, (size_t)n * sizeof *e);
  b->layout_shape = extent;
  return true;
}

bool nw_set_layout(nw_step *st, nw_buffer *b, const nw_arg *layout) {
  if (layout->kind == NW_ARG_NONE) return true;
  int n = layout->n;
  const nw_expr **e = NW_NEW_N(st->scratch, const nw_expr *, n + 1);
  nw_digit *digits = NW_NEW_N(st->scratch, nw_digit, n + 1);
  for (int i = 0; i < n; i++) e[i] = nw_import(st->p->pool, layout->expr[i]);
  if (are_digits(b, n, e, digits)) return is_injective(st, b, n, digits) && nw_put_layout(st, b, n, e);
  return nw_is_layout(st, b, n, e) && nw_put_layout(st, b, n, e) && nw_is_compact(st, b);
}
