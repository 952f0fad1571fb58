// Checks that a weighted sum of loops, such as i_o*m + i_i, numbers the iterations of these loops 0, 1, ... up to the
// end. isl cannot check this, because the weights are sizes. The check compares products of sizes instead: the sum is a
// number in a mixed radix, whose digits are the loops. See docs/fused.md.
#include "poly/whole/whole.h"

typedef struct digit {
  int at; // position of the loop in the chain
  nw_factors weight;
} digit;

// Consecutive digits that form a number 0, 1, ... `bound` - 1. A condition may limit this number. For example, if
// i_i in 0..m is split by 4, the digits i_i_o and i_i_i form the number 4*i_i_o + i_i_i < m.
typedef struct group {
  int first, last;
  const nw_expr *bound; // NULL if the digits are not limited
} group;

typedef struct number {
  int n, ngroups;
  bool symbolic; // true if some weight is not a number; if all are numbers, isl checks the sum
  digit digit[NW_MAX_DEPTH]; // least significant first
  group group[NW_MAX_DEPTH];
} number;

static const nw_stmt *loop_of(const nw_merging *x, const digit *d) { return x->chain[d->at]; }

static bool proves(const nw_merging *x, const nw_expr *cond) {
  nw_ranges r;
  nw_ranges_of(&r, x->p, NULL);
  bool holds = nw_prove(&r, cond);
  nw_ranges_free(&r);
  return holds;
}

static bool is_at_least(const nw_merging *x, const nw_expr *e, int64_t least) {
  return proves(x, nw_le(x->p->pool, nw_index(x->p->pool, least), e));
}

// The product of two negative extents is positive, but their loops have no iterations. So extents must not be negative.
static bool is_plain(const nw_merging *x, const nw_stmt *l) {
  bool plain = nw_is_const(l->loop.begin, 0) && nw_uses_only_sizes(x->p, l->loop.extent) &&
               (l->loop.nfused || is_at_least(x, l->loop.extent, 0));
  for (int i = 0; i < l->loop.nfused; i++) plain = plain && is_at_least(x, l->loop.fused[i], 0);
  return plain;
}

// True if e is the number that the digits first..last form, with the weight 1 for the digit `first`.
static bool is_formed_by(const nw_merging *x, const number *num, int first, int last, const nw_expr *e) {
  nw_weighted sum;
  if (!nw_weighted_of(x->p, e, &sum) || sum.rest || sum.n != last - first + 1) return false;
  for (int i = first; i <= last; i++) {
    int k = 0;
    nw_factors weight;
    if (!nw_divide_factors(&num->digit[i].weight, &num->digit[first].weight, &weight)) return false;
    while (k < sum.n && sum.term[k].var != loop_of(x, &num->digit[i])->loop.var) k++;
    if (k == sum.n || !nw_same_factors(&sum.term[k].weight, &weight)) return false;
  }
  return true;
}

// Returns the bound of the number that the digits first..last form, if a condition gives one.
static const nw_expr *bound_of(const nw_merging *x, const number *num, int first, int last) {
  for (int i = 0; i < x->cond.n; i++) {
    const nw_expr *c = x->cond.at[i];
    if (c->op == NW_OP_LT && nw_uses_only_sizes(x->p, c->arg[1]) && is_formed_by(x, num, first, last, c->arg[0]))
      return c->arg[1];
  }
  return NULL;
}

// True if the digits of g reach every number below `bound`, because the extent of the last digit is rounded up.
static bool reaches(const nw_merging *x, const number *num, const group *g, const nw_expr *bound) {
  nw_pool *pool = x->p->pool;
  nw_factors weight;
  const nw_expr *top = loop_of(x, &num->digit[g->last])->loop.extent;
  nw_divide_factors(&num->digit[g->last].weight, &num->digit[g->first].weight, &weight);
  const nw_expr *by = nw_factors_expr(pool, &weight);
  if (top == nw_ceildiv(pool, bound, by)) return is_at_least(x, by, 1);
  return by == nw_ceildiv(pool, bound, top) && is_at_least(x, top, 1);
}

static int find_weight(const nw_weighted *sum, const nw_factors *weight) {
  int i = 0;
  while (i < sum->n && (!sum->term[i].var || !nw_same_factors(&sum->term[i].weight, weight))) i++;
  return i < sum->n ? i : -1;
}

static bool add_digit(const nw_merging *x, number *num, nw_weighted_term *t) {
  digit *d = &num->digit[num->n++];
  *d = (digit){0, t->weight};
  while (d->at < x->nchain && (!x->part[d->at] || loop_of(x, d)->loop.var != t->var)) d->at++;
  t->var = NULL;
  for (const digit *other = num->digit; other < d; other++)
    if (other->at == d->at) return false; // the digits of i*m + i are not independent
  return d->at < x->nchain && is_plain(x, loop_of(x, d));
}

// Sorts the terms of the number, and checks that it is a number in a mixed radix: the least weight is 1, and each other
// weight is the product of the next smaller weight and the extent of its loop, or of the weight of the group below and
// the bound of that group.
static bool read_number(const nw_merging *x, number *num) {
  nw_weighted sum;
  if (!nw_weighted_of(x->p, x->e, &sum) || sum.rest || !sum.n) return false;
  num->symbolic = sum.symbolic;
  num->n = 0;
  num->ngroups = 1;
  group *g = &num->group[0];
  *g = (group){0};
  int next = find_weight(&sum, &(nw_factors){.number = 1});
  for (;;) {
    if (next < 0 || !add_digit(x, num, &sum.term[next])) return false;
    const digit *d = &num->digit[num->n - 1];
    nw_factors weight = d->weight;
    g->last = num->n - 1;
    if (num->n == sum.n) {
      const nw_expr *bound = bound_of(x, num, g->first, g->last);
      if (bound && reaches(x, num, g, bound)) g->bound = bound;
      return true;
    }
    next = nw_multiply(&weight, loop_of(x, d)->loop.extent) ? find_weight(&sum, &weight) : -1;
    if (next >= 0) continue;
    g->bound = bound_of(x, num, g->first, g->last);
    if (!g->bound || !reaches(x, num, g, g->bound)) return false;
    weight = num->digit[g->first].weight;
    next = nw_multiply(&weight, g->bound) ? find_weight(&sum, &weight) : -1;
    g = &num->group[num->ngroups++];
    *g = (group){.first = num->n};
  }
}

// Returns ceil(end / by), without factors that both have. A factor is an extent of the parts, so if it is 0, they have no
// iterations.
static const nw_expr *ceil_of(nw_pool *pool, const nw_expr *end, const nw_factors *by) {
  nw_factors a = {.number = 1}, b = *by, left;
  if (!nw_multiply(&a, end)) return nw_ceildiv(pool, end, nw_factors_expr(pool, by));
  const nw_factors common = {.number = nw_gcd(a.number, b.number)};
  nw_divide_factors(&a, &common, &a);
  nw_divide_factors(&b, &common, &b);
  for (int i = b.n - 1; i >= 0; i--) {
    const nw_factors atom = {.number = 1, .n = 1, .atom = {b.atom[i]}};
    if (!nw_divide_factors(&a, &atom, &left)) continue;
    a = left;
    nw_divide_factors(&b, &atom, &b);
  }
  return nw_ceildiv(pool, nw_factors_expr(pool, &a), nw_factors_expr(pool, &b));
}

// An end of the digits from k on. They form a number below it if the whole number is below x->end.
typedef bool (*see_end)(const nw_merging *x, const number *num, int k, const nw_expr *end, const nw_expr *cond);

enum { MOST_NESTED = 8 };

// Calls f for each end, until f returns true. The end of the digits from k on is ceil(x->end / weight of digit k). It can
// be written in several ways, since ceil(ceil(a / b) / c) = ceil(a / (b*c)).
static bool any_end(const nw_merging *x, const number *num, int k, const nw_expr *end, see_end f, const nw_expr *cond) {
  nw_factors by;
  if (f(x, num, k, end, cond)) return true;
  for (int j = k + 1; j < num->n && (!k || num->n <= MOST_NESTED); j++)
    if (nw_divide_factors(&num->digit[j].weight, &num->digit[k].weight, &by) &&
        any_end(x, num, j, ceil_of(x->p->pool, end, &by), f, cond))
      return true;
  return false;
}

static bool is_limited(const nw_merging *x, const number *num, int k, const nw_expr *end, const nw_expr *cond) {
  return cond->arg[1] == end && is_formed_by(x, num, k, num->n - 1, cond->arg[0]);
}

const nw_expr *nw_lifted_end(const nw_merging *x, const nw_expr *cond) {
  nw_lifted_sum sum;
  if (cond->op != NW_OP_LT || !nw_lifted_of(x->p, cond->arg[0], &sum) || sum.number != x->e) return NULL;
  if (!is_at_least(x, sum.by, 0)) return NULL; // q < end is number < by*end only if by is positive
  return nw_mul(x->p->pool, sum.by, cond->arg[1]);
}

// True if the condition says that the whole number is below the end.
static bool limits_all(const nw_merging *x, const number *num, const nw_expr *cond) {
  return is_limited(x, num, 0, x->end, cond) || nw_lifted_end(x, cond) == x->end;
}

// True if the condition limits a group, or follows from number < end.
static bool follows(const nw_merging *x, const number *num, const nw_expr *cond) {
  if (cond->op != NW_OP_LT) return false;
  for (int k = 0; k < num->ngroups; k++) {
    const group *g = &num->group[k];
    if (g->bound == cond->arg[1] && is_formed_by(x, num, g->first, g->last, cond->arg[0])) return true;
  }
  return limits_all(x, num, cond) || any_end(x, num, 0, x->end, is_limited, cond);
}

static bool is_reached(const nw_merging *x, const number *num, int k, const nw_expr *end, const nw_expr *cond) {
  (void)cond;
  return reaches(x, num, &(group){k, num->n - 1, NULL}, end);
}

// True if the highest digit takes every value that a number below the end needs.
static bool reaches_end(const nw_merging *x, const number *num) { return any_end(x, num, 0, x->end, is_reached, NULL); }

static bool whole_product(const nw_merging *x, const number *num, nw_factors *out) {
  const digit *top = &num->digit[num->n - 1];
  const group *last = &num->group[num->ngroups - 1];
  *out = last->bound ? num->digit[last->first].weight : top->weight;
  return nw_multiply(out, last->bound ? last->bound : loop_of(x, top)->loop.extent);
}

// Replaces (a // b)*b by a if b divides a.
static void undo_quotients(const nw_merging *x, nw_factors *all) {
  for (int i = all->n - 1; i >= 0; i--) {
    const nw_expr *q = all->atom[i];
    nw_factors by = {.number = 1}, left;
    if (q->op != NW_OP_FLOORDIV || !nw_multiply(&by, q->arg[1]) || by.n == NW_MOST_ATOMS) continue;
    by.atom[by.n++] = q;
    if (nw_divide_factors(all, &by, &left) && nw_is_multiple(x->p, q->arg[0], q->arg[1]) &&
        nw_multiply(&left, q->arg[0]))
      *all = left, i = all->n;
  }
}

// True if the numbers of all combinations of digits are exactly 0, 1, ... end - 1.
static bool fills(const nw_merging *x, const number *num) {
  nw_factors all, end = {.number = 1};
  if (!whole_product(x, num, &all)) return false;
  undo_quotients(x, &all);
  if (nw_multiply(&end, x->end) && nw_same_factors(&all, &end)) return true;
  return proves(x, nw_eq(x->p->pool, nw_factors_expr(x->p->pool, &all), x->end));
}

bool nw_weights_count(nw_merging *x) {
  number num;
  if (!read_number(x, &num) || !num.symbolic) return false;
  bool bounded = false;
  for (int i = 0; i < x->cond.n; i++) {
    if (!follows(x, &num, x->cond.at[i])) return false;
    bounded |= limits_all(x, &num, x->cond.at[i]);
  }
  if (!fills(x, &num) && !(bounded && (reaches_end(x, &num) || NW_MUTATED(whole_rounds)))) return false;
  for (int i = 1; i < num.n; i++) x->turned |= num.digit[i].at > num.digit[i - 1].at && !NW_MUTATED(whole_sorted);
  return true;
}

// Returns the product of the extents of the loops, which is the end of the number if there are no conditions.
const nw_expr *nw_weights_end(const nw_merging *x) {
  number num;
  nw_factors all;
  return read_number(x, &num) && whole_product(x, &num, &all) ? nw_factors_expr(x->p->pool, &all) : NULL;
}
