// Merges loops that were made by splitting a fused loop. Private to poly/; see docs/fused.md.
#pragma once
#include "poly/internal.h"

// Returns the program that the judge examines instead of p: p itself if nothing can be merged. Returns NULL with a
// diagnostic if isl exceeded its budget. The result is cached in the program.
const nw_whole *nw_whole_of(const nw_program *p, nw_family *known);
void nw_whole_drop(const nw_program *p);

// ---- whole_digits.c: the digits of a number that is divided by products of sizes
typedef struct nw_dividing {
  const nw_stmt *loop; // if not NULL, only expressions that use this loop's variable are examined
  const nw_expr *base; // the innermost dividend; NULL if none was found
  bool several;
  nw_vec use; // the divisions of `base`, and the divisions of their quotients and remainders
} nw_dividing;
bool nw_see_division(void *dividing, const nw_expr *e); // for nw_visit
bool nw_divides_nothing(void *dividing, nw_stmt *s); // for nw_walk_from; returns false if a division was found
// True if a block in the loop binds a quotient or a remainder of an expression that uses the loop's variable. False if
// this expression is the variable itself and nw_digits_only is true for the loop.
bool nw_binds_digits(const nw_stmt *loop);
bool nw_digits_only(const nw_stmt *loop); // true if isl can represent only the digits of the loop's variable
enum { NW_MOST_DIGITS = 8 };
// Finds the extents of the digits, outermost first. Their product is `end`. Returns the number of digits, or 0 if there
// are no such digits.
int nw_digit_extents(nw_pool *pool, const nw_dividing *found, const nw_expr *end, const nw_expr **out);

// ---- whole_count.c: loops whose iterations are numbered by an expression
typedef struct nw_merging {
  nw_program *p; // a clone, edited
  nw_family *f;
  nw_arena *arena;
  int nchain; // number of loops in `chain`: nested loops, from the outermost part to the innermost
  nw_stmt *chain[NW_MAX_DEPTH];
  bool part[NW_MAX_DEPTH];
  const nw_expr *e, *end; // e: the number of an iteration of the parts; end: the exclusive upper bound of e
  int ndims;
  const nw_expr *dim[NW_MOST_DIGITS];
  nw_vec cond; // conditions that use only the parts
  bool apart, lost;
  nw_stmt *loop;
} nw_merging;
bool nw_uses_part(const nw_merging *x, const nw_expr *e);
bool nw_find_parts(nw_merging *x, nw_stmt *outer); // finds the parts and their conditions
bool nw_counts_to_some_end(nw_merging *x, const nw_dividing *found);

// ---- whole_merge.c: the merged program
nw_program *nw_merged(const nw_program *p, int outer, nw_family *f, nw_together *out, bool *lost);
