// Properties of variables that are numbers in mixed radix. Private to poly/.
#pragma once
#include "poly/internal.h"

typedef struct nw_digit {
  // the digit has `extent` values (at least 1) in steps of `weight`, for all values of the other digits
  int64_t weight, extent;
} nw_digit;

enum { NW_RADIX_ONCE = 1, NW_RADIX_FULL = 2, NW_RADIX_INSIDE = 4, NW_RADIX_DENSE = 8 };

// Sorts the digits, and returns which properties are known. ONCE: different digits always make different numbers.
// DENSE: the numbers have no gaps. A property that is not returned may hold or not.
int nw_radix(int n, nw_digit *d);
// Returns the known properties of the variables of a part. ONCE: as above. FULL: together they have all declared
// values. INSIDE: they have no other values.
int nw_part_radix(const nw_site *s, nw_part part);
