// Remembers, for each word of each memory, the last instruction that wrote it and the last instruction of each unit that
// read it. A unit executes its instructions in order, so the last one stands for all of them.
#include "device/dae/dae.h"
#include <stdlib.h>

typedef struct words {
  int32_t *write; // for each word; -1 if there is none
  int32_t *read; // for each word and unit
} words;

struct nwd_shadow {
  const nw_acc *s;
  int units;
  words *of; // for each memory
};

void nwd_shadow_free(nwd_shadow *h) {
  if (!h) return;
  for (int i = 0; i < h->s->nmemories; i++) nw_let_go(h->of[i].write), nw_let_go(h->of[i].read);
  free(h->of);
  free(h);
}

static bool make_words(nwd_shadow *h, int memory) {
  const nwd_memory *m = &h->s->memory[memory];
  uint64_t n = (uint64_t)((m->bytes + m->word - 1) / m->word) + 1;
  words *w = &h->of[memory];
  w->write = nw_ask(h->s->ctx, m->name, n, sizeof *w->write);
  w->read = w->write ? nw_ask(h->s->ctx, m->name, n * (uint64_t)h->units, sizeof *w->read) : NULL;
  if (!w->read) return false;
  memset(w->write, -1, n * sizeof *w->write);
  memset(w->read, -1, n * (uint64_t)h->units * sizeof *w->read);
  return true;
}

nwd_shadow *nwd_shadow_new(const nw_acc *s) {
  nwd_shadow *h = nw_xcalloc(1, sizeof *h);
  *h = (nwd_shadow){.s = s, .units = s->machine->nunits, .of = nw_xcalloc((size_t)s->nmemories + 1, sizeof(words))};
  for (int i = 0; i < s->nmemories; i++)
    if (!make_words(h, i)) return nwd_shadow_free(h), NULL;
  return h;
}

typedef struct touching {
  nwd_shadow *h;
  int instr, unit;
  bool update;
  void (*f)(void *env, const nwd_conflict *c);
  void *env;
} touching;

static void tell(const touching *x, const nwd_box *b, int64_t word, int with, bool wrote) {
  if (with < 0 || x->h->s->instr[with].unit == x->unit) return;
  int64_t bytes = x->h->s->memory[b->memory].word;
  x->f(x->env, &(nwd_conflict){.with = with,
                               .unit = x->h->s->instr[with].unit,
                               .wrote = wrote,
                               .reads = b->read,
                               .writes = b->write,
                               .memory = b->memory,
                               .from = word * bytes,
                               .to = (word + 1) * bytes});
}

static void touch_row(const touching *x, const nwd_box *b, int64_t at) {
  const words *w = &x->h->of[b->memory];
  int64_t word = x->h->s->memory[b->memory].word, units = x->h->units;
  for (int64_t i = at / word; i <= (at + b->row - 1) / word; i++) {
    int32_t *read = w->read + i * units;
    if (!x->update) {
      tell(x, b, i, w->write[i], true);
      for (int u = 0; u < units && b->write; u++) tell(x, b, i, read[u], false);
      continue;
    }
    // Later accesses that come after this write also come after the reads before it.
    if (b->write) memset(read, -1, (size_t)units * sizeof *read), w->write[i] = x->instr;
    if (b->read) read[x->unit] = x->instr;
  }
}

static void touch_box(const touching *x, const nwd_box *b) {
  int64_t turn[NWD_LOOPS] = {0}, at = b->at;
  for (;;) {
    touch_row(x, b, at);
    int k = 0;
    while (k < b->n && ++turn[k] == b->size[k]) at -= (b->size[k] - 1) * b->stride[k], turn[k++] = 0;
    if (k == b->n) return;
    at += b->stride[k];
  }
}

static void touch_all(touching *x, const nwd_instr *in) {
  nwd_box box[NWD_ACCESSES];
  int n = in->site < 0 ? 0 : nwd_boxes(x->h->s, in, box);
  for (int pass = 0; pass < 2; pass++) // what an instruction reads and what it writes: its own accesses do not conflict
    for (int b = 0; b < n; b++)
      if (box[b].write == (pass == 1)) touch_box(x, &box[b]);
}

void nwd_shadow_look(nwd_shadow *h, const nwd_instr *in, void (*f)(void *env, const nwd_conflict *c), void *env) {
  touching x = {.h = h, .unit = in->unit, .f = f, .env = env};
  touch_all(&x, in);
}

void nwd_shadow_keep(nwd_shadow *h, int i) {
  const nwd_instr *in = &h->s->instr[i];
  touching x = {.h = h, .instr = i, .unit = in->unit, .update = true};
  touch_all(&x, in);
}
