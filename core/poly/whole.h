// Loops that a fused loop was split into, put together again. Private to poly/; see docs/fused.md.
#pragma once
#include "poly/internal.h"

// What the judge looks at in place of p: p itself, where nothing can be put together. NULL, and a diagnostic, where isl gave
// up. Cached in the program.
const nw_whole *nw_whole_of(const nw_program *p, nw_family *known);
void nw_whole_drop(const nw_program *p);

// ---- whole_digits.c: a number that is divided by products of sizes
typedef struct nw_dividing {
  const nw_stmt *loop; // the expressions that use this one
  const nw_expr *base; // the innermost dividend; NULL: none was found
  bool several;
  nw_vec use; // its divisions, and the divisions of those
} nw_dividing;
bool nw_see_division(void *dividing, const nw_expr *e); // for nw_visit
bool nw_divides_nothing(void *dividing, nw_stmt *s); // for nw_walk_from; false where a block binds a division
bool nw_binds_digits(const nw_stmt *loop); // of a number that is made from it, and is more than the loop's own variable
bool nw_digits_only(const nw_stmt *loop); // is the loop's number known by its digits only?
enum { NW_MOST_DIGITS = 8 };
// The extents of the digits, outermost first, whose product is `end`; 0: there are no such digits.
int nw_digit_extents(nw_pool *pool, const nw_dividing *found, const nw_expr *end, const nw_expr **out);

// ---- whole_count.c: loops whose iterations are numbered
typedef struct nw_merging {
  nw_program *p; // a clone, edited
  nw_family *f;
  nw_arena *arena;
  int nchain; // loops one inside the other, from the outermost part to the innermost
  nw_stmt *chain[NW_MAX_DEPTH];
  bool part[NW_MAX_DEPTH];
  const nw_expr *e, *end; // the number, and what it stays below
  int ndims;
  const nw_expr *dim[NW_MOST_DIGITS];
  nw_vec cond; // what is asked of the parts alone
  bool apart, lost;
  nw_stmt *loop;
} nw_merging;
bool nw_uses_part(const nw_merging *x, const nw_expr *e);
bool nw_find_parts(nw_merging *x, nw_stmt *outer); // and what is asked of them
bool nw_counts_to_some_end(nw_merging *x, const nw_dividing *found);

// ---- whole_merge.c
// The program with the loop `outer` and the parts inside it as one, frozen; NULL where they cannot be.
nw_program *nw_merged(const nw_program *p, int outer, nw_family *f, nw_together *out, bool *lost);
