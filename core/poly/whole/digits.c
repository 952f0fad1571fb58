// Finds numbers that consist of digits. The blocks in a loop may divide one number by products of sizes. For example,
// i = f // N and j = f % N divide f, which then has the digits i and j. This file finds the number and the extents of
// its digits. See docs/fused.md.
#include "poly/whole/whole.h"

bool nw_divides_by_size(const nw_expr *e) {
  int64_t c;
  return (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && e->type.dtype == NW_INDEX && !nw_is_int(e->arg[1], &c);
}

bool nw_see_division(void *env, const nw_expr *e) {
  nw_dividing *x = env;
  const nw_expr *base = e;
  if (!nw_divides_by_size(e)) return true;
  while (nw_divides_by_size(base)) base = base->arg[0];
  if (x->loop && !nw_uses_var(base, x->loop->loop.var->name)) return true;
  x->several |= x->use.n && x->base != base;
  x->base = base;
  nw_vec_push(&x->use, (void *)e);
  return true;
}

// Finds divisions of the lower part of a lifted sum. They divide its number in the same way, since the rest of the number
// is a multiple of `by`, and `by` of each divisor.
bool nw_see_low_division(void *env, const nw_expr *e) {
  nw_dividing *x = env;
  const nw_expr *base = e;
  while (nw_divides_by_size(base)) base = base->arg[0];
  if (base == x->low && e != base) nw_vec_push(&x->use, (void *)e);
  return true;
}

// Takes the weighted sum of loops in a binding, for example i_o*m + i_i, if nothing is divided. Also takes the number of a
// lifted sum, for example i_o*m*n + f for i_o*m + f // n. If bindings have different sums, takes the shortest, because the
// others may add more loops to it.
static void see_weighted(nw_dividing *x, const nw_expr *bind) {
  nw_weighted sum;
  nw_lifted_sum lifted = {0};
  if (x->use.n) return;
  if (!nw_weighted_of(x->p, bind, &sum) &&
      (!nw_lifted_of(x->p, bind, &lifted) || !nw_weighted_of(x->p, bind = lifted.number, &sum)))
    return;
  if (!sum.symbolic) return;
  const nw_expr *base = sum.rest ? nw_sub(x->p->pool, bind, sum.rest) : bind;
  if (x->loop && !nw_uses_var(base, x->loop->loop.var->name)) return;
  if (x->base && x->nterms <= sum.n) return;
  x->base = base;
  x->low = lifted.low;
  x->by = lifted.by;
  x->nterms = sum.n;
}

bool nw_numbers_nothing(void *env, nw_stmt *s) {
  nw_dividing *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) {
    nw_visit(s->block.var[i].bind, nw_see_division, x);
    see_weighted(x, s->block.var[i].bind);
  }
  return x->all || !x->base;
}

bool nw_digits_only(const nw_stmt *loop) {
  int64_t c;
  for (int d = 1; d < loop->loop.nfused; d++)
    if (!nw_is_int(loop->loop.fused[d], &c)) return true;
  return false;
}

bool nw_binds_number(const nw_program *p, const nw_stmt *loop) {
  nw_dividing x = {.p = p, .loop = loop};
  nw_walk_from(loop, nw_numbers_nothing, &x);
  nw_vec_free(&x.use);
  return x.base && !(x.base == loop->loop.var && nw_digits_only(loop));
}

// ---- cuts: a division by N cuts a number into the digits above N and the digits below N

bool nw_add_cut(nw_cuts *x, const nw_factors *cut) {
  nw_factors whole;
  int i = 0;
  for (; i < x->n && nw_divide_factors(cut, &x->at[i], &whole); i++)
    if (whole.number == 1 && !whole.n) return true;
  if (x->n == (int)NW_COUNT(x->at) || (i < x->n && !nw_divide_factors(&x->at[i], cut, &whole))) return false;
  memmove(&x->at[i + 1], &x->at[i], (size_t)(x->n - i) * sizeof *x->at);
  x->at[i] = *cut;
  x->n++;
  return true;
}

// If x has the weight w, x // N has the weight w*N, and x % N has the weight w.
bool nw_cut_by(nw_cuts *x, const nw_expr *e, nw_factors *weight) {
  if (!nw_divides_by_size(e)) return *weight = (nw_factors){.number = 1}, true;
  nw_factors by = {.number = 1};
  if (!nw_cut_by(x, e->arg[0], weight) || !nw_multiply(&by, e->arg[1]) || !nw_multiply_all(&by, weight)) return false;
  if (e->op == NW_OP_FLOORDIV) *weight = by;
  return nw_add_cut(x, &by);
}

int nw_cut_extents(nw_pool *pool, const nw_cuts *by, const nw_expr *end, const nw_expr **out) {
  nw_cuts c = *by;
  nw_factors all = {.number = 1}, below = {.number = 1}, digit;
  if (!nw_multiply(&all, end) || !nw_add_cut(&c, &all) || !nw_divide_factors(&c.at[c.n - 1], &all, &digit)) return 0;
  const nw_expr *box = nw_index(pool, 1);
  for (int i = 0; i < c.n; i++) {
    if (!nw_divide_factors(&c.at[i], &below, &digit)) return 0;
    out[c.n - 1 - i] = nw_factors_expr(pool, &digit);
    below = c.at[i];
  }
  for (int i = 0; i < c.n; i++) box = nw_mul(pool, box, out[i]);
  return box == end ? c.n : 0;
}

int nw_digit_extents(nw_pool *pool, const nw_dividing *found, const nw_expr *end, const nw_expr **out) {
  nw_cuts c = {0};
  nw_factors weight;
  for (int i = 0; i < found->use.n; i++)
    if (!nw_cut_by(&c, found->use.at[i], &weight)) return 0;
  return nw_cut_extents(pool, &c, end, out);
}
