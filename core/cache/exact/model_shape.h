// Prepares an affine nest for the model. Loops are changed so that they start at 0 and have step 1. For each loop,
// finds the values on which its accesses depend. Private to the model. Terms:
//
//   ground  a set of arrays that share lines
//   region  a set of references to the same ground; each iteration of a loop moves all references of the set inside the
//           loop by the same number of bytes
//   apart   two regions on a ground are apart if they do not access the same line
#pragma once
#include "access/affine/affine.h"

// An affine form. Its value is rest + the sum of coef[d] * (the value of the d-th enclosing loop).
typedef struct nw_linear {
  int64_t rest;
  int64_t *coef;
} nw_linear;

// A bound or condition. Its *inner part* consists of the terms of inner loops (see `watch` in model_depend.c).
typedef struct nw_watched {
  const nw_linear *f;
  int64_t div;
  int64_t lo, hi; // the range of the inner part
  bool inner; // true if there is an inner part
  bool outer; // true if there are other terms
  int64_t own; // the coefficient of the loop whose dependences are found
} nw_watched;

// A *control* consists of the conditions of a guard or of the bounds of a loop. It determines which statements inside
// run.
typedef struct nw_control {
  bool loop; // false for a guard
  bool absolute; // true for a loop that was not changed to start at 0
  int nbegin; // number of lower bounds, which come first in `at`; only absolute loops have lower bounds
  int n; // number of items of `at`
  nw_watched *at;
  int under; // for a control in `classed` (nw_shape): the index of the enclosing guard in `classed`, or -1
} nw_control;

// The *anchor* of a region gives its position in one iteration of a loop. It is the address of the region's first
// reference, in the first iteration of all inner loops.
typedef struct nw_anchor {
  int region;
  nw_linear at; // the address, as a function of the values of the enclosing loops
  int64_t move; // bytes by which an iteration of the loop moves every reference of the region
  int64_t lo, hi; // in an iteration: the range of the offsets of the references from `at`, in bytes
  // Bit b is set if a region that begins at byte b of a line accesses other lines than a region that begins one byte
  // earlier.
  uint64_t turns;
} nw_anchor;

typedef struct nw_rivals { // two regions on the same ground, in a loop
  int a, b; // indices of their anchors
  bool drift; // true if an iteration moves the two regions by different numbers of bytes
  nw_linear apart; // address of a minus address of b, as a function of the values of the enclosing loops
  bool known; // true if the distance is constant
  int64_t wide; // bytes of a row (model_apart.c); 0 if there are no rows
  int64_t lo[2], hi[2]; // for a and for b: the range, within a row, of the references' offsets from the anchor
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
  int id, depth; // `id`: the number of a loop; `depth`: the number of enclosing loops
  int nkids;
  nw_shape **kid;
  // LOOP: it runs from 0 to the least of its upper bounds. An *absolute* loop was not changed, so it begins at the
  // greatest of its lower bounds.
  bool absolute, parallel, flat; // `flat`: true if there are no loops inside
  int chunk;
  int64_t step; // 1 if the loop is not absolute
  int nbegin, nend;
  nw_bound *begin, *end;
  int64_t lo, hi; // range of the values of the loop
  bool uniform; // true if an iteration moves all references of each region by the same number of bytes
  int nanchors;
  nw_anchor *anchor;
  bool drifts; // true if some rivals drift
  int nrivals;
  nw_rivals *rivals;
  int napart;
  nw_linear *apart; // the distances between references to the same region, if they depend on enclosing loops
  int nkeys, nclasses; // numbers of items of `keyed` and of `classed`
  nw_control *keyed; // controls that depend on enclosing loops
  nw_control *classed; // controls that depend on this loop; they classify its iterations
  int64_t *scratch; // temporary space for one number for each item of a control
  bool *dead; // for each control in `classed`: true if it is inside a guard that never holds
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
  int64_t *from, *to; // for each region: the lines of its ground
  int *ground; // for each region: its ground
  int64_t jitter; // in an estimate: the bytes by which each ground is shifted relative to the previous ground
} nw_shaped;

// Prepares a nest. Returns false if the nest uses a slot that no enclosing loop sets, or is nested too deeply.
bool nw_shape_of(nw_arena *a, const nw_affine_nest *n, int line, nw_shaped *out);
int64_t nw_linear_at(const nw_linear *f, const int64_t *val, int depth);

// Computes the first and the last value of a loop from the values of the enclosing loops.
void nw_shape_bounds(const nw_shape *loop, const int64_t *val, int64_t *first, int64_t *last);
bool nw_shape_holds(const nw_shape *guard, const int64_t *val);

int64_t nw_shape_rest(int64_t bytes, int64_t wide); // returns the remainder of bytes / wide that is nearest to 0
// True if all pairs of regions that the loop moves by different numbers of bytes are apart in the iterations `from` to
// `to` - 1. `first` is the value of the loop in iteration 0.
bool nw_shape_apart(const nw_shape *loop, const int64_t *val, int line, int64_t first, int64_t from, int64_t to);
// Returns the distance between two regions in bytes. Returns INT64_MIN if the regions are apart in all iterations,
// because the distance then does not matter.
int64_t nw_shape_between(const nw_shape *loop, const nw_rivals *r, const int64_t *val, int line, int64_t first,
                         int64_t rounds);

// Returns a number for `byte`, the position of a region's first byte within its line. Two positions have equal numbers
// only if the region accesses the same lines in both.
int nw_shape_phase(const nw_anchor *a, int byte);

// Writes to `key` the numbers that determine which iterations an execution of the loop runs, in this loop and in the
// loops inside it. Returns the number of these numbers. `key` must have room for nw_shape_key_room numbers.
int nw_shape_key(const nw_shape *loop, const int64_t *val, int64_t *key);
int nw_shape_key_room(const nw_shape *loop);
// Computes *facts* about an iteration of the loop. Facts are numbers that classify the iterations. Each fact changes at
// most once from the first iteration to the last. So if two iterations have the same facts, all iterations between them
// have these facts, too. Returns true if all iterations with these facts run the same inner iterations.
bool nw_shape_class(const nw_shape *loop, const int64_t *val, uint8_t *fact);
int nw_shape_facts(const nw_shape *loop);
