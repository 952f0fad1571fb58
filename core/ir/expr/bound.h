// Internal header of ir: bounds of sums. The arithmetic on sums is in expand.c, the facts are in facts.c, and the
// search for a bound is in bound.c.
#pragma once
#include "ir/expr/fold.h"
#include "ir/expr/range.h"

// ---- arithmetic on sums; these functions return false if a number would overflow
bool nw_sum_add_term(nw_sum *s, int64_t coef, const nw_expr *atom);
bool nw_sum_add_constant(nw_sum *s, int64_t c);
bool nw_sum_add_sum(nw_sum *s, int64_t coef, const nw_sum *t);
bool nw_sum_expand(nw_sum *s, int64_t coef, const nw_expr *e); // adds coef*e, with its products multiplied out

// ---- ranges and facts
//
// Returns the index of the variable's range, or -1. The name is interned in the pool of r.
int nw_var_place(const nw_ranges *r, const char *name);
// Returns the index of the range of the innermost variable in e that has a range, or -1.
int nw_range_place(const nw_ranges *r, const nw_expr *e);
int64_t nw_known_divisor(const nw_ranges *r, const nw_term *t); // a known divisor of the term; may be negative
typedef struct nw_facts {
  const nw_ranges *r;
  int n;
  nw_sum *fact; // sums that are all >= 0
} nw_facts;
void nw_facts_read(nw_facts *f, const nw_ranges *r);
void nw_facts_free(nw_facts *f);
// Splits s into two sums: `multiple`, a known multiple of m, and `rest`.
void nw_split_multiples(const nw_ranges *r, const nw_sum *s, int64_t m, nw_sum *multiple, nw_sum *rest);

// Searches for a large constant lower bound of the sum. The bound is valid for all values of the variables that are in
// their ranges and satisfy the facts. The search stops when it finds a bound of at least `enough`. Returns false if no
// bound was found.
bool nw_bound_below(const nw_ranges *r, const nw_sum *s, int64_t enough, int64_t *out);
