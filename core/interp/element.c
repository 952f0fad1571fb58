// Evaluates one element of an operation: the body, or the reduction. A reduction combines its terms in the order of the
// axes.
#include "interp/naive.h"
#include <math.h>
#include <stdlib.h>

static void round_to(nw_dtype t, nwi_cell *v) {
  uint64_t room;
  nwi_write(t, &room, 0, v);
  nwi_read(t, &room, 0, v);
}

static nwi_cell sum(nw_dtype t, nwi_cell a, nwi_cell b) {
  if (t == NW_F64) return (nwi_cell){.d = a.d + b.d};
  if (nw_dtype_is_float(t)) return (nwi_cell){.f = a.f + b.f};
  return (nwi_cell){.i = nw_wrap(t, (int64_t)((uint64_t)a.i + (uint64_t)b.i))};
}

static nwi_cell product(nw_dtype t, nwi_cell a, nwi_cell b) {
  if (t == NW_F64) return (nwi_cell){.d = a.d * b.d};
  if (nw_dtype_is_float(t)) return (nwi_cell){.f = a.f * b.f};
  return (nwi_cell){.i = nw_wrap(t, (int64_t)((uint64_t)a.i * (uint64_t)b.i))};
}

static double as_double(nw_dtype t, nwi_cell v) { return t == NW_F64 ? v.d : v.f; }

// Returns -1, 0 or 1 if a is less than, equal to or greater than b. If `zeros` is true, the float -0 is less than +0.
static int compare(nw_dtype t, nwi_cell a, nwi_cell b, bool zeros) {
  if (t == NW_U64) return ((uint64_t)a.i > (uint64_t)b.i) - ((uint64_t)a.i < (uint64_t)b.i);
  if (!nw_dtype_is_float(t)) return (a.i > b.i) - (a.i < b.i);
  double x = as_double(t, a), y = as_double(t, b);
  if (x == y && zeros) return (signbit(x) == 0) - (signbit(y) == 0);
  return (x > y) - (x < y);
}

static bool is_nan(nw_dtype t, nwi_cell v) { return nw_dtype_is_float(t) && isnan(as_double(t, v)); }

static nwi_cell extreme(nw_dtype t, nwi_cell a, nwi_cell b, int sign) {
  if (is_nan(t, a)) return a;
  if (is_nan(t, b)) return b;
  return compare(t, b, a, true) == sign ? b : a;
}

// True if value b at position j replaces value a at position i. NaN replaces numbers. Of equal values, the value at the
// lower position is kept. A negative i means that there is no value a yet.
static bool replaces(nw_dtype t, nwi_cell a, int64_t i, nwi_cell b, int64_t j, int sign) {
  if (i < 0) return true;
  bool na = is_nan(t, a), nb = is_nan(t, b);
  if (na || nb) return na && nb ? j < i : nb;
  int order = compare(t, b, a, false);
  return order == sign || (order == 0 && j < i);
}

// Combines by a reducer that a user has defined. The variables of the two states have the bits of the cells.
static void accumulate_own(nwi_run *r, const nwi_op *o, nwi_cell *acc, nwi_cell *term) {
  const nw_teop *op = o->op;
  int n = op->nout;
  for (int k = 0; k < n; k++) {
    round_to(op->dtype[k], &term[k]);
    r->slot[o->states + k] = acc[k].i;
    r->slot[o->states + n + k] = term[k].i;
  }
  nwi_turn(r);
  for (int k = 0; k < n; k++) acc[k] = *nwi_get(r, o->combine[k]);
  for (int k = 0; k < n; k++) round_to(op->dtype[k], &acc[k]);
}

static void accumulate(const nw_teop *op, nwi_cell *acc, const nwi_cell *term) {
  int sign = op->combiner == NW_ARGMAX || op->combiner == NW_MAX_OF ? 1 : -1;
  if (op->combiner == NW_ARGMIN || op->combiner == NW_ARGMAX) {
    nwi_cell value = term[0];
    round_to(op->dtype[0], &value);
    if (replaces(op->dtype[0], acc[0], acc[1].i, value, term[1].i, sign)) acc[0] = value, acc[1] = term[1];
    return;
  }
  for (int k = 0; k < op->nout; k++) {
    nw_dtype t = op->dtype[k];
    switch (op->combiner) {
    case NW_SUM: acc[k] = sum(t, acc[k], term[k]); break;
    case NW_PROD: acc[k] = product(t, acc[k], term[k]); break;
    default: acc[k] = extreme(t, acc[k], term[k], sign); break;
    }
    round_to(t, &acc[k]);
  }
}

static void terms(nwi_naive *x, nwi_op *o, nwi_cell *out) {
  nwi_turn(&x->run);
  for (int k = 0; k < o->op->nout; k++) out[k] = *nwi_get(&x->run, o->body[k]);
}

// Leaves out the values of an axis that are outside of its range, whose terms are the identity.
static void shorten(nwi_run *r, const nwi_op *o, int axis, int64_t *lo, int64_t *end) {
  if (!o->from[axis] && !o->to[axis]) return;
  nwi_turn(r);
  int64_t from = o->from[axis] ? nwi_int(r, o->from[axis]) : *lo, to = o->to[axis] ? nwi_int(r, o->to[axis]) : *end;
  if (from > *lo) *lo = from;
  if (to < *end) *end = to;
}

static void reduce(nwi_naive *x, nwi_op *o, int axis, nwi_cell *acc, nwi_cell *term) {
  nwi_run *r = &x->run;
  if (axis == o->op->nreduce) {
    terms(x, o, term);
    return o->op->combiner < NW_OWN ? accumulate(o->op, acc, term) : accumulate_own(r, o, acc, term);
  }
  int64_t lo = nwi_int(r, o->lo[axis]), end = lo + nwi_int(r, o->extent[axis]);
  if (lo < end) shorten(r, o, axis, &lo, &end);
  for (int64_t i = lo; i < end && !nwi_stop(r); i++) {
    r->slot[o->reduce + axis] = i;
    reduce(x, o, axis + 1, acc, term);
  }
}

// Evaluates an element. This function can be called while another element is evaluated. Therefore it restores the epoch
// (node.h).
bool nwi_element(nwi_naive *x, nwi_op *o, nwi_cell *out) {
  nwi_run *r = &x->run;
  const nw_teop *op = o->op;
  uint64_t epoch = r->epoch;
  nwi_cell *term = nw_xcalloc((size_t)op->nout, sizeof *term);
  nwi_turn(r);
  if (op->combiner == NW_PLAIN) {
    terms(x, o, out);
    for (int k = 0; k < op->nout; k++) round_to(op->dtype[k], &out[k]);
  } else {
    for (int k = 0; k < op->nout; k++) out[k] = *nwi_get(r, o->identity[k]);
    reduce(x, o, 0, out, term);
  }
  free(term);
  r->epoch = epoch;
  return !r->failed;
}
