// Rewrites operations on the bits of an index as arithmetic, if one operand is a constant. Ranges, divisors and the sets of
// the judge are found for arithmetic only. So `i & 7` becomes i % 8, `i >> 3` becomes i // 8, and `i ~ 4` becomes
// i - 8*((i // 4) % 2) + 4.
#include "ir/expr/fold.h"

enum {
  RUNS = 4, // a mask with more runs of ones stays as it is, because its sum would be long
  PLACES = 40, // a number that needs more bits stays as it is, because the sum could leave the range of indices
};

// Returns x & mask for a mask that is not negative. A run of n ones that begins at place `low` selects the part
// 2^low*(x // 2^low % 2^n) of x. Returns NULL if there are too many runs.
static const nw_expr *masked(nw_pool *p, const nw_expr *x, int64_t mask) {
  const nw_expr *sum = nw_index(p, 0);
  for (int run = 0; mask; run++) {
    if (run == RUNS) return NULL;
    int low = __builtin_ctzll((unsigned long long)mask);
    int n = __builtin_ctzll(~((unsigned long long)mask >> low));
    const nw_expr *unit = nw_index(p, INT64_C(1) << low);
    const nw_expr *part = nw_floormod(p, nw_floordiv(p, x, unit), nw_index(p, INT64_C(1) << n));
    sum = nw_add(p, sum, nw_mul(p, unit, part));
    mask &= ~(((INT64_C(1) << n) - 1) << low);
  }
  return sum;
}

// Returns an operation on x and the constant c. Uses that x & c is x - (x & ~c), that x | c is x + c - (x & c), and that
// x ~ c is x + c - 2*(x & c).
static const nw_expr *with_constant(nw_pool *p, nw_op op, const nw_expr *x, int64_t c) {
  int64_t mask = c < 0 ? ~c : c;
  if (mask >> PLACES) return NULL;
  const nw_expr *part = masked(p, x, mask), *both;
  if (!part) return NULL;
  both = c < 0 ? nw_sub(p, x, part) : part;
  if (op == NW_OP_BITAND) return both;
  const nw_expr *sum = nw_add(p, x, nw_index(p, c));
  return nw_sub(p, sum, op == NW_OP_BITOR ? both : nw_mul(p, nw_index(p, 2), both));
}

const nw_expr *nw_fold_bits(nw_pool *p, nw_op op, const nw_expr *x, const nw_expr *by) {
  int64_t c;
  if (!nw_is_index(x) || x->data) return NULL;
  if (op == NW_OP_BITNOT) return nw_sub(p, nw_index(p, -1), x);
  if (!nw_is_int(by, &c)) return NULL;
  if (op != NW_OP_SHL && op != NW_OP_SHR) return with_constant(p, op, x, c);
  if (c < 0 || c > PLACES) return NULL;
  return op == NW_OP_SHL ? nw_mul(p, x, nw_index(p, INT64_C(1) << c)) : nw_floordiv(p, x, nw_index(p, INT64_C(1) << c));
}
