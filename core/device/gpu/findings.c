// Records what the simulation finds. For each statement and each kind of fault, the first occurrence is kept.
#include "device/gpu/gpu.h"

const char *nw_gpu_fault_name(nw_gpu_fault f) {
  static const char *const name[NW_GPU_FAULTS] = {"race",    "race between blocks", "race with a copy", "unwritten",
                                                  "outside", "diverged barrier",    "division by zero"};
  return f < NW_GPU_FAULTS ? name[f] : NULL;
}

// ---- places

static void set_thread(const nwg_kernel *k, nw_gpu_place *p, int64_t thread) {
  p->thread[0] = thread % k->extent[3];
  p->thread[1] = thread / k->extent[3] % k->extent[4];
  p->thread[2] = thread / k->extent[3] / k->extent[4];
}

static void set_block(const nwg_kernel *k, nw_gpu_place *p, int64_t number) {
  p->block[0] = number % k->extent[0];
  p->block[1] = number / k->extent[0] % k->extent[1];
  p->block[2] = number / k->extent[0] / k->extent[1];
}

static void set_stmt(nw_gpu_place *p, const nw_stmt *s, bool write) {
  p->id = s->id, p->step = s->step, p->write = write;
}

static nw_gpu_place place_of(const nwg_worker *w, int site, int thread) {
  nw_gpu_place p = {{0}, {0}, 0, 0, false};
  memcpy(p.block, w->block, sizeof p.block);
  set_thread(w->k, &p, thread);
  if (site >= 0) set_stmt(&p, w->k->site[site].stmt, w->k->site[site].write);
  return p;
}

// Returns the place of the access with this stamp.
static nw_gpu_place earlier_place(const nwg_worker *w, uint64_t stamp) {
  nw_gpu_place p = {{0}, {0}, 0, 0, false};
  int64_t lo = 0, hi = w->nblocks - 1;
  while (lo < hi) {
    int64_t middle = (lo + hi + 1) / 2;
    if (w->block_begin[middle] <= stamp)
      lo = middle;
    else
      hi = middle - 1;
  }
  set_block(w->k, &p, w->block_number[lo]);
  set_thread(w->k, &p, (int64_t)(stamp & NWG_THREAD));
  int site = (int)(stamp >> NWG_SITE_SHIFT & ((1u << (NWG_TIME_SHIFT - NWG_SITE_SHIFT)) - 1)) - 1;
  if (site >= 0) set_stmt(&p, w->k->site[site].stmt, w->k->site[site].write);
  return p;
}

// ---- records

// Returns the record for a fault at a statement. Returns NULL if there is one already, or no space.
static nw_gpu_finding *record(nwg_worker *w, nw_gpu_fault f, const char *buffer, int id) {
  for (int i = 0; i < w->nfindings; i++) {
    nw_gpu_finding *old = &w->finding[i];
    if (old->fault != f || old->second.id != id || old->buffer != buffer) continue;
    old->times++;
    return NULL;
  }
  if (w->nfindings == NWG_FINDINGS) return NULL;
  nw_gpu_finding *new = &w->finding[w->nfindings++];
  *new = (nw_gpu_finding){.fault = f, .buffer = buffer, .times = 1, .kernel = w->number};
  return new;
}

// Returns the index of an element, given its position in memory.
static int64_t element(const nwg_worker *w, const nwg_site *s, int64_t at) {
  const nwg_buffer *b = s ? &w->k->buffer[s->buffer] : NULL;
  return b && b->space == NWG_WARP && b->count > 0 && at >= b->count ? at % b->count : at;
}

void nwg_found(nwg_worker *w, nw_gpu_fault f, int site, int64_t at, int thread, uint64_t earlier) {
  const nwg_site *s = site >= 0 ? &w->k->site[site] : NULL;
  if (f == NW_GPU_DIVIDED && w->blank) return; // the divisor may depend on data
  nw_gpu_finding *new = record(w, f, s ? w->k->buffer[s->buffer].name : NULL, s ? s->stmt->id : 0);
  if (!new) return;
  new->element = f == NW_GPU_OUTSIDE ? at : element(w, s, at);
  new->second = place_of(w, site, thread);
  new->has_first = earlier != 0;
  if (earlier) new->first = earlier_place(w, earlier);
}

void nwg_found_divergence(nwg_worker *w, const nw_stmt *barrier, int here, int away) {
  nw_gpu_finding *new = record(w, NW_GPU_DIVERGED, NULL, barrier->id);
  if (!new) return;
  new->second = place_of(w, -1, here);
  set_stmt(&new->second, barrier, false);
  new->first = place_of(w, -1, away);
  new->has_first = true;
}

void nwg_found_apart(nwg_worker *a, uint64_t s, const nwg_worker *b, uint64_t t, bool write, int buffer, int64_t at) {
  nw_gpu_place second = earlier_place(b, t);
  second.write = write;
  nw_gpu_finding *new = record(a, NW_GPU_RACE_BLOCKS, a->k->buffer[buffer].name, second.id);
  if (!new) return;
  new->element = at;
  new->first = earlier_place(a, s);
  new->second = second;
  new->has_first = true;
}

void nwg_found_flying(nwg_worker *w, const nwg_flight *f) {
  nw_gpu_place second = earlier_place(w, w->mem[f->buffer].write[f->at]);
  nw_gpu_finding *new = record(w, NW_GPU_RACE_COPY, w->k->buffer[f->buffer].name, second.id);
  if (!new) return;
  new->element = f->at;
  new->second = second;
}
