// Asynchronous copies. The simulation copies an element at once, but the element counts as in flight until a wait for
// its group ends. Any access to it before that is a race.
#include "device/gpu/gpu.h"
#include <stdlib.h>

static bool has_room(nwg_worker *w) {
  if (w->nflights < w->capflights) return true;
  int more = w->capflights ? 2 * w->capflights : 1024;
  nwg_flight *f = realloc(w->flight, sizeof *f * (size_t)more); // not nw_xask: this thread cannot abandon the call
  if (!f) return w->failed = w->no_memory = true, false;
  w->flight = f, w->capflights = more;
  return true;
}

void nwg_depart(nwg_worker *w, int site, const int64_t *index, uint32_t mask) {
  int buffer = w->k->site[site].buffer;
  if (!w->mem[buffer].flying) return; // local memory, which only this thread can access
  for (; mask && has_room(w); mask &= mask - 1) {
    int l = __builtin_ctz(mask), thread = w->warp * w->k->lanes + l;
    w->mem[buffer].flying[index[l]] = 1;
    w->flight[w->nflights++] = (nwg_flight){buffer, thread, index[l], w->commits[thread]};
  }
}

void nwg_commit(nwg_worker *w, uint32_t mask) {
  for (; mask; mask &= mask - 1) w->commits[w->warp * w->k->lanes + __builtin_ctz(mask)]++;
}

// The element has arrived: from now on, it counts as written by the thread of the copy at this time.
static void land(nwg_worker *w, const nwg_flight *f) {
  nwg_mem *m = &w->mem[f->buffer];
  uint64_t site = m->write[f->at] & ((UINT64_C(1) << NWG_TIME_SHIFT) - 1) & ~(uint64_t)(NWG_ATOMIC | NWG_THREAD);
  m->flying[f->at] = 0;
  m->write[f->at] = w->now | site | (uint64_t)f->thread;
}

void nwg_wait(nwg_worker *w, uint32_t mask, int groups) {
  int n = 0;
  for (int i = 0; i < w->nflights; i++) {
    nwg_flight f = w->flight[i];
    bool mine = f.thread / w->k->lanes == w->warp && mask >> f.thread % w->k->lanes & 1;
    if (mine && f.group < w->commits[f.thread] - groups)
      land(w, &f);
    else
      w->flight[n++] = f;
  }
  w->nflights = n;
}

// At the end of a block, no copy may be in flight.
void nwg_landed(nwg_worker *w) {
  for (int i = 0; i < w->nflights; i++) {
    const nwg_flight *f = &w->flight[i];
    nwg_mem *m = &w->mem[f->buffer];
    nwg_found_flying(w, f);
    m->flying[f->at] = 0;
  }
  w->nflights = 0;
}
