// The instructions that compute an expression: their class, width and number.
#pragma once
#include "cost/cpu/core.h"

// Returns the class of an operation on data. NW_CLASS_COUNT: e needs no instruction of its own (a leaf, a load, or a
// part of another operation).
nw_class nw_core_class(const nw_expr *e);
int nw_core_width(const nw_machine *m, nw_type t); // index into per_cycle for a full-width instruction on this type
int nw_core_pieces(const nw_machine *m, nw_type t); // number of instructions for one operation on this type
double nw_core_latency(const nw_machine *m, const nw_expr *e); // 0 if e is not an operation
// Adds the instructions of an integer operation. Operations with constants and powers of two need fewer instructions.
void nw_core_add_op(const nw_machine *m, nw_core_ops *to, const nw_expr *e);
int nw_core_bits(nw_dtype t); // index of the size of t in the list 8, 16, 32, 64 bits
bool nw_core_is_address(const nw_expr *e); // a scalar of index type
