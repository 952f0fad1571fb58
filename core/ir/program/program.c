// Creates programs, clones them for the next step, freezes them, and counts references to them.
#include "ir/program/program.h"
#include "ir/program/reducer.h"
#include "ir/program/valid.h"
#include <stdio.h>
#include <stdlib.h>

static nw_program *bare(nw_ctx *c, nw_pool *pool, nw_target *target, const char *name) {
  nw_arena *arena = nw_arena_scratch();
  nw_program *p = NW_NEW(arena, nw_program);
  p->arena = arena;
  p->refs = 1;
  p->ctx = c;
  p->pool = nw_pool_retain(pool);
  p->target = nw_target_retain(target);
  p->name = nw_arena_strdup(arena, name);
  return p;
}

// Makes an empty, unfrozen program of step 0.
nw_program *nw_program_new(nw_ctx *c, nw_pool *pool, const char *name) {
  nw_program *p = bare(c, pool, nw_target_host(c), name);
  p->next_id = 1;
  p->root = NW_NEW(p->arena, nw_stmt);
  p->root->kind = NW_SEQ;
  return p;
}

// ---- cloning

static const nw_expr **copy_exprs(nw_arena *a, int n, const nw_expr *const *from) {
  if (!n) return NULL;
  const nw_expr **to = NW_NEW_N(a, const nw_expr *, n);
  memcpy(to, from, (size_t)n * sizeof *to);
  return to;
}

static void copy_block(nw_arena *a, nw_stmt *to) {
  nw_block_var *var = NW_NEW_N(a, nw_block_var, to->block.nvars);
  if (to->block.nvars) memcpy(var, to->block.var, (size_t)to->block.nvars * sizeof *var);
  to->block.var = var;
  nw_block_target *target = NW_NEW_N(a, nw_block_target, to->block.ntargets);
  for (int i = 0; i < to->block.ntargets; i++) {
    target[i] = to->block.target[i];
    target[i].index = copy_exprs(a, target[i].n, target[i].index);
  }
  to->block.target = target;
}

static void copy_tiles(nw_arena *a, nw_stmt *to) {
  nw_tile *tile = NW_NEW_N(a, nw_tile, to->call.ntiles);
  for (int i = 0; i < to->call.ntiles; i++) {
    tile[i] = to->call.tile[i];
    tile[i].stride = copy_exprs(a, tile[i].n, tile[i].stride);
  }
  to->call.tile = tile;
}

// Only arrays are copied. Names and expressions are shared, since they are interned in the pool, and the clone's
// program also holds a reference to the pool.
nw_stmt *nw_stmt_clone(nw_arena *a, const nw_stmt *s) {
  nw_stmt *to = NW_NEW(a, nw_stmt);
  *to = *s;
  if (s->kind == NW_LOOP) to->loop.fused = copy_exprs(a, s->loop.nfused, s->loop.fused);
  if (s->kind == NW_BLOCK) copy_block(a, to);
  if (s->kind == NW_CALL) copy_tiles(a, to);
  to->tag = NW_NEW_N(a, nw_tag, s->ntags + 1);
  if (s->ntags) memcpy(to->tag, s->tag, (size_t)s->ntags * sizeof *to->tag);
  if (s->kind == NW_ALLOC || s->kind == NW_PREFETCH) { // both have the same members
    to->alloc.min = copy_exprs(a, s->alloc.n, s->alloc.min);
    to->alloc.extent = copy_exprs(a, s->alloc.n, s->alloc.extent);
  }
  to->kid = s->nkids ? NW_NEW_N(a, nw_stmt *, s->nkids) : NULL;
  for (int i = 0; i < s->nkids; i++) to->kid[i] = nw_stmt_clone(a, s->kid[i]);
  return to;
}

static nw_buffer *clone_buffer(nw_arena *a, const nw_buffer *b) {
  nw_buffer *to = NW_NEW(a, nw_buffer);
  *to = *b;
  to->shape = copy_exprs(a, b->ndim, b->shape);
  to->layout = copy_exprs(a, b->nlayout, b->layout);
  to->layout_shape = copy_exprs(a, b->nlayout, b->layout_shape);
  if (b->pitch) to->pitch = copy_exprs(a, b->ndim, b->pitch);
  to->stride = NW_NEW_N(a, nw_stride, b->nstrides + 1);
  if (b->nstrides) memcpy(to->stride, b->stride, (size_t)b->nstrides * sizeof *to->stride);
  to->alloc = b->alloc ? nw_stmt_clone(a, b->alloc) : NULL;
  return to;
}

static int power_of_two(int n) {
  int room = 1;
  while (room < n) room *= 2;
  return room;
}

static void clone_tables(nw_program *to, const nw_program *p) {
  to->unsafe = p->unsafe;
  to->tested = p->tested;
  to->values = p->values;
  to->nsizes = p->nsizes;
  to->size = NW_NEW_N(to->arena, nw_size, p->nsizes);
  if (p->nsizes) memcpy(to->size, p->size, (size_t)p->nsizes * sizeof *to->size);
  to->nfacts = p->nfacts;
  to->nassumed = p->nassumed;
  to->fact = copy_exprs(to->arena, p->nfacts, p->fact);
  to->nreducers = p->nreducers;
  to->reducer = NW_NEW_N(to->arena, nw_used_reducer, p->nreducers);
  if (p->nreducers) memcpy(to->reducer, p->reducer, (size_t)p->nreducers * sizeof *to->reducer);
  to->nbuffers = p->nbuffers;
  to->buffer = NW_NEW_N(to->arena, nw_buffer *, power_of_two(p->nbuffers));
  for (int i = 0; i < p->nbuffers; i++) to->buffer[i] = clone_buffer(to->arena, p->buffer[i]);
}

nw_program *nw_program_clone(const nw_program *p) {
  if (!p) return NULL;
  nw_program *to = bare(p->ctx, p->pool, p->target, p->name);
  clone_tables(to, p);
  to->root = nw_stmt_clone(to->arena, p->root);
  to->next_id = p->next_id;
  to->step = p->step + 1;
  return to;
}

void nw_program_aim(nw_program *p, nw_target *t) {
  nw_target_retain(t);
  nw_target_release(p->target);
  p->target = t;
}

static bool mark_changed(void *env, const nw_path *path) {
  const nw_program *p = env;
  nw_stmt *s = path->at[path->n - 1];
  if (s->id && s->step == p->step) s->unsafe = true;
  return true;
}

void nw_mark_unsafe(nw_program *p) {
  p->unsafe++;
  nw_walk(p, mark_changed, p);
}

static bool mark_tested(void *env, const nw_path *path) {
  const nw_program *p = env;
  nw_stmt *s = path->at[path->n - 1];
  if (s->id && s->step == p->step) s->tested = true;
  return true;
}

void nw_mark_tested(nw_program *p, int values) {
  p->values = p->tested && p->values < values ? p->values : values;
  p->tested++;
  nw_walk(p, mark_tested, p);
}

// ---- units

static bool is_no_unit(void *env, nw_stmt *s) {
  (void)env;
  return s->kind != NW_UNIT;
}

// Replaces each unit inside s by the statements in it.
static void dissolve_units(nw_program *p, nw_stmt *s) {
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    if (kid->kind == NW_UNIT) {
      nw_kids_remove(p, s, i);
      for (int k = 0; k < kid->nkids; k++) nw_kids_insert(p, s, i + k, kid->kid[k]);
      i--;
    } else {
      dissolve_units(p, kid);
    }
  }
}

// Makes p->bare. Returns false if it cannot be made.
static bool make_bare(nw_program *p) {
  if (nw_walk_from(p->root, is_no_unit, NULL)) return true;
  nw_program *bare = nw_program_clone(p);
  bare->step = p->step;
  dissolve_units(bare, bare->root);
  p->bare = nw_program_freeze(bare);
  return p->bare;
}

const nw_program *nw_without_units(const nw_program *p) { return p && p->bare ? p->bare : p; }

void nw_program_keep(const nw_program *p) {
  nw_arena_keep(p->arena);
  if (p->bare) nw_arena_keep(p->bare->arena);
}

// ---- freezing and reference counting

// A broken invariant is a bug in this library, never the user's fault. The session and all earlier versions remain
// usable.
nw_program *nw_program_freeze(nw_program *p) {
  if (!p) return NULL;
  nw_settle_allocs(p);
  nw_flaw flaw;
  if (nw_program_flaw(p, &flaw)) {
    nw_fail(p->ctx, NW_EINTERNAL,
            "Nothing was changed. Please report this with the output of s:trace(), which has the whole program.",
            "a bug in Nestwright: an invalid program was made: %s", flaw.text);
    nw_program_release(p);
    return NULL;
  }
  if (!make_bare(p)) {
    nw_program_release(p);
    return NULL;
  }
  p->taken = NULL;
  p->frozen = true;
  p->refs = 1;
  return p;
}

nw_program *nw_program_retain(const nw_program *p) {
  nw_program *q = (nw_program *)p;
  if (q) q->refs++;
  return q;
}

void nw_program_release(nw_program *p) {
  if (!p || --p->refs > 0) return;
  if (p->model_free) p->model_free(p->model);
  if (p->whole_free) p->whole_free(p->whole);
  if (p->lowered_free) p->lowered_free(p->lowered);
  nw_program_release(p->bare);
  nw_pool *pool = p->pool;
  nw_target_release(p->target);
  nw_arena_free(p->arena);
  nw_pool_release(pool);
}
