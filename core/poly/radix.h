// What is evident of variables that are numbers in mixed radix. Private to poly/.
#pragma once
#include "poly/internal.h"

typedef struct nw_digit {
  int64_t weight, extent; // it takes `extent` values, at least 1, in steps of `weight`, whatever the other digits are
} nw_digit;

enum { NW_RADIX_ONCE = 1, NW_RADIX_FULL = 2, NW_RADIX_INSIDE = 4, NW_RADIX_DENSE = 8 };

// ONCE: no two choices of digits make one number. DENSE: the numbers they make have no gaps. Sorts the digits. What is not
// said may hold or not.
int nw_radix(int n, nw_digit *d);
// Of the variables of a part: ONCE; FULL: they take all declared values together; INSIDE: they take no others.
int nw_part_radix(const nw_site *s, nw_part part);
