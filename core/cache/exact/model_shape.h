// An affine nest prepared for the model: loops that count from 0 by 1, regions, and what the iterations of each loop
// depend on. Arrays that share lines form one *ground*. References to the same ground form a *region* if each loop that
// contains several of them moves all of these by the same number of bytes. Two regions on a ground are *apart* if no
// line is touched by both. Private to the model.
#pragma once
#include "access/affine/affine.h"

// The value rest + the sum of coef[d] * (the value of the d-th enclosing loop).
typedef struct nw_linear {
  int64_t rest;
  int64_t *coef;
} nw_linear;

// A bound or condition, with the range of its inner part: the terms of the loops from `depth` on.
typedef struct nw_watched {
  const nw_linear *f;
  int64_t div;
  int64_t lo, hi; // of the inner part
  bool inner, outer; // it has an inner part; it has terms of outer loops
  int64_t own; // the coefficient of the loop itself
} nw_watched;

// The conditions of a guard, or the bounds of a loop: they determine which statements inside run.
typedef struct nw_control {
  bool loop; // false for a guard
  bool absolute; // a loop that does not count from 0: its slot has the original value
  int nbegin, n; // numbers of lower bounds, which come first (only absolute loops have them), and of all items
  nw_watched *at;
  int under; // for controls that classify iterations: the enclosing guard, or -1
} nw_control;

// The position of a region in one iteration of a loop: its first reference, with inner loops at their first iteration.
typedef struct nw_anchor {
  int region;
  nw_linear at; // its address, as a function of the values of the enclosing loops
  int64_t move; // bytes by which an iteration of the loop moves every reference to the region
  int64_t lo, hi; // the range of the offsets of all its references in an iteration
  // One bit for each byte of a line: set if a region that begins at this byte touches other lines than a region that
  // begins one byte before.
  uint64_t turns;
} nw_anchor;

typedef struct nw_rivals { // two anchors, of regions on the same ground
  int a, b;
  bool drift; // an iteration moves them by different numbers of bytes
  nw_linear apart; // distance from a to b, as a function of the values of the enclosing loops
  bool known; // the distance is constant
  int64_t wide; // bytes of a row: the step of the loop or of an inner loop; 0 if there are no rows
  int64_t lo[2], hi[2]; // the range of offsets, within rows, of the references of a and of b, relative to their anchors
} nw_rivals;

typedef struct nw_access_form {
  int region, site, bytes;
  bool write;
  nw_linear at; // address
} nw_access_form;

typedef struct nw_bound {
  nw_linear f;
  int64_t div;
} nw_bound;

typedef struct nw_shape nw_shape;
struct nw_shape {
  nw_affine_kind kind;
  int id, depth; // id: of a loop, its number; depth: number of enclosing loops
  int nkids;
  nw_shape **kid;
  // LOOP: runs from 0 (absolute loops: from the greatest lower bound) to the least upper bound
  bool absolute, parallel, flat; // flat: no loops inside
  int chunk;
  int64_t step; // of an absolute loop; 1 for others
  int nbegin, nend;
  nw_bound *begin, *end;
  int64_t lo, hi; // range of its values
  bool uniform; // all references to a region move by the same number of bytes
  int nanchors;
  nw_anchor *anchor;
  bool drifts; // some rivals drift
  int nrivals;
  nw_rivals *rivals;
  int napart; // number of distances between references to the same region that depend on enclosing loops
  nw_linear *apart;
  // Number of controls that depend on enclosing loops, and of controls that classify its iterations.
  int nkeys, nclasses;
  nw_control *keyed, *classed;
  int64_t *scratch; // space for one number for each bound of a control
  bool *dead; // for each control that classifies iterations: true if it is inside a guard that never holds
  // GUARD
  int nconds;
  nw_linear *cond;
  // STMT
  int nrefs;
  nw_access_form *ref;
};

typedef struct nw_shaped {
  nw_arena *arena;
  nw_shape *root;
  int depth, nloops, nregions, ngrounds, nsites;
  int64_t *from, *to; // by region: lines of its ground
  int *ground; // by region: its ground
  int64_t jitter; // bytes by which an estimate shifts each ground relative to the previous ground
} nw_shaped;

// Prepares a nest. False if it uses a slot that no enclosing loop sets.
bool nw_shape_of(nw_arena *a, const nw_affine_nest *n, int line, nw_shaped *out);
int64_t nw_linear_at(const nw_linear *f, const int64_t *val, int depth);

// Computes the first and the last value of a loop from the values of the enclosing loops.
void nw_shape_bounds(const nw_shape *loop, const int64_t *val, int64_t *first, int64_t *last);
bool nw_shape_holds(const nw_shape *guard, const int64_t *val);

int64_t nw_shape_rest(int64_t bytes, int64_t wide); // the remainder of bytes / wide that is nearest to 0
// True if those regions of a loop that move by different numbers of bytes are apart in all iterations from..to-1.
// first: the value of the loop in iteration 0.
bool nw_shape_apart(const nw_shape *loop, const int64_t *val, int line, int64_t first, int64_t from, int64_t to);
// Returns the distance of two regions, reduced to what affects these iterations; INT64_MIN if the regions are apart.
int64_t nw_shape_between(const nw_shape *loop, const nw_rivals *r, const int64_t *val, int line, int64_t first,
                         int64_t rounds);

// Returns a number for the position of a region's first byte within its line. Positions with equal numbers touch the
// same lines.
int nw_shape_phase(const nw_anchor *a, int byte);

// Writes to `key`, which must be large enough, the numbers that a run of the loop depends on, except the positions of
// its regions. If the numbers of two runs are equal, the runs are equal.
int nw_shape_key(const nw_shape *loop, const int64_t *val, int64_t *key);
int nw_shape_key_room(const nw_shape *loop);
// Computes facts about an iteration of the loop. Each fact changes at most once from the first iteration to the last.
// So if two iterations agree in all facts, all iterations between them agree, too. Returns true if all iterations with
// these facts run the same inner iterations.
bool nw_shape_class(const nw_shape *loop, const int64_t *val, uint8_t *fact);
int nw_shape_facts(const nw_shape *loop);
