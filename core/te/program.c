// Makes the naive program from the graph of operations. A compute becomes one perfect nest. A scan becomes a nest for
// the init of each state, and a loop over the time steps with the nests of the updates. Temporaries exist as long as
// the program runs.
#include "ir/program/reducer.h"
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct place_of { // the buffer of output `out` of an operation
  const nw_teop *op;
  int out;
  const char *buffer;
} place_of;

typedef struct renaming { // the replacement of a symbol
  const char *symbol;
  const nw_expr *to;
} renaming;

typedef struct maker {
  nw_ctx *ctx;
  nw_program *p;
  nw_vec order; // const nw_teop *
  nw_vec nests; // nw_stmt *, the statements of the root
  const nw_teop *only; // for the program of a single operation: all other operations become inputs
  char **name; // for each operation of `order`, the name of its stages and buffers
  place_of *at;
  int nat;
  renaming *size;
  int nsize;
  const nw_teop *reading; // the operation whose bodies are being converted
  renaming *var; // replacements of the variables of the current block
  int nvar;
} maker;

// ---- names

static bool is_leaf(const maker *m, const nw_teop *op) {
  return op->kind == NW_TE_PLACEHOLDER || (m->only && op != m->only);
}

// Returns the order in which an operation gets its name: inputs first, then outputs, then all others. So the parameters
// of a kernel keep the names that the user gave, if possible.
static int rank(const maker *m, const nw_teop *op, int n, const place_of *outputs) {
  if (is_leaf(m, op)) return 0;
  for (int i = 0; i < n; i++)
    if (outputs[i].op == op) return 1;
  return 2;
}

static bool given(const maker *m, const char *name) {
  for (int i = 0; i < m->order.n; i++)
    if (m->name[i] && !strcmp(m->name[i], name)) return true;
  return false;
}

static char *fresh_name(const maker *m, const char *want) {
  nw_str b = {0};
  nw_str_add(&b, want);
  for (int k = 1; given(m, b.s); k++) {
    b.n = 0;
    nw_str_fmt(&b, "%s_%d", want, k);
  }
  return nw_str_take(&b);
}

static void give_names(maker *m, int n, const place_of *outputs) {
  m->name = nw_xcalloc((size_t)m->order.n + 1, sizeof *m->name);
  for (int turn = 0; turn < 3; turn++)
    for (int i = 0; i < m->order.n; i++) {
      const nw_teop *op = m->order.at[i];
      if (rank(m, op, n, outputs) == turn) m->name[i] = fresh_name(m, op->name);
    }
}

static void free_names(maker *m) {
  for (int i = 0; i < m->order.n; i++) free(m->name[i]);
  free(m->name);
}

static const char *name_of(const maker *m, const nw_teop *op) {
  for (int i = 0; i < m->order.n; i++)
    if (m->order.at[i] == op) return m->name[i];
  return op->name;
}

static void map_buffer(maker *m, const nw_teop *op, int out, const char *buffer) {
  m->at = nw_xrealloc(m->at, sizeof *m->at * (size_t)(m->nat + 1));
  m->at[m->nat++] = (place_of){op, out, buffer};
}

static const char *buffer_of(const maker *m, const nw_teop *op, int out) {
  for (int i = m->nat - 1; i >= 0; i--)
    if (m->at[i].op == op && m->at[i].out == out) return m->at[i].buffer;
  return NULL;
}

static const nw_expr *to_plain_var(void *env, const nw_expr *v) {
  const maker *m = env;
  for (int i = m->nvar - 1; i >= 0; i--)
    if (!strcmp(m->var[i].symbol, v->name)) return m->var[i].to;
  for (int i = 0; i < m->nsize; i++)
    if (!strcmp(m->size[i].symbol, v->name)) return m->size[i].to;
  return NULL;
}

static const nw_expr *to_plain_load(void *env, const nw_expr *l) {
  const maker *m = env;
  for (int i = 0; i < m->reading->nreads; i++) {
    const nw_tensor *t = m->reading->reads[i];
    if (!strcmp(t->symbol, l->name)) return nw_load(m->p->pool, l->type, buffer_of(m, t->op, t->out), l->n, l->arg);
  }
  return NULL;
}

static const nw_expr *plain(maker *m, const nw_expr *e) {
  return nw_rewrite(m->p->pool, e, to_plain_var, to_plain_load, m);
}

static bool is_size(const maker *m, const char *name) {
  for (int i = 0; i < m->nsize; i++)
    if (!strcmp(m->size[i].to->name, name)) return true;
  return false;
}

static bool taken(const maker *m, const nw_block_var *var, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (!strcmp(var[i].var->name, name)) return true;
  return is_size(m, name);
}

static const nw_expr *fresh_var(maker *m, const nw_block_var *var, int n, const char *want) {
  char name[200];
  snprintf(name, sizeof name, "%.150s", want);
  for (int k = 1; taken(m, var, n, name); k++) snprintf(name, sizeof name, "%.150s_%d", want, k);
  return nw_var(m->p->pool, name);
}

// ---- sizes and facts

static bool known_size(void *env, const nw_expr *e) {
  const maker *m = env;
  return e->op != NW_OP_VAR || to_plain_var((void *)m, e);
}

static void add_facts(maker *m, const nw_te_size *s) {
  nw_program *p = m->p;
  for (int i = 0; i < s->facts.n; i++)
    if (nw_visit(s->facts.at[i], known_size, m)) p->fact[p->nfacts++] = plain(m, s->facts.at[i]);
}

static void add_sizes(maker *m) {
  nw_program *p = m->p;
  nw_vec sizes = nw_te_sizes_of(&m->order);
  int facts = 0;
  p->nsizes = sizes.n;
  p->size = NW_NEW_N(p->arena, nw_size, sizes.n + 1);
  m->size = nw_xcalloc((size_t)sizes.n + 1, sizeof *m->size);
  for (int i = 0; i < sizes.n; i++) {
    const nw_te_size *s = sizes.at[i];
    char *name = nw_te_size_name(&sizes, i);
    m->size[i] = (renaming){s->symbol, nw_var(p->pool, name)};
    p->size[i] = (nw_size){nw_pool_name(p->pool, name), nw_index(p->pool, s->lo)};
    facts += s->facts.n;
    free(name);
  }
  m->nsize = sizes.n;
  p->fact = NW_NEW_N(p->arena, const nw_expr *, facts + 1);
  for (int i = 0; i < sizes.n; i++) add_facts(m, sizes.at[i]);
  nw_vec_free(&sizes);
}

// ---- buffers

static void add_buffer(maker *m, const nw_teop *op, int out, nw_role role) {
  const nw_expr **shape = nw_xcalloc((size_t)op->ndim + 1, sizeof *shape);
  for (int d = 0; d < op->ndim; d++) shape[d] = plain(m, op->shape[d]);
  char *name = nw_te_output_name(op, name_of(m, op), out);
  const nw_buffer *b = nw_add_buffer(m->p, name, op->dtype[out], NW_GLOBAL, role, op->ndim, shape);
  map_buffer(m, op, out, b->name);
  free(name);
  free(shape);
}

static void add_buffers(maker *m, int n, const place_of *outputs) {
  for (int i = 0; i < m->order.n; i++) {
    const nw_teop *op = m->order.at[i];
    for (int k = 0; is_leaf(m, op) && k < op->nout; k++) add_buffer(m, op, k, NW_INPUT);
  }
  for (int i = 0; i < n; i++)
    if (!buffer_of(m, outputs[i].op, outputs[i].out)) add_buffer(m, outputs[i].op, outputs[i].out, NW_OUTPUT);
  for (int i = 0; i < m->order.n; i++) {
    const nw_teop *op = m->order.at[i];
    for (int k = 0; k < op->nout; k++)
      if (!buffer_of(m, op, k)) add_buffer(m, op, k, NW_TEMP);
  }
}

// ---- nests

// A block that is being built, and the loops around it, outermost first.
typedef struct nest {
  nw_stmt *outer, *inner, *block;
} nest;

static nw_stmt *enclose(maker *m, nest *n, const char *name, const nw_expr *begin, const nw_expr *extent) {
  const char *want = name;
  char other[200];
  for (int k = 1; is_size(m, want); k++) snprintf(other, sizeof other, "%.150s_%d", name, k), want = other;
  nw_stmt *loop = nw_new_loop(m->p, nw_unique_loop_name(m->p, want), begin, extent);
  if (n->inner) nw_kids_insert(m->p, n->inner, n->inner->nkids, loop);
  if (!n->outer) n->outer = loop;
  n->inner = loop;
  return loop;
}

static void close_nest(maker *m, nest *n) {
  if (n->inner)
    nw_kids_insert(m->p, n->inner, n->inner->nkids, n->block);
  else
    n->outer = n->block;
}

static nw_stmt *new_block(maker *m, const char *name, const char *origin, int nvars, int ntargets) {
  nw_stmt *b = nw_new_stmt(m->p, NW_BLOCK);
  b->block.name = nw_unique_block_name(m->p, name);
  b->block.origin = origin ? origin : b->block.name;
  b->block.var = NW_NEW_N(m->p->arena, nw_block_var, nvars + 1);
  b->block.target = NW_NEW_N(m->p->arena, nw_block_target, ntargets + 1);
  m->nvar = 0;
  m->var = nw_xrealloc(m->var, sizeof *m->var * (size_t)(nvars + 1));
  return b;
}

static void add_var(maker *m, nw_stmt *b, const char *symbol, const char *name, nw_var_kind kind, const nw_expr *lo,
                    const nw_expr *extent, const nw_expr *bind) {
  const nw_expr *v = fresh_var(m, b->block.var, b->block.nvars, name);
  b->block.var[b->block.nvars++] = (nw_block_var){v, kind, lo, extent, bind};
  m->var[m->nvar++] = (renaming){symbol, v};
}

// The rows of dimension 0 that a nest runs over.
typedef struct rows {
  const nw_expr *lo, *extent;
  nw_stmt *time; // the existing loop over the time steps of a scan, or NULL
  nw_var_kind kind;
} rows;

static void add_axes(maker *m, nest *n, const nw_teop *op, const rows *r) {
  const nw_expr *zero = nw_index(m->p->pool, 0);
  for (int i = 0; i < op->naxes; i++) {
    const nw_expr *lo = i || !r ? zero : r->lo, *extent = i || !r ? plain(m, op->extent[i]) : r->extent;
    nw_stmt *loop = !i && r && r->time ? r->time : enclose(m, n, op->axis_name[i], lo, extent);
    add_var(m, n->block, op->axis[i]->name, op->axis_name[i], !i && r ? r->kind : NW_SPATIAL, lo, extent,
            loop->loop.var);
  }
  for (int i = 0; i < op->nreduce; i++) {
    const nw_axis *a = op->reduce[i];
    const nw_expr *lo = plain(m, a->lo), *extent = plain(m, a->extent);
    nw_stmt *loop = enclose(m, n, a->name, lo, extent);
    add_var(m, n->block, a->var->name, a->name, NW_REDUCE, lo, extent, loop->loop.var);
  }
}

// Adds a target: output `out` of op is stored in `buffer`, at the position of the block's spatial variables.
static void add_target(maker *m, nw_stmt *b, const nw_teop *op, int out, const char *buffer) {
  nw_pool *p = m->p->pool;
  nw_block_target *t = &b->block.target[b->block.ntargets++];
  t->buffer = buffer;
  t->n = op->naxes;
  t->index = NW_NEW_N(m->p->arena, const nw_expr *, op->naxes + 1);
  for (int i = 0; i < op->naxes; i++) t->index[i] = b->block.var[i].var;
  m->reading = op;
  t->value = plain(m, op->body[out]);
  if (op->combiner == NW_PLAIN) return;
  t->init = nw_combiner_identity(p, op->combiner, op->dtype[out], out);
}

static void set_combiner(maker *m, nw_stmt *b, const nw_teop *op) {
  nw_program_use_reducer(m->p, op->combiner, NULL);
  b->block.combiner = op->combiner;
  b->block.has_init = op->combiner != NW_PLAIN;
}

static nw_stmt *compute_nest(maker *m, const nw_teop *op) {
  nest n = {.block = new_block(m, name_of(m, op), NULL, op->naxes + op->nreduce, op->nout)};
  add_axes(m, &n, op, NULL);
  for (int k = 0; k < op->nout; k++) add_target(m, n.block, op, k, buffer_of(m, op, k));
  set_combiner(m, n.block, op);
  close_nest(m, &n);
  return n.outer;
}

// ---- scans

static const char *state_block(maker *m, const nw_teop *scan, int k, const char *suffix) {
  char *name = nw_te_output_name(scan, name_of(m, scan), k);
  const char *s = nw_arena_printf(m->p->arena, "%s%s", name, suffix);
  free(name);
  return s;
}

// Makes the nest that writes the first rows of a state. If the init is a compute with one output and has no buffer, the
// nest has the body of this compute. Otherwise the nest copies the init tensor, and its loops have the names of the
// update's axes.
static nw_stmt *init_nest(maker *m, const nw_teop *scan, int k) {
  const nw_teop *init = scan->init[k]->op, *update = scan->update[k]->op;
  const char *buffer = buffer_of(m, scan, k);
  bool absorb = nw_te_absorbs_init(scan, k) && !buffer_of(m, init, 0);
  const nw_teop *axes = absorb ? init : update;
  nest n = {.block = new_block(m, state_block(m, scan, k, "_init"), NULL, axes->naxes + axes->nreduce, 1)};
  rows first = {nw_index(m->p->pool, 0), plain(m, scan->init_rows), NULL, NW_SPATIAL};
  if (absorb) {
    add_axes(m, &n, init, &first);
    add_target(m, n.block, init, 0, buffer);
    set_combiner(m, n.block, init);
  } else {
    nw_teop copy = *update;
    copy.nreduce = 0;
    add_axes(m, &n, &copy, &first);
    nw_block_target *t = &n.block->block.target[n.block->block.ntargets++];
    *t = (nw_block_target){
        .buffer = buffer, .n = copy.naxes, .index = NW_NEW_N(m->p->arena, const nw_expr *, copy.naxes + 1)};
    for (int i = 0; i < copy.naxes; i++) t->index[i] = n.block->block.var[i].var;
    nw_type type = {(uint8_t)scan->dtype[k], 1};
    t->value = nw_load(m->p->pool, type, buffer_of(m, init, scan->init[k]->out), copy.naxes, t->index);
  }
  close_nest(m, &n);
  return n.outer;
}

// True if no earlier state has the same update. States that are updated by one compute share one block.
static bool first_of_group(const nw_teop *scan, int k) {
  for (int j = 0; j < k; j++)
    if (scan->update[j]->op == scan->update[k]->op) return false;
  return true;
}

static int group_size(const nw_teop *scan, int k) {
  int n = 0;
  for (int j = k; j < scan->nout; j++) n += scan->update[j]->op == scan->update[k]->op;
  return n;
}

static void update_nest(maker *m, const nw_teop *scan, int k, rows *r, nw_stmt *time) {
  const nw_teop *u = scan->update[k]->op;
  int group = group_size(scan, k);
  const char *name = group == scan->nout ? name_of(m, scan) : state_block(m, scan, k, "");
  nest n = {.outer = time, .inner = time, .block = new_block(m, name, NULL, u->naxes + u->nreduce, group)};
  add_axes(m, &n, u, r);
  for (int j = k; j < scan->nout; j++)
    if (scan->update[j]->op == u) add_target(m, n.block, u, scan->update[j]->out, buffer_of(m, scan, j));
  set_combiner(m, n.block, u);
  close_nest(m, &n);
}

static nw_stmt *time_loop(maker *m, const nw_teop *scan) {
  nw_pool *p = m->p->pool;
  const nw_teop *u = scan->update[0]->op;
  rows r = {.lo = plain(m, scan->init_rows), .kind = NW_ORDERED};
  r.extent = nw_sub(p, plain(m, scan->shape[0]), r.lo);
  nest outer = {0};
  r.time = enclose(m, &outer, u->axis_name[0], r.lo, r.extent);
  for (int k = 0; k < scan->nout; k++) map_buffer(m, scan->state[k]->op, 0, buffer_of(m, scan, k));
  for (int k = 0; k < scan->nout; k++)
    if (first_of_group(scan, k)) update_nest(m, scan, k, &r, r.time);
  return r.time;
}

// ---- the whole program

static void append(maker *m, nw_stmt *s) { nw_vec_push(&m->nests, s); }

static void emit(maker *m, const nw_teop *op) {
  for (int k = 0; k < op->nout; k++) {
    nw_buffer *b = nw_find_buffer(m->p, buffer_of(m, op, k));
    if (b->role == NW_TEMP) b->alloc = nw_new_alloc(m->p, b);
  }
  if (op->kind == NW_TE_COMPUTE) return append(m, compute_nest(m, op));
  for (int k = 0; k < op->nout; k++) append(m, init_nest(m, op, k));
  append(m, time_loop(m, op));
}

static bool deeper(const nw_stmt *s, int limit) {
  if (limit == 0) return true;
  for (int i = 0; i < s->nkids; i++)
    if (deeper(s->kid[i], limit - 1)) return true;
  return false;
}

// Freezes the program if it is not nested too deeply.
static nw_program *finish(nw_program *p) {
  if (!deeper(p->root, NW_MAX_DEPTH)) return nw_program_freeze(p);
  nw_fail(p->ctx, NW_ELIMIT, "split it into several stages", "the loops of %s are nested too deep: the limit is %d",
          p->name, NW_MAX_DEPTH);
  nw_program_release(p);
  return NULL;
}

static nw_program *make(maker *m, int n, const place_of *outputs) {
  nw_pool *pool = nw_pool_new(m->ctx);
  m->p = nw_program_new(m->ctx, pool, n ? outputs[0].op->name : "empty");
  nw_pool_release(pool);
  add_sizes(m);
  give_names(m, n, outputs);
  add_buffers(m, n, outputs);
  for (int i = 0; i < m->order.n; i++)
    if (!is_leaf(m, m->order.at[i])) emit(m, m->order.at[i]);
  nw_kids_set(m->p, m->p->root, m->nests.n, (nw_stmt **)m->nests.at);
  nw_vec_free(&m->nests);
  free(m->at), free(m->size), free(m->var);
  free_names(m);
  nw_vec_free(&m->order);
  return finish(m->p);
}

// The time of a step grows with the number of stages, so this number is limited.
enum { MOST_STAGES = 2048 };

static bool check_graph(nw_ctx *c, const nw_vec *order) {
  if (order->n > MOST_STAGES)
    return nw_fail(c, NW_ELIMIT, "make several schedules, each for a part of the stages",
                   "the computation has %d tensors; a schedule can have at most %d", order->n, MOST_STAGES);
  for (int i = 0; i < order->n; i++) {
    const nw_teop *op = order->at[order->n - 1 - i];
    if (op->deferred) return nw_te_refuse_deferred(op);
    if (op->is_state)
      return nw_fail(c, NW_EINVAL, NULL, "%s is the state of a scan, but is read outside the scan", op->name);
  }
  return true;
}

static place_of *places(int n, nw_tensor *const *outputs) {
  place_of *at = nw_xcalloc((size_t)n, sizeof *at);
  for (int i = 0; i < n; i++) at[i] = (place_of){outputs[i]->op, outputs[i]->out, NULL};
  return at;
}

char *nw_te_name_in(int n, nw_tensor *const *outputs, const nw_tensor *t) {
  maker m = {.ctx = t->op->ctx, .order = nw_te_order(n, outputs)};
  place_of *at = places(n, outputs);
  give_names(&m, n, at);
  char *name = nw_te_output_name(t->op, name_of(&m, t->op), t->out);
  free_names(&m);
  nw_vec_free(&m.order);
  free(at);
  return name;
}

nw_program *nw_te_program(nw_ctx *c, int n, nw_tensor *const *outputs) {
  if (n < 1) return nw_fail(c, NW_EINVAL, NULL, "outputs: a computation needs at least one output");
  for (int i = 0; i < n; i++) {
    if (!outputs[i]) return NULL;
    if (nw_tensor_is_placeholder(outputs[i]))
      return nw_fail(c, NW_EINVAL, NULL, "%s is a placeholder: there is nothing to compute", outputs[i]->name);
  }
  maker m = {.ctx = c, .order = nw_te_order(n, outputs)};
  if (!check_graph(c, &m.order)) {
    nw_vec_free(&m.order);
    return NULL;
  }
  place_of *at = places(n, outputs);
  nw_program *p = make(&m, n, at);
  free(at);
  return p;
}

// Makes the program of one operation. All producers of the operation become inputs.
nw_program *nw_te_alone(const nw_teop *op) {
  maker m = {.ctx = op->ctx, .only = op};
  nw_te_alone_order(&m.order, op);
  place_of *at = nw_xcalloc((size_t)op->nout, sizeof *at);
  for (int k = 0; k < op->nout; k++) at[k] = (place_of){op, k, NULL};
  nw_program *p = make(&m, op->nout, at);
  free(at);
  return p;
}
