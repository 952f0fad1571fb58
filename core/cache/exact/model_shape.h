// An affine nest prepared for the model: loops that count from 0 by 1, regions, and the dependences of each loop's iterations.
// Arrays that share lines are one ground. References to a ground are a region if every loop around several of them moves them by
// the same bytes. Regions on one ground are apart as long as no line is touched by both. Private to the model.
#pragma once
#include "access/affine/affine.h"

// rest + the sum of coef[d] * the d-th enclosing loop
typedef struct nw_linear {
  int64_t rest;
  int64_t *coef;
} nw_linear;

// A bound or condition, and the range of its inner part: that of the loops from `depth` on.
typedef struct nw_watched {
  const nw_linear *f;
  int64_t div;
  int64_t lo, hi; // of the inner part
  bool inner, outer; // has such parts
  int64_t own; // coefficient of the loop itself
} nw_watched;

// What decides, inside a loop, which of its statements run: the conditions of a guard, or the bounds of a loop.
typedef struct nw_control {
  bool loop; // else a guard
  bool absolute; // a loop whose slot has its own value
  int nbegin, n; // bounds: first the begins (of absolute loops only)
  nw_watched *at;
  int under; // of controls that classify iterations: the enclosing guard, or -1
} nw_control;

// The position of a region in one iteration of a loop: its first reference, with inner loops at their first iteration.
typedef struct nw_anchor {
  int region;
  nw_linear at; // address; of loops around
  int64_t move; // the step of the loop, the same for every reference to the region
  int64_t lo, hi; // offsets between which all its references stay in an iteration
  uint64_t
      turns; // one bit for each byte of a line: a region that begins there touches other lines than one that begins a byte before
} nw_anchor;

typedef struct nw_rivals { // two anchors, of regions on the same ground
  int a, b;
  bool drift; // iterations move them by different bytes
  nw_linear apart; // distance from a to b; in enclosing loops
  bool known; // the distance is constant
  int64_t wide; // bytes of a row, a step of the loop or of one inside, or 0; where in rows each is, from its anchor on
  int64_t lo[2], hi[2];
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
  int id, depth; // loops around; of a loop also its own number
  int nkids;
  nw_shape **kid;
  // LOOP: runs from 0 (absolute loops: from the greatest lower bound) to the least upper bound
  bool absolute, parallel, flat; // flat: no loops inside
  int chunk;
  int64_t step; // of absolute ones, else 1
  int nbegin, nend;
  nw_bound *begin, *end;
  int64_t lo, hi; // range of its values
  bool uniform; // all references to a region move alike
  int nanchors;
  nw_anchor *anchor;
  bool drifts; // some rivals do
  int nrivals;
  nw_rivals *rivals;
  int napart; // in enclosing loops: varying distances between references to one region
  nw_linear *apart;
  int nkeys, nclasses; // keys from enclosing loops; classes of its iterations
  nw_control *keyed, *classed;
  int64_t *scratch; // as many as a control has
  bool *dead; // of controls that classify iterations: inside a guard that never holds
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
  int64_t jitter; // bytes by which estimates shift a region against the previous one
} nw_shaped;

bool nw_shape_of(nw_arena *a, const nw_affine_nest *n, int line,
                 nw_shaped *out); // false: has a slot that no loop around gives a value
int64_t nw_linear_at(const nw_linear *f, const int64_t *val, int depth);

// The first and last value of a loop, given the values of the enclosing loops.
void nw_shape_bounds(const nw_shape *loop, const int64_t *val, int64_t *first, int64_t *last);
bool nw_shape_holds(const nw_shape *guard, const int64_t *val);

int64_t nw_shape_rest(int64_t bytes, int64_t wide); // the remainder by rows of `wide` bytes that is nearest to 0
// True if the regions of a loop that move by different bytes are apart in all iterations from..to-1. first: the value in iteration
// 0.
bool nw_shape_apart(const nw_shape *loop, const int64_t *val, int line, int64_t first, int64_t from, int64_t to);
// The distance of two regions as far as it matters for these iterations; INT64_MIN if they are apart.
int64_t nw_shape_between(const nw_shape *loop, const nw_rivals *r, const int64_t *val, int line, int64_t first,
                         int64_t rounds);

// The effect of a region's first byte within a line on a run of the loop: equal for bytes that touch the same lines.
int nw_shape_phase(const nw_anchor *a, int byte);

// Writes the numbers that a run of the loop depends on, besides the positions of its regions, to `key`, which has room. Equal
// numbers mean equal runs.
int nw_shape_key(const nw_shape *loop, const int64_t *val, int64_t *key);
int nw_shape_key_room(const nw_shape *loop);
// Facts about an iteration of the loop. Each changes at most once from the first iteration to the last, so if two iterations agree
// in all facts, all between them do. Returns true if iterations with these facts run the same inner iterations.
bool nw_shape_class(const nw_shape *loop, const int64_t *val, uint8_t *fact);
int nw_shape_facts(const nw_shape *loop);
