// Sums with a minimum or maximum in them, taken apart: x < min(a, b) + c is x < a + c and x < b + c.
#pragma once
#include "ir/expr/expr.h"

// The first part of the sum for which `is` holds, and how often it counts: through +, - and constant factors. NULL: none.
// Sums are in their normal form (sum.c), so that a part stands in one only once and that is all it counts.
typedef bool (*nw_part_fn)(void *env, const nw_expr *e);
const nw_expr *nw_sum_part(const nw_expr *e, nw_part_fn is, void *env, int64_t *coef);
const nw_expr *nw_sum_replace(nw_pool *pool, const nw_expr *e, const nw_expr *part, const nw_expr *by);
