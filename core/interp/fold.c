// Finds the locations of the elements of a buffer with a layout, in a scheduled program. Elements with the same
// position in the layout share a location.
#include "interp/code.h"
#include <stdlib.h>

enum {
  MOST = 1 << 26, // largest number of positions of a layout; in a larger layout, no elements share a location
  LOOK_UP = 1 << 16, // number of elements between two checks for an interrupt
};

// Returns the position of the element in the layout as one number, or -1 if the element is outside the layout.
static int64_t position(nwi_program *x, const nwi_code *c, const int64_t *index) {
  nwi_run *r = &x->run;
  int64_t at = 0;
  for (int d = 0; d < c->buffer->n; d++) r->slot[c->dim_slot[d]] = index[d];
  nwi_turn(r);
  for (int d = 0; d < c->nlayout; d++) {
    int64_t p = nwi_int(r, c->layout[d]), n = nwi_int(r, c->room[d]);
    if (p < 0 || p >= n) return -1;
    at = at * n + p;
  }
  return at;
}

static int64_t places(nwi_program *x, const nwi_code *c) {
  int64_t n = 1;
  for (int d = 0; d < c->nlayout; d++)
    if (__builtin_mul_overflow(n, nwi_int(&x->run, c->room[d]), &n) || n > MOST || n < 0) return -1;
  return n;
}

static void first_index(const nwi_buffer *b, int64_t *index) {
  for (int d = 0; d < b->n; d++) index[d] = b->min[d];
}

static void next_index(const nwi_buffer *b, int64_t *index) {
  for (int d = b->n - 1; d >= 0; d--) {
    if (++index[d] < b->min[d] + b->extent[d]) return;
    index[d] = b->min[d];
  }
}

// Sets the location of each element to the index of the first element that has the same position in the layout.
void nwi_fold(nwi_program *x, const nwi_code *c) {
  nwi_buffer *b = c->buffer;
  int64_t index[NW_MAX_DEPTH], n = c->nlayout && b->n <= NW_MAX_DEPTH ? places(x, c) : -1;
  nw_let_go(b->home);
  b->home = NULL;
  if (n < 0 || !b->count) return;
  int64_t *first = nw_ask(x->run.ctx, b->name, (uint64_t)n + 1, sizeof *first);
  if (first) b->home = nw_ask(x->run.ctx, b->name, (uint64_t)b->count, sizeof *b->home);
  for (int64_t i = 0; first && i < n; i++) first[i] = -1;
  first_index(b, index);
  for (int64_t i = 0; first && b->home && i < b->count; i++, next_index(b, index)) {
    if (i % LOOK_UP == 0 && nwi_stop(&x->run)) break;
    int64_t at = position(x, c, index);
    if (at >= 0 && first[at] < 0) first[at] = i;
    b->home[i] = at < 0 ? i : first[at];
  }
  if (!b->home) x->run.failed = true;
  nw_let_go(first);
}
