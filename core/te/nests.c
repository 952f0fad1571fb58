// Makes the nests of computes and scans in the naive program. A compute becomes one perfect nest. A scan becomes a nest
// for the init of each state, and a loop over the time steps with the nests of its updates and of the stages inside it.
#include "ir/program/reducer.h"
#include "te/maker.h"
#include <stdio.h>
#include <stdlib.h>

nw_stmt *nw_te_enclose(nw_te_maker *m, nw_te_nest *n, const char *name, const nw_expr *begin, const nw_expr *extent) {
  const char *want = name;
  char other[200];
  for (int k = 1; nw_te_is_size(m, want); k++) snprintf(other, sizeof other, "%.150s_%d", name, k), want = other;
  nw_stmt *loop = nw_new_loop(m->p, nw_unique_loop_name(m->p, want), begin, extent);
  if (n->inner) nw_kids_insert(m->p, n->inner, n->inner->nkids, loop);
  if (!n->outer) n->outer = loop;
  n->inner = loop;
  return loop;
}

void nw_te_close_nest(nw_te_maker *m, nw_te_nest *n) {
  if (n->inner)
    nw_kids_insert(m->p, n->inner, n->inner->nkids, n->block);
  else
    n->outer = n->block;
}

nw_stmt *nw_te_new_block(nw_te_maker *m, const char *name, int nvars, int ntargets) {
  nw_stmt *b = nw_new_stmt(m->p, NW_BLOCK);
  b->block.name = nw_unique_block_name(m->p, name);
  b->block.origin = b->block.name;
  b->block.var = NW_NEW_N(m->p->arena, nw_block_var, nvars + 1);
  b->block.target = NW_NEW_N(m->p->arena, nw_block_target, ntargets + 1);
  m->nvar = 0;
  m->var = nw_xrealloc(m->var, sizeof *m->var * (size_t)(nvars + 1));
  return b;
}

void nw_te_add_var(nw_te_maker *m, nw_stmt *b, const char *symbol, const char *name, nw_var_kind kind,
                   const nw_expr *lo, const nw_expr *extent, const nw_expr *bind) {
  const nw_expr *v = nw_te_fresh_var(m, b->block.var, b->block.nvars, name);
  b->block.var[b->block.nvars++] = (nw_block_var){v, kind, lo, extent, bind};
  m->var[m->nvar++] = (nw_te_renaming){symbol, v};
}

// The rows of dimension 0 that a nest runs over.
typedef struct rows {
  const nw_expr *lo, *extent;
  nw_stmt *time; // the existing loop over the time steps of a scan, or NULL
  nw_var_kind kind;
} rows;

static void add_axes(nw_te_maker *m, nw_te_nest *n, const nw_teop *op, const rows *r) {
  const nw_expr *zero = nw_index(m->p->pool, 0);
  for (int i = 0; i < op->naxes; i++) {
    const nw_expr *lo = i || !r ? zero : r->lo, *extent = i || !r ? nw_te_plain(m, op->extent[i]) : r->extent;
    nw_stmt *loop = !i && r && r->time ? r->time : nw_te_enclose(m, n, op->axis_name[i], lo, extent);
    nw_te_add_var(m, n->block, op->axis[i]->name, op->axis_name[i], !i && r ? r->kind : NW_SPATIAL, lo, extent,
                  loop->loop.var);
  }
  for (int i = 0; i < op->nreduce; i++) {
    const nw_axis *a = op->reduce[i];
    const nw_expr *lo = nw_te_plain(m, a->lo), *extent = nw_te_plain(m, a->extent);
    nw_stmt *loop = nw_te_enclose(m, n, a->name, lo, extent);
    nw_te_add_var(m, n->block, a->var->name, a->name, NW_REDUCE, lo, extent, loop->loop.var);
  }
}

// Adds a target: output `out` of op is stored in `buffer`, at the position of the block's spatial variables.
static void add_target(nw_te_maker *m, nw_stmt *b, const nw_teop *op, int out, const char *buffer) {
  nw_pool *p = m->p->pool;
  nw_block_target *t = &b->block.target[b->block.ntargets++];
  t->buffer = buffer;
  t->n = op->naxes;
  t->index = NW_NEW_N(m->p->arena, const nw_expr *, op->naxes + 1);
  for (int i = 0; i < op->naxes; i++) t->index[i] = b->block.var[i].var;
  m->reading = op;
  t->value = nw_te_plain(m, op->body[out]);
  if (op->combiner == NW_PLAIN) return;
  t->init = nw_combiner_identity(p, op->combiner, op->dtype[out], out);
}

static void set_combiner(nw_te_maker *m, nw_stmt *b, const nw_teop *op) {
  nw_program_use_reducer(m->p, op->combiner, NULL);
  b->block.combiner = op->combiner;
  b->block.has_init = op->combiner != NW_PLAIN;
}

void nw_te_fill_block(nw_te_maker *m, nw_stmt *block, const nw_teop *op, nw_stmt *const *axis, nw_stmt *const *reduce) {
  for (int i = 0; i < op->naxes; i++)
    nw_te_add_var(m, block, op->axis[i]->name, op->axis_name[i], NW_SPATIAL, axis[i]->loop.begin, axis[i]->loop.extent,
                  axis[i]->loop.var);
  for (int i = 0; i < op->nreduce; i++)
    nw_te_add_var(m, block, op->reduce[i]->var->name, op->reduce[i]->name, NW_REDUCE, reduce[i]->loop.begin,
                  reduce[i]->loop.extent, reduce[i]->loop.var);
  for (int k = 0; k < op->nout; k++) add_target(m, block, op, k, nw_te_buffer_of(m, op, k));
  set_combiner(m, block, op);
}

nw_stmt *nw_te_compute_nest(nw_te_maker *m, const nw_teop *op) {
  nw_te_nest n = {.block = nw_te_new_block(m, nw_te_name_of(m, op), op->naxes + op->nreduce, op->nout)};
  add_axes(m, &n, op, NULL);
  for (int k = 0; k < op->nout; k++) add_target(m, n.block, op, k, nw_te_buffer_of(m, op, k));
  set_combiner(m, n.block, op);
  nw_te_close_nest(m, &n);
  return n.outer;
}

// Adds a target that copies a tensor to `buffer`. Its index is the variables of the block.
static void add_copy(nw_te_maker *m, nw_stmt *b, const nw_tensor *from, const char *buffer) {
  nw_block_target *t = &b->block.target[b->block.ntargets++];
  int n = b->block.nvars;
  *t = (nw_block_target){.buffer = buffer, .n = n, .index = NW_NEW_N(m->p->arena, const nw_expr *, n + 1)};
  for (int i = 0; i < n; i++) t->index[i] = b->block.var[i].var;
  nw_type type = {(uint8_t)nw_tensor_dtype(from), 1};
  t->value = nw_load(m->p->pool, type, nw_te_buffer_of(m, from->op, from->out), n, t->index);
}

// ---- scans

static const char *state_block(nw_te_maker *m, const nw_teop *scan, int k, const char *suffix) {
  char *name = nw_te_output_name(scan, nw_te_name_of(m, scan), k);
  const char *s = nw_arena_printf(m->p->arena, "%s%s", name, suffix);
  free(name);
  return s;
}

// Makes the nest that writes the first rows of a state. If the init is a compute with one output and has no buffer, the
// nest has the body of this compute. Otherwise the nest copies the init tensor, and its loops have the names of the
// update's axes.
nw_stmt *nw_te_init_nest(nw_te_maker *m, const nw_teop *scan, int k) {
  const nw_teop *init = scan->init[k]->op, *update = scan->update[k]->op;
  const char *buffer = nw_te_buffer_of(m, scan, k);
  bool absorb = nw_te_absorbs_init(scan, k) && !nw_te_buffer_of(m, init, 0);
  const nw_teop *axes = absorb ? init : update;
  nw_te_nest n = {.block = nw_te_new_block(m, state_block(m, scan, k, "_init"), axes->naxes + axes->nreduce, 1)};
  rows first = {nw_index(m->p->pool, 0), nw_te_plain(m, scan->init_rows), NULL, NW_SPATIAL};
  if (absorb) {
    add_axes(m, &n, init, &first);
    add_target(m, n.block, init, 0, buffer);
    set_combiner(m, n.block, init);
  } else {
    nw_teop copy = *update;
    copy.nreduce = 0;
    add_axes(m, &n, &copy, &first);
    add_copy(m, n.block, scan->init[k], buffer);
  }
  nw_te_close_nest(m, &n);
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

static void update_nest(nw_te_maker *m, const nw_teop *scan, int k, rows *r, nw_stmt *time) {
  const nw_teop *u = scan->update[k]->op;
  int group = group_size(scan, k);
  const char *name = group == scan->nout ? nw_te_name_of(m, scan) : state_block(m, scan, k, "");
  nw_te_nest n = {.outer = time, .inner = time, .block = nw_te_new_block(m, name, u->naxes + u->nreduce, group)};
  add_axes(m, &n, u, r);
  for (int j = k; j < scan->nout; j++)
    if (scan->update[j]->op == u) add_target(m, n.block, u, scan->update[j]->out, nw_te_buffer_of(m, scan, j));
  set_combiner(m, n.block, u);
  nw_te_close_nest(m, &n);
}

// ---- stages inside scans

static void inner_nest(nw_te_maker *m, const nw_teop *scan, int i, const rows *r) {
  const nw_teop *op = scan->inner[i].op;
  const char *name = nw_te_inner_name(m, scan, i);
  rows own = *r;
  own.kind = NW_SPATIAL; // its values at different times do not depend on each other, except through the states
  for (int k = 0; k < op->nout; k++) nw_te_add_buffer(m, op, name, k, NW_TEMP);
  nw_te_nest n = {
      .outer = r->time, .inner = r->time, .block = nw_te_new_block(m, name, op->naxes + op->nreduce, op->nout)};
  add_axes(m, &n, op, &own);
  for (int k = 0; k < op->nout; k++) add_target(m, n.block, op, k, nw_te_buffer_of(m, op, k));
  set_combiner(m, n.block, op);
  nw_te_close_nest(m, &n);
}

typedef struct reader {
  const nw_teop *op, *of;
} reader;

static bool reads_now(void *env, const nw_expr *e) {
  const reader *r = env;
  const nw_tensor *t = e->op == NW_OP_LOAD ? nw_tensor_of(e) : NULL;
  return !t || t->op != r->of || e->arg[0] == r->op->axis[0];
}

static bool all_now(const nw_teop *op, const nw_teop *of) {
  reader r = {op, of};
  for (int k = 0; k < op->nout; k++)
    if (!nw_visit(op->body[k], reads_now, &r)) return false;
  return true;
}

// True if a stage inside the scan is read only at its own time.
static bool lives_one_step(const nw_teop *scan, const nw_teop *op) {
  for (int i = 0; i < scan->ninner; i++)
    if (!all_now(scan->inner[i].op, op)) return NW_MUTATED(scan_inner_step);
  for (int k = 0; k < scan->nout; k++)
    if (!all_now(scan->update[k]->op, op)) return NW_MUTATED(scan_inner_step);
  return true;
}

static bool uses_none(void *buffer, nw_stmt *s) {
  return s->kind != NW_BLOCK || !(nw_block_reads(s, buffer) || nw_block_writes(s, buffer));
}

// Allocates the row `time` of a buffer around its uses.
static void allocate_row(nw_te_maker *m, nw_stmt *in, nw_buffer *b, const nw_expr *time) {
  int first = 0, last = in->nkids - 1;
  while (nw_walk_from(in->kid[first], uses_none, (void *)b->name)) first++;
  while (nw_walk_from(in->kid[last], uses_none, (void *)b->name)) last--;
  if (first == last && in->kid[first]->kind == NW_ALLOC) return allocate_row(m, in->kid[first], b, time);
  nw_stmt *a = nw_new_alloc(m->p, b);
  a->alloc.min[0] = time;
  a->alloc.extent[0] = nw_index(m->p->pool, 1);
  nw_kids_set(m->p, a, last - first + 1, in->kid + first);
  for (int i = first; i <= last; i++) nw_kids_remove(m->p, in, first);
  nw_kids_insert(m->p, in, first, a);
}

// Each allocation makes the nest deeper, so only the first of them are for one step.
enum { MOST_ROWS = 24 };

// Allocates the stages inside the scan. If a stage is read only at its own time, its storage has only this time.
static void store_inner(nw_te_maker *m, const nw_teop *scan, nw_stmt *time) {
  int rows = 0;
  for (int i = 0; i < scan->ninner; i++) {
    const nw_teop *op = scan->inner[i].op;
    bool one = lives_one_step(scan, op);
    for (int k = 0; k < op->nout; k++) {
      nw_buffer *b = nw_find_buffer(m->p, nw_te_buffer_of(m, op, k));
      if (one && rows++ < MOST_ROWS)
        allocate_row(m, time, b, time->loop.var);
      else
        b->alloc = nw_new_alloc(m->p, b);
    }
  }
}

nw_stmt *nw_te_time_loop(nw_te_maker *m, const nw_teop *scan) {
  nw_pool *p = m->p->pool;
  const nw_teop *u = scan->update[0]->op;
  rows r = {.lo = nw_te_plain(m, scan->init_rows), .kind = NW_ORDERED};
  r.extent = nw_sub(p, nw_te_plain(m, scan->shape[0]), r.lo);
  nw_te_nest outer = {0};
  int outside = m->nat, i = 0;
  r.time = nw_te_enclose(m, &outer, u->axis_name[0], r.lo, r.extent);
  for (int k = 0; k < scan->nout; k++) nw_te_map_buffer(m, scan->state[k]->op, 0, nw_te_buffer_of(m, scan, k));
  for (int k = 0; k < scan->nout; k++) {
    if (!first_of_group(scan, k)) continue;
    for (; i < scan->ninner && scan->inner[i].turn == k; i++) inner_nest(m, scan, i, &r);
    update_nest(m, scan, k, &r, r.time);
  }
  store_inner(m, scan, r.time);
  // Outside the scan, a placeholder that is a state is an input, and a stage inside the scan can be one of the graph.
  if (!NW_MUTATED(scan_state_leaks)) m->nat = outside;
  return r.time;
}

// ---- stages with updates

// Adds the axes of a copy of a tensor: those of the compute that makes it, or i, j, k, ...
static void add_copy_axes(nw_te_maker *m, nw_te_nest *n, const nw_teop *from) {
  static const char *const usual[] = {"i", "j", "k", "l"};
  for (int d = 0; d < from->ndim; d++) {
    const char *name = d < 4 ? usual[d] : nw_arena_printf(m->p->arena, "i%d", d + 1);
    if (from->kind == NW_TE_COMPUTE) name = from->axis_name[d];
    const nw_expr *extent = nw_te_plain(m, from->shape[d]), *zero = nw_index(m->p->pool, 0);
    nw_stmt *loop = nw_te_enclose(m, n, name, zero, extent);
    nw_te_add_var(m, n->block, "", name, NW_SPATIAL, zero, extent, loop->loop.var);
  }
}

nw_stmt *nw_te_first_nest(nw_te_maker *m, const nw_teop *op) {
  const nw_tensor *init = op->init[0];
  nw_te_nest n = {.block = nw_te_new_block(m, state_block(m, op, 0, "_init"), op->ndim, 1)};
  if (nw_te_absorbs_init(op, 0)) {
    add_axes(m, &n, init->op, NULL);
    add_target(m, n.block, init->op, 0, nw_te_buffer_of(m, op, 0));
  } else {
    add_copy_axes(m, &n, init->op);
    add_copy(m, n.block, init, nw_te_buffer_of(m, op, 0));
  }
  nw_te_close_nest(m, &n);
  return n.outer;
}
