// Inside ir: bounds of sums. Sums that do not overflow are in expand.c, facts in facts.c, the search in bound.c.
#pragma once
#include "ir/expr/fold.h"
#include "ir/expr/range.h"

// ---- sums in plain arithmetic: false when something would overflow
bool nw_sum_add_term(nw_sum *s, int64_t coef, const nw_expr *atom);
bool nw_sum_add_constant(nw_sum *s, int64_t c);
bool nw_sum_add_sum(nw_sum *s, int64_t coef, const nw_sum *t);
bool nw_sum_expand(nw_sum *s, int64_t coef, const nw_expr *e); // adds coef*e, products of sums multiplied out

// ---- ranges and facts
int nw_var_place(const nw_ranges *r, const char *name); // index of the range, -1 if none; name is interned in r's pool
int nw_range_place(const nw_ranges *r, const nw_expr *e); // of the innermost ranged variable in e
int64_t nw_known_divisor(const nw_ranges *r, const nw_term *t);
typedef struct nw_facts {
  const nw_ranges *r;
  int n;
  nw_sum *fact; // each is >= 0
} nw_facts;
void nw_facts_read(nw_facts *f, const nw_ranges *r);
void nw_facts_free(nw_facts *f);
// Splits s into a known multiple of m, `multiple`, and the `rest`.
void nw_split_multiples(const nw_ranges *r, const nw_sum *s, int64_t m, nw_sum *multiple, nw_sum *rest);

// A constant lower bound of the sum for all values of the variables in their ranges that satisfy the
// facts, the greatest one found; the search stops when it is at least `enough`. False if none was found.
bool nw_bound_below(const nw_ranges *r, const nw_sum *s, int64_t enough, int64_t *out);
