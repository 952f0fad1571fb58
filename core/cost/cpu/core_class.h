// The instructions that an expression becomes: their class, width and number.
#pragma once
#include "cost/cpu/core.h"

// The class of an operation on data; NW_CLASS_COUNT if it is not an operation of its own (a leaf, a load, part of another).
nw_class nw_core_class(const nw_expr *e);
int nw_core_width(const nw_machine *m, nw_type t); // index into per_cycle for a full-width instruction on this type
int nw_core_pieces(const nw_machine *m, nw_type t); // instructions for one operation on it
double nw_core_latency(const nw_machine *m, const nw_expr *e); // 0 if e is not an operation
// Adds the instructions of an integer operation; constants and powers of two need fewer.
void nw_core_add_op(const nw_machine *m, nw_core_ops *to, const nw_expr *e);
int nw_core_bits(nw_dtype t); // the index of a number size: 8, 16, 32, 64 bits
bool nw_core_is_address(const nw_expr *e); // a scalar of index type
