// Products of positive numbers and expressions, as lists of factors.
#pragma once
#include "ir/expr/expr.h"

enum { NW_MOST_ATOMS = 12 };
typedef struct nw_factors {
  int64_t number; // positive
  int n;
  const nw_expr *atom[NW_MOST_ATOMS]; // factors that are neither numbers nor products
} nw_factors;
// These two functions return false if the product cannot be represented.
bool nw_multiply(nw_factors *x, const nw_expr *e);
bool nw_multiply_all(nw_factors *x, const nw_factors *by);
// Sets *out to x / by. Returns false if the quotient may not be an integer.
bool nw_divide_factors(const nw_factors *x, const nw_factors *by, nw_factors *out);
bool nw_same_factors(const nw_factors *a, const nw_factors *b);
const nw_expr *nw_factors_expr(nw_pool *pool, const nw_factors *x);
