// Declares the state of a comparison of a nest with the description of an intrinsic. This header is private to unify.c and
// unify_warp.c.
#pragma once
#include "ir/program/intrinsic.h"

enum {
  NW_UNIFY_ACCESSES = 64,
  NW_UNIFY_LOOPS = 7, // limited because every pairing is tried
};

typedef struct nw_unify_use {
  const nw_intrinsic_arg *arg;
  int n;
  const nw_expr *const *mine, *const *theirs; // indices in the description and in the nest, in terms of block variables
  const char *buffer; // buffer of the nest
  int nphysical; // number of physical dimensions
  const nw_expr *base[NW_MAX_TILE_DIMS]; // physical position in the first iteration of the loops
  int64_t coef[NW_MAX_TILE_DIMS][NW_UNIFY_LOOPS]; // coef[d][i]: movement in dimension d per iteration of loop i
} nw_unify_use;

typedef struct nw_unifying {
  const nw_program *p;
  const nw_intrinsic *in;
  nw_match *out;
  nw_ranges r; // ranges and facts at the block
  const nw_stmt *lane; // for an instruction of a warp: the loop over its lanes
  int nloops;
  const nw_stmt *loop[NW_MAX_DEPTH]; // loops of the nest with more than one iteration
  int nunits;
  const nw_stmt *unit[NW_MAX_DEPTH]; // loops with one iteration
  unsigned flips; // bit i: the operands of the i-th commutative operation are swapped
  int nflips, naccesses;
  nw_unify_use access[NW_UNIFY_ACCESSES];
  int pair[NW_MAX_DEPTH]; // pair[i]: loop of the nest that is paired with loop i of the description
  bool used[NW_MAX_DEPTH];
  bool paired; // true if some pairing of the loops had equal extents
  // `reached`: progress of the current attempt; `said`: progress of the attempt that the message describes
  int reached, said;
} nw_unifying;

bool nw_unify_uses_loops(const nw_unifying *u, const nw_expr *e); // also if e uses the loop over the lanes
const nw_expr *nw_unify_without_units(const nw_unifying *u, const nw_expr *e);
int nw_unify_physical(const nw_unifying *u, const nw_unify_use *a, const nw_expr **out);
// Records the difference; takes both texts, which are on the heap. Returns false.
bool nw_unify_differs(nw_unifying *u, const nw_stmt *at, char *expected, char *found);
// Returns a dimension of the tile that has a fixed stride in the description and another stride in the nest, or -1.
int nw_unify_wrong_stride(const nw_unifying *u, const nw_unify_use *a, const nw_window *w);
// True if the tile begins at a multiple of n elements, and so do its rows.
bool nw_unify_aligned(const nw_unifying *u, const nw_window *w, int64_t n);
// Compares which lane holds which element, and sets the windows of the tiles (unify_warp.c).
bool nw_unify_warp(nw_unifying *u);
