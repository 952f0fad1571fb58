// Examines a call: which elements its nest accesses, and how the instruction computes. Also makes the instructions for an
// execution of the call.
#include "device/dae/dae.h"
#include <stdlib.h>

static int fails(nw_acc *s, const nwd_site *t, const char *why, const char *hint) {
  s->misfit = true;
  nw_fail(s->ctx, NW_EINVAL, hint, "%s cannot be an instruction of %s: %s", t->in->chip, s->target->machine.name, why);
  return -1;
}

// ---- memories

int nwd_memory_of(const nw_acc *s, int buffer) {
  const nw_buffer *b = s->exec->shown->buffer[buffer];
  for (int i = 0; i < s->machine->nbuffers; i++)
    if (b->scope == NW_CHIP && !strcmp(s->machine->buffer[i].name, b->chip)) return i;
  return s->machine->nbuffers + buffer;
}

int nwd_buffer_named(const nw_acc *s, const char *name) {
  const nw_program *p = s->exec->shown;
  int i = 0;
  while (strcmp(p->buffer[i]->name, name)) i++;
  return i;
}

static bool accesses(const nw_acc *s, const nw_machine_instruction *row, const nwd_operands *o) {
  if (!nw_has_word(row->to, s->memory[o->result].scope)) return false;
  for (int i = 0; i < o->nreads; i++)
    if (!nw_has_word(row->from, s->memory[o->read[i]].scope)) return false;
  return row->kind != NW_CHIP_COPY || row->pads || !o->pads;
}

const nw_machine_instruction *nwd_row_of(const nw_acc *s, const char *name, const nwd_operands *o) {
  const nw_machine_instruction *row = NULL;
  while ((row = nw_machine_instruction_next(&s->target->machine, name, row)))
    if (accesses(s, row, o)) return row;
  return NULL;
}

static bool choose_row(nw_acc *s, nwd_site *t) {
  nwd_operands o = {.result = t->access[0].memory, .pads = t->pads};
  for (int i = 0; i < t->naccesses; i++)
    if (!t->access[i].write) o.read[o.nreads++] = t->access[i].memory;
  t->row = nwd_row_of(s, t->in->chip, &o);
  if (!t->row) return fails(s, t, "it does not access these memories", NULL), false;
  t->unit = nwd_unit_named(s, t->row->unit);
  return true;
}

// ---- loops, conditions and accesses of the nest

static bool add_loop(nw_acc *s, nwd_site *t, const nw_stmt *loop) {
  if (t->nloops == NWD_LOOPS) return fails(s, t, "its nest has too many loops", NULL), false;
  int k = t->nloops++;
  t->begin[k] = nwi_make(&s->scope, loop->loop.begin);
  t->extent[k] = nwi_make(&s->scope, loop->loop.extent);
  t->slot[k] = s->nslots++;
  if (!nw_is_int(loop->loop.extent, &t->size[k])) t->size[k] = -1;
  nwi_bind(&s->scope, loop->loop.var->name, t->slot[k]);
  return t->begin[k] && t->extent[k];
}

static bool add_cond(nw_acc *s, nwd_site *t, const nw_expr *cond) {
  if (t->nconds == NWD_LOOPS) return fails(s, t, "its nest has too many conditions", NULL), false;
  return (t->cond[t->nconds++] = nwi_make(&s->scope, cond)) != NULL;
}

typedef struct nest {
  int n;
  const char *var[NWD_LOOPS];
  const nw_stmt *store;
  const nw_expr *index; // of the store
} nest;

static bool add_access(nw_acc *s, nwd_site *t, const nest *in, const char *buffer, const nw_expr *index, bool write) {
  if (t->naccesses == NWD_ACCESSES) return fails(s, t, "it accesses too many arrays", NULL), false;
  nwd_access *a = &t->access[t->naccesses++];
  const nw_expr *rest;
  *a = (nwd_access){.buffer = nwd_buffer_named(s, buffer), .read = !write, .write = write};
  a->memory = nwd_memory_of(s, a->buffer);
  a->dtype = s->exec->shown->buffer[a->buffer]->dtype;
  if (!nw_affine(s->pool, index, in->n, in->var, a->stride, &rest))
    return fails(s, t, "an index is not affine in the loops of the nest", NULL), false;
  return (a->index = nwi_make(&s->scope, index)) != NULL;
}

static bool add_loads(nw_acc *s, nwd_site *t, const nest *in, const nw_expr *e) {
  if (e->op == NW_OP_LOAD) {
    bool own = !strcmp(e->name, in->store->store.buffer) && e->arg[0] == in->index;
    if (own) return t->access[0].read = true;
    for (int i = 1; i < t->naccesses; i++)
      if (t->access[i].load == e) return true;
    if (!add_access(s, t, in, e->name, e->arg[0], false)) return false;
    return t->access[t->naccesses - 1].load = e, true;
  }
  for (int i = 0; i < e->n; i++)
    if (!add_loads(s, t, in, e->arg[i])) return false;
  return true;
}

static int operations(const nw_expr *e) {
  int n = e->n > 0 && e->op != NW_OP_LOAD && e->op != NW_OP_CAST;
  for (int i = 0; i < e->n && e->op != NW_OP_LOAD; i++) n += operations(e->arg[i]);
  return n;
}

// Reads the statements inside the call: loops and conditions around one store.
static bool read_nest(nw_acc *s, nwd_site *t, const nw_stmt *at, nest *in) {
  while (at->kind != NW_STORE) {
    if (at->nkids != 1) return fails(s, t, "its nest was split into several", NULL), false;
    if (at->kind == NW_LOOP && !add_loop(s, t, at)) return false;
    if (at->kind == NW_LOOP) in->var[in->n++] = at->loop.var->name;
    if (at->kind == NW_GUARD && !add_cond(s, t, at->guard.cond)) return false;
    if (at->kind != NW_LOOP && at->kind != NW_GUARD && at->kind != NW_CALL && at->kind != NW_SEQ)
      return fails(s, t, "its nest is not a nest of loops", NULL), false;
    at = at->kid[0];
  }
  in->store = at;
  return at->store.mask == NULL || (fails(s, t, "its store is masked", NULL), false);
}

static bool read_store(nw_acc *s, nwd_site *t, nest *in) {
  const nw_expr *value = nw_import(s->pool, in->store->store.value);
  in->index = nw_import(s->pool, in->store->store.index);
  if (!add_access(s, t, in, in->store->store.buffer, in->index, true)) return false;
  const nw_expr *copied = value, *holds = NULL;
  for (; t->in->kind == NW_CHIP_COPY && copied->op == NW_OP_SELECT; copied = copied->arg[1])
    holds = nw_and(s->pool, holds, copied->arg[0]);
  if (holds && !(t->pads = nwi_make(&s->scope, holds))) return false;
  t->value = value;
  t->ops = operations(value);
  return add_loads(s, t, in, copied);
}

// True if all executions access boxes of the same size.
static bool is_boxed(const nwd_site *t) {
  bool constant = !t->nconds && !t->pads && t->in->kind != NW_CHIP_COPY && t->in->kind != NW_CHIP_FILL;
  for (int i = 0; i < t->nloops; i++) constant &= t->size[i] >= 0;
  return constant;
}

int nwd_site_make(nw_acc *s, const nw_stmt *call, int nloops, const nw_stmt *const *loop) {
  if (s->nsites == s->capsites) {
    s->capsites = s->capsites ? 2 * s->capsites : 16;
    s->site = nw_xrealloc(s->site, (size_t)s->capsites * sizeof *s->site);
  }
  nwd_site *t = &s->site[s->nsites];
  *t = (nwd_site){.call = call, .in = nw_intrinsic_find(s->ctx, call->call.intrinsic), .around = nloops, .kinds = -1};
  if (!t->in || !t->in->chip) {
    nw_fail(s->ctx, NW_EINVAL, NULL, "%s is not an instruction of %s", call->call.intrinsic, s->target->machine.name);
    return -1;
  }
  nest in = {.n = 0};
  bool good = true;
  for (int i = 0; i < nloops && good; i++) good = add_loop(s, t, loop[i]), in.var[in.n++] = loop[i]->loop.var->name;
  good = good && read_nest(s, t, call, &in) && read_store(s, t, &in);
  for (int i = 0; i < t->nloops; i++) nwi_unbind(&s->scope);
  nwi_forget(&s->scope);
  if (!good || !choose_row(s, t)) return -1;
  t->boxed = is_boxed(t);
  t->ignores = nwd_ignored(s, call, t->unit);
  return nwd_kernel_make(s, t) ? s->nsites++ : -1;
}

// ---- instructions

static void add_number(nw_acc *s, int64_t v) {
  if (s->nnumbers == s->capnumbers) {
    s->capnumbers = s->capnumbers ? 2 * s->capnumbers : 1024;
    s->number = nw_xrealloc(s->number, (size_t)s->capnumbers * sizeof *s->number);
  }
  s->number[s->nnumbers++] = v;
}

// The loops of few virtual threads were unrolled; then the call says which of them it belongs to. The numbers of more
// threads than an instruction can hold are not kept.
static int16_t thread_of(const nw_acc *s, const nw_stmt *call) {
  int inner = call->call.threads;
  if (!inner && !s->threads) return -1;
  int64_t thread = (int64_t)s->thread * (inner ? inner : 1) + call->call.thread;
  return (int16_t)(thread <= INT16_MAX ? thread : -1);
}

static nwd_instr *add_instr(nw_acc *s, int site) {
  const nwd_site *t = &s->site[site];
  return nwd_add_instr(
      s, (nwd_instr){
             .site = site, .kind = -1, .at = s->nnumbers, .unit = (uint8_t)t->unit, .thread = thread_of(s, t->call)});
}

static void add_bases(nw_acc *s, const nwd_site *t) {
  nwi_turn(&s->run);
  for (int i = 0; i < t->naccesses; i++) {
    const nwd_access *a = &t->access[i];
    add_number(s, s->base[a->buffer] + nwi_int(&s->run, a->index) * nw_dtype_bytes(a->dtype));
  }
}

typedef nwd_part part;

// Finds the iterations in which all conditions hold. Sets *whole to false if they are not a box.
static part held_part(nw_acc *s, const nwd_site *t, const int64_t *begin, const int64_t *n, int nconds,
                      nwi_node *const *cond, bool *whole) {
  part p = {{0}, {0}};
  int64_t at[NWD_LOOPS] = {0}, last[NWD_LOOPS] = {0}, count = 0, box = 1, all = 1;
  for (int k = 0; k < t->nloops; k++) all *= n[k];
  for (int64_t i = 0; i < all; i++) {
    for (int k = 0; k < t->nloops; k++) s->run.slot[t->slot[k]] = begin[k] + at[k];
    nwi_turn(&s->run);
    bool holds = true;
    for (int c = 0; c < nconds && holds; c++) holds = nwi_int(&s->run, cond[c]) != 0;
    for (int k = 0; k < t->nloops && holds; k++) {
      if (!count || at[k] < p.lo[k]) p.lo[k] = at[k];
      if (!count || at[k] > last[k]) last[k] = at[k];
    }
    count += holds;
    for (int k = t->nloops - 1; k >= 0 && ++at[k] == n[k]; k--) at[k] = 0;
  }
  for (int k = 0; k < t->nloops; k++) box *= p.n[k] = count ? last[k] - p.lo[k] + 1 : 0;
  *whole = box == count || (!count && t->nloops == 0);
  return p;
}

static void add_parts(nw_acc *s, const nwd_site *t, const int64_t *n, const part *write, const part *read) {
  for (int k = 0; k < t->nloops; k++) add_number(s, n[k]);
  for (int k = 0; k < t->nloops; k++) add_number(s, write->lo[k]), add_number(s, write->n[k]);
  for (int k = 0; k < t->nloops; k++) add_number(s, read->lo[k]), add_number(s, read->n[k]);
}

// Returns the number of outer loops that one instruction cannot execute. The box of a copy has `dims` dimensions: loops with
// one iteration need none, and loops that continue a row in all memories are a part of the row.
static int split_loops(const nwd_site *t, const part *p) {
  int64_t row = 1;
  int used = 1;
  bool in_row = true;
  for (int k = t->nloops - 1; k >= 0; k--) {
    if (p->n[k] == 1) continue;
    bool joins = in_row;
    for (int i = 0; i < t->naccesses; i++) joins &= t->access[i].stride[k] == row;
    if (joins) {
      row *= p->n[k];
      continue;
    }
    in_row = false;
    if (++used > t->row->dims) return k + 1;
  }
  return 0;
}

static void clip(part *p, int k, int64_t i) {
  bool inside = i >= p->lo[k] && i < p->lo[k] + p->n[k];
  p->lo[k] = i, p->n[k] = inside;
}

// Adds an instruction for each iteration of the first `outer` loops.
static void add_split(nw_acc *s, int site, const int64_t *n, part write, part read, int outer, int k) {
  const nwd_site *t = &s->site[site];
  if (k < outer) {
    for (int64_t i = write.lo[k]; i < write.lo[k] + write.n[k]; i++) {
      part w = write, r = read;
      clip(&w, k, i), clip(&r, k, i);
      add_split(s, site, n, w, r, outer, k + 1);
    }
    return;
  }
  nwd_instr *in = add_instr(s, site);
  add_bases(s, t);
  add_parts(s, t, n, &write, &read);
  nwd_find_kind(s, in);
}

static bool emit_parts(nw_acc *s, int site) {
  const nwd_site *t = &s->site[site];
  int64_t begin[NWD_LOOPS], n[NWD_LOOPS], all = 1;
  for (int k = 0; k < t->nloops; k++) { // a bound may use the loops around it, which are then in the first iteration
    nwi_turn(&s->run);
    begin[k] = nwi_int(&s->run, t->begin[k]);
    n[k] = nwi_int(&s->run, t->extent[k]);
    s->run.slot[t->slot[k]] = begin[k];
    if (n[k] <= 0) return true;
    all *= n[k];
  }
  bool whole = true, box = true;
  part full = {{0}, {0}};
  for (int k = 0; k < t->nloops; k++) full.n[k] = n[k];
  part write = t->nconds ? held_part(s, t, begin, n, t->nconds, t->cond, &whole) : full, read = write;
  nwi_node *both[NWD_LOOPS + 1];
  memcpy(both, t->cond, sizeof t->cond);
  both[t->nconds] = t->pads;
  if (t->pads) read = held_part(s, t, begin, n, t->nconds + 1, both, &box);
  if (!whole || !box) return fails(s, t, "its conditions do not select a box of elements", NULL) >= 0;
  for (int k = 0; k < t->nloops; k++) {
    s->run.slot[t->slot[k]] = begin[k];
    if (!write.n[k]) return true;
  }
  bool moves = t->row->kind == NW_CHIP_COPY || t->row->kind == NW_CHIP_FILL;
  add_split(s, site, n, write, read, moves ? split_loops(t, &write) : 0, 0);
  return true;
}

bool nwd_site_emit(nw_acc *s, int site) {
  const nwd_site *t = &s->site[site];
  if (!t->boxed) return emit_parts(s, site) && !s->run.failed;
  for (int k = 0; k < t->nloops; k++) {
    nwi_turn(&s->run);
    s->run.slot[t->slot[k]] = nwi_int(&s->run, t->begin[k]);
  }
  nwd_instr *in = add_instr(s, site);
  add_bases(s, t);
  nwd_find_kind(s, in);
  return !s->run.failed;
}

// ---- what an instruction accesses

void nwd_part_of(const nw_acc *s, const nwd_instr *in, int i, part *out) {
  const nwd_site *t = &s->site[in->site];
  const int64_t *number = s->number + in->at + t->naccesses;
  bool pads = t->pads && i > 0;
  for (int k = 0; k < t->nloops; k++) {
    const int64_t *lo = number + t->nloops + 2 * (k + (pads ? t->nloops : 0));
    out->lo[k] = t->boxed ? 0 : lo[0];
    out->n[k] = t->boxed ? t->size[k] : lo[1];
  }
}

static int64_t count(const part *p, int n) {
  int64_t all = 1;
  for (int k = 0; k < n; k++) all *= p->n[k];
  return all;
}

int nwd_boxes(const nw_acc *s, const nwd_instr *in, nwd_box *out) {
  const nwd_site *t = &s->site[in->site];
  int boxes = 0;
  for (int i = 0; i < t->naccesses; i++) {
    const nwd_access *a = &t->access[i];
    int bytes = nw_dtype_bytes(a->dtype);
    part p;
    nwd_part_of(s, in, i, &p);
    if (!count(&p, t->nloops)) continue;
    nwd_box *b = &out[boxes++];
    *b = (nwd_box){.access = i,
                   .memory = a->memory,
                   .read = a->read,
                   .write = a->write,
                   .at = s->number[in->at + i],
                   .row = bytes};
    for (int k = 0; k < t->nloops; k++) b->at += p.lo[k] * a->stride[k] * bytes;
    int order[NWD_LOOPS], n = 0; // loops by the distance of their steps, the nearest first
    for (int k = 0; k < t->nloops; k++) {
      int64_t step = a->stride[k] * bytes;
      if (p.n[k] == 1 || !step) continue;
      if (step < 0) b->at += step * (p.n[k] - 1);
      int at = n++;
      for (; at > 0 && llabs(a->stride[order[at - 1]]) > llabs(a->stride[k]); at--) order[at] = order[at - 1];
      order[at] = k;
    }
    for (int d = 0; d < n; d++) {
      int64_t step = llabs(a->stride[order[d]]) * bytes, times = p.n[order[d]];
      if (step <= b->row && !b->n) // the rows touch or overlap
        b->row += step * (times - 1);
      else
        b->size[b->n] = times, b->stride[b->n++] = step;
    }
  }
  return boxes;
}
