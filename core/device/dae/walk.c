// Makes the stream of a program: executes its loops, and adds an instruction for each call. Places the arrays that the
// program allocates in the memories of the machine.
//
// Allocations are nested, so the places are those of a stack: an array begins after the arrays that exist around it, at a
// multiple of the memory's word.
#include "device/dae/dae.h"
#include <stdlib.h>

enum { MOST_INSTRS = 1 << 24 };

// A statement of the program, ready to be executed.
typedef struct code code;
struct code {
  const nw_stmt *stmt;
  int nkids;
  code **kid;
  nwi_node *begin, *extent; // LOOP
  nwi_node *cond; // GUARD
  nwi_node *elements; // ALLOC
  int slot; // LOOP: of its variable
  int buffer, memory; // ALLOC: numbers of the buffer, and of its memory
  int site; // a call, or loops around a call that one instruction executes; otherwise -1
};

// ---- loops that an instruction executes

// Returns the number of iterations of a loop if it is a constant; otherwise -1.
static int64_t times_of(const nw_stmt *loop) {
  int64_t n;
  return nw_is_int(loop->loop.extent, &n) ? n : -1;
}

// Returns how many of the innermost loops one instruction can execute: `loops` loops around at most `micro_ops` tiles.
static int taken_by(const nw_machine_instruction *row, int n, const nw_stmt *const *loop) {
  int64_t tiles = 1;
  int i = n;
  while (i > 0 && tiles * times_of(loop[i - 1]) <= row->micro_ops) tiles *= times_of(loop[--i]);
  return n - i + (i < row->loops ? i : (int)row->loops);
}

// True if the tile that stays in the array of a systolic machine is the same in all iterations of the loops.
static bool stays(const nw_acc *s, const nw_machine_instruction *row, const nw_stmt *call, int n,
                  const nw_stmt *const *loop) {
  static const char *const operands[] = {"input", "weight", "sum"};
  const char *var[NWD_LOOPS];
  int64_t coef[NWD_LOOPS];
  const nw_expr *rest;
  for (int i = 0; i < n; i++) var[i] = loop[i]->loop.var->name;
  for (int k = 0; k < call->call.ntiles && k < NW_COUNT(operands); k++) {
    if (strcmp(row->stationary, operands[k])) continue;
    if (!nw_affine(s->pool, nw_import(s->pool, call->call.tile[k].index), n, var, coef, &rest)) return false;
    for (int i = 0; i < n; i++)
      if (coef[i]) return false;
  }
  return true;
}

// Returns the row of a product, by the memories of its tiles.
static const nw_machine_instruction *row_of_tiles(const nw_acc *s, const nw_intrinsic *in, const nw_stmt *call) {
  nwd_operands o = {.nreads = 0};
  for (int k = 0; k < call->call.ntiles; k++) {
    int memory = nwd_memory_of(s, nwd_buffer_named(s, call->call.tile[k].buffer));
    *(in->arg[k].output ? &o.result : &o.read[o.nreads++]) = memory;
  }
  return nwd_row_of(s, in->chip, &o);
}

// If the statement consists of loops with constant numbers of iterations around a call, and one instruction can execute all
// of them, returns the call, and sets the loops, outermost first. Otherwise returns NULL.
static const nw_stmt *whole_call(const nw_acc *s, const nw_stmt *at, int *n, const nw_stmt **loop) {
  for (*n = 0; at->kind == NW_LOOP && !at->loop.threads && at->nkids == 1 && times_of(at) > 0; at = at->kid[0]) {
    if (*n == NWD_LOOPS) return NULL;
    loop[(*n)++] = at;
  }
  const nw_intrinsic *in = at->kind == NW_CALL ? nw_intrinsic_find(s->ctx, at->call.intrinsic) : NULL;
  if (!in || *n == 0) return at->kind == NW_CALL ? at : NULL;
  if (!in->chip || in->kind != NW_CHIP_TENSOR) return NULL;
  const nw_machine_instruction *row = row_of_tiles(s, in, at);
  return row && taken_by(row, *n, loop) >= *n && stays(s, row, at, *n, loop) ? at : NULL;
}

// ---- compilation

static code *compile(nw_acc *s, const nw_stmt *at);

static bool compile_kids(nw_acc *s, code *c) {
  c->kid = NW_NEW_N(s->arena, code *, c->stmt->nkids + 1);
  for (; c->nkids < c->stmt->nkids; c->nkids++)
    if (!(c->kid[c->nkids] = compile(s, c->stmt->kid[c->nkids]))) return false;
  return true;
}

static bool compile_loop(nw_acc *s, code *c) {
  const nw_stmt *loop = c->stmt;
  if (nw_is_block_loop(loop) && !nw_is_const(loop->loop.extent, 1))
    return nw_fail(s->ctx, NW_EINVAL, "s:bind(loop, \"vthread\") makes virtual threads",
                   "%s is bound to %s, and an accelerator has no threads", loop->loop.var->name,
                   nw_loop_kind_name(loop->loop.mark));
  c->begin = nwi_make(&s->scope, c->stmt->loop.begin);
  c->extent = nwi_make(&s->scope, c->stmt->loop.extent);
  c->slot = s->nslots++;
  nwi_bind(&s->scope, c->stmt->loop.var->name, c->slot);
  bool good = c->begin && c->extent && compile_kids(s, c);
  nwi_unbind(&s->scope);
  nwi_forget(&s->scope); // another loop may have a variable of this name
  return good;
}

static bool compile_alloc(nw_acc *s, code *c) {
  c->buffer = nwd_buffer_named(s, c->stmt->alloc.buffer);
  c->memory = nwd_memory_of(s, c->buffer);
  c->elements = nwi_make(&s->scope, c->stmt->alloc.extent[0]);
  return c->elements && compile_kids(s, c);
}

static bool no_instruction(nw_acc *s, const nw_stmt *at) {
  const char *what = at->kind == NW_STORE ? at->store.buffer : "a statement";
  return nw_fail(s->ctx, NW_EINVAL, "s:tensorize replaces its nest by an instruction, such as dma_copy2d",
                 "%s is computed by no instruction of %s", what, s->target->machine.name);
}

// Makes the site of loops around a call, as one instruction. Returns false if it cannot be one, for example because an array
// is used in turns (an index modulo its size). Unless there is a diagnostic, the loops are then executed one by one.
static bool compile_whole(nw_acc *s, code *c, const nw_stmt *call, int n, const nw_stmt *const *loop) {
  int slots = s->nslots;
  s->misfit = false;
  c->site = nwd_site_make(s, call, n, loop);
  if (c->site >= 0) return true;
  if (s->misfit) nw_clear(s->ctx);
  s->nslots = slots;
  return false;
}

static code *compile(nw_acc *s, const nw_stmt *at) {
  code *c = NW_NEW(s->arena, code);
  const nw_stmt *loop[NWD_LOOPS];
  int n;
  *c = (code){.stmt = at, .site = -1};
  const nw_stmt *call = whole_call(s, at, &n, loop);
  if (call && n > 0 && compile_whole(s, c, call, n, loop)) return c;
  if (nw_error(s->ctx)) return NULL;
  if (call && n == 0) return (c->site = nwd_site_make(s, call, 0, NULL)) >= 0 ? c : NULL;
  bool good;
  switch (at->kind) {
  case NW_LOOP: good = compile_loop(s, c); break;
  case NW_ALLOC: good = compile_alloc(s, c); break;
  case NW_GUARD: good = (c->cond = nwi_make(&s->scope, at->guard.cond)) && compile_kids(s, c); break;
  case NW_SEQ:
  case NW_UNIT: good = compile_kids(s, c); break;
  default: good = no_instruction(s, at);
  }
  return good ? c : NULL;
}

// ---- execution

static int64_t value_of(nw_acc *s, nwi_node *n) {
  nwi_turn(&s->run);
  return nwi_int(&s->run, n);
}

static bool walk(nw_acc *s, const code *c);

static bool walk_kids(nw_acc *s, const code *c) {
  for (int i = 0; i < c->nkids; i++)
    if (!walk(s, c->kid[i])) return false;
  return true;
}

static bool place(nw_acc *s, const code *c) {
  const nw_buffer *b = s->exec->shown->buffer[c->buffer];
  nwd_memory *m = &s->memory[c->memory];
  int64_t bytes = value_of(s, c->elements) * nw_dtype_bytes(b->dtype), *top = &s->top[c->memory];
  s->base[c->buffer] = *top;
  *top += (bytes + m->word - 1) / m->word * m->word;
  if (*top > s->most[c->memory]) s->most[c->memory] = *top;
  int64_t room = s->machine->buffer[c->memory].bytes * s->machine->buffer[c->memory].count;
  if (*top <= room) return true;
  return nw_fail(s->ctx, NW_ELIMIT, "s:set_scope moves an array to another memory; a smaller tile needs less space",
                 "with %s, %s needs %lld bytes at the same time; it has %lld", b->name, m->name, (long long)*top,
                 (long long)room);
}

static bool walk_alloc(nw_acc *s, const code *c) {
  if (c->memory >= s->machine->nbuffers) return walk_kids(s, c); // an array outside of the chip exists all the time
  int64_t top = s->top[c->memory];
  bool good = place(s, c) && walk_kids(s, c);
  s->top[c->memory] = top;
  return good;
}

static void add_mark(nw_acc *s, int kind, const nw_stmt *loop, int64_t value) {
  if (s->nmarks == s->capmarks) {
    s->capmarks = s->capmarks ? 2 * s->capmarks : 256;
    s->mark = nw_xrealloc(s->mark, (size_t)s->capmarks * sizeof *s->mark);
  }
  s->mark[s->nmarks++] = (nwd_mark){.at = s->ninstrs, .kind = kind, .loop = loop, .value = value};
}

static bool walk_loop(nw_acc *s, const code *c) {
  int64_t begin = value_of(s, c->begin), extent = value_of(s, c->extent);
  bool good = !s->run.failed;
  if (extent == 1) { // not worth a loop in the text
    s->run.slot[c->slot] = begin;
    return good && walk_kids(s, c);
  }
  int thread = s->thread, threads = s->threads;
  if (c->stmt->loop.threads) s->threads = (threads ? threads : 1) * (int)extent;
  add_mark(s, NWD_LOOP, c->stmt, 0);
  for (int64_t i = 0; i < extent && good; i++) {
    s->run.slot[c->slot] = begin + i;
    if (c->stmt->loop.threads) s->thread = thread * (int)extent + (int)i;
    add_mark(s, NWD_TURN, c->stmt, begin + i);
    good = !nw_stopped(s->ctx) && walk_kids(s, c);
  }
  add_mark(s, NWD_END, c->stmt, 0);
  s->thread = thread, s->threads = threads;
  return good;
}

static bool emit(nw_acc *s, int site) {
  if (!nwd_site_emit(s, site)) return false;
  if (s->ninstrs <= MOST_INSTRS) return true;
  return nw_fail(s->ctx, NW_ELIMIT, "larger tiles need fewer instructions", "the stream has more than %d instructions",
                 MOST_INSTRS);
}

static bool walk(nw_acc *s, const code *c) {
  if (c->site >= 0) return emit(s, c->site);
  switch (c->stmt->kind) {
  case NW_LOOP: return walk_loop(s, c);
  case NW_ALLOC: return walk_alloc(s, c);
  case NW_GUARD: return !value_of(s, c->cond) || walk_kids(s, c);
  default: return walk_kids(s, c);
  }
}

// ---- the stream

static int loops_of(const nw_stmt *s) {
  int n = s->kind == NW_LOOP;
  for (int i = 0; i < s->nkids; i++) n += loops_of(s->kid[i]);
  return n;
}

static void bind_sizes(nw_acc *s, const int64_t *sizes) {
  const nw_program *p = s->exec->shown;
  s->run.slot = NW_NEW_N(s->arena, int64_t, p->nsizes + loops_of(p->root) + 1);
  for (int i = 0; i < p->nsizes; i++) {
    s->run.slot[i] = sizes[i];
    nwi_bind(&s->scope, p->size[i].name, i);
  }
  s->nslots = p->nsizes;
}

// The memories are those of the machine, and one for each array outside of the chip.
static bool make_memories(nw_acc *s) {
  const nw_program *p = s->exec->shown;
  const nw_machine_accelerator *a = s->machine;
  s->memory = NW_NEW_N(s->arena, nwd_memory, a->nbuffers + p->nbuffers + 1);
  s->base = NW_NEW_N(s->arena, int64_t, p->nbuffers + 1);
  for (int i = 0; i < a->nbuffers; i++)
    s->memory[s->nmemories++] = (nwd_memory){.name = a->buffer[i].name,
                                             .scope = a->buffer[i].name,
                                             .word = a->buffer[i].word_bits >= 8 ? a->buffer[i].word_bits / 8 : 1,
                                             .own = true};
  for (int i = 0; i < p->nbuffers; i++) {
    nwd_memory *m = &s->memory[s->nmemories++];
    *m = (nwd_memory){.name = p->buffer[i]->name, .scope = "global", .own = p->buffer[i]->role == NW_TEMP};
    m->word = nw_dtype_bytes(p->buffer[i]->dtype);
    if (nwd_memory_of(s, i) < a->nbuffers) continue;
    nwi_node *n = nwi_make(&s->scope, s->exec->storage[i].elements);
    if (!n) return false;
    m->bytes = value_of(s, n) * m->word;
  }
  return true;
}

void nw_acc_free(nw_acc *s) {
  if (!s) return;
  for (int i = 0; i < s->nmemories; i++)
    if (s->memory[i].own) nw_let_go(s->memory[i].data);
  free(s->site);
  free(s->kind);
  free(s->instr);
  free(s->number);
  free(s->mark);
  nwi_scope_free(&s->scope);
  nw_exec_release(s->exec);
  nw_program_release(s->source);
  nw_target_release(s->target);
  nw_pool_release(s->pool);
  nw_arena_free(s->arena);
  free(s);
}

static bool is_streamed(nw_ctx *c, const nw_target *t) {
  if (t->machine.kind == NW_MACHINE_ACCELERATOR && t->machine.accelerator.nunits) return true;
  return nw_fail(c, NW_EINVAL, "nw.schedule(C, {target = \"vdla\"}) makes a schedule for an accelerator",
                 "%s executes no stream of instructions", t->machine.name);
}

nw_acc *nwd_stream_new(nw_ctx *c, const nw_program *p, const int64_t *sizes) {
  if (!p || !is_streamed(c, p->target)) return NULL;
  nw_exec *e = nw_lower(p, NULL);
  if (!e) return NULL;
  nw_acc *s = nw_xcalloc(1, sizeof *s);
  s->ctx = c;
  s->exec = e;
  s->source = nw_program_retain((nw_program *)p);
  s->target = nw_target_retain(p->target);
  s->machine = &s->target->machine.accelerator;
  s->arena = nw_arena_new();
  s->pool = nw_pool_new(c);
  s->run = (nwi_run){.ctx = c};
  s->scope = (nwi_scope){.arena = s->arena, .ctx = c};
  bind_sizes(s, sizes);
  code *root = make_memories(s) ? compile(s, e->shown->root) : NULL;
  bool good = root && walk(s, root) && !s->run.failed;
  for (int i = 0; i < s->machine->nbuffers; i++) s->memory[i].bytes = s->most[i];
  if (good) return s;
  nw_acc_free(s);
  return NULL;
}
