// Solves the indices of a read for the variables of the block that reads. Private to sched/.
#pragma once
#include "sched/sched.h"

// A read is at the indices f_0(v), f_1(v), ... of the block's variables v. Given expressions at[d] for the values of all
// f_d, writes the values of the variables to out[k]. This is possible if the f_d and the variables are numbers in mixed
// radix: f_0 = 8*i + j, or f_0 = p // 32 and f_1 = p % 32. The weights may be products of sizes. Returns false if the indices do not
// have this form.
//
// The result is correct for the values that occur. For other values of at[d], the result is wrong, and nw_inverse_holds
// is false.
bool nw_inverse(nw_step *st, const nw_stmt *block, const nw_expr *load, const nw_expr *const *at, const nw_expr **out);
// Returns the condition that each index of the read has the value at[d] when the block's variables have the values v[k].
// Returns NULL if it always holds.
const nw_expr *nw_inverse_holds(nw_step *st, const nw_stmt *block, const nw_expr *load, const nw_expr *const *at,
                                const nw_expr *const *v);
