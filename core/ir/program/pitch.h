// Declares what is known about the strides that the caller chooses for the array of a parameter (nw_buffer.pitch).
#pragma once
#include "ir/program/program.h"

// Strides nest if the dimensions have an order in which each stride is larger than the distance between any two elements
// that differ only in the dimensions before it. Then each element has a place of its own. The function returns true if
// the strides nest for all sizes in the ranges.
//
// If `fact` is not NULL, it has an entry for each dimension. Then the function may also assume conditions on the sizes
// that the ranges neither prove nor exclude. It stores these conditions there, and their number in *nfacts. If several
// orders are possible, it takes row-major order, or column-major order if the first stride is 1.
bool nw_pitch_nests(const nw_ranges *r, int n, const nw_expr *const *extent, const nw_expr *const *pitch,
                    const nw_expr **fact, int *nfacts);
// Returns the number of elements from the first one to the last one in memory. The array must not be empty.
const nw_expr *nw_pitch_reach(nw_pool *p, int n, const nw_expr *const *extent, const nw_expr *const *pitch);
