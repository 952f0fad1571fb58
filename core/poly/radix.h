// Declares properties of variables that are numbers in mixed radix. Private to poly/.
#pragma once
#include "poly/internal.h"

typedef struct nw_digit {
  // the digit has `extent` values (at least 1) in steps of `weight`, for all values of the other digits
  int64_t weight, extent;
} nw_digit;

enum { NW_RADIX_ONCE = 1, NW_RADIX_FULL = 2, NW_RADIX_INSIDE = 4, NW_RADIX_DENSE = 8 };

// Sorts the digits, and returns the properties that are known to hold. ONCE: different digits always make different
// numbers. DENSE: the numbers have no gaps. A property that is not returned may also hold.
int nw_radix(int n, nw_digit *d);
// Returns the known properties of the variables of a part. ONCE: different iterations of the part's loops give
// different values. FULL: the variables together have all declared values. INSIDE: the variables have only declared
// values.
int nw_part_radix(const nw_site *s, nw_part part);

// True if some condition of the site uses one of these loops, or uses no loop at all.
bool nw_has_condition(const nw_site *s, uint64_t loops);

// The values of an expression at one iteration of its outer loops. A value is the sum of weight[i] * i over the outer
// loops i, plus a number from `least` to `most`.
typedef struct nw_reach {
  int64_t weight[NW_MAX_DEPTH];
  __int128 least, most;
  // in each iteration of the outer loops, every number from `least` to `most` occurs, if there are no conditions
  bool dense;
} nw_reach;
// `outer` is the set of outer loops, as bits. Returns false if the expression does not have this form.
bool nw_reach_of(const nw_site *s, const nw_expr *e, uint64_t outer, nw_reach *out);
