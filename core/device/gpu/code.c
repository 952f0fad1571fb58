// Estimates the instructions that a compiler makes from a kernel, and the time that a block needs if it is alone.
//
// The lowered program computes each address where it is used. A compiler does not. These rules describe what it does:
//   * A loop with few constant iterations and a small body is unrolled (unroll.c). Of any other loop, GROUP iterations at a time are
//     unrolled, and each group has OVERHEAD instructions of its own.
//   * A local array is in registers if each of its indices is known after unrolling. Its loads and stores vanish.
//   * A load whose address is that of an earlier load is not repeated, unless something has written to the buffer, or there
//     is a barrier.
//   * A load whose address does not use the variables of the innermost unrolled loops is done once for these loops, if
//     nothing inside them writes the buffer and there is no barrier.
//   * An address is computed where the innermost variable that it uses changes, once for each buffer. What depends only on
//     variables of unrolled loops is a constant part of an instruction.
// The counts of executions are those of the simulation.
#include "device/gpu/code.h"
#include "ir/program/intrinsic.h"
#include "ir/ops.h"
#include <math.h>
#include <stdlib.h>

enum {
  GROUP = 4,
  OVERHEAD = 3, // addition, comparison and branch
  OPERATION = 4, // cycles from an operation to one that needs its result
  BARRIER = 20, // cycles of a barrier whose warps are all there
  // Cycles of a product of a tensor core (Sun et al., Dissecting Tensor Cores via Microbenchmarks, 2022: 25 for
  // m16n8k16 with f16 and for m16n8k8 with tf32 on an A100).
  PRODUCT = 25,
};

typedef struct cost { // instructions of a warp for one operation of a class
  double f32, f64, ints, special;
} cost;

// The numbers for functions and divisions are guesses, because no compiled code was counted for them.
static const cost costs[NW_CLASS_COUNT] = {
    [NW_CLASS_FMA] = {.f32 = 1},
    [NW_CLASS_ADD] = {.f32 = 1},
    [NW_CLASS_MUL] = {.f32 = 1},
    [NW_CLASS_MINMAX] = {.ints = 1},
    [NW_CLASS_ROUND] = {.special = 1},
    [NW_CLASS_CAST] = {.special = 1},
    [NW_CLASS_DIV] = {.f32 = 8, .special = 1},
    [NW_CLASS_DIV64] = {.f64 = 12, .special = 1},
    [NW_CLASS_SQRT] = {.f32 = 7, .special = 1},
    [NW_CLASS_SQRT64] = {.f64 = 12, .special = 1},
    [NW_CLASS_EXP] = {.f32 = 10, .ints = 4, .special = 1},
    [NW_CLASS_EXP64] = {.f64 = 18, .ints = 6, .special = 1},
    [NW_CLASS_LOG] = {.f32 = 14, .ints = 6, .special = 1},
    [NW_CLASS_LOG64] = {.f64 = 24, .ints = 8, .special = 1},
    [NW_CLASS_TANH] = {.f32 = 20, .ints = 6, .special = 2},
    [NW_CLASS_TANH64] = {.f64 = 34, .ints = 8, .special = 2},
    [NW_CLASS_ERF] = {.f32 = 24, .ints = 6, .special = 2},
    [NW_CLASS_ERF64] = {.f64 = 60, .ints = 8, .special = 2},
    [NW_CLASS_POW] = {.f32 = 40, .ints = 12, .special = 4},
    [NW_CLASS_POW64] = {.f64 = 90, .ints = 16, .special = 4},
    [NW_CLASS_INT] = {.ints = 1},
    [NW_CLASS_INTMUL] = {.ints = 1},
    [NW_CLASS_INTDIV] = {.ints = 8},
    [NW_CLASS_SHUFFLE] = {.ints = 1},
};

typedef struct frame { // a loop around
  const nwg_stmt *s;
  bool unrolled;
  int part;
} frame;

typedef struct coding {
  const nwg_entry *e;
  const nwg_kernel *k;
  nw_pool *pool;
  nwg_code_room *out;
  int kernel, depth; // depth: number of loops around that are parts
  int nframes, root, part; // parts: the whole kernel, and the innermost one
  frame frame[NW_MAX_DEPTH];
  int *address; // for each buffer and each frame, and for none: 1 if its address is computed there
  nw_vec seen; // subexpressions of the current statement
  nw_vec loaded; // addresses whose elements are in registers: expressions
  nw_vec from; // the buffers of these addresses: numbers
  double load; // the longest latency of a load of the current statement
} coding;

static double runs_of(const coding *c, const nwg_stmt *s) { return (double)c->e->runs[s->number]; }

// ---- instructions

// Adds n operations of a class. If `wide` is set, their operands are f64.
static void add(coding *c, int part, nw_class class, double n, bool wide) {
  nw_gpu_part *p = &c->out->part[part];
  if (class == NW_CLASS_NONE) return;
  cost k = costs[class];
  if (wide) k.f64 += k.f32, k.f32 = 0;
  p->f32 += n * k.f32, p->f64 += n * k.f64, p->ints += n * k.ints, p->special += n * k.special;
  p->issued += n * (k.f32 + k.f64 + k.ints + k.special);
}

static void issue(coding *c, int part, double n) { c->out->part[part].issued += n; }

// Returns the innermost loop that is not unrolled and whose variable e uses; -1 if there is none.
static int innermost(const coding *c, const nw_expr *e) {
  for (int i = c->nframes - 1; i >= 0; i--)
    if (!c->frame[i].unrolled && nw_uses_var(e, c->frame[i].s->stmt->loop.var->name)) return i;
  return -1;
}

static bool count_operation(void *env, const nw_expr *e) {
  *(int *)env += e->n > 0 && e->op != NW_OP_LOAD;
  return true;
}

// Adds the instructions for an address, in the loop where it changes.
static void add_address(coding *c, int buffer, const nw_expr *index) {
  int at = innermost(c, index);
  int *known = &c->address[buffer * (NW_MAX_DEPTH + 1) + at + 1];
  if (*known) return;
  *known = 1;
  bool wide = c->k->buffer[buffer].space == NWG_GLOBAL;
  if (at < 0) {
    int operations = 0;
    nw_visit(index, count_operation, &operations);
    return add(c, c->root, NW_CLASS_INT, (double)c->e->row.warps * (operations + wide), false);
  }
  const frame *f = &c->frame[at];
  add(c, f->part, NW_CLASS_INT, runs_of(c, f->s) / GROUP * (1 + wide), false);
}

static bool writes(const nwg_kernel *k, const nwg_stmt *s, int buffer) {
  bool any = s->kind == NW_STORE && k->site[s->site].buffer == buffer;
  if (s->intrinsic) any = s->fragment[s->intrinsic->nargs - 1].buffer == buffer;
  for (int i = 0; i < s->nkids && !any; i++) any = writes(k, s->kid[i], buffer);
  return any;
}

// Returns the share of the executions of a load that is left when the innermost unrolled loops whose variables its address
// does not use are done once.
static double share_of(const coding *c, const nwg_site *site, const nw_expr *index) {
  double share = 1;
  if (site->write) return 1;
  for (int i = c->nframes - 1; i >= 0 && c->frame[i].unrolled; i--) {
    const frame *f = &c->frame[i];
    if (writes(c->k, f->s, site->buffer)) break;
    if (!nw_uses_var(index, f->s->stmt->loop.var->name)) share /= (double)f->s->times;
  }
  return share;
}

// Returns the number of adjacent elements that one load from shared memory gets for each thread: the innermost loop is
// unrolled, and goes along the elements. The compiler knows the alignment of shared arrays.
static int merged(const coding *c, const nwg_site *site, const nw_expr *index) {
  const nwg_buffer *b = &c->k->buffer[site->buffer];
  const frame *f = c->nframes ? &c->frame[c->nframes - 1] : NULL;
  const nw_expr *rest;
  int64_t step;
  if (site->write || site->n > 1 || b->space != NWG_SHARED || b->bytes != 4 || !f || !f->unrolled) return 1;
  if (!nw_affine(c->pool, index, 1, &f->s->stmt->loop.var->name, &step, &rest) || step != 1) return 1;
  int n = f->s->times % 4 == 0 ? 4 : f->s->times % 2 == 0 ? 2 : 1;
  const nwg_pattern *p = &c->e->pattern[site - c->k->site];
  for (int l = 0; l < NWG_LANES; l++)
    while (p->off[l] % n) n /= 2;
  return n;
}

static double latency_of(const coding *c, const nwg_buffer *b) {
  const nw_machine_gpu *g = c->out->gpu;
  if (b->space == NWG_SHARED && !b->device) return g->shared_latency;
  return b->space == NWG_GLOBAL || b->device ? g->l2_latency : g->l1_latency;
}

static bool is_loaded(const coding *c, int buffer, const nw_expr *index) {
  for (int i = 0; i < c->loaded.n; i++)
    if (c->loaded.at[i] == index && (int)(intptr_t)c->from.at[i] == buffer) return true;
  return false;
}

// Forgets what was loaded from a buffer; if it is negative, from all of them.
static void forget(coding *c, int buffer) {
  int n = 0;
  for (int i = 0; i < c->loaded.n; i++) {
    if (buffer < 0 || (int)(intptr_t)c->from.at[i] == buffer) continue;
    c->loaded.at[n] = c->loaded.at[i];
    c->from.at[n++] = c->from.at[i];
  }
  c->loaded.n = c->from.n = n;
}

static void add_access(coding *c, int site, const nw_expr *index) {
  const nwg_site *t = &c->k->site[site];
  const nwg_buffer *b = &c->k->mine[t->buffer];
  nwg_access_code *a = &c->out->access[site];
  a->part = c->part;
  a->share = a->waves = 0;
  if (t->write) forget(c, t->buffer);
  if (b->steady || (!t->write && is_loaded(c, t->buffer, index))) return;
  if (!t->write) nw_vec_push(&c->loaded, (void *)index), nw_vec_push(&c->from, (void *)(intptr_t)t->buffer);
  int n = merged(c, t, index);
  a->share = share_of(c, t, index) / n;
  a->waves = n > 1 ? nwg_waves(c->k->banks, &c->e->pattern[site], 0, b->bytes, n * b->bytes) : 0;
  issue(c, c->part, a->share * (double)c->e->count[site].requests);
  add_address(c, t->buffer, index);
  if (!t->write && !t->async) c->load = fmax(c->load, latency_of(c, b));
}

static bool is_new(coding *c, const nw_expr *e) {
  for (int i = 0; i < c->seen.n; i++)
    if (c->seen.at[i] == e) return false;
  nw_vec_push(&c->seen, (void *)e);
  return true;
}

static int max_of(int a, int b) { return a > b ? a : b; }

static void add_operation(coding *c, const nw_expr *e, double times) {
  bool wide = e->arg[0]->type.dtype == NW_F64;
  nw_class k = nw_op_class((nw_op)e->op, nw_dtype_is_float((nw_dtype)e->arg[0]->type.dtype));
  add(c, c->part, wide && k != NW_CLASS_NONE ? nw_class_of_f64(k) : k, times * e->type.lanes, wide);
}

static bool is_load(const coding *c, const nwg_site *site, const nw_stmt *of, const nw_expr *e) {
  return site->stmt == of && !site->write && site->index == e->arg[0] &&
         !strcmp(c->k->buffer[site->buffer].name, e->name);
}

// Adds the instructions of an expression of the statement `of`, which is executed `times` times. Returns the number of
// dependent operations.
static int add_expr(coding *c, const nw_stmt *of, const nw_expr *e, double times) {
  int depth = 0;
  if (!is_new(c, e)) return 0;
  if (e->op == NW_OP_LOAD) {
    for (int i = 0; i < c->k->nsites; i++)
      if (is_load(c, &c->k->site[i], of, e)) add_access(c, i, e->arg[0]);
    return 0;
  }
  for (int i = 0; i < e->n; i++) depth = max_of(depth, add_expr(c, of, e->arg[i], times));
  if (!e->n || (e->type.dtype == NW_INDEX && innermost(c, e) < 0)) return depth;
  add_operation(c, e, times);
  return depth + 1;
}

// ---- statements

// The time of a warp that runs alone, in cycles. Loads between two barriers overlap, and the operations that use them
// follow. If warps of a block differ, this is the time of the slowest warp; the mean of all warps is `share` of it.
typedef struct chain {
  double load, rest, share;
} chain;

static double sum_of(chain c) { return c.load + c.rest; }

static chain visit(coding *c, const nwg_stmt *s, double times);

static chain visit_kids(coding *c, const nwg_stmt *s, double times) {
  chain all = {0, 0, 1};
  for (int i = 0; i < s->nkids; i++) {
    chain one = visit(c, s->kid[i], times);
    double before = sum_of(all);
    if (nwg_has_barrier(s->kid[i])) all = (chain){0, before, all.share};
    all.load = fmax(all.load, one.load);
    all.rest += one.rest;
    double after = sum_of(all);
    if (after > 0) all.share = (before * all.share + (after - before) * one.share) / after;
  }
  return all;
}

static chain visit_store(coding *c, const nwg_stmt *s) {
  const nw_stmt *t = s->stmt;
  double times = (double)c->e->count[s->site].requests;
  c->seen.n = 0;
  c->load = 0;
  int depth = add_expr(c, t, t->store.value, times);
  if (t->store.mask) add_expr(c, t, t->store.mask, times);
  add_access(c, s->site, t->store.index);
  return (chain){c->load, depth * OPERATION, 1};
}

static chain visit_instruction(coding *c, const nwg_stmt *s) {
  const nw_instruction *in = s->intrinsic->instruction;
  nw_gpu_part *p = &c->out->part[c->part];
  double times = runs_of(c, s), macs = (double)in->rows * in->columns * in->depth;
  c->load = 0;
  for (int i = 0; i < c->k->nsites; i++)
    if (c->k->site[i].stmt == s->stmt) add_access(c, i, c->k->site[i].index);
  if (!in->depth) return (chain){c->load, OPERATION, 1};
  *(in->tf32 ? &p->tensor_tf32 : &p->tensor) += times * macs;
  if (in->tf32)
    add(c, c->part, NW_CLASS_CAST, times * (s->intrinsic->arg[0].fragment.n + s->intrinsic->arg[1].fragment.n), false);
  issue(c, c->part, times);
  return (chain){0, PRODUCT, 1};
}

// True if each iteration of a loop needs the result of the iteration before: some store inside it is to the same element.
static bool repeats(const nwg_stmt *s, const char *var) {
  bool any = s->kind == NW_STORE && !nw_uses_var(s->stmt->store.index, var) &&
             nw_uses_load(s->stmt->store.value, s->stmt->store.buffer);
  if (s->intrinsic && s->intrinsic->instruction->depth) any = !nw_uses_var(s->stmt->call.tile[2].index, var);
  for (int i = 0; i < s->nkids && !any; i++) any = repeats(s->kid[i], var);
  return any;
}

static int add_part(coding *c, const nw_stmt *s, double times) {
  nwg_code_room *out = c->out;
  out->part = nw_xrealloc(out->part, sizeof *out->part * (size_t)(out->nparts + 1));
  nw_gpu_part *p = &out->part[out->nparts];
  *p = (nw_gpu_part){.kernel = c->kernel, .depth = c->depth, .times = times};
  if (s) p->id = s->id, p->name = nw_arena_strdup(out->arena, s->loop.var->name);
  return out->nparts++;
}

static chain visit_loop(coding *c, const nwg_stmt *s, double times) {
  double inside = runs_of(c, s), each = times > 0 ? inside / times : 0;
  bool unrolled = nwg_is_unrolled(s), barrier = nwg_has_barrier(s);
  double group = unrolled ? fmax(each, 1) : barrier ? 1 : GROUP;
  int around = c->part;
  c->part = add_part(c, s->stmt, inside);
  for (int i = 0; i < c->k->nbuffers; i++)
    if (writes(c->k, s, i)) forget(c, i);
  if (barrier) forget(c, -1);
  int loaded = c->loaded.n;
  c->frame[c->nframes++] = (frame){.s = s, .unrolled = unrolled, .part = c->part};
  c->depth++;
  if (!unrolled) add(c, c->part, NW_CLASS_INT, inside / group * OVERHEAD, false);
  chain body = visit_kids(c, s, inside);
  if (c->loaded.n > loaded) c->loaded.n = c->from.n = loaded;
  c->depth--;
  c->nframes--;
  c->part = around;
  if (repeats(s, s->stmt->loop.var->name))
    body.rest *= group;
  else
    body.rest += group - 1;
  if (unrolled) return body;
  return (chain){0, sum_of(body) * each / group, body.share};
}

static bool varies_in_loops(const coding *c, const nw_expr *e) {
  for (int i = 0; i < c->nframes; i++)
    if (nw_uses_var(e, c->frame[i].s->stmt->loop.var->name)) return true;
  return false;
}

// If the condition depends on the thread and the block only, some warps of a block execute all of what is inside, and the
// others nothing. Otherwise each warp is assumed to execute it in the same share of the iterations.
static chain visit_guard(coding *c, const nwg_stmt *s, double times) {
  c->seen.n = 0;
  if (innermost(c, s->stmt->guard.cond) >= 0) add_expr(c, s->stmt, s->stmt->guard.cond, times);
  issue(c, c->part, times);
  int loaded = c->loaded.n;
  double runs = runs_of(c, s), share = times > 0 ? fmin(runs / times, 1) : 0;
  chain inside = visit_kids(c, s, runs);
  if (c->loaded.n > loaded) c->loaded.n = c->from.n = loaded;
  if (!varies_in_loops(c, s->stmt->guard.cond)) return (chain){inside.load, inside.rest, share * inside.share};
  return (chain){share * inside.load, share * inside.rest, inside.share};
}

static chain visit(coding *c, const nwg_stmt *s, double times) {
  switch (s->kind) {
  case NW_STORE: return visit_store(c, s);
  case NW_LOOP: return visit_loop(c, s, times);
  case NW_GUARD: return visit_guard(c, s, times);
  case NW_CALL: return s->intrinsic ? visit_instruction(c, s) : visit_kids(c, s, times);
  case NW_BARRIER:
    forget(c, -1);
    issue(c, c->part, times);
    return (chain){0, s->stmt->barrier.warp ? OPERATION : BARRIER, 1};
  default: return visit_kids(c, s, times);
  }
}

// Adds to each part what is in the parts inside it.
static void add_up(nwg_code_room *out, int from) {
  for (int i = out->nparts - 1; i > from; i--) {
    int around = i - 1;
    while (out->part[around].depth >= out->part[i].depth) around--;
    nw_gpu_part *to = &out->part[around];
    const nw_gpu_part *p = &out->part[i];
    to->tensor += p->tensor, to->tensor_tf32 += p->tensor_tf32;
    to->issued += p->issued, to->f32 += p->f32, to->f64 += p->f64, to->ints += p->ints, to->special += p->special;
  }
}

void nwg_estimate_code(nwg_code_room *out, const nwg_entry *e, int kernel) {
  coding c = {.e = e, .k = e->k, .pool = out->pool, .out = out, .kernel = kernel};
  const nwg_kernel *k = e->k;
  c.address = nw_xcalloc(((size_t)k->nbuffers + 1) * (NW_MAX_DEPTH + 1), sizeof *c.address);
  out->access = nw_xrealloc(out->access, sizeof *out->access * (size_t)(k->nsites + 1));
  int from = c.part = add_part(&c, NULL, (double)e->row.warps);
  out->part[from].id = k->launch->at->id;
  c.root = from, c.depth = 1;
  chain all = visit(&c, k->root, (double)e->row.warps);
  add_up(out, from);
  out->part[from].chain = sum_of(all);
  out->part[from].active = all.share;
  nw_vec_free(&c.seen);
  nw_vec_free(&c.loaded);
  nw_vec_free(&c.from);
  free(c.address);
}
