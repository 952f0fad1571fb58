// Inside ir: bounds of sums, by elimination.
#pragma once
#include "ir/fold.h"
#include "ir/range.h"

// The greatest constant found that is at most the sum's value wherever the variables are in their ranges and the facts
// hold; looks no further once it is `enough`. False when none was found.
bool nw_bound_below(const nw_ranges *r, const nw_sum *s, int64_t enough, int64_t *out);
// The place of the innermost ranged variable in e; -1 if it has none.
int nw_range_place(const nw_ranges *r, const nw_expr *e);
// Adds coef*e to s with products of sums multiplied out. False when a coefficient would overflow.
bool nw_sum_expand(nw_sum *s, int64_t coef, const nw_expr *e);
// The part of s that is known to be a multiple of m goes to `multiple`, the rest to `rest`.
void nw_split_multiples(const nw_ranges *r, const nw_sum *s, int64_t m, nw_sum *multiple, nw_sum *rest);
