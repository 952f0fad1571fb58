// Describes layouts that are lists of digits of the indices, such as j // 32, k, j % 32.
#pragma once
#include "ir/program/program.h"

// Represents the digit (_dim // div) % mod of index _dim. If mod is 0, the digit is _dim // div.
typedef struct nw_digit {
  int dim;
  int64_t div, mod;
} nw_digit;
// Reads a digit of one of `ndim` indices. Returns false if e is not a digit.
bool nw_digit_of(const nw_expr *e, int ndim, nw_digit *out);

// The digits of one index, in mixed radix: the index is the sum of position at[i] times weight[i]. The first digit is
// the coarsest one.
typedef struct nw_radix {
  int n, at[NW_MAX_DEPTH];
  int64_t weight[NW_MAX_DEPTH];
} nw_radix;
// Finds the digits of index `dim` in the layout of a buffer. Returns false if the digits are not those of a number in
// mixed radix, each of them once. Digits that are always 0 do not count.
bool nw_radix_of(const nw_buffer *b, int dim, nw_radix *out);
// True if the layout consists of the digits of all indices in mixed radix. Then a position holds an element if and only
// if each of its indices is less than the extent.
bool nw_layout_is_radix(const nw_buffer *b);
// Returns an index of the element at a position. at[i] is component i of the position.
const nw_expr *nw_radix_index(nw_pool *p, const nw_radix *x, const nw_expr *const *at);
