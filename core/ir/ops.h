// The costs of operations: a column of ops.def. The other columns are in ir/expr/expr.h.
#pragma once
#include "hw/machine.h"
#include "ir/expr/expr.h"

// Returns the class of an operation on floats (if `real` is set) or on integers. If f64 has a class of its own, returns
// the class for f32. Returns NW_CLASS_NONE if the operation has no separate cost.
nw_class nw_op_class(nw_op op, bool real);
