// Integer expressions on numbers.
#pragma once
#include "ir/expr/expr.h"

typedef struct nw_point {
  int n;
  const char **name;
  int64_t *value;
} nw_point;
bool nw_eval_int(const nw_expr *e, const nw_point *at, int64_t *out);
