// An affine nest made ready for the model: loops that count from 0 by 1, regions, and of each loop what its iterations depend on.
// Arrays that share lines are one ground. References to it that move alike, wherever loops are around several of them, are a
// region; regions on one ground are apart as long as no line is touched by both. Private to the model.
#pragma once
#include "access/affine/affine.h"

// rest + the sum of coef[d] * the d-th loop around, as many as there are
typedef struct nw_linear {
  int64_t rest;
  int64_t *coef;
} nw_linear;

// A bound or condition, and between what its part of inner loops lies: loops from `depth` on.
typedef struct nw_watched {
  const nw_linear *f;
  int64_t div;
  int64_t lo, hi; // of the inner part
  bool inner, outer; // has such parts
  int64_t own; // coefficient of the loop itself
} nw_watched;

// What decides inside of a loop which of its statements run: the conditions of a guard, or the bounds of a loop.
typedef struct nw_control {
  bool loop; // else a guard
  bool absolute; // a loop whose slot has its own value
  int nbegin, n; // bounds: first the begins (of absolute loops only)
  nw_watched *at;
  int under; // of those that classify rounds: the guard around it, or -1
} nw_control;

// Where a region is in one round of a loop: its first reference, with inner loops at their first round.
typedef struct nw_anchor {
  int region;
  nw_linear at; // address; of loops around
  int64_t move; // what a round of the loop adds, of every reference to the region
  int64_t lo, hi; // bytes behind that between which all its references stay in a round
  uint64_t turns; // bytes within a line, a bit each: those that begin there touch other lines than those a byte before
} nw_anchor;

typedef struct nw_rivals { // two anchors, of regions on the same ground
  int a, b;
  bool drift; // rounds move them by different bytes
  nw_linear apart; // how far a is from b; of loops around
  bool known; // always as far
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
  // LOOP: runs from 0, or where it is absolute from the greatest begin, to the least end
  bool absolute, parallel, flat; // flat: no loops inside
  int chunk;
  int64_t step; // of absolute ones, else 1
  int nbegin, nend;
  nw_bound *begin, *end;
  int64_t lo, hi; // its values lie between
  bool uniform; // all references to a region move alike
  int nanchors;
  nw_anchor *anchor;
  bool drifts; // some rivals do
  int nrivals;
  nw_rivals *rivals;
  int napart; // of loops around: how references to one region lie apart, where that changes
  nw_linear *apart;
  int nkeys, nclasses; // what its rounds depend on around it; what depends on the number of the round
  nw_control *keyed, *classed;
  int64_t *scratch; // as many as a control has
  bool *dead; // of what classifies rounds: it lies in a guard that never holds
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
  int *ground; // by region: what it lies on
  int64_t jitter; // bytes by which a region is moved against the one before, in estimates
} nw_shaped;

bool nw_shape_of(nw_arena *a, const nw_affine_nest *n, int line,
                 nw_shaped *out); // false: has a slot that no loop around gives a value
int64_t nw_linear_at(const nw_linear *f, const int64_t *val, int depth);

// The first and last value of a loop, where those around it have theirs.
void nw_shape_bounds(const nw_shape *loop, const int64_t *val, int64_t *first, int64_t *last);
bool nw_shape_holds(const nw_shape *guard, const int64_t *val);

int64_t nw_shape_rest(int64_t bytes, int64_t wide); // what is left of rows of so many bytes, the nearest to 0
// Are the regions of a loop that move by different bytes apart in all rounds from..to-1, the first value being that of round 0?
bool nw_shape_apart(const nw_shape *loop, const int64_t *val, int line, int64_t first, int64_t from, int64_t to);
// How far two regions are from each other, as far as it matters for so many rounds: INT64_MIN where they are apart.
int64_t nw_shape_between(const nw_shape *loop, const nw_rivals *r, const int64_t *val, int line, int64_t first,
                         int64_t rounds);

// What a run of the loop depends on of the byte within a line at which a region begins: equal for bytes that touch the same lines.
int nw_shape_phase(const nw_anchor *a, int byte);

// What a run of the loop depends on, besides where its regions lie, as numbers: put behind `key`, which has room. Equal ones mean
// equal runs.
int nw_shape_key(const nw_shape *loop, const int64_t *val, int64_t *key);
int nw_shape_key_room(const nw_shape *loop);
// Facts about a round of the loop, each of which turns over at most once from its first round to its last: where two rounds agree
// in all, so do those between. Returns whether rounds with these facts run the same iterations.
bool nw_shape_class(const nw_shape *loop, const int64_t *val, uint8_t *fact);
int nw_shape_facts(const nw_shape *loop);
