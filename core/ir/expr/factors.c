// Products of positive numbers and sizes as lists of factors, which can be divided.
#include "ir/expr/factors.h"

bool nw_multiply(nw_factors *x, const nw_expr *e) {
  int64_t c;
  if (nw_is_int(e, &c)) return c > 0 && !__builtin_mul_overflow(x->number, c, &x->number);
  if (e->op == NW_OP_MUL) return nw_multiply(x, e->arg[0]) && nw_multiply(x, e->arg[1]);
  if (x->n == NW_MOST_ATOMS) return false;
  x->atom[x->n++] = e;
  return true;
}

bool nw_multiply_all(nw_factors *x, const nw_factors *by) {
  if (__builtin_mul_overflow(x->number, by->number, &x->number) || x->n + by->n > NW_MOST_ATOMS) return false;
  for (int i = 0; i < by->n; i++) x->atom[x->n++] = by->atom[i];
  return true;
}

bool nw_divide_factors(const nw_factors *x, const nw_factors *by, nw_factors *out) {
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

bool nw_same_factors(const nw_factors *a, const nw_factors *b) {
  nw_factors one;
  return a->number == b->number && a->n == b->n && nw_divide_factors(a, b, &one);
}

const nw_expr *nw_factors_expr(nw_pool *pool, const nw_factors *x) {
  const nw_expr *e = nw_index(pool, x->number);
  for (int i = 0; i < x->n; i++) e = nw_mul(pool, x->atom[i], e);
  return e;
}
