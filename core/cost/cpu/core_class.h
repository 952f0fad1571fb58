// Finds the class, width and number of the instructions that compute an expression.
#pragma once
#include "cost/cpu/core.h"

// Returns the class of an operation on data. Returns NW_CLASS_COUNT if e needs no separate instruction, because it is a
// leaf, a load, or a part of another operation.
nw_class nw_core_class(const nw_expr *e);
// Returns the index into nw_op_cost.per_cycle for the widest instruction on this type.
int nw_core_width(const nw_machine *m, nw_type t);
int nw_core_pieces(const nw_machine *m, nw_type t); // returns the number of instructions for one operation on this type
double nw_core_latency(const nw_machine *m, const nw_expr *e); // 0 if e is not an operation
// Adds the instructions of operation e. An integer division by a constant counts as a multiplication or a shift.
void nw_core_add_op(const nw_machine *m, nw_core_ops *to, const nw_expr *e);
int nw_core_bits(nw_dtype t); // returns the index of the size of t in the list 8, 16, 32, 64 bits
bool nw_core_is_address(const nw_expr *e); // true for a scalar of index type
