// Declares equalities, which rewrite values: s:rewrite replaces the occurrences of one side by the other side.
#pragma once
#include "ir/expr/expr.h"

// The two sides are expressions with pattern variables. The name of a pattern variable begins with '?', so that it
// differs from all names of a program. A pattern variable stands for any expression of its type.
typedef struct nw_equality {
  const nw_expr *from, *to;
} nw_equality;

// An occurrence of the left side: `was` has the value of `is` wherever `cond` holds. `cond` is true, or it consists of
// the conditions of the selects around the occurrence.
typedef struct nw_occurrence {
  const nw_expr *cond, *was, *is;
} nw_occurrence;
typedef void (*nw_occurrence_fn)(void *env, const nw_occurrence *o);

const char *nw_pattern_name(nw_pool *p, const char *name); // the name of the pattern variable `name`
// Returns the name of the first pattern variable of the right side that the left side does not have, or NULL.
const char *nw_equality_unknown(const nw_equality *q);
// Replaces every occurrence of the left side in the value e, except for occurrences inside other occurrences and inside
// indices. Calls `see` for each occurrence, if it is not NULL. Returns e if there is none.
const nw_expr *nw_equality_apply(nw_pool *p, const nw_equality *q, const nw_expr *e, nw_occurrence_fn see, void *env);
// Returns the polynomial of a sum or product of integers: its products are multiplied out. Two equal polynomials have
// the same value in wrapping arithmetic. Returns e if e has too many terms.
const nw_expr *nw_polynomial(const nw_expr *e);
