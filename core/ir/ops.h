// Declares the function that reads the classes of cost from ops.def. The functions for its other columns are in
// ir/expr/expr.h.
#pragma once
#include "hw/machine.h"
#include "ir/expr/expr.h"

// Returns the class of cost of an operation on floats (if `real` is set) or on integers. If f32 and f64 have different
// classes, returns the class for f32. Returns NW_CLASS_NONE if the operation has no separate cost.
nw_class nw_op_class(nw_op op, bool real);
