// Computes the work of instructions: elements, bytes, multiply-adds, cycles and energy.
#include "device/dae/dae.h"
#include <math.h>
#include <stdlib.h>

static int64_t count(const nwd_part *p, int n) {
  int64_t all = 1;
  for (int k = 0; k < n; k++) all *= p->n[k];
  return all;
}

static const nwd_kind *kind_of(const nw_acc *s, const nwd_instr *in) {
  return in->kind >= 0 ? &s->kind[in->kind] : NULL;
}

int64_t nwd_elements(const nw_acc *s, const nwd_instr *in) {
  if (kind_of(s, in)) return kind_of(s, in)->work.elements;
  nwd_part p;
  nwd_part_of(s, in, 0, &p);
  return count(&p, s->site[in->site].nloops);
}

// Returns the number of elements that an instruction moves by access i. A multicast reads each of them once.
static int64_t moved(const nw_acc *s, const nwd_instr *in, int i) {
  const nwd_site *t = &s->site[in->site];
  bool once = t->row->multicast && i > 0;
  nwd_part p;
  nwd_part_of(s, in, i, &p);
  int64_t n = 1;
  for (int k = 0; k < t->nloops; k++) n *= once && !t->access[i].stride[k] && p.n[k] ? 1 : p.n[k];
  return n;
}

// Returns the number of elements that an instruction accesses by access i. A tile accesses each of its elements once.
static int64_t accessed(const nw_acc *s, const nwd_instr *in, int i) {
  const nwd_site *t = &s->site[in->site];
  if (t->row->kind != NW_CHIP_TENSOR) return moved(s, in, i);
  nwd_part p;
  nwd_part_of(s, in, i, &p);
  int64_t n = 1;
  for (int k = 0; k < t->nloops; k++)
    if (k < t->around || t->access[i].stride[k]) n *= p.n[k];
  return n;
}

static void add_traffic(const nw_acc *s, const nwd_instr *in, nwd_work *w) {
  const nwd_site *t = &s->site[in->site];
  for (int i = 0; i < t->naccesses; i++) {
    const nwd_access *a = &t->access[i];
    int64_t width = nw_dtype_bytes(a->dtype);
    if (a->memory >= s->machine->nbuffers) {
      w->dram_bytes += moved(s, in, i) * width;
    } else if (!nw_has_word(t->row->uncounted, s->memory[a->memory].scope)) {
      int64_t bytes = accessed(s, in, i) * width;
      if (a->read) w->read[a->memory] += bytes;
      if (a->write) w->written[a->memory] += bytes;
    }
  }
}

static int64_t tiles_of(const nwd_site *t) {
  int64_t tiles = 1;
  for (int k = 0; k < t->around; k++) tiles *= t->size[k];
  return tiles;
}

static void add_time(const nw_acc *s, const nwd_instr *in, nwd_work *w) {
  const nwd_site *t = &s->site[in->site];
  const nw_machine_instruction *row = t->row;
  int64_t n = w->elements, ops = t->ops > 0 ? t->ops : 1, bytes = n * nw_dtype_bytes(t->access[0].dtype);
  switch (row->kind) {
  case NW_CHIP_TENSOR:
    w->macs = n;
    w->pj = row->pj * (double)tiles_of(t);
    w->cycles = ceil(row->latency + row->interval * (double)tiles_of(t));
    break;
  case NW_CHIP_ALU:
    w->pj = row->pj * (double)(n * ops);
    w->cycles = ceil(row->latency + row->interval * (double)((n + row->lanes - 1) / row->lanes) * (double)ops);
    break;
  default:
    w->pj = row->pj * (double)bytes;
    if (row->multicast) bytes = moved(s, in, 1) * nw_dtype_bytes(t->access[0].dtype);
    w->cycles = ceil(row->latency + ceil((double)bytes / row->bytes_per_cycle));
  }
}

static void compute_work(const nw_acc *s, const nwd_instr *in, nwd_work *w) {
  *w = (nwd_work){.elements = nwd_elements(s, in)};
  add_traffic(s, in, w);
  add_time(s, in, w);
}

const nwd_work *nwd_work_of(const nw_acc *s, const nwd_instr *in, nwd_work *room) {
  if (kind_of(s, in)) return &kind_of(s, in)->work;
  compute_work(s, in, room);
  return room;
}

int64_t nwd_dram_bytes(const nw_acc *s, const nwd_instr *in) {
  nwd_work room;
  return nwd_work_of(s, in, &room)->dram_bytes;
}

double nwd_cycles(const nw_acc *s, const nwd_instr *in) {
  nwd_work room;
  return nwd_work_of(s, in, &room)->cycles;
}

// ---- kinds

enum { MOST_KINDS = 1 << 12, MOST_COMPARED = 32 }; // other instructions are computed one by one

static bool is_kind(const nw_acc *s, const nwd_kind *k, const nwd_part *write, const nwd_part *read) {
  size_t bytes = (size_t)s->site[k->site].nloops * sizeof *k->read;
  return !memcmp(k->written, write->n, bytes) && !memcmp(k->read, read->n, bytes);
}

void nwd_find_kind(nw_acc *s, nwd_instr *in) {
  nwd_site *t = &s->site[in->site];
  nwd_part write, read;
  in->kind = -1;
  if (t->boxed && t->kinds >= 0) {
    in->kind = t->kinds;
    return;
  }
  nwd_part_of(s, in, 0, &write), nwd_part_of(s, in, 1, &read);
  int k = t->kinds;
  for (int i = 0; i < MOST_COMPARED && k >= 0; i++, k = s->kind[k].before)
    if (is_kind(s, &s->kind[k], &write, &read)) {
      in->kind = k;
      return;
    }
  if (s->nkinds == MOST_KINDS) return;
  if (s->nkinds == s->capkinds) {
    s->capkinds = s->capkinds ? 2 * s->capkinds : 16;
    s->kind = nw_xrealloc(s->kind, (size_t)s->capkinds * sizeof *s->kind);
  }
  nwd_kind *made = &s->kind[s->nkinds];
  *made = (nwd_kind){.site = in->site, .before = t->kinds};
  memcpy(made->written, write.n, (size_t)t->nloops * sizeof *write.n);
  memcpy(made->read, read.n, (size_t)t->nloops * sizeof *read.n);
  compute_work(s, in, &made->work);
  in->kind = t->kinds = s->nkinds++;
}
