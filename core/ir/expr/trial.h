// Declares trials, which test whether two expressions have the same values. The judge asks for a trial of an equality
// that it cannot prove; the function that runs it belongs to a later room (check/equal.c), since it uses the interpreter.
#pragma once
#include "ir/expr/expr.h"
#include <stdlib.h>

typedef struct nw_trial_var {
  const nw_expr *var; // a VAR
  const char *shown; // as messages show it: "A[i, j]"
  int64_t lo, hi; // for an integer: its range; for u64, the range of its bits as a signed number
} nw_trial_var;

// Values of the variables, and the values of both expressions there, as text. All are NULL, or all are on the heap.
typedef struct nw_trial_point {
  char *point, *old, *new;
} nw_trial_point;

typedef struct nw_trial {
  nw_pool *pool;
  const nw_expr *cond, *was, *is; // `is` must have the value of `was` where `cond` holds; all use only these variables
  int n;
  const nw_trial_var *var;
  bool vanish; // true: a number that is too small for the range of f64 is compared as 0
  // results
  int compared; // number of points at which the values were compared
  // number of points that could not be compared, because a number was too large or too small for the range of f64
  int beyond;
  // If the values differ at some points, `differs` is true, and `at` is the simplest of these points.
  bool differs;
  // number of points at which `was` has a finite value in its own dtype and `is` has none; `at` is then one of these
  // points, unless the values differ
  int lost;
  nw_trial_point at;
  // the simplest point at which a variable is NaN and the values differ; such points are not counted in `compared`
  nw_trial_point nan;
} nw_trial;

static inline void nw_trial_free(nw_trial *t) {
  free(t->at.point), free(t->at.old), free(t->at.new);
  free(t->nan.point), free(t->nan.old), free(t->nan.new);
}
