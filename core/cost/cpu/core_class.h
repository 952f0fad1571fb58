// Expressions as instructions: of which class, how wide, how many.
#pragma once
#include "cost/cpu/core.h"

// The class of an operation on data; NW_CLASS_COUNT: it is none (a leaf, a load, part of another).
nw_class nw_core_class(const nw_expr *e);
int nw_core_width(const nw_machine *m, nw_type t); // the index of per_cycle: of a whole instruction on this type
int nw_core_pieces(const nw_machine *m, nw_type t); // instructions for one operation on it
double nw_core_latency(const nw_machine *m, const nw_expr *e); // 0 for what is no operation
// Instructions of an operation on whole numbers by a constant, or by a power of two, or by anything.
void nw_core_add_op(const nw_machine *m, nw_core_ops *to, const nw_expr *e);
int nw_core_bits(nw_dtype t); // the index of a size of numbers: 8, 16, 32, 64 bits
bool nw_core_is_address(const nw_expr *e); // a scalar of index type
