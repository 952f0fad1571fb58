// Holds the state while an affine nest is prepared for the model. Private to the model.
#pragma once
#include "cache/exact/model_shape.h"

enum { NW_FAR = 62 }; // a range that ends at 2^62 or -2^62 is unbounded

typedef struct nw_making {
  nw_arena *a;
  const nw_affine_nest *nest;
  nw_shaped *out;
  const int *ground; // the ground of each array
  int64_t *from, *to; // the lines of each ground
  int nloops, line; // `nloops`: total number of loops; `line`: bytes of a line
  nw_vec region; // nw_region_moves *
  nw_shape *around[64];
  nw_linear start[64]; // for each enclosing loop: the value of its slot in the first iteration
  int slot[64];
  int64_t step[64]; // for each enclosing loop: the number by which its slot grows in an iteration
  bool lost; // true if a slot has no loop, or if loops are nested too deeply
} nw_making;

// ---- model_shape.c

nw_linear nw_making_linear(nw_making *m, int64_t rest);
void nw_linear_add(nw_linear *to, const nw_linear *f, int64_t by, int depth); // to += by*f
bool nw_linear_is_number(const nw_linear *f, int depth);
nw_linear nw_making_outer(nw_making *m, const nw_linear *f, int depth); // returns the terms of the enclosing loops
int64_t nw_making_clamped(__int128 v);
// Adds the terms of f for the loops at depths `from` to `to` - 1, and finds the range of this sum.
void nw_making_range(const nw_making *m, const nw_linear *f, int from, int to, int64_t *lo, int64_t *hi);

// ---- model_regions.c

void nw_making_grounds(nw_making *m);
int nw_making_region(nw_making *m, int ground, const nw_linear *f, int depth); // returns the region of a reference
void nw_making_number_regions(nw_making *m); // must be called after all references have regions
// Finds the range of the offsets of a reference from its anchor (nw_anchor), in one iteration of the loop. `depth` is
// the depth of the reference's statement. If `wide` is not 0, it is the width of a row in bytes. The offsets are then
// offsets within a row: moves by whole rows do not count.
void nw_making_reach(const nw_making *m, const nw_shape *loop, const nw_anchor *at, const nw_access_form *r, int depth,
                     int64_t wide, int64_t *lo, int64_t *hi);
void nw_making_rivals(nw_making *m, nw_shape *loop); // must be called after all references in the loop are known

// ---- model_phase.c

// Adds a reference to the anchor's `turns`. `depth` is the depth of the reference's statement.
void nw_making_phase(const nw_making *m, const nw_shape *loop, nw_anchor *at, const nw_access_form *r, int depth);

// ---- model_depend.c

void nw_making_depends(nw_making *m, nw_shape *s); // finds the dependences of all loops in s
