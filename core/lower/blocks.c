// Pass: turns blocks into stores. The axes of a block are replaced by their bindings, and indices become linear. A
// reduction becomes a load, a combination and a store. The condition of a block becomes a guard, unless the condition
// is proved to hold.
//
// After this pass, the buffer and the allocation of a temporary have one dimension. The allocations of workspaces stay
// in the tree until the last pass, so that each pass can see during which statements a buffer exists.
#include "ir/expr/known.h"
#include "lower/pass.h"
#include "lower/private.h"

typedef struct blocks {
  nw_program *p;
  nw_ranges r;
  nw_physical **place; // the layout of each buffer, in the order of p->buffer
  int nloops;
  const char *loops[NW_MAX_DEPTH];
  const nw_stmt *thread[NW_GRID_DIMS]; // the loops around that are bound to threads
  bool failed;
} blocks;

static int buffer_at(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nbuffers; i++) {
    if (!strcmp(p->buffer[i]->name, name)) return i;
  }
  return -1;
}

// Returns the layout of a buffer at the current position in the tree. The layout of an array of a single thread may begin
// at an index that depends on the thread (private.h).
static const nw_physical *place_of(const blocks *b, const char *name) {
  const nw_physical *place = b->place[buffer_at(b->p, name)];
  if (place->buffer->scope != NW_LOCAL) return place;
  nw_pool *pool = b->p->pool;
  nw_physical *here = NW_NEW(b->p->arena, nw_physical);
  *here = *place;
  here->first = NW_NEW_N(b->p->arena, const nw_expr *, place->n);
  for (int d = 0; d < place->n; d++) {
    here->first[d] = place->first[d];
    for (int i = 0; i < NW_GRID_DIMS; i++) { // without a loop over threads, only the first thread is here
      const nw_stmt *l = b->thread[i];
      const nw_expr *index = l ? nw_sub(pool, l->loop.var, l->loop.begin) : nw_index(pool, 0);
      here->first[d] = nw_subst(pool, here->first[d], nw_grid_index[i], index);
    }
  }
  return here;
}

static const nw_expr *linear_load(void *env, const nw_expr *load) {
  const blocks *b = env;
  const nw_expr *index = nw_physical_index(place_of(b, load->name), &b->r, load->arg);
  return nw_load(b->p->pool, load->type, load->name, 1, &index);
}

static const nw_expr *keep_var(void *env, const nw_expr *var) {
  (void)env;
  (void)var;
  return NULL;
}

// Rewrites an expression of the block's body: replaces axes by their bindings, simplifies the result, and makes the
// indices of loads linear.
static const nw_expr *bound(blocks *b, const nw_stmt *block, const nw_expr *e) {
  const nw_expr *at =
      nw_simplify(&b->r, nw_block_bound(b->p, block, NW_MUTATED(known_never_read) ? e : nw_as_read(b->p->pool, e)));
  return nw_rewrite(b->p->pool, at, keep_var, linear_load, b);
}

static const nw_expr *bound_index(blocks *b, const nw_stmt *block, const nw_block_target *t) {
  const nw_expr *index[NW_MAX_DEPTH];
  for (int d = 0; d < t->n; d++) index[d] = bound(b, block, t->index[d]);
  return nw_physical_index(place_of(b, t->buffer), &b->r, index);
}

static nw_stmt *lower_block(blocks *b, nw_stmt *s) {
  nw_bound_target *t = NW_NEW_N(b->p->arena, nw_bound_target, s->block.ntargets);
  const nw_expr *where = nw_remaining(&b->r, s->block.where);
  nw_stmt guard = {.kind = NW_GUARD, .guard.cond = where};
  nw_vec stores = {0};
  nw_scope_push(&b->r, &guard);
  for (int i = 0; i < s->block.ntargets; i++) {
    const nw_block_target *from = &s->block.target[i];
    t[i].buffer = from->buffer;
    t[i].dtype = nw_find_buffer(b->p, from->buffer)->dtype;
    t[i].stream = from->stream;
    t[i].index = bound_index(b, s, from);
    t[i].value = bound(b, s, from->value);
  }
  nw_scope_pop(&b->r, &guard);
  nw_emit_block(b->p, s, s->block.ntargets, t, &stores);
  nw_stmt *body = nw_sequence(b->p, &stores);
  body->step = s->step;
  nw_vec_free(&stores);
  return nw_guarded(b->p, where, body);
}

static nw_stmt *lower_stmt(blocks *b, nw_stmt *s);

static void lower_kids(blocks *b, nw_stmt *s) {
  nw_scope_push(&b->r, s);
  for (int i = 0; i < s->nkids && !b->failed; i++) s->kid[i] = lower_stmt(b, s->kid[i]);
  nw_scope_pop(&b->r, s);
}

// A bound may read data (bounds.c).
static const nw_expr *loop_bound(blocks *b, const nw_expr *e) {
  e = nw_simplify(&b->r, e);
  return nw_uses_load(e, NULL) ? nw_rewrite(b->p->pool, e, keep_var, linear_load, b) : e;
}

static void lower_loop(blocks *b, nw_stmt *s) {
  s->loop.begin = loop_bound(b, s->loop.begin);
  s->loop.extent = loop_bound(b, s->loop.extent);
  s->loop.nfused = 0;
  s->loop.fused = NULL;
  b->loops[b->nloops++] = s->loop.var->name;
  int d = nw_grid_dim(s);
  const nw_stmt *around = d >= 0 ? b->thread[d] : NULL;
  if (d >= 0) b->thread[d] = s;
  lower_kids(b, s);
  if (d >= 0) b->thread[d] = around;
  b->nloops--;
}

// Makes the allocation one-dimensional, with indices from 0.
static void flatten(nw_program *p, nw_stmt *s, const nw_expr *elements) {
  s->alloc.n = 1;
  s->alloc.min = NW_NEW_N(p->arena, const nw_expr *, 1);
  s->alloc.extent = NW_NEW_N(p->arena, const nw_expr *, 1);
  s->alloc.min[0] = nw_index(p->pool, 0);
  s->alloc.extent[0] = elements;
}

// Lowers an allocation and the statements that use it. The same buffer may be allocated in several places, for example
// in copies of a loop. Each allocation has its own layout.
static void lower_alloc(blocks *b, nw_stmt *s) {
  int at = buffer_at(b->p, s->alloc.buffer);
  nw_private_box(b->p, &b->r, s);
  nw_physical *place = nw_physical_alloc(b->p->arena, b->p, &b->r, s, b->nloops, b->loops);
  b->failed |= !place;
  if (b->failed) return;
  nw_physical *around = b->place[at];
  b->place[at] = place;
  lower_kids(b, s);
  b->place[at] = around;
  flatten(b->p, s, place->elements);
}

static void lower_listed(blocks *b, int at) {
  nw_stmt *s = b->p->buffer[at]->alloc;
  b->place[at] = nw_physical_alloc(b->p->arena, b->p, &b->r, s, 0, NULL);
  b->failed |= !b->place[at];
  if (!b->failed) flatten(b->p, s, b->place[at]->elements);
}

static nw_stmt *lower_call(blocks *b, nw_stmt *s) {
  const nw_expr *where;
  b->failed |= !nw_lower_call(b->p, &b->r, s, b->place, &where);
  if (b->failed) return s;
  lower_kids(b, s);
  return nw_guarded(b->p, nw_remaining(&b->r, where), s);
}

static nw_stmt *lower_stmt(blocks *b, nw_stmt *s) {
  switch (s->kind) {
  case NW_CALL: return lower_call(b, s);
  case NW_BLOCK: return lower_block(b, s);
  case NW_LOOP: lower_loop(b, s); break;
  case NW_ALLOC: lower_alloc(b, s); break;
  case NW_PREFETCH: return nw_lower_prefetch(b->p, &b->r, place_of(b, s->prefetch.buffer), s);
  default: lower_kids(b, s); break;
  }
  return s;
}

nw_program *nw_pass_blocks(nw_program *p) {
  blocks b = {.p = p};
  b.place = NW_NEW_N(p->arena, nw_physical *, p->nbuffers);
  for (int i = 0; i < p->nbuffers; i++) {
    if (p->buffer[i]->role != NW_TEMP) b.place[i] = nw_physical_param(p->arena, p, p->buffer[i]);
  }
  nw_scope_open(&b.r, p);
  for (int i = 0; i < p->nbuffers && !b.failed; i++)
    if (p->buffer[i]->alloc) lower_listed(&b, i);
  if (!b.failed) lower_kids(&b, p->root);
  nw_ranges_free(&b.r);
  if (b.failed) return NULL;
  nw_shape_temps(p);
  return p;
}
