// Declares functions that find bounds of index expressions and prove conditions. They use the ranges of the variables
// and known facts.
#pragma once
#include "ir/expr/expr.h"

// A list of ranges has one entry for each variable, and the innermost variable is last. The bounds of an entry may use
// symbolic sizes and the variables of the entries before it. Facts are conditions that are known to hold. They come
// from nw.size (M >= 1, M % 16 == 0) and from enclosing guards.
typedef struct nw_range {
  const char *var;
  const nw_expr *lo, *hi; // inclusive; NULL if there is no bound
} nw_range;
typedef struct nw_ranges {
  nw_pool *pool;
  nw_range *at;
  int n, cap;
  const nw_expr **fact;
  int nfact, capfact;
} nw_ranges;
void nw_ranges_init(nw_ranges *r, nw_pool *p);
void nw_ranges_push(nw_ranges *r, const char *var, const nw_expr *lo, const nw_expr *hi);
void nw_ranges_pop(nw_ranges *r);
void nw_ranges_fact(nw_ranges *r, const nw_expr *cond);
void nw_ranges_pop_fact(nw_ranges *r);
void nw_ranges_free(nw_ranges *r);

// These functions find constants with *lo <= e <= *hi for every value of the variables. They return false if they find
// none.
bool nw_const_range(const nw_ranges *r, const nw_expr *e, int64_t *lo, int64_t *hi);
bool nw_const_lower(const nw_ranges *r, const nw_expr *e, int64_t *lo);
bool nw_const_upper(const nw_ranges *r, const nw_expr *e, int64_t *hi);
// These functions return a lower or an upper bound of e while the variables `over` run through their ranges. The bound
// is an expression in the other variables. If e is affine, the bound is the least or greatest value of e. They return
// NULL if they find no bound.
const nw_expr *nw_lower_over(const nw_ranges *r, const nw_expr *e, int n, const char *const *over);
const nw_expr *nw_upper_over(const nw_ranges *r, const nw_expr *e, int n, const char *const *over);
// Finds constants with *lo <= e <= *hi, from the types of the data and variables in e alone. e is an integer or a bool.
// Returns false if the values of e do not fit in 64 bits with a sign, or if e is too large.
bool nw_value_range(const nw_expr *e, int64_t *lo, int64_t *hi);
// nw_prove returns true only if cond is true for every value of the variables that satisfies the facts. nw_disprove
// returns true only if cond is false for every such value.
bool nw_prove(const nw_ranges *r, const nw_expr *cond);
bool nw_disprove(const nw_ranges *r, const nw_expr *cond);
// Returns the reason why a condition is false. If the bounds of its variables suffice to disprove it, returns these
// bounds. Otherwise, if a single fact suffices together with the bounds, returns this fact. Otherwise returns all
// facts. Returns NULL if the condition is false without any bounds and facts.
const nw_expr *nw_ruled_out_by(const nw_ranges *r, const nw_expr *cond);
// True if m is proven to divide e.
bool nw_divides(const nw_ranges *r, const nw_expr *e, int64_t m);
// Simplifies e under the ranges and facts. A //, %, min, max, comparison or select is replaced by its result if the
// ranges and facts determine the result.
const nw_expr *nw_simplify(const nw_ranges *r, const nw_expr *e);
// Simplifies e until it stays the same: (16*i + 8*j + k) // 16 becomes i + j // 2, and then i.
const nw_expr *nw_settle(const nw_ranges *r, const nw_expr *e);
// True if every value of e is proven to be a value of the dtype t, so that a cast to t and back changes nothing.
// -0.0 is not a value of an integer dtype. Data have any values of their dtype (exact.c).
bool nw_all_in(const nw_ranges *r, const nw_expr *e, nw_dtype t);
