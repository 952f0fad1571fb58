// Finds loads to which the store buffer cannot forward data.
//
// A load gets recent data from the store buffer only if a single store wrote all of it. Otherwise the load waits until
// the stores are in the cache, and this delays later instructions. Several loads that wait for the same stores wait at
// the same time, so they count as one wait.
#include "cost/cpu/core_blocked.h"
#include "cost/cpu/core_access.h"
#include <math.h>
#include <stdlib.h>

enum { BACK = 256 }; // number of accesses before a load that are considered; older stores are already in the cache

typedef struct reach { // the bytes that an access touches in one execution of a body
  int64_t from, to;
  int64_t grid; // the positions of the access differ by multiples of this number of bytes; 0 for a single position
  int64_t width; // number of bytes that one instruction accesses
} reach;

static double average(const nw_core_node *at) { return at->entered ? (double)at->times / (double)at->entered : 0; }

static reach reach_of(const nw_core *k, const nw_core_access *a, const nw_core_node *in) {
  int64_t bytes = (int64_t)a->lanes * a->elem, wide = k->machine->vector_bytes;
  reach r = {a->at.rest * a->elem, a->at.rest * a->elem + bytes, bytes > wide ? wide : 0, bytes > wide ? wide : bytes};
  for (const nw_core_node *at = a->body; at != in; at = at->up) {
    int64_t step = at->stmt->kind == NW_LOOP ? nw_form_coef(&a->at, at->slot) * a->elem : 0;
    int64_t all = (int64_t)fmax(0, ceil(average(at)) - 1) * step;
    if (all) r.grid = nw_gcd(r.grid, step);
    *(all < 0 ? &r.from : &r.to) += all;
  }
  return r;
}

static const nw_core_node *around_both(const nw_core_access *a, const nw_core_access *b) {
  const nw_core_node *at = a->body;
  while (!nw_core_inside(b->body, at)) at = at->up;
  return at;
}

// True if both accesses move by the same steps in the enclosing loops.
static bool together(const nw_core_access *a, const nw_core_access *b, const nw_core_node *in) {
  for (; in; in = in->up)
    if (in->stmt->kind == NW_LOOP && nw_form_coef(&a->at, in->slot) != nw_form_coef(&b->at, in->slot)) return false;
  return true;
}

static bool meets(const reach *load, const reach *store) { return load->from < store->to && store->from < load->to; }

// True if, at every position in the grid, a single store writes all bytes that the load reads.
static bool whole(const reach *load, const reach *store) {
  int64_t grid = nw_gcd(load->grid, store->grid), at = load->from - store->from;
  if (load->width > store->width) return false;
  if (!grid) return at >= 0 && at + load->width <= store->width;
  at = (at % grid + grid) % grid;
  int64_t last = at + (store->width - 1 - at) / grid * grid; // the last position of the load that begins in the store
  return at < store->width && last + load->width <= store->width;
}

static bool is_store(const nw_core_access *a, int buffer) { return a->write && a->buffer == buffer && !a->held; }

// Searches the accesses between `first` and the load for a store that the load waits for. Returns the innermost body
// around both, or NULL if the load does not wait.
static nw_core_node *waits_in(const nw_core *k, int load, int first) {
  const nw_core_access *a = k->access.at[load];
  if (!a->issued || !a->affine || a->scattered || k->apart[a->buffer]) return NULL;
  for (int i = load - 1; i >= first; i--) {
    const nw_core_access *s = k->access.at[i];
    if (!is_store(s, a->buffer)) continue;
    const nw_core_node *in = around_both(a, s);
    if (!s->affine || s->scattered || !together(a, s, in)) return NULL;
    reach of_load = reach_of(k, a, in), of_store = reach_of(k, s, in);
    if (meets(&of_load, &of_store)) return whole(&of_load, &of_store) ? NULL : (nw_core_node *)in;
  }
  return NULL;
}

static void clear(nw_core_node *at) {
  at->blocked = 0;
  for (int i = 0; i < at->nkids; i++) clear(at->kid[i]);
}

void nw_core_block(nw_core *k) {
  int first = 0; // the last load that waited; stores before this load are in the cache
  clear(k->root);
  for (int i = 0; i < k->access.n; i++) {
    nw_core_node *in = waits_in(k, i, first > i - BACK ? first : i - BACK);
    if (in) in->blocked++, first = i;
  }
}
