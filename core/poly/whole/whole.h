// Merges loops that were made by splitting a fused loop. Private to poly/; see docs/fused.md.
#pragma once
#include "ir/expr/factors.h"
#include "poly/internal.h"

// Returns the program that the judge examines instead of p: p itself if nothing can be merged. Returns NULL with a
// diagnostic if isl exceeded its budget. The result is cached in the program. other: see nw_model_cut.
const nw_whole *nw_whole_of(const nw_program *p, nw_family *known, const nw_program *other);
void nw_whole_drop(const nw_program *p);

// ---- sums.c: sums of loops that are multiplied by products of sizes
bool nw_uses_only_sizes(const nw_program *p, const nw_expr *e);
typedef struct nw_weighted_term {
  const nw_expr *var; // a loop's variable
  nw_factors weight;
} nw_weighted_term;
typedef struct nw_weighted {
  int n;
  nw_weighted_term term[NW_MAX_DEPTH + 1];
  bool symbolic; // true if some weight is not a number
  const nw_expr *rest; // an expression of sizes, or NULL
} nw_weighted;
bool nw_weighted_of(const nw_program *p, const nw_expr *e, nw_weighted *out); // false if e is not such a sum
// A sum s + low // by, where s is a sum of loops with symbolic weights. It is the quotient of the number by*s + low, and
// low % by is the remainder.
typedef struct nw_lifted_sum {
  const nw_expr *number, *low, *by;
} nw_lifted_sum;
bool nw_lifted_of(const nw_program *p, const nw_expr *e, nw_lifted_sum *out); // false if e is not such a sum
bool nw_is_multiple(const nw_program *p, const nw_expr *e, const nw_expr *of); // true if this is proved for all sizes

// ---- digits.c: numbers that are made of loops, and the digits into which they are divided
typedef struct nw_dividing {
  const nw_program *p;
  const nw_stmt *loop; // if not NULL, only expressions that use this loop's variable are examined
  // the innermost dividend of divisions by sizes, or a weighted sum of loops, or the number of a lifted sum; NULL if none
  // was found
  const nw_expr *base;
  const nw_expr *low, *by; // of the lifted sum; otherwise NULL
  int nterms; // number of loops in the weighted sum
  bool several; // true if there are divisions of different dividends
  bool all; // true if nw_numbers_nothing looks at all blocks
  nw_vec use; // the divisions of `base` or `low`, and the divisions of their quotients and remainders
} nw_dividing;
bool nw_divides_by_size(const nw_expr *e); // true for a quotient or a remainder by an expression that is not a number
bool nw_see_division(void *dividing, const nw_expr *e); // for nw_visit
bool nw_see_low_division(void *dividing, const nw_expr *e); // for nw_visit; looks for divisions of `low`
bool nw_numbers_nothing(void *dividing, nw_stmt *s); // for nw_walk_from; returns false if a number was found
// True if a block in the loop binds a weighted sum that uses the loop's variable, or a quotient or a remainder of an
// expression that uses it. False if this expression is the variable itself and nw_digits_only is true for the loop.
bool nw_binds_number(const nw_program *p, const nw_stmt *loop);
bool nw_digits_only(const nw_stmt *loop); // true if isl can represent only the digits of the loop's variable
typedef struct nw_cuts { // where a number is cut into digits
  int n;
  nw_factors at[NW_MOST_DIGITS];
} nw_cuts;
// Adds a cut. Cuts are sorted by size, and each cut must be a multiple of the previous cut. Returns false if this is
// not possible, or if there are too many cuts.
bool nw_add_cut(nw_cuts *x, const nw_factors *cut);
// Adds the cuts of a chain of divisions, and sets *weight to the weight of its result. Returns false if a cut cannot be
// added.
bool nw_cut_by(nw_cuts *x, const nw_expr *e, nw_factors *weight);
// Finds the extents of the digits, outermost first. Their product is `end`. Returns the number of digits, or 0 if there
// are no such digits.
int nw_cut_extents(nw_pool *pool, const nw_cuts *by, const nw_expr *end, const nw_expr **out);
// Does the same for the divisions of a number.
int nw_digit_extents(nw_pool *pool, const nw_dividing *found, const nw_expr *end, const nw_expr **out);

// ---- expand.c: numbers that are replaced by their digits in the whole program

// True if an extent of a buffer is a product of sizes, or if a block divides by a size.
bool nw_has_numbers(const nw_program *p);
bool nw_binds_weights(const nw_program *p); // true if a binding is a sum of loops whose weights contain sizes
// Returns p with digits in place of numbers whose range is a product of sizes. Stores the systems of digits. Returns
// NULL if there are none, or if some number cannot be written in its digits. other: see nw_model_cut.
nw_program *nw_expanded(const nw_program *p, const nw_program *other, int *n, nw_system *out, bool *lost);

// ---- unshifted.c: tails that begin earlier
// Makes a program in which tails of splits by sizes that begin earlier are guarded instead. It computes the same as p.
// Returns false, with a reference to p in *out, if there are none. The caller releases *out.
bool nw_unshifted(const nw_program *p, nw_program **out);

// ---- rounded.c: sizes that are rounded up to multiples
// Makes programs in which each size M whose loop was split by n, with a guard, is replaced by c*n with a new size c. If a
// step from *was to *is is legal, the step from `before` to `after` is legal too. The caller releases both programs.
// Returns false if there is no such size, or if it cannot be replaced.
bool nw_rounded(const nw_program *before, const nw_program *after, nw_program **was, nw_program **is);

// ---- count.c, weights.c: loops whose iterations are numbered by an expression
typedef struct nw_merging {
  nw_program *p; // a clone, edited
  nw_family *f;
  nw_arena *arena;
  int nchain; // number of loops in `chain`: nested loops, from the outermost part to the innermost
  nw_stmt *chain[NW_MAX_DEPTH];
  bool part[NW_MAX_DEPTH];
  const nw_expr *e, *end; // e: the number of an iteration of the parts; end: the exclusive upper bound of e
  const nw_expr *by; // of the lifted sum whose number is e; otherwise NULL
  bool digits_only; // true if isl can represent only the digits of some part
  int ndims;
  const nw_expr *dim[NW_MOST_DIGITS];
  nw_vec cond; // conditions that use only the parts
  int between; // number of loops in `chain` that are no parts
  bool turned; // true if the parts do not run in the order of the numbers
  bool lost;
  nw_stmt *loop;
} nw_merging;
bool nw_uses_part(const nw_merging *x, const nw_expr *e);
bool nw_find_parts(nw_merging *x, nw_stmt *outer); // finds the parts and their conditions
bool nw_counts(nw_merging *x); // true if x->e takes each value 0, 1, ... x->end - 1 once
bool nw_counts_to_some_end(nw_merging *x, const nw_dividing *found);
// True if the number x->e is a weighted sum that takes each value 0, 1, ... x->end - 1 once. Sets x->turned if the
// values are not in order.
bool nw_weights_count(nw_merging *x);
const nw_expr *nw_weights_end(const nw_merging *x); // a candidate for x->end, or NULL
// If the condition limits the lifted sum whose number is x->e, returns the exclusive upper bound of x->e; otherwise NULL.
const nw_expr *nw_lifted_end(const nw_merging *x, const nw_expr *cond);

// ---- merge.c: the merged program
nw_program *nw_merged(const nw_program *p, int outer, nw_family *f, nw_together *out, bool *lost);
