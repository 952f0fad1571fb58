// The costs of operations: a column of ops.def. The other columns are in ir/expr/expr.h.
#pragma once
#include "hw/machine.h"
#include "ir/expr/expr.h"

// The class of an operation on floats or on integers; the class for f32 if f64 has a separate class. NW_CLASS_NONE if
// the operation has no separate cost.
nw_class nw_op_class(nw_op op, bool real);
