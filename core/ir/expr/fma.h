// Where a product and a sum are rounded once.
#pragma once
#include "ir/expr/expr.h"

const nw_expr *nw_form_fma(nw_pool *pool, const nw_expr *e); // e, whole, with each fma that lowering makes of it
