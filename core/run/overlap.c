// Finds out whether two arrays share a byte. They may be views of one buffer with different strides.
//
// An element of an array is at data + sum(stride[d] * i[d]), where 0 <= i[d] < shape[d]. So the arrays share an element
// if an equation of the form sum(step[k] * x[k]) == rest has a solution with 0 <= x[k] <= most[k], where the x are the
// indices of both arrays. A negative step becomes positive if x is replaced by most - x. The search for a solution
// chooses x in the order of falling steps. A step that is larger than what all later terms reach together leaves at
// most two values for its x, so the search is short for all views that slices, transposes and reshapes make.
#include "run/run.h"
#include <stdlib.h>

enum { MOST_TRIES = 100000 };

typedef struct term {
  int64_t step, most;
} term;

typedef struct equation {
  int n, left; // left: number of values that the search may still try
  int64_t rest;
  term *at;
  int64_t *reach, *divisor; // of the terms from k on: the largest sum, and the greatest common divisor of the steps
} equation;

static void add(equation *e, int64_t step, int64_t extent) {
  int k = 0;
  if (extent <= 1 || !step) return;
  if (step < 0) e->rest -= step * (extent - 1), step = -step;
  while (k < e->n && e->at[k].step != step) k++;
  if (k == e->n) e->at[e->n++] = (term){step, 0};
  e->at[k].most += extent - 1;
}

static int falling(const void *a, const void *b) {
  int64_t x = ((const term *)a)->step, y = ((const term *)b)->step;
  return x < y ? 1 : x > y ? -1 : 0;
}

static int64_t common(int64_t a, int64_t b) { return b ? common(b, a % b) : a; }

static bool solvable(equation *e, int k, int64_t rest) {
  if (rest < 0 || rest > e->reach[k]) return false;
  if (k == e->n) return true;
  if (rest % e->divisor[k]) return false;
  const term *t = &e->at[k];
  int64_t beyond = rest - e->reach[k + 1], least = beyond > 0 ? (beyond - 1) / t->step + 1 : 0;
  int64_t most = rest / t->step < t->most ? rest / t->step : t->most;
  for (int64_t x = most; x >= least; x--)
    if (e->left-- <= 0 || solvable(e, k + 1, rest - x * t->step)) return true;
  return false;
}

static bool has_solution(equation *e) {
  qsort(e->at, (size_t)e->n, sizeof *e->at, falling);
  for (int k = e->n - 1; k >= 0; k--) {
    e->reach[k] = e->reach[k + 1] + e->at[k].step * e->at[k].most;
    e->divisor[k] = common(e->at[k].step, e->divisor[k + 1]);
  }
  return solvable(e, 0, e->rest);
}

// If the elements have the same size, and both arrays begin at a multiple of it, the equation counts elements.
// Otherwise it counts bytes, and the bytes of an element are one more dimension.
static bool share_element(const nw_array *a, const nw_array *b) {
  int64_t x = nw_dtype_bytes(a->dtype), y = nw_dtype_bytes(b->dtype);
  equation e = {.left = MOST_TRIES, .rest = (const char *)b->data - (const char *)a->data};
  size_t n = (size_t)(a->ndim + b->ndim) + 3;
  e.at = nw_xcalloc(n, sizeof *e.at);
  e.reach = nw_xcalloc(2 * n, sizeof *e.reach);
  e.divisor = e.reach + n;
  if (x == y && e.rest % x == 0) {
    e.rest /= x;
    x = y = 1;
  } else {
    add(&e, 1, x);
    add(&e, -1, y);
  }
  for (int d = 0; d < a->ndim; d++) add(&e, a->stride[d] * x, a->shape[d]);
  for (int d = 0; d < b->ndim; d++) add(&e, -b->stride[d] * y, b->shape[d]);
  bool shares = has_solution(&e);
  free(e.at);
  free(e.reach);
  return shares;
}

bool nw_arrays_overlap(const nw_array *a, const nw_array *b) {
  const char *x = a->low, *y = b->low;
  if (!a->bytes || !b->bytes || x >= y + b->bytes || y >= x + a->bytes) return false;
  if (NW_MUTATED(overlap_first)) return a->data == b->data;
  return (a->dense && b->dense) || NW_MUTATED(overlap_ranges) || share_element(a, b);
}
