// Adds and multiplies sums. Bounds must be correct, so an operation that would overflow 64 bits fails instead of
// wrapping.
#include "ir/expr/bound.h"

#define MAX_EXPANSION 256

bool nw_sum_add_term(nw_sum *s, int64_t coef, const nw_expr *atom) {
  int64_t sum = coef;
  for (int i = 0; i < s->n; i++)
    if (s->term[i].atom == atom && __builtin_add_overflow(s->term[i].coef, coef, &sum)) return false;
  nw_sum_term(s, coef, atom);
  return true;
}

bool nw_sum_add_constant(nw_sum *s, int64_t c) { return !__builtin_add_overflow(s->constant, c, &s->constant); }

static const nw_expr *sum_factor(const nw_expr *e) {
  if (e->op == NW_OP_ADD || e->op == NW_OP_SUB) return e;
  if (e->op != NW_OP_MUL) return NULL;
  const nw_expr *f = sum_factor(e->arg[0]);
  return f ? f : sum_factor(e->arg[1]);
}

static const nw_expr *replace_factor(nw_pool *p, const nw_expr *e, const nw_expr *f, const nw_expr *by) {
  if (e == f) return by;
  if (e->op != NW_OP_MUL) return e;
  const nw_expr *a = replace_factor(p, e->arg[0], f, by);
  return nw_product(p, a, a != e->arg[0] ? e->arg[1] : replace_factor(p, e->arg[1], f, by));
}

static int count_terms(const nw_expr *e) {
  return e->op == NW_OP_ADD || e->op == NW_OP_SUB ? count_terms(e->arg[0]) + count_terms(e->arg[1]) : 1;
}

// Returns the number of terms of a product after it is multiplied out, but at most MAX_EXPANSION.
static int expansion(const nw_expr *e) {
  if (e->op != NW_OP_MUL) return count_terms(e);
  int a = expansion(e->arg[0]), b = a < MAX_EXPANSION ? expansion(e->arg[1]) : 1;
  return a * b < MAX_EXPANSION ? a * b : MAX_EXPANSION;
}

// Adds (a + b)*c as a*c + b*c. A product that would get too many terms is not multiplied out.
static bool expand_product(nw_sum *s, int64_t coef, const nw_expr *e) {
  const nw_expr *f = expansion(e) < MAX_EXPANSION ? sum_factor(e) : NULL;
  if (!f) return nw_sum_add_term(s, coef, e);
  int64_t sign = f->op == NW_OP_SUB ? -1 : 1;
  return nw_sum_expand(s, coef, replace_factor(s->pool, e, f, f->arg[0])) &&
         nw_sum_expand(s, sign * coef, replace_factor(s->pool, e, f, f->arg[1]));
}

bool nw_sum_expand(nw_sum *s, int64_t coef, const nw_expr *e) {
  int64_t c;
  if (coef == INT64_MIN) return false;
  switch (e->op) {
  case NW_OP_INT: return !__builtin_mul_overflow(coef, e->i, &c) && nw_sum_add_constant(s, c);
  case NW_OP_ADD: return nw_sum_expand(s, coef, e->arg[0]) && nw_sum_expand(s, coef, e->arg[1]);
  case NW_OP_SUB: return nw_sum_expand(s, coef, e->arg[0]) && nw_sum_expand(s, -coef, e->arg[1]);
  case NW_OP_NEG: return nw_sum_expand(s, -coef, e->arg[0]);
  case NW_OP_MUL:
    if (e->arg[0]->op != NW_OP_INT) return expand_product(s, coef, e);
    return !__builtin_mul_overflow(coef, e->arg[0]->i, &c) && nw_sum_expand(s, c, e->arg[1]);
  default: return nw_sum_add_term(s, coef, e);
  }
}

// Adds coef*t to s.
bool nw_sum_add_sum(nw_sum *s, int64_t coef, const nw_sum *t) {
  int64_t c;
  for (int i = 0; i < t->n; i++)
    if (__builtin_mul_overflow(coef, t->term[i].coef, &c) || !nw_sum_add_term(s, c, t->term[i].atom)) return false;
  return !__builtin_mul_overflow(coef, t->constant, &c) && nw_sum_add_constant(s, c);
}
