// Solves the indices of an access for the variables of its block.
#pragma once
#include "ir/program/program.h"

// An access is at the indices f_0(v), f_1(v), ... of the block's variables v. Given expressions at[d] for the values of
// all f_d, writes the values of the variables to out[k]. This is possible if the f_d and the variables are numbers in
// mixed radix: f_0 = 8*i + j, or f_0 = p // 32 and f_1 = p % 32. The weights may be products of sizes. Returns false if
// the indices do not have this form. If `reduce` is false, only the spatial variables must be found, and out[k] may be
// NULL for the others.
//
// The result is correct for the values that occur. For other values of at[d], the result is wrong, and nw_inverse_holds
// is false.
bool nw_inverse(const nw_program *p, const nw_stmt *block, bool reduce, int n, const nw_expr *const *index,
                const nw_expr *const *at, const nw_expr **out);
// Returns the condition that each index has the value at[d] when the block's variables have the values v[k]. Returns NULL
// if it always holds.
const nw_expr *nw_inverse_holds(const nw_program *p, const nw_stmt *block, int n, const nw_expr *const *index,
                                const nw_expr *const *at, const nw_expr *const *v);
