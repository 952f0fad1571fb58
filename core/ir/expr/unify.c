// Compares a nest with the description of an intrinsic: their loops, blocks and bodies. Also finds the tiles, which are
// the parts of buffers that the intrinsic accesses. In this file, `mine` means a part of the description, and `theirs`
// a part of the nest.
//
// The bodies determine which accesses correspond. Then the loops of the description are paired with the loops of the
// nest, in every possible way, until every tile is a window of its buffer. A tile is a window if its indices are
// affine, and if all accesses to the tile have the same position and strides. Physical positions are compared, so
// layouts matter.
#include "ir/expr/unify.h"
#include "ir/program/physical.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_FLIPS = 8 }; // limited because every way to swap operands is tried
enum { OTHER_BODY, BODY, MATCHED, PAIRED }; // progress of an attempt; PAIRED + n: the first n accesses match

typedef nw_unifying unify;
typedef nw_unify_use use;

// ---- the message about the difference; it describes the attempt that made the most progress

bool nw_unify_differs(unify *u, const nw_stmt *at, char *expected, char *found) {
  nw_match *m = u->out;
  if (m->found && u->reached <= u->said) {
    free(expected);
    free(found);
    return false;
  }
  nw_match_free(m);
  *m = (nw_match){.block = m->block, .where = m->where, .expected = expected, .found = found, .at = at};
  u->said = u->reached;
  return false;
}

static bool differs(unify *u, const nw_stmt *at, char *expected, char *found) {
  return nw_unify_differs(u, at, expected, found);
}

static char *text(const char *fmt, const char *a, const char *b) {
  nw_str s = {0};
  nw_str_fmt(&s, fmt, a, b);
  return nw_str_take(&s);
}

static bool differs_in(unify *u, const nw_stmt *at, const char *expected, const char *found) {
  return differs(u, at, nw_xstrdup(expected), nw_xstrdup(found));
}

// Returns the text of e with the variables of loops instead of the variables of the block, as the nest shows it.
static char *seen(const unify *u, const nw_expr *e) {
  return nw_expr_show(nw_simplify(&u->r, nw_block_bound(u->p, u->out->block, e)));
}

static bool differs_here(unify *u, const nw_expr *mine, const nw_expr *theirs) {
  return differs(u, u->out->block, nw_expr_show(mine), seen(u, theirs));
}

// ---- loops

static const char *kind_of(const nw_stmt *s) {
  switch (s->kind) {
  case NW_ALLOC: return "an allocation inside the nest";
  case NW_GUARD: return "a condition inside the nest";
  case NW_CALL: return "a call inside the nest";
  default: return "several statements";
  }
}

// An instruction of a warp needs one iteration for each lane.
static bool take_lanes(unify *u, const nw_stmt *s) {
  u->lane = s;
  if (nw_is_const(s->loop.begin, 0) && nw_is_const(s->loop.extent, NW_FRAGMENT_LANES)) return true;
  char *extent = nw_expr_show(s->loop.extent);
  differs(u, s, nw_xstrdup("a loop over the 32 lanes of a warp, from 0"),
          text("%s with %s iterations", s->loop.var->name, extent));
  return free(extent), false;
}

static bool take_loop(unify *u, const nw_stmt *s) {
  int64_t n;
  const char *name = s->loop.var->name;
  const nw_instruction *warp = u->in->instruction;
  if (warp && s->loop.mark == NW_THREAD_X && !u->lane) return take_lanes(u, s);
  if (s->loop.mark != NW_SERIAL && !(warp && s->loop.mark == NW_UNROLLED))
    return differs(u, s, nw_xstrdup("plain loops"), text("%s %s", nw_loop_kind_name(s->loop.mark), name));
  if (!nw_is_int(s->loop.extent, &n)) {
    char *extent = nw_expr_show(s->loop.extent);
    differs(u, s, nw_xstrdup("loops of constant extent"), text("%s, which has %s iterations", name, extent));
    return free(extent), false;
  }
  if (n < 1)
    return differs(u, s, nw_xstrdup("loops with at least one iteration"),
                   text("%s, which has no iterations%s", name, ""));
  if (n > 1)
    u->loop[u->nloops++] = s;
  else
    u->unit[u->nunits++] = s;
  return true;
}

// Descends through perfectly nested loops to the block. A unit does not change the nest.
static const nw_stmt *descend(unify *u, const nw_stmt *s) {
  if (s->kind == NW_CALL) s = s->nkids == 1 ? s->kid[0] : s;
  while (s->kind == NW_LOOP || s->kind == NW_UNIT) {
    if (s->kind == NW_LOOP && !take_loop(u, s)) return NULL;
    if (s->nkids != 1) return differs_in(u, s, "perfectly nested loops", "several statements"), NULL;
    s = s->kid[0];
  }
  if (s->kind == NW_BLOCK) return s;
  differs_in(u, s, "perfectly nested loops", kind_of(s));
  return NULL;
}

static bool is_reduce(const nw_stmt *block, const nw_stmt *loop) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].kind == NW_REDUCE && nw_uses_var(block->block.var[i].bind, loop->loop.var->name))
      return true;
  return false;
}

static void list_loops(nw_str *s, int n, const nw_stmt *const *loop, const nw_stmt *block) {
  for (int i = 0; i < n; i++) {
    int64_t extent = 0;
    nw_is_int(loop[i]->loop.extent, &extent);
    nw_str_fmt(s, "%s%s%s in 0..%lld", i ? ", " : "", is_reduce(block, loop[i]) ? "reduce " : "",
               loop[i]->loop.var->name, (long long)extent);
  }
  if (!n) nw_str_add(s, "no loops");
}

static bool loops_differ(unify *u) {
  nw_str mine = {0}, theirs = {0};
  list_loops(&mine, u->in->nloops, u->in->loop, u->in->block);
  list_loops(&theirs, u->nloops, u->loop, u->out->block);
  return differs(u, u->nloops ? u->loop[0] : u->out->block, nw_str_take(&mine), nw_str_take(&theirs));
}

// ---- the block

static const char *how(const unify *u, const nw_stmt *block) {
  const char *kind = nw_combiner_name(u->p->ctx, block->block.combiner);
  return block->block.combiner == NW_PLAIN ? "a plain store" : kind;
}

// True if every execution of the nest begins at the first iteration of the reduction. This is required if the nest
// contains the init.
static bool starts_here(unify *u) {
  const nw_stmt *b = u->out->block;
  for (int i = 0; i < b->block.nvars; i++) {
    const nw_block_var *v = &b->block.var[i];
    const nw_expr *at = v->bind;
    if (v->kind != NW_REDUCE) continue;
    for (int k = 0; k < u->nloops; k++)
      at = nw_subst(u->p->pool, at, u->loop[k]->loop.var->name, u->loop[k]->loop.begin);
    at = nw_simplify(&u->r, nw_sub(u->p->pool, at, v->lo));
    if (nw_is_const(at, 0)) continue;
    char *bind = nw_expr_show(v->bind);
    differs(u, b, nw_xstrdup("a whole reduction with its init"),
            text("a part of one: %s = %s does not start at its first value", v->var->name, bind));
    return free(bind), false;
  }
  return true;
}

static bool same_init(unify *u) {
  const nw_stmt *mine = u->in->block, *theirs = u->out->block;
  if (mine->block.combiner == NW_PLAIN) return true;
  if (u->in->init && !theirs->block.has_init)
    return differs_in(u, theirs, "a reduction with its init", "one with its init elsewhere");
  if (!u->in->init && theirs->block.has_init)
    return differs_in(u, theirs, "a reduction with its init elsewhere", "one with its own init");
  for (int t = 0; u->in->init && t < mine->block.ntargets; t++) {
    const nw_expr *a = nw_import(u->p->pool, mine->block.target[t].init), *b = theirs->block.target[t].init;
    if (a != b) return differs_here(u, a, b);
  }
  return !u->in->init || starts_here(u);
}

static bool same_dtype(unify *u, const nw_block_target *mine, const nw_block_target *theirs) {
  nw_dtype a = nw_find_buffer(u->in->description, mine->buffer)->dtype, b = nw_find_buffer(u->p, theirs->buffer)->dtype;
  return a == b || differs(u, u->out->block, text("%s of %s", mine->buffer, nw_dtype_name(a)),
                           text("%s of %s", theirs->buffer, nw_dtype_name(b)));
}

static bool same_block(unify *u) {
  const nw_stmt *mine = u->in->block, *theirs = u->out->block;
  for (int t = 0; t < theirs->block.ntargets; t++)
    if (theirs->block.target[t].stream) return differs_in(u, theirs, "ordinary stores", "streaming stores");
  if (mine->block.combiner != theirs->block.combiner || mine->block.ntargets != theirs->block.ntargets)
    return differs_in(u, theirs, how(u, mine), how(u, theirs));
  for (int t = 0; t < mine->block.ntargets; t++)
    if (!same_dtype(u, &mine->block.target[t], &theirs->block.target[t])) return false;
  return same_init(u);
}

// Replaces the variable of each loop that has one iteration by the first value of the variable. The innermost loop is
// replaced first, since its first value may use an outer loop.
const nw_expr *nw_unify_without_units(const unify *u, const nw_expr *e) {
  for (int i = u->nunits - 1; i >= 0; i--)
    e = nw_subst(u->p->pool, e, u->unit[i]->loop.var->name, u->unit[i]->loop.begin);
  return e;
}

bool nw_unify_uses_loops(const unify *u, const nw_expr *e) {
  if (u->lane && nw_uses_var(e, u->lane->loop.var->name)) return true;
  for (int i = 0; i < u->nloops; i++)
    if (nw_uses_var(e, u->loop[i]->loop.var->name)) return true;
  return false;
}

// A condition on loops around the tile becomes a guard of the call. A condition on loops of the tile is refused.
static bool take_where(unify *u, const nw_expr *cond) {
  if (!cond) return true;
  if (cond->op == NW_OP_AND) return take_where(u, cond->arg[0]) && take_where(u, cond->arg[1]);
  if (nw_prove(&u->r, cond)) return true;
  cond = nw_unify_without_units(u, cond);
  if (nw_unify_uses_loops(u, cond)) {
    char *c = nw_expr_show(cond);
    differs(u, u->out->block, nw_xstrdup("every iteration of the tile"), text("only the iterations where %s%s", c, ""));
    return free(c), false;
  }
  u->out->where = nw_and(u->p->pool, u->out->where, cond);
  return true;
}

// ---- the body

static bool add_access(unify *u, const char *mine, int n, const nw_expr *const *index, const char *buffer,
                       const nw_expr *const *theirs) {
  const nw_intrinsic_arg *arg = NULL;
  for (int i = 0; i < u->in->nargs; i++)
    if (!strcmp(u->in->arg[i].name, mine)) arg = &u->in->arg[i];
  if (u->naccesses == NW_UNIFY_ACCESSES || !arg) return false;
  u->access[u->naccesses++] = (use){.arg = arg, .n = n, .mine = index, .theirs = theirs, .buffer = buffer};
  return true;
}

static bool same_expr(unify *u, const nw_expr *mine, const nw_expr *theirs);

static bool other_dtype(unify *u, const nw_expr *mine, const nw_expr *theirs) {
  char *a = nw_expr_show(mine), *b = seen(u, theirs);
  differs(u, u->out->block, text("%s of %s", a, nw_dtype_name(mine->type.dtype)),
          text("%s of %s", b, nw_dtype_name(theirs->type.dtype)));
  free(a);
  free(b);
  return false;
}

// Compares the operands of two ops. The operands of a commutative op may be swapped, since the rounding is the same. A
// bit of u->flips says whether the operands of this op are swapped.
static bool same_args(unify *u, const nw_expr *mine, const nw_expr *theirs) {
  bool flip = false;
  if (nw_op_has((nw_op)mine->op, 'K')) flip = u->flips >> u->nflips++ & 1;
  for (int i = 0; i < mine->n; i++)
    if (!same_expr(u, mine->arg[i], theirs->arg[flip ? mine->n - 1 - i : i])) return false;
  return true;
}

static bool same_expr(unify *u, const nw_expr *mine, const nw_expr *theirs) {
  bool same = mine->op == theirs->op && mine->type.dtype == theirs->type.dtype;
  if (same && mine->op == NW_OP_LOAD) same = add_access(u, mine->name, mine->n, mine->arg, theirs->name, theirs->arg);
  if (same && nw_op_has((nw_op)mine->op, 'L')) same = nw_import(u->p->pool, mine) == theirs;
  if (same && mine->op != NW_OP_LOAD) return mine->n == theirs->n && same_args(u, mine, theirs);
  if (!same && mine->op == theirs->op && mine->type.dtype != theirs->type.dtype) return other_dtype(u, mine, theirs);
  return same || differs_here(u, mine, theirs);
}

static bool same_body(unify *u, unsigned flips) {
  const nw_stmt *mine = u->in->block, *theirs = u->out->block;
  u->naccesses = u->nflips = 0;
  u->flips = flips;
  for (int t = 0; t < mine->block.ntargets; t++) {
    const nw_block_target *a = &mine->block.target[t], *b = &theirs->block.target[t];
    if (!same_expr(u, a->value, b->value)) return false;
    if (!add_access(u, a->buffer, a->n, a->index, b->buffer, b->index)) return false;
  }
  return true;
}

// ---- positions of the tiles

// Finds the coefficients of the nest's loops in an index, and the remaining part of the index. Returns false if the
// index is not affine.
static bool in_loops(unify *u, const nw_expr *e, int64_t *coef, const nw_expr **rest) {
  const char *var[NW_MAX_DEPTH];
  for (int i = 0; i < u->nloops; i++) var[i] = u->loop[i]->loop.var->name;
  e = nw_unify_without_units(u, nw_block_bound(u->p, u->out->block, e));
  return nw_affine(u->p->pool, nw_simplify(&u->r, e), u->nloops, var, coef, rest);
}

int nw_unify_physical(const unify *u, const use *a, const nw_expr **out) {
  const nw_buffer *b = nw_find_buffer(u->p, a->buffer);
  int n = b->nlayout ? b->nlayout : b->ndim;
  if (n > NW_MAX_TILE_DIMS || b->ndim > NW_MAX_DEPTH) return -1;
  const char *dim[NW_MAX_DEPTH];
  for (int d = 0; d < b->ndim; d++) dim[d] = nw_dim_name(u->p->pool, d);
  for (int d = 0; d < n; d++)
    out[d] = b->nlayout ? nw_subst_n(u->p->pool, b->layout[d], b->ndim, dim, a->theirs) : a->theirs[d];
  return n;
}

static bool place_access(unify *u, use *a) {
  const nw_expr *at[NW_MAX_TILE_DIMS];
  a->nphysical = nw_unify_physical(u, a, at);
  bool ok = a->nphysical >= 0;
  for (int d = 0; ok && d < a->nphysical; d++) {
    const nw_expr *rest;
    ok = in_loops(u, at[d], a->coef[d], &rest);
    for (int i = 0; ok && i < u->nloops; i++)
      rest = nw_add(u->p->pool, rest, nw_mul(u->p->pool, nw_index(u->p->pool, a->coef[d][i]), u->loop[i]->loop.begin));
    a->base[d] = ok ? nw_simplify(&u->r, nw_unify_without_units(u, rest)) : NULL;
    ok = ok && !nw_unify_uses_loops(u, a->base[d]); // fails if the begin of a loop depends on another loop
  }
  return ok;
}

static char *access_text(const unify *u, const use *a, bool mine) {
  nw_str s = {0};
  int n = mine ? a->n : nw_find_buffer(u->p, a->buffer)->ndim;
  nw_str_fmt(&s, "%s[", mine ? a->arg->name : a->buffer);
  for (int i = 0; i < n; i++) {
    char *e = mine ? nw_expr_show(a->mine[i]) : seen(u, a->theirs[i]);
    nw_str_fmt(&s, "%s%s", i ? ", " : "", e);
    free(e);
  }
  nw_str_add(&s, "]");
  return nw_str_take(&s);
}

static bool access_differs(unify *u, const use *a, const char *wanted, const char *why) {
  char *mine = access_text(u, a, true), *theirs = access_text(u, a, false);
  nw_str x = {0}, y = {0};
  nw_str_fmt(&x, "%s%s", mine, wanted);
  nw_str_fmt(&y, "%s%s", theirs, why);
  free(mine);
  free(theirs);
  return differs(u, u->out->block, nw_str_take(&x), nw_str_take(&y));
}

static bool place_accesses(unify *u) {
  for (int i = 0; i < u->naccesses; i++)
    if (!place_access(u, &u->access[i]))
      return access_differs(u, &u->access[i], "", ", which is not affine in the loops of the tile");
  return true;
}

// For dimension d of a tile, stores the coefficients of the description's loops, and returns the index in the first
// iteration of these loops.
static int64_t mine_at_start(const unify *u, const use *a, int d, int64_t *coef) {
  int64_t at;
  nw_intrinsic_index(u->in, a->mine[d], coef, &at);
  for (int i = 0; i < u->in->nloops; i++) {
    int64_t begin = 0;
    nw_is_int(u->in->loop[i]->loop.begin, &begin);
    at += coef[i] * begin;
  }
  return at;
}

// Computes the window of the access for the current pairing of the loops. Returns false if there is no such window.
static bool window_of(const unify *u, const use *a, nw_window *w) {
  nw_pool *p = u->p->pool;
  int64_t coef[NW_MAX_TILE_DIMS][NW_MAX_DEPTH], start[NW_MAX_TILE_DIMS];
  *w = (nw_window){.buffer = a->buffer, .n = a->nphysical};
  for (int d = 0; d < a->n; d++) start[d] = mine_at_start(u, a, d, coef[d]);
  for (int k = 0; k < a->nphysical; k++) {
    w->at[k] = a->base[k];
    for (int d = 0; d < a->n; d++) {
      const nw_tile_dim *dim = &a->arg->dim[d];
      if (dim->own < 0) continue;
      int64_t moved = a->coef[k][u->pair[dim->own]];
      if (moved % dim->step) return false;
      w->step[d][k] = moved / dim->step;
      w->at[k] = nw_sub(p, w->at[k], nw_index(p, w->step[d][k] * start[d]));
    }
    for (int i = 0; i < u->in->nloops; i++) {
      int64_t sum = 0;
      for (int d = 0; d < a->n; d++) sum += w->step[d][k] * coef[d][i];
      if (sum != a->coef[k][u->pair[i]]) return false;
    }
    w->at[k] = nw_simplify(&u->r, w->at[k]);
  }
  return true;
}

static bool same_window(const unify *u, const nw_window *a, const nw_window *b) {
  if (strcmp(a->buffer, b->buffer) || memcmp(a->step, b->step, sizeof a->step)) return false;
  for (int k = 0; k < a->n; k++)
    if (!nw_is_const(nw_simplify(&u->r, nw_sub(u->p->pool, a->at[k], b->at[k])), 0)) return false;
  return true;
}

// Returns the memory layout of a buffer at the block, or NULL if the size of the buffer has no bound.
static const nw_physical *layout_at(const unify *u, const nw_buffer *b, nw_arena *arena) {
  const char *loop[NW_MAX_DEPTH];
  const nw_stmt *alloc = b->alloc;
  int n = 0;
  nw_path path, upto;
  if (b->role != NW_TEMP) return nw_physical_param(arena, u->p, b);
  if (!nw_find(u->p, u->out->block->id, &path)) return NULL;
  upto = path;
  for (upto.n = 0; !alloc && upto.n < path.n; upto.n++) {
    const nw_stmt *s = path.at[upto.n];
    if (s->kind == NW_LOOP) loop[n++] = s->loop.var->name;
    if (s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, b->name)) alloc = s;
  }
  if (!alloc) return NULL;
  nw_ranges r;
  nw_ranges_of(&r, u->p, &upto);
  const nw_physical *place = nw_physical_alloc(arena, u->p, &r, alloc, b->alloc ? 0 : n, loop);
  nw_ranges_free(&r);
  if (!place) nw_clear(u->p->ctx);
  return place;
}

// Returns the distance in memory between neighbouring elements along dimension d of the tile, or NW_ANY_STRIDE if it is
// not constant.
static int64_t stride_along(const nw_window *w, int d, const nw_physical *place) {
  int64_t sum = 0;
  for (int k = 0; k < w->n; k++) {
    int64_t stride = 1;
    if (!w->step[d][k]) continue;
    if (k < w->n - 1 && !(place && nw_is_int(place->stride[k], &stride))) return NW_ANY_STRIDE;
    if (k == w->n - 1 && place && !nw_is_int(place->stride[k], &stride)) return NW_ANY_STRIDE;
    sum += w->step[d][k] * stride;
  }
  return sum;
}

// Returns a dimension of the tile that has a fixed stride in the description and another stride in the nest, or -1. While
// the program is lowered, its allocations change, and lower/calls.c checks the strides instead.
int nw_unify_wrong_stride(const unify *u, const use *a, const nw_window *w) {
  if (!u->p->step) return -1;
  nw_arena *arena = nw_arena_scratch();
  const nw_physical *place = layout_at(u, nw_find_buffer(u->p, w->buffer), arena);
  int wrong = -1;
  for (int d = 0; d < a->n && wrong < 0; d++) {
    const nw_tile_dim *dim = &a->arg->dim[d];
    if (dim->own < 0 || dim->stride == NW_ANY_STRIDE) continue;
    if (stride_along(w, d, place) != dim->stride) wrong = d;
  }
  nw_arena_free(arena);
  return wrong;
}

bool nw_unify_aligned(const unify *u, const nw_window *w, int64_t n) {
  if (!u->p->step) return true; // as for strides
  nw_arena *arena = nw_arena_scratch();
  const nw_physical *place = layout_at(u, nw_find_buffer(u->p, w->buffer), arena);
  bool good = place && nw_divides(&u->r, nw_physical_at(place, &u->r, w->at), n);
  int64_t stride = good ? stride_along(w, 0, place) : NW_ANY_STRIDE;
  nw_arena_free(arena);
  return good && stride != NW_ANY_STRIDE && stride % n == 0;
}

static bool fits(unify *u, const use *a) {
  nw_window w, *known = &u->out->window[a->arg - u->in->arg];
  if (!window_of(u, a, &w)) return access_differs(u, a, "", "");
  if (known->buffer && !same_window(u, known, &w))
    return access_differs(u, a, ", in the tile of the other accesses", "");
  int d = nw_unify_wrong_stride(u, a, &w);
  if (d >= 0) {
    char wanted[80];
    snprintf(wanted, sizeof wanted, ", stride %lld along dimension %d", (long long)a->arg->dim[d].stride, d + 1);
    return access_differs(u, a, wanted, ", another stride");
  }
  *known = w;
  return true;
}

static bool all_fit(unify *u) {
  memset(u->out->window, 0, sizeof u->out->window);
  for (int i = 0; i < u->naccesses; i++) {
    u->reached = PAIRED + i;
    if (!fits(u, &u->access[i])) return false;
  }
  return true;
}

static int64_t extent_of(const nw_stmt *loop) {
  int64_t n = 0;
  nw_is_int(loop->loop.extent, &n);
  return n;
}

static bool pair_from(unify *u, int i) {
  if (i == u->in->nloops) return u->paired = true, all_fit(u);
  for (int k = 0; k < u->nloops; k++) {
    const nw_stmt *mine = u->in->loop[i], *theirs = u->loop[k];
    if (u->used[k] || extent_of(mine) != extent_of(theirs)) continue;
    if (is_reduce(u->in->block, mine) != is_reduce(u->out->block, theirs)) continue;
    u->used[k] = true;
    u->pair[i] = k;
    if (pair_from(u, i + 1)) return true;
    u->used[k] = false;
  }
  return false;
}

static bool as_many_loops(unify *u) {
  u->reached = MATCHED;
  return (u->in->nloops == u->nloops && u->nloops <= NW_UNIFY_LOOPS) || loops_differ(u);
}

static bool has_lanes(unify *u) {
  u->reached = MATCHED;
  if (u->lane) return true;
  return differs_in(u, u->out->block, "a loop over the 32 lanes of a warp, bound to threadIdx.x", "no loop of threads");
}

static bool pair_loops(unify *u) {
  memset(u->used, 0, sizeof u->used);
  if (pair_from(u, 0)) return true;
  return u->paired ? false : loops_differ(u);
}

// Checks that the tile of an output does not share its buffer with another tile, so that the two cannot overlap.
static bool apart(unify *u) {
  u->reached = u->said + 1;
  for (int i = 0; i < u->in->nargs; i++)
    for (int k = 0; k < u->in->nargs; k++)
      if (i != k && u->in->arg[i].output && !strcmp(u->out->window[i].buffer, u->out->window[k].buffer))
        return differs(u, u->out->block,
                       text("%s in a different buffer than %s", u->in->arg[i].name, u->in->arg[k].name),
                       text("%s for both%s", u->out->window[i].buffer, ""));
  return true;
}

// Tries all ways to swap the operands of the first MAX_FLIPS commutative operations. The first attempt swaps no
// operands.
static bool match_body(unify *u) {
  for (unsigned flips = 0, ways = 1; flips < ways; flips++) {
    u->reached = flips ? OTHER_BODY : BODY;
    bool body = same_body(u, flips);
    bool warp = u->in->instruction != NULL;
    if (flips == 0) ways = 1u << (u->nflips < MAX_FLIPS ? u->nflips : MAX_FLIPS);
    u->reached = MATCHED;
    if (body && (warp ? nw_unify_warp(u) : place_accesses(u) && pair_loops(u))) return apart(u);
  }
  return false;
}

static bool match(unify *u, const nw_stmt *nest) {
  const nw_stmt *block = descend(u, nest);
  nw_path path;
  if (!block) return false;
  u->out->block = block;
  nw_find(u->p, block->id, &path);
  nw_ranges_of(&u->r, u->p, &path);
  bool ok = same_block(u) && take_where(u, block->block.where) &&
            (u->in->instruction ? has_lanes(u) : as_many_loops(u)) && match_body(u);
  nw_ranges_free(&u->r);
  return ok;
}

bool nw_unify(const nw_program *p, const nw_stmt *nest, const nw_intrinsic *in, nw_match *out) {
  *out = (nw_match){0};
  if (in->chip && in->kind != NW_CHIP_TENSOR) return nw_unify_chip(nest, in, out);
  unify *u = nw_xcalloc(1, sizeof *u);
  *u = (unify){.p = p, .in = in, .out = out};
  bool ok = match(u, nest);
  free(u);
  if (ok) nw_match_free(out);
  return ok;
}

void nw_match_free(nw_match *m) {
  free(m->expected);
  free(m->found);
  m->expected = m->found = NULL;
}
