// Finds races. Each element of memory that threads share has the stamps of its last write, of its last read, and of an
// earlier read. Any later access in conflict with some access since the last write is in conflict with one of these three.
//
// Why two reads are enough: let r be the last read. A write by another block, or by another thread of the block of r
// before a barrier, conflicts with r. It remains to find writes by the thread of r, and writes by its block after a
// barrier. The former conflict with any read by another thread since the barrier, and with any read by another block. The
// latter conflict only with reads by other blocks. So the second stamp is a read by another block if there is one, and
// otherwise the last read by another thread.
#include "device/gpu/gpu.h"

// True if an access with the stamp s and an access by `thread` of the current block have no defined order. Accesses
// before a->from do not count.
static inline bool unordered(const nwg_area *a, uint64_t s, uint64_t thread) {
  if (s < a->from) return false;
  return s < a->begin || (s >= a->barrier && (s & NWG_THREAD) != thread);
}

static nw_gpu_fault kind_of(const nwg_worker *w, uint64_t s) { return s < w->begin ? NW_GPU_RACE_BLOCKS : NW_GPU_RACE; }

static nwg_area area_of(const nwg_worker *w, int site) {
  const nwg_site *s = &w->k->site[site];
  const nwg_buffer *b = &w->k->buffer[s->buffer];
  const nwg_mem *m = &w->mem[s->buffer];
  uint64_t number = site < NWG_MOST_SITES ? (uint64_t)site + 1 : 0;
  nwg_area a = {.write = m->write, .thread = (uint64_t)w->warp * (uint64_t)w->k->lanes};
  a.read = m->read, a.other = m->other, a.flying = m->flying;
  a.begin = w->begin, a.barrier = w->barrier;
  if (b->space == NWG_WARP && w->warp_barrier > a.barrier) a.barrier = w->warp_barrier;
  a.from = b->space == NWG_GLOBAL ? m->from : w->begin;
  a.since = b->space == NWG_GLOBAL ? 0 : m->since[w->warp];
  a.stamp = w->now | number << NWG_SITE_SHIFT | (s->atomic ? NWG_ATOMIC : 0);
  return a;
}

// ---- reads

// Records a read of one element by a thread.
static inline void note_read(const nwg_worker *w, const nwg_area *a, int64_t at, uint64_t thread) {
  uint64_t last = a->read[at];
  if ((last & NWG_THREAD) != thread || last < w->begin) {
    bool far = a->other[at] >= a->from && a->other[at] < w->begin && last >= w->begin;
    if (!far) a->other[at] = last;
  }
  a->read[at] = a->stamp | thread;
}

static void check_read(nwg_worker *w, const nwg_area *a, int site, int64_t at, uint64_t thread) {
  uint64_t last = a->write[at];
  if (last < a->since)
    nwg_found(w, NW_GPU_UNWRITTEN, site, at, (int)thread, 0);
  else if (a->flying && a->flying[at])
    nwg_found(w, NW_GPU_RACE_COPY, site, at, (int)thread, last);
  else if (unordered(a, last, thread))
    nwg_found(w, kind_of(w, last), site, at, (int)thread, last);
}

static void read_one(nwg_worker *w, const nwg_area *a, int site, int64_t at, uint64_t thread) {
  check_read(w, a, site, at, thread);
  if (a->read) note_read(w, a, at, thread);
}

// Several threads read one element: only the last two of them need to be recorded.
static void read_same(nwg_worker *w, const nwg_area *a, int site, int64_t at, int n, uint64_t thread) {
  uint64_t last = a->write[at];
  bool fine = last >= a->since && (last < a->from || (last >= w->begin && last < a->barrier));
  for (int i = 0; i < n && (!fine || a->flying); i++) check_read(w, a, site, at, thread + (uint64_t)i);
  if (!a->read) return;
  if (n > 1) note_read(w, a, at, thread + (uint64_t)n - 2);
  note_read(w, a, at, thread + (uint64_t)n - 1);
}

static void read_part(nwg_worker *w, const nwg_area *a, int site, const nwg_part *p, int64_t first) {
  uint64_t thread = a->thread + (uint64_t)p->lane;
  int64_t at = first + p->off;
  int n = a->flying ? 0 : p->n & ~3;
  if (!p->step) return read_same(w, a, site, at, p->n, thread);
  if (n && !w->f.read_run(a, at, n, thread)) n = 0;
  for (int i = n; i < p->n; i++) read_one(w, a, site, at + i, thread + (uint64_t)i);
}

void nwg_read_shadow(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index) {
  nwg_area a = area_of(w, site);
  int64_t first = index[__builtin_ctz(p->mask)];
  for (int i = 0; p->nparts <= NWG_PARTS && i < p->nparts; i++) read_part(w, &a, site, &p->part[i], first);
  for (uint32_t m = p->nparts > NWG_PARTS ? p->mask : 0; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    read_one(w, &a, site, index[l], a.thread + (uint64_t)l);
  }
}

// ---- writes

static void write_one(nwg_worker *w, const nwg_area *a, int site, int64_t at, uint64_t thread) {
  uint64_t last = a->write[at];
  bool atomic = a->stamp & last & NWG_ATOMIC;
  if (a->flying && a->flying[at])
    nwg_found(w, NW_GPU_RACE_COPY, site, at, (int)thread, last);
  else if (!atomic && unordered(a, last, thread))
    nwg_found(w, kind_of(w, last), site, at, (int)thread, last);
  else if (a->read && unordered(a, a->read[at], thread))
    nwg_found(w, kind_of(w, a->read[at]), site, at, (int)thread, a->read[at]);
  else if (a->read && unordered(a, a->other[at], thread))
    nwg_found(w, kind_of(w, a->other[at]), site, at, (int)thread, a->other[at]);
  // an atomic update by another block stays recorded, since it is unordered with all later accesses that are not atomic
  if (!(atomic && last >= a->from && last < w->begin)) a->write[at] = a->stamp | thread;
}

static void write_part(nwg_worker *w, const nwg_area *a, int site, const nwg_part *p, int64_t first) {
  uint64_t thread = a->thread + (uint64_t)p->lane;
  int64_t at = first + p->off;
  int n = a->flying || a->stamp & NWG_ATOMIC || !p->step ? 0 : p->n & ~3;
  if (n && !w->f.write_run(a, at, n, thread)) n = 0;
  for (int i = n; i < p->n; i++) write_one(w, a, site, at + i * p->step, thread + (uint64_t)i);
}

void nwg_write_shadow(nwg_worker *w, int site, const nwg_pattern *p, const int64_t *index) {
  nwg_area a = area_of(w, site);
  int64_t first = index[__builtin_ctz(p->mask)];
  for (int i = 0; p->nparts <= NWG_PARTS && i < p->nparts; i++) write_part(w, &a, site, &p->part[i], first);
  for (uint32_t m = p->nparts > NWG_PARTS ? p->mask : 0; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    write_one(w, &a, site, index[l], a.thread + (uint64_t)l);
  }
}

uint32_t nwg_inside(nwg_worker *w, int site, const int64_t *index, uint32_t mask) {
  const nwg_buffer *b = &w->k->buffer[w->k->site[site].buffer];
  for (uint32_t m = mask; m; m &= m - 1) {
    int l = __builtin_ctz(m);
    if (index[l] >= 0 && index[l] < b->count) continue;
    nwg_found(w, NW_GPU_OUTSIDE, site, index[l], w->warp * w->k->lanes + l, 0);
    mask &= ~(1u << l);
  }
  return mask;
}

// ---- blocks that different threads of the host have run

static void merge_element(nwg_worker *a, nwg_worker *b, int buffer, int64_t at) {
  const nwg_mem *x = &a->mem[buffer], *y = &b->mem[buffer];
  uint64_t s = x->write[at], t = y->write[at], r = y->read ? y->read[at] : 0;
  if (s < x->from) return;
  if (t >= y->from && !(s & t & NWG_ATOMIC))
    nwg_found_apart(a, s, b, t, true, buffer, at);
  else if (r >= y->from)
    nwg_found_apart(a, s, b, r, false, buffer, at);
}

void nwg_merge(nwg_worker *w, int n) {
  const nwg_kernel *k = w->k;
  for (int i = 0; i < k->nbuffers && n > 1; i++) {
    if (k->buffer[i].space != NWG_GLOBAL || !w->mem[i].write || !k->buffer[i].writes) continue;
    for (int a = 0; a < n; a++)
      for (int b = 0; b < n; b++)
        for (int64_t at = 0; a != b && at < k->buffer[i].count; at++) merge_element(&w[a], &w[b], i, at);
  }
}
