// Expressions whose values a program reads from storage. In known(e, load), the load is proven to have the value of the
// expression e. Proofs use e, and the executable program reads the load. So an index stays provable although it is read.
#pragma once
#include "ir/expr/expr.h"

const nw_expr *nw_known(nw_pool *p, const nw_expr *e, const nw_expr *load);
// Returns e with each known(a, load) replaced by a.
const nw_expr *nw_as_proved(nw_pool *p, const nw_expr *e);
// Returns e with each known(a, load) replaced by the load.
const nw_expr *nw_as_read(nw_pool *p, const nw_expr *e);
