// Reads layouts as lists of digits, and finds the element at a position.
#include "ir/program/layout.h"

static bool dim_of(const nw_expr *e, int ndim, int *dim) {
  for (int d = 0; d < ndim && e->op == NW_OP_VAR; d++)
    if (!strcmp(e->name, nw_dim_name(e->pool, d))) return *dim = d, true;
  return false;
}

// If *e is the operation `op` (// or %) with a constant divisor, sets *by to the divisor and *e to the dividend.
// Returns false if the divisor is not valid.
static bool take_constant(const nw_expr **e, nw_op op, int64_t *by) {
  enum { MOST = 1 << 30 };
  if ((*e)->op != op || !nw_is_int((*e)->arg[1], by)) return true;
  *e = (*e)->arg[0];
  return *by > 0 && *by <= MOST;
}

bool nw_digit_of(const nw_expr *e, int ndim, nw_digit *out) {
  *out = (nw_digit){.div = 1};
  return take_constant(&e, NW_OP_FLOORMOD, &out->mod) && take_constant(&e, NW_OP_FLOORDIV, &out->div) &&
         dim_of(e, ndim, &out->dim);
}

// Returns the position of the digit of index `dim` with this weight, or -1 if there is none.
static int digit_at(const nw_buffer *b, int dim, int64_t weight, nw_digit *out) {
  for (int i = 0; i < b->nlayout; i++)
    if (nw_digit_of(b->layout[i], b->ndim, out) && out->dim == dim && out->div == weight) return i;
  return -1;
}

static bool has(const nw_radix *x, int at) {
  for (int i = 0; i < x->n; i++)
    if (x->at[i] == at) return true;
  return false;
}

// True if every digit of index `dim` that is not in x is always 0.
static bool others_are_zero(const nw_buffer *b, int dim, const nw_radix *x) {
  nw_digit digit;
  for (int i = 0; i < b->nlayout; i++)
    if (nw_digit_of(b->layout[i], b->ndim, &digit) && digit.dim == dim && !has(x, i) &&
        !nw_is_const(b->layout_shape[i], 1))
      return false;
  return true;
}

static void put_first(nw_radix *x, int at, int64_t weight) {
  for (int i = x->n++; i > 0; i--) x->at[i] = x->at[i - 1], x->weight[i] = x->weight[i - 1];
  x->at[0] = at;
  x->weight[0] = weight;
}

bool nw_radix_of(const nw_buffer *b, int dim, nw_radix *out) {
  int64_t weight = 1, extent = INT64_MAX;
  nw_digit x = {0};
  *out = (nw_radix){0};
  nw_is_int(b->shape[dim], &extent);
  for (bool more = extent > 1; more && out->n < NW_MAX_DEPTH; more = x.mod && weight < extent) {
    int at = digit_at(b, dim, weight, &x);
    if (at < 0) return false;
    put_first(out, at, weight);
    if (x.mod && __builtin_mul_overflow(weight, x.mod, &weight)) return false;
  }
  return others_are_zero(b, dim, out);
}

bool nw_layout_is_radix(const nw_buffer *b) {
  nw_radix x;
  nw_digit digit;
  for (int i = 0; i < b->nlayout; i++)
    if (!nw_is_const(b->layout[i], 0) && !nw_digit_of(b->layout[i], b->ndim, &digit)) return false;
  for (int d = 0; d < b->ndim; d++)
    if (!nw_radix_of(b, d, &x)) return false;
  return true;
}

const nw_expr *nw_radix_index(nw_pool *p, const nw_radix *x, const nw_expr *const *at) {
  const nw_expr *sum = nw_index(p, 0);
  for (int i = 0; i < x->n; i++) sum = nw_add(p, sum, nw_mul(p, at[x->at[i]], nw_index(p, x->weight[i])));
  return sum;
}
