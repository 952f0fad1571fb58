// reverse_compute_inline: merges a stage into the only stage that it reads, if each element depends on one element.
//
// The blocks of the producer take over the work of the consumer: they execute its instances and store its values. If
// the producer is a reduction, the consumer must be a copy, because another function cannot be applied to the partial
// results of the reduction.
#include "ir/program/inverse.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

typedef struct merge {
  nw_step *st;
  nw_stmt *block; // the consumer
  const nw_expr *load; // the consumer's read of the producer
  const char *buffer; // the buffer that the producer writes
  nw_blocks all; // all blocks of the program before the step
} merge;

static bool refuse(nw_step *st, const char *why, const char *what) { return nw_step_refuse(st, why, NULL, "%s", what); }

// ---- the one producer

static bool is_written(const merge *x, const char *buffer) {
  for (int i = 0; i < x->all.n; i++)
    if (nw_block_writes(x->all.at[i], buffer)) return true;
  return false;
}

typedef struct search {
  const merge *x;
  const nw_expr *load, *other;
} search;

static bool see_load(void *env, const nw_expr *e) {
  search *s = env;
  if (e->op != NW_OP_LOAD || !is_written(s->x, e->name)) return true;
  if (s->load && s->load != e) s->other = e;
  if (!s->load) s->load = e;
  return !s->other;
}

static bool find_producer(merge *x) {
  search s = {.x = x};
  nw_visit(x->block->block.target[0].value, see_load, &s);
  const char *name = x->block->block.name;
  if (!s.load) return refuse(x->st, "there is no stage to merge it into", "it reads no stage");
  if (s.other && strcmp(s.other->name, s.load->name))
    return nw_step_refuse(x->st, "a stage can be merged into only one other stage", NULL,
                          "%s reads two stages, %s and %s", name, s.load->name, s.other->name);
  if (s.other)
    return nw_step_refuse(x->st, "an element would need others that may not be computed yet", NULL,
                          "%s reads %s at several places", name, s.load->name);
  x->load = s.load;
  x->buffer = s.load->name;
  return true;
}

// ---- conditions

static bool same_stage(const merge *x, const nw_stmt *b) { return !strcmp(b->block.origin, x->block->block.origin); }

static bool only_reader(const merge *x) {
  if (nw_find_buffer(x->st->p, x->buffer)->role != NW_TEMP)
    return nw_step_refuse(x->st, "nothing would write the output", NULL, "%s is an output", x->buffer);
  for (int i = 0; i < x->all.n; i++)
    if (nw_block_reads(x->all.at[i], x->buffer) && !same_stage(x, x->all.at[i]))
      return nw_step_refuse(x->st, "that stage needs the values that would no longer be stored", NULL,
                            "%s reads %s too", x->all.at[i]->block.name, x->buffer);
  return true;
}

// True if each element of the stage depends on another element: the variables can be found from the indices of the read.
static bool one_to_one(const merge *x) {
  const nw_stmt *b = x->block;
  const nw_expr **at = NW_NEW_N(x->st->scratch, const nw_expr *, x->load->n + 1);
  const nw_expr **out = NW_NEW_N(x->st->scratch, const nw_expr *, b->block.nvars + 1);
  for (int d = 0; d < x->load->n; d++) at[d] = nw_var(x->st->p->pool, nw_dim_name(x->st->p->pool, d));
  return nw_inverse(x->st->p, b, true, x->load->n, x->load->arg, at, out) ||
         nw_step_refuse(x->st, "each element must depend on only one element, and different elements on different ones",
                        NULL, "%s is not elementwise in %s", b->block.name, x->buffer);
}

// True if the consumer is a plain copy. Then a producer that is a reduction can store directly to the buffer of the
// consumer.
static bool is_copy(const merge *x) { return x->block->block.target[0].value == x->load; }

static bool reduces(const nw_stmt *b) { return b->block.combiner != NW_PLAIN || b->block.init_part; }

static bool plain_indices(const nw_stmt *b) {
  const nw_block_target *t = &b->block.target[0];
  bool fits = t->n == b->block.nvars;
  for (int d = 0; d < t->n && fits; d++) {
    fits = t->index[d]->op == NW_OP_VAR;
    for (int e = 0; e < d; e++) fits = fits && t->index[e] != t->index[d];
  }
  return fits;
}

static bool can_take_over(const merge *x, const nw_stmt *b) {
  if (b->block.ntargets != 1)
    return nw_step_refuse(x->st, "the other tensors depend on the original value", NULL, "%s computes several tensors",
                          b->block.name);
  if (nw_is_definition(b)) return nw_step_refuse(x->st, nw_scan_reason(b), NULL, "%s is an update", b->block.name);
  if (nw_block_reads(b, x->buffer))
    return nw_step_refuse(x->st, "the stage reads itself", NULL, "%s is a scan", b->block.name);
  if (reduces(b) && is_copy(x)) return true;
  if (reduces(b))
    return nw_step_refuse(x->st, "the values that it stores before the last update are not results", NULL,
                          "%s is a reduction", x->buffer);
  return plain_indices(b) || nw_step_refuse(x->st, "each iteration must write one element, identified by its variables",
                                            NULL, "%s writes at computed indices", b->block.name);
}

static bool can_merge(merge *x) {
  const nw_stmt *b = x->block;
  if (reduces(b)) return refuse(x->st, "each element depends on many elements", "it is a reduction");
  if (b->block.ntargets != 1)
    return refuse(x->st, "each iteration must write one element", "it computes several tensors");
  if (!find_producer(x) || !only_reader(x) || !one_to_one(x)) return false;
  if (nw_tree_prefetches(x->st->p->root, x->buffer))
    return nw_step_refuse(x->st, "data without storage cannot be prefetched", NULL, "%s is prefetched", x->buffer);
  for (int i = 0; i < x->all.n; i++)
    if (nw_block_writes(x->all.at[i], x->buffer) && !can_take_over(x, x->all.at[i])) return false;
  return true;
}

// ---- the merge

typedef struct body {
  nw_pool *pool;
  const char *buffer;
  const nw_expr *value;
} body;

static const nw_expr *expand(void *env, const nw_expr *load) {
  const body *b = env;
  return strcmp(load->name, b->buffer) ? NULL : b->value;
}

// Returns the variable of the producer's block that is the index in dimension d of the buffer.
static const nw_block_var *index_of(const nw_stmt *b, int d) {
  int v = 0;
  while (b->block.var[v].var != b->block.target[0].index[d]) v++;
  return &b->block.var[v];
}

// Turns block b of the producer into a block of the consumer.
static void become(const merge *x, nw_stmt *b) {
  nw_program *p = x->st->p;
  const nw_stmt *c = x->block;
  int n = c->block.nvars, dims = x->load->n;
  nw_block_var *var = NW_NEW_N(p->arena, nw_block_var, n + 1);
  const char **old = NW_NEW_N(x->st->scratch, const char *, dims + 1);
  const nw_expr **at = NW_NEW_N(x->st->scratch, const nw_expr *, dims + 1);
  const nw_expr **bind = NW_NEW_N(x->st->scratch, const nw_expr *, n + 1);
  for (int d = 0; d < dims; d++) {
    old[d] = index_of(b, d)->var->name;
    at[d] = index_of(b, d)->bind;
  }
  nw_inverse(p, c, true, dims, x->load->arg, at, bind);
  for (int k = 0; k < n; k++) {
    var[k] = c->block.var[k];
    var[k].bind = bind[k];
  }
  nw_note_fma(x->st, c, b);
  body made = {p->pool, x->buffer, nw_subst_n(p->pool, b->block.target[0].value, dims, old, x->load->arg)};
  b->block.target[0] = c->block.target[0];
  b->block.target[0].value = nw_rewrite(p->pool, c->block.target[0].value, NULL, expand, &made);
  b->block.nvars = n;
  b->block.var = var;
  b->block.origin = c->block.origin;
  const nw_expr *holds = nw_inverse_holds(p, c, dims, x->load->arg, at, bind);
  if (holds) nw_block_guard(p, b, holds);
  nw_guard_domain(x->st, b);
}

// Adds a guard that skips the elements of the producer that the copy does not read. v[k] is the value of variable k of
// the copy that reads the element at `at`. Both are functions of the variables of block b.
static void skip_unread(const merge *x, nw_stmt *b, const nw_expr *const *at, const nw_expr *const *v) {
  nw_program *p = x->st->p;
  const nw_stmt *c = x->block;
  const nw_expr *term[NW_MAX_TERMS], *cond = nw_inverse_holds(p, c, x->load->n, x->load->arg, at, v);
  nw_ranges r;
  for (int k = 0; k < c->block.nvars; k++) {
    const nw_block_var *var = &c->block.var[k];
    cond = nw_and(p->pool, cond, nw_le(p->pool, var->lo, v[k]));
    cond = nw_and(p->pool, cond, nw_lt(p->pool, v[k], nw_add(p->pool, var->lo, var->extent)));
  }
  nw_ranges_declared(&r, p, b);
  int n = nw_conjuncts(cond, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++)
    if (!nw_prove(&r, nw_simplify(&r, term[i]))) nw_block_guard(p, b, nw_block_bound(p, b, term[i]));
  nw_ranges_free(&r);
}

// Makes block b of the producer store to the buffer of the copy.
static void redirect(const merge *x, nw_stmt *b) {
  nw_program *p = x->st->p;
  nw_block_target *t = &b->block.target[0];
  const nw_block_target *to = &x->block->block.target[0];
  int n = x->block->block.nvars;
  const char **old = NW_NEW_N(x->st->scratch, const char *, n + 1);
  const nw_expr **new = NW_NEW_N(x->st->scratch, const nw_expr *, n + 1);
  nw_inverse(p, x->block, true, x->load->n, x->load->arg, t->index, new);
  for (int k = 0; k < n; k++) old[k] = x->block->block.var[k].var->name;
  const nw_expr **index = NW_NEW_N(p->arena, const nw_expr *, to->n + 1);
  for (int d = 0; d < to->n; d++) index[d] = nw_subst_n(p->pool, to->index[d], n, old, new);
  skip_unread(x, b, (const nw_expr *const *)t->index, new);
  t->buffer = to->buffer;
  t->n = to->n;
  t->index = index;
  b->step = p->step;
}

static void drop(const merge *x, nw_stmt *b) {
  nw_path path;
  nw_find(x->st->p, b->id, &path);
  int top = nw_path_exclusive(&path);
  for (int i = top; i < path.n - 1; i++)
    nw_step_replaces(x->st, path.at[i]->id, 0, NULL, "dropped with %s", b->block.name);
  nw_detach(x->st->p, &path, top);
}

bool nw_apply_reverse_compute_inline(void *step) {
  nw_step *st = step;
  merge x = {.st = st, .block = nw_step_block(st, 0, NULL)};
  if (!x.block) return false;
  x.all = nw_blocks_below(st->scratch, st->p->root);
  if (!can_merge(&x)) return false;
  nw_kept kept = nw_take_storage(st, x.block);
  const char *name = x.block->block.name;
  for (int i = 0; i < x.all.n; i++)
    if (same_stage(&x, x.all.at[i])) drop(&x, x.all.at[i]);
  for (int i = 0; i < x.all.n; i++) {
    nw_stmt *b = x.all.at[i];
    if (!nw_block_writes(b, x.buffer)) continue;
    reduces(b) ? redirect(&x, b) : become(&x, b);
    if (!b->block.init_part) b->block.name = nw_unique_block_name(st->p, name);
  }
  nw_splice_alloc(st->p, x.buffer);
  nw_remove_buffer(st->p, x.buffer);
  nw_put_storage(st, x.block, &kept);
  return true;
}
