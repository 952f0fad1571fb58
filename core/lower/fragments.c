// Gives each lane of a warp its own array for the fragments that instructions of a warp use. In the lowered program, a
// fragment is an array of the warp: element l*n + i of each tile is in place i of lane l. The judge has shown that
// outside of these instructions a lane accesses only its own elements. So in a kernel the array becomes an array of
// each thread, which has the places of its lane, and the tiles of a call begin at places of the thread. The nest inside
// a call is not a part of the kernel, because the instruction does its work.
//
// The array in the lowered program may have parts for several warps of a block, at a distance of threadIdx.y and threadIdx.z.
// Each warp has its own array, so these distances are left out, if they are the same in all accesses.
#include "ir/program/intrinsic.h"
#include "lower/launch.h"
#include "lower/pass.h"

typedef struct holding {
  nw_program *p;
  nw_ranges *r;
  const nw_expr *lane; // the index of the thread along x
  nw_buffer *buffer;
  int64_t n; // elements that a lane holds of each tile
  int64_t apart[2]; // the distances of the parts of warps, along y and z
  bool measured; // true if the distances are those of an access; otherwise there was none yet
  bool failed;
} holding;

// ---- parts of warps

static void measure(holding *h, const nw_expr *index) {
  const char *var[] = {nw_grid_index[4], nw_grid_index[5]};
  int64_t coef[2] = {0};
  const nw_expr *rest;
  bool affine = index->type.lanes == 1 && nw_affine(h->p->pool, nw_settle(h->r, index), 2, var, coef, &rest) &&
                !nw_uses_any(rest, 2, var);
  for (int d = 0; d < 2; d++)
    if (!affine || (h->measured && coef[d] != h->apart[d])) coef[d] = 0;
  memcpy(h->apart, coef, sizeof coef);
  h->measured = true;
}

static bool measure_load(void *env, const nw_expr *e) {
  holding *h = env;
  if (e->op == NW_OP_LOAD && !strcmp(e->name, h->buffer->name)) measure(h, e->arg[0]);
  return true;
}

static const nw_expr *measure_loads(void *env, const nw_expr *e) {
  nw_visit(e, measure_load, env);
  return e;
}

static void measure_all(holding *h, nw_stmt *s) {
  nw_stmt_exprs(s, measure_loads, h);
  if (s->kind == NW_STORE && !strcmp(s->store.buffer, h->buffer->name)) measure(h, s->store.index);
  for (int i = 0; s->kind == NW_CALL && i < s->call.ntiles; i++)
    if (!strcmp(s->call.tile[i].buffer, h->buffer->name)) measure(h, s->call.tile[i].index);
  nw_scope_push(h->r, s);
  for (int i = 0; i < s->nkids; i++) measure_all(h, s->kid[i]);
  nw_scope_pop(h->r, s);
}

// Returns the index in the first part.
static const nw_expr *in_part(const holding *h, const nw_expr *index) {
  nw_pool *pool = h->p->pool;
  for (int d = 0; d < 2; d++)
    index = nw_sub(pool, index, nw_mul(pool, nw_index(pool, h->apart[d]), nw_var(pool, nw_grid_index[4 + d])));
  return nw_settle(h->r, index);
}

// ---- places

// Finds the first call that uses the buffer as a fragment, and sets h->n.
static bool find_call(holding *h, const nw_stmt *s) {
  const nw_intrinsic *in = s->kind == NW_CALL ? nw_intrinsic_find(h->p->ctx, s->call.intrinsic) : NULL;
  for (int i = 0; in && in->instruction && i < in->nargs; i++)
    if (in->arg[i].fragment.n && !strcmp(s->call.tile[i].buffer, h->buffer->name))
      return h->n = in->arg[i].fragment.n, true;
  for (int i = 0; i < s->nkids; i++)
    if (find_call(h, s->kid[i])) return true;
  return false;
}

// Returns the place in the array of the thread of an element that its lane holds.
static const nw_expr *place_of(holding *h, const nw_expr *index) {
  nw_pool *pool = h->p->pool;
  const nw_expr *n = nw_index(pool, h->n), *all = nw_index(pool, h->n * NW_FRAGMENT_LANES);
  const nw_expr *rest = nw_settle(h->r, nw_sub(pool, in_part(h, index), nw_mul(pool, h->lane, n)));
  const nw_expr *place = nw_settle(h->r, nw_floormod(pool, rest, all));
  const nw_expr *tile = nw_settle(h->r, nw_floordiv(pool, rest, all));
  if (!nw_prove(h->r, nw_lt(pool, place, n)) || index->type.lanes > 1) h->failed = true;
  return nw_settle(h->r, nw_add(pool, nw_mul(pool, tile, n), place));
}

static const nw_expr *held_load(void *env, const nw_expr *load) {
  holding *h = env;
  if (strcmp(load->name, h->buffer->name)) return NULL;
  h->failed |= load->n > 1;
  const nw_expr *at = place_of(h, load->arg[0]);
  return nw_load(h->p->pool, load->type, load->name, 1, &at);
}

static const nw_expr *held(void *env, const nw_expr *e) {
  return nw_rewrite(((holding *)env)->p->pool, e, NULL, held_load, env);
}

static void hold(holding *h, nw_stmt *s) {
  bool ours = s->kind == NW_STORE && !strcmp(s->store.buffer, h->buffer->name);
  nw_stmt_exprs(s, held, h);
  if (ours) s->store.index = place_of(h, s->store.index);
  if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, h->buffer->name))
    s->alloc.extent[0] =
        nw_settle(h->r, nw_floordiv(h->p->pool, s->alloc.extent[0], nw_index(h->p->pool, NW_FRAGMENT_LANES)));
  for (int i = 0; s->kind == NW_CALL && i < s->call.ntiles; i++) {
    nw_tile *t = &s->call.tile[i];
    if (strcmp(t->buffer, h->buffer->name)) continue;
    t->index = in_part(h, t->index);
    h->failed |= !nw_divides(h->r, t->index, h->n * NW_FRAGMENT_LANES);
    t->index = nw_settle(h->r, nw_floordiv(h->p->pool, t->index, nw_index(h->p->pool, NW_FRAGMENT_LANES)));
  }
  nw_scope_push(h->r, s);
  for (int i = 0; i < s->nkids && !h->failed; i++) hold(h, s->kid[i]);
  nw_scope_pop(h->r, s);
}

// Removes the nests inside calls of instructions of a warp.
static void only_instructions(const nw_program *p, nw_stmt *s) {
  const nw_intrinsic *in = s->kind == NW_CALL ? nw_intrinsic_find(p->ctx, s->call.intrinsic) : NULL;
  if (in && in->instruction) s->nkids = 0;
  for (int i = 0; i < s->nkids; i++) only_instructions(p, s->kid[i]);
}

static bool hold_one(holding *h, nw_stmt *body, nw_vec *known) {
  int64_t elements;
  measure_all(h, body);
  hold(h, body);
  if (h->failed)
    return nw_fail(h->p->ctx, NW_ECODEGEN, NULL, "%s cannot be kept in registers: a lane accesses elements of others",
                   h->buffer->name);
  if (h->buffer->scope == NW_LOCAL) return true;
  nw_vec_push(known, h->buffer);
  h->buffer->scope = NW_LOCAL;
  const nw_expr *all = h->buffer->shape[0];
  h->buffer->shape = NW_NEW_N(h->p->arena, const nw_expr *, 1);
  h->buffer->shape[0] = nw_is_int(all, &elements) ? nw_index(h->p->pool, elements / NW_FRAGMENT_LANES) : all;
  return true;
}

// True if the buffer has scope warp, or had it before another launch.
static bool is_of_warp(const nw_buffer *b, const nw_vec *known) {
  for (int i = 0; i < known->n; i++)
    if (known->at[i] == b) return true;
  return b->role == NW_TEMP && b->scope == NW_WARP;
}

bool nw_hold_fragments(nw_program *p, nw_ranges *r, nw_stmt *body, nw_vec *known) {
  only_instructions(p, body);
  for (int i = 0; i < p->nbuffers; i++) {
    holding h = {.p = p, .r = r, .lane = nw_var(p->pool, nw_grid_index[3]), .buffer = p->buffer[i]};
    if (is_of_warp(h.buffer, known) && find_call(&h, body) && !hold_one(&h, body, known)) return false;
  }
  return true;
}
