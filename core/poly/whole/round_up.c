// Replaces a size M by a multiple c*n, and removes what says that a number is below M: the limits of loops, and conditions.
// Each of these numbers must be the index of an element, as the argument at the top of rounded.c requires.
#include "poly/whole/rounded.h"

bool nw_uses_size(const nw_rounding *x, const nw_expr *e) { return e && nw_uses_var(e, x->size->name); }

// True if the variable numbers 0..M.
static bool is_number(const nw_rounding *x, const nw_block_var *v) {
  return v->extent == x->size && nw_is_const(v->lo, 0);
}

// ---- limits: loops and conditions that say that a number is below M

// True if `room` is M - number for a number of the block. Such a room is positive exactly where the number is below M.
static bool limits_block(nw_rounding *x, const nw_stmt *block, const nw_expr *room) {
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if (!is_number(x, v) || nw_sub(x->p->pool, x->size, v->bind) != room) continue;
    nw_vec_push(&x->limited, (void *)v);
    return true;
  }
  return false;
}

static bool limits_all(nw_rounding *x, const nw_stmt *s, const nw_expr *room) {
  bool all = s->kind != NW_BLOCK || limits_block(x, s, room);
  for (int i = 0; i < s->nkids && all; i++) all = limits_all(x, s->kid[i], room);
  return all;
}

// Returns the other operand of max(e, 0), or NULL if e is not such a maximum.
static const nw_expr *above_zero(const nw_expr *e) {
  if (e->op != NW_OP_MAX) return NULL;
  return nw_is_const(e->arg[0], 0) ? e->arg[1] : nw_is_const(e->arg[1], 0) ? e->arg[0] : NULL;
}

typedef bool (*is_limit_fn)(nw_rounding *x, const void *env, const nw_expr *e);

// Removes the limits from an extent, which may be a minimum of several extents. Sets *left to NULL if nothing is left.
// Returns false if a part of the extent uses M, but is not a limit.
static bool strip(nw_rounding *x, is_limit_fn is_limit, const void *env, const nw_expr *e, const nw_expr **left) {
  const nw_expr *a, *b;
  *left = e;
  if (!nw_uses_size(x, e)) return true;
  if (above_zero(e)) return strip(x, is_limit, env, above_zero(e), left);
  *left = NULL;
  if (e->op != NW_OP_MIN) return is_limit(x, env, e);
  if (!strip(x, is_limit, env, e->arg[0], &a) || !strip(x, is_limit, env, e->arg[1], &b)) return false;
  *left = a && b ? nw_min(x->p->pool, a, b) : a ? a : b;
  return true;
}

static bool limits_loop(nw_rounding *x, const void *env, const nw_expr *extent) {
  const nw_stmt *loop = env;
  nw_pool *pool = x->p->pool;
  return limits_all(x, loop, nw_sub(pool, nw_add(pool, loop->loop.begin, extent), loop->loop.var));
}

static bool round_loop(nw_rounding *x, nw_stmt *s) {
  const nw_expr *left;
  if (!nw_uses_size(x, s->loop.extent)) return true;
  if (s->loop.nfused || (s->loop.mark != NW_SERIAL && s->loop.mark != NW_PARALLEL)) return false;
  if (!strip(x, limits_loop, s, s->loop.extent, &left)) return false;
  bool whole = s->loop.extent == x->size && nw_is_const(s->loop.begin, 0);
  s->loop.extent = left ? left : x->whole;
  return left || whole;
}

static bool round_where(nw_rounding *x, nw_stmt *s) {
  const nw_expr *term[NW_MAX_TERMS], *where = NULL;
  nw_pool *pool = x->p->pool;
  int n = s->block.where ? nw_conjuncts(s->block.where, NW_MAX_TERMS, term) : 0;
  for (int i = 0; i < n; i++) {
    const nw_expr *e = term[i];
    if (!nw_uses_size(x, e)) {
      where = nw_and(pool, where, e);
      continue;
    }
    if ((e->op != NW_OP_LT && e->op != NW_OP_LE) || e->arg[0]->type.dtype != NW_INDEX) return false;
    const nw_expr *room = nw_sub(pool, e->arg[1], e->arg[0]);
    if (!limits_block(x, s, e->op == NW_OP_LT ? room : nw_add(pool, room, nw_index(pool, 1)))) return false;
  }
  s->block.where = where;
  return n < NW_MAX_TERMS;
}

static bool round_limits(void *env, nw_stmt *s) {
  nw_rounding *x = env;
  if (s->kind == NW_LOOP) x->ok = x->ok && round_loop(x, s);
  if (s->kind == NW_BLOCK) x->ok = x->ok && round_where(x, s);
  return x->ok;
}

// ---- blocks: the numbers must be indices

static const nw_block_var *number_at(const nw_rounding *x, const nw_stmt *block, const nw_expr *e) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].var == e && is_number(x, &block->block.var[i])) return &block->block.var[i];
  return NULL;
}

typedef struct in_block {
  const nw_rounding *x;
  const nw_stmt *block;
} in_block;

// True if the index is proved to be below M in every instance of the block.
static bool is_below(const in_block *l, const nw_expr *index) {
  nw_ranges r;
  nw_ranges_declared(&r, l->x->p, l->block);
  bool holds = nw_prove(&r, nw_lt(l->x->p->pool, index, l->x->size));
  nw_ranges_free(&r);
  return holds;
}

// True if every dimension of extent M is accessed at a number or, if it is read, at an index below M.
static bool at_numbers(const in_block *l, const char *buffer, bool write, int n, const nw_expr *const *index) {
  const nw_buffer *b = nw_find_buffer(l->x->p, buffer);
  for (int d = 0; d < n && !NW_MUTATED(rounded_any_index); d++)
    if (b->shape[d] == l->x->size && !number_at(l->x, l->block, index[d]) && (write || !is_below(l, index[d])))
      return false;
  return true;
}

static bool load_at_numbers(void *env, const nw_expr *e) {
  return e->op != NW_OP_LOAD || at_numbers(env, e->name, false, e->n, e->arg);
}

static bool is_index_of(const nw_rounding *x, const nw_block_target *t, const nw_expr *var) {
  const nw_buffer *b = nw_find_buffer(x->p, t->buffer);
  for (int d = 0; d < t->n; d++)
    if (t->index[d] == var && b->shape[d] == x->size) return true;
  return false;
}

// True if the number is limited, and tells the element that is written, unless it numbers the terms of a reduction.
static bool tells_element(const nw_rounding *x, const nw_stmt *block, const nw_block_var *v) {
  bool limited = NW_MUTATED(rounded_unlimited);
  for (int i = 0; i < x->limited.n; i++) limited |= x->limited.at[i] == v;
  if (!limited || v->kind == NW_ORDERED) return false;
  if (v->kind == NW_REDUCE) return block->block.combiner != NW_PLAIN;
  for (int t = 0; t < block->block.ntargets; t++)
    if (!is_index_of(x, &block->block.target[t], v->var)) return false;
  return true;
}

static bool block_fits(const nw_rounding *x, const nw_stmt *s) {
  in_block l = {x, s};
  bool ok = !s->block.async;
  for (int i = 0; i < s->block.nvars && ok; i++) {
    ok = strcmp(s->block.var[i].var->name, x->size->name) != 0;
    if (is_number(x, &s->block.var[i])) ok = ok && tells_element(x, s, &s->block.var[i]);
  }
  for (int t = 0; t < s->block.ntargets && ok; t++) {
    const nw_block_target *g = &s->block.target[t];
    ok = !g->stream && at_numbers(&l, g->buffer, true, g->n, g->index) && nw_visit(g->value, load_at_numbers, &l);
    if (g->init) ok = ok && nw_visit(g->init, load_at_numbers, &l);
    for (int d = 0; d < g->n; d++) ok = ok && nw_visit(g->index[d], load_at_numbers, &l);
  }
  return ok;
}

static bool see_block(void *env, nw_stmt *s) { return s->kind != NW_BLOCK || block_fits(env, s); }

static bool round_vars(void *env, nw_stmt *s) {
  const nw_rounding *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++)
    if (is_number(x, &s->block.var[i])) s->block.var[i].extent = x->whole;
  return true;
}

// ---- buffers

static bool limits_box(nw_rounding *x, const void *env, const nw_expr *extent) {
  return extent == nw_sub(x->p->pool, x->size, env);
}

static bool round_alloc(void *env, const nw_path *path) {
  nw_rounding *x = env;
  nw_stmt *s = path->at[path->n - 1];
  const nw_buffer *b = s->kind == NW_ALLOC ? nw_find_buffer(x->p, s->alloc.buffer) : NULL;
  for (int d = 0; b && d < s->alloc.n && x->ok; d++) {
    const nw_expr *left = NULL, *extent = s->alloc.extent[d];
    if (b->shape[d] != x->size || !nw_uses_size(x, extent)) continue;
    x->ok = strip(x, limits_box, s->alloc.min[d], extent, &left);
    x->ok = x->ok && (left || (extent == x->size && nw_is_const(s->alloc.min[d], 0)));
    s->alloc.extent[d] = left ? left : x->whole;
  }
  return x->ok;
}

static bool round_shape(const nw_rounding *x, nw_buffer *b) {
  for (int d = 0; d < b->ndim; d++) {
    if (b->shape[d] != x->size) continue;
    if (b->nlayout || b->nstrides || b->pitch) return false;
    b->shape[d] = x->whole;
  }
  return true;
}

void nw_round_up(nw_rounding *x) {
  nw_walk_from(x->p->root, round_limits, x);
  x->ok = x->ok && nw_walk_from(x->p->root, see_block, x);
  if (x->ok) nw_walk(x->p, round_alloc, x);
  if (x->ok) nw_walk_from(x->p->root, round_vars, x);
  for (int i = 0; i < x->p->nbuffers && x->ok; i++) x->ok = round_shape(x, x->p->buffer[i]);
}
