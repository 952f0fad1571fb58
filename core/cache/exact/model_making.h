// Affine nests while they are prepared for the model. Private to the model.
#pragma once
#include "cache/exact/model_shape.h"

enum { NW_FAR = 62 }; // ranges end at 2^62, which means unbounded

typedef struct nw_making {
  nw_arena *a;
  const nw_affine_nest *nest;
  nw_shaped *out;
  const int *ground; // by array
  int64_t *from, *to; // by ground: lines
  int nloops, line; // in all; bytes
  nw_vec region; // nw_region_moves *
  nw_shape *around[64];
  nw_linear start[64]; // by slot of a loop: its value in the first iteration
  int slot[64];
  int64_t step[64]; // of its slot
  bool lost; // a slot has no loop, or loops are too deep
} nw_making;

// model_shape.c
nw_linear nw_making_linear(nw_making *m, int64_t rest);
void nw_linear_add(nw_linear *to, const nw_linear *f, int64_t by, int depth); // to += by*f
bool nw_linear_is_number(const nw_linear *f, int depth);
nw_linear nw_making_outer(nw_making *m, const nw_linear *f, int depth); // the part of the enclosing loops
int64_t nw_making_clamped(__int128 v);
// The range of the part of loops from..to-1.
void nw_making_range(const nw_making *m, const nw_linear *f, int from, int to, int64_t *lo, int64_t *hi);

// model_regions.c
void nw_making_grounds(nw_making *m);
int nw_making_region(nw_making *m, int ground, const nw_linear *f, int depth); // of a reference
void nw_making_number_regions(nw_making *m); // after all references have regions
// The range of a reference of a statement at that depth in an iteration, within rows of `wide` bytes; 0: without rows.
void nw_making_reach(const nw_making *m, const nw_shape *loop, const nw_anchor *at, const nw_access_form *r, int depth,
                     int64_t wide, int64_t *lo, int64_t *hi);
void nw_making_rivals(nw_making *m, nw_shape *loop); // after all its references are known

// model_phase.c
// Adds a reference to the region, of a statement at that depth.
void nw_making_phase(const nw_making *m, const nw_shape *loop, nw_anchor *at, const nw_access_form *r, int depth);

// model_depend.c
void nw_making_depends(nw_making *m, nw_shape *s); // of all loops in it
