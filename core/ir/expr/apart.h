// Finds and replaces a part of a sum. Its callers split conditions on sums that contain a minimum or maximum. For
// example, x < min(a, b) + c becomes x < a + c and x < b + c.
#pragma once
#include "ir/expr/expr.h"

// Searches a sum through +, - and constant factors for the first part for which `is` returns true. Returns the part,
// and stores its coefficient in *coef. Returns NULL if there is no such part. Sums are in normal form (sum.c), so a
// part occurs in only one term. The coefficient of this term is therefore the whole coefficient of the part.
typedef bool (*nw_part_fn)(void *env, const nw_expr *e);
const nw_expr *nw_sum_part(const nw_expr *e, nw_part_fn is, void *env, int64_t *coef);
const nw_expr *nw_sum_replace(nw_pool *pool, const nw_expr *e, const nw_expr *part, const nw_expr *by);
