// The public functions about streams: what they consist of, their texts, and changes of their tokens by hand.
#include "device/dae/dae.h"
#include <stdlib.h>

nw_acc *nw_acc_of(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  if (nw_stopped(c) || nw_error(c)) return NULL;
  nw_acc *s = nwd_stream_new(c, p, sizes);
  if (s && nwd_tokens(s)) return s;
  nw_acc_free(s);
  return NULL;
}

int nwd_unit_named(const nw_acc *s, const char *name) {
  int u = 0;
  while (strcmp(s->machine->unit[u].name, name)) u++;
  return u;
}

nwd_instr *nwd_add_instr(nw_acc *s, nwd_instr in) {
  if (s->ninstrs == s->capinstrs) {
    s->capinstrs = s->capinstrs ? 2 * s->capinstrs : 256;
    s->instr = nw_xrealloc(s->instr, (size_t)s->capinstrs * sizeof *s->instr);
  }
  s->instr[s->ninstrs] = in;
  return &s->instr[s->ninstrs++];
}

int *nwd_by_unit(const nw_acc *s, int *list[NW_MACHINE_UNITS], int n[NW_MACHINE_UNITS]) {
  int units = s->machine->nunits, *all = nw_xcalloc((size_t)s->ninstrs + 1, sizeof *all), *at = all;
  for (int u = 0; u < units; u++) n[u] = 0;
  for (int i = 0; i < s->ninstrs; i++) n[s->instr[i].unit]++;
  for (int u = 0; u < units; u++) list[u] = at, at += n[u], n[u] = 0;
  for (int i = 0; i < s->ninstrs; i++) {
    int u = s->instr[i].unit;
    list[u][n[u]++] = i;
  }
  return all;
}

int64_t nw_acc_left_out(const nw_acc *s) { return s->left_out; }

bool nw_acc_unsafe(const nw_acc *s) { return s->source->unsafe > 0; }

int nw_acc_units(const nw_acc *s) { return s->machine->nunits; }

nw_acc_unit nw_acc_unit_at(const nw_acc *s, int i) {
  nw_acc_unit u = {.name = s->machine->unit[i].name};
  for (int k = 0; k < s->ninstrs; k++) u.instructions += s->instr[k].unit == i;
  return u;
}

int nw_acc_queues(const nw_acc *s) { return s->machine->nqueues; }

nw_acc_queue nw_acc_queue_at(const nw_acc *s, int i) {
  nw_acc_queue q = {.from = s->machine->queue_of[i].from, .to = s->machine->queue_of[i].to};
  for (int k = 0; k < s->ninstrs; k++) q.tokens += s->instr[k].push >> i & 1;
  return q;
}

int nw_acc_memories(const nw_acc *s) { return s->machine->nbuffers; }

nw_acc_memory nw_acc_memory_at(const nw_acc *s, int i) {
  const nw_machine_buffer *b = &s->machine->buffer[i];
  return (nw_acc_memory){.name = b->name, .used = s->most[i], .bytes = b->bytes * b->count};
}

int nw_acc_length(const nw_acc *s) { return s->ninstrs; }

nw_acc_instr nw_acc_instr_at(const nw_acc *s, int i) {
  const nwd_instr *in = &s->instr[i];
  nw_acc_instr out = {.name = "wait",
                      .unit = s->machine->unit[in->unit].name,
                      .pop = in->pop,
                      .push = in->push,
                      .thread = in->thread,
                      .cycles = 1};
  if (in->site < 0) return out;
  const nwd_site *t = &s->site[in->site];
  out.ignores = t->ignores;
  out.name = t->in->chip;
  out.id = t->call->id;
  out.step = t->call->step;
  nwd_work room;
  const nwd_work *w = nwd_work_of(s, in, &room);
  out.elements = w->elements;
  out.dram_bytes = w->dram_bytes;
  out.macs = w->macs;
  out.cycles = w->cycles;
  return out;
}

// ---- texts

enum { TURNS = 4, LOOKED = 64 }; // places that an operand uses in turns; iterations that are looked at

// The first bytes that an operand accesses in the iterations of a loop, if it uses a few places in turns.
typedef struct places {
  int n;
  int64_t at[TURNS];
} places;

// True if n numbers repeat the first p of them, which are different.
static bool repeats(int64_t n, const int64_t *at, int p) {
  for (int i = 0; i < p; i++)
    for (int k = 0; k < i; k++)
      if (at[i] == at[k]) return false;
  for (int64_t k = p; k < n; k++)
    if (at[k] != at[k - p]) return false;
  return true;
}

// Returns the places that box b of instruction i has in the iterations of a fold. If they are not used in turns, there is one.
static places places_in(const nw_acc *s, int i, int b, const nwd_fold *f) {
  nwd_box box[NWD_ACCESSES];
  int64_t at[LOOKED], most = f->times < LOOKED ? f->times : LOOKED;
  for (int64_t k = 0; k < most; k++) {
    if (b >= nwd_boxes(s, &s->instr[i + k * f->length], box)) return (places){.n = 1};
    at[k] = box[b].at;
  }
  for (int p = 2; p <= TURNS && p <= most; p++) {
    places out = {.n = p};
    memcpy(out.at, at, (size_t)p * sizeof *at);
    if (repeats(most, at, p)) return out;
  }
  return (places){.n = 1};
}

// Finds the places of a box on the chip, in the innermost fold in which they change.
static places places_of(const nw_acc *s, int i, int b, const nwd_box *box, int nfolds, const nwd_fold *fold) {
  places p = {.n = 1, .at = {box->at}};
  for (int f = nfolds - 1; f >= 0 && p.n == 1 && box->memory < s->machine->nbuffers; f--)
    p = places_in(s, i, b, &fold[f]);
  if (p.n == 1) p.at[0] = box->at;
  return p;
}

// Adds a part of an array, such as "A_inp[0..64]" or "A[128, 8 x 8]": the first element, and rows of consecutive elements. An
// array that is used in turns has several places: "A_inp[0..64 | 64..128]".
static void add_box(nw_str *t, const nw_acc *s, const nwd_access *a, const nwd_box *b, const places *p) {
  int bytes = nw_dtype_bytes(a->dtype);
  int64_t rows = 1;
  for (int k = 0; k < b->n; k++) rows *= b->size[k];
  nw_str_fmt(t, "%s[", s->exec->shown->buffer[a->buffer]->name);
  for (int k = 0; k < p->n; k++) {
    nw_str_fmt(t, k ? " | %lld" : "%lld", (long long)(p->at[k] / bytes));
    if (rows == 1 && b->row > bytes) nw_str_fmt(t, "..%lld", (long long)((p->at[k] + b->row) / bytes));
  }
  if (rows > 1) nw_str_fmt(t, ", %lld x %lld", (long long)rows, (long long)(b->row / bytes));
  nw_str_add(t, "]");
}

static void add_operands(nw_str *t, const nw_acc *s, int at, int nfolds, const nwd_fold *fold) {
  const nwd_instr *in = &s->instr[at];
  const nwd_site *site = &s->site[in->site];
  nwd_box box[NWD_ACCESSES];
  int n = nwd_boxes(s, in, box);
  for (int b = 0; b < n; b++) {
    int i = box[b].access;
    places p = places_of(s, at, b, &box[b], nfolds, fold);
    nw_str_add(t, i == 0 ? " " : i == 1 ? site->access[0].read ? " += " : " = " : ", ");
    add_box(t, s, &site->access[i], &box[b], &p);
  }
}

char *nwd_folded_text(const nw_acc *s, int i, int nfolds, const nwd_fold *fold) {
  nw_str t = {0};
  const nwd_instr *in = &s->instr[i];
  nw_str_add(&t, in->site < 0 ? "wait" : s->site[in->site].in->chip);
  if (in->site >= 0) add_operands(&t, s, i, nfolds, fold);
  return nw_str_take(&t);
}

char *nw_acc_instr_text(const nw_acc *s, int i) {
  if (i < 0 || i >= s->ninstrs) return nw_xstrdup("");
  return nwd_folded_text(s, i, 0, NULL);
}

// ---- changes by hand

// Returns the tokens that an instruction puts, or those that it takes. Bit q: queue q.
static uint16_t *tokens_of(nw_acc *s, int i, bool put) { return put ? &s->instr[i].push : &s->instr[i].pop; }

// Returns the instruction at the other end of a token, or -1 if there is none. The k-th token that is taken is the k-th that was
// put.
static int partner(nw_acc *s, int at, int q, bool put) {
  int number = 0;
  for (int i = 0; i < at; i++) number += *tokens_of(s, i, put) >> q & 1;
  for (int i = 0; i < s->ninstrs; i++)
    if (*tokens_of(s, i, !put) >> q & 1 && number-- == 0) return i;
  return -1;
}

static bool in_range(nw_acc *s, int at, int q) {
  if (at >= 0 && at < s->ninstrs && q >= 0 && q < s->machine->nqueues) return true;
  return nw_fail(s->ctx, NW_ERANGE, NULL, "there is no instruction %d or no queue %d", at + 1, q + 1);
}

bool nw_acc_drop(nw_acc *s, int at, int q, bool alone) {
  if (!in_range(s, at, q)) return false;
  bool puts = s->instr[at].push >> q & 1;
  if (!puts && !(s->instr[at].pop >> q & 1))
    return nw_fail(s->ctx, NW_EINVAL, NULL, "instruction %d neither puts nor takes a token of the queue %s->%s", at + 1,
                   s->machine->queue_of[q].from, s->machine->queue_of[q].to);
  int other = alone ? -1 : partner(s, at, q, puts);
  *tokens_of(s, at, puts) &= (uint16_t) ~(1 << q);
  if (other >= 0) *tokens_of(s, other, !puts) &= (uint16_t) ~(1 << q);
  return s->edited = true;
}

bool nw_acc_add(nw_acc *s, int at, int q, bool put) {
  if (!in_range(s, at, q)) return false;
  const nw_machine_queue *row = &s->machine->queue_of[q];
  const char *unit = s->machine->unit[s->instr[at].unit].name;
  if (strcmp(unit, put ? row->from : row->to))
    return nw_fail(s->ctx, NW_EINVAL, NULL, "instruction %d is executed by %s, which %s the queue %s->%s", at + 1, unit,
                   put ? "puts no tokens into" : "takes no tokens from", row->from, row->to);
  uint16_t *tokens = tokens_of(s, at, put);
  if (*tokens >> q & 1)
    return nw_fail(s->ctx, NW_EINVAL,
                   "an instruction puts at most one token into a queue, and takes at most one from it",
                   "instruction %d already %s a token %s the queue %s->%s", at + 1, put ? "puts" : "takes",
                   put ? "into" : "from", row->from, row->to);
  *tokens |= (uint16_t)(1 << q);
  return s->edited = true;
}
