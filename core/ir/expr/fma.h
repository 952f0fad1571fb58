// An fma computes a product and a sum, and rounds only once.
#pragma once
#include "ir/expr/expr.h"

const nw_expr *nw_form_fma(nw_pool *pool, const nw_expr *e); // returns e with every fma that lowering would make
