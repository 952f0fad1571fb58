// Rounds sizes up to multiples, so that loops that were split by sizes with a guard can be judged in digits.
//
// After s:split("i", n), a loop over 0..M runs i = i_o*n + i_i where i < M. Let c = ceil(M / n). If M is replaced by c*n,
// and the conditions i < M are removed, then M is a product of sizes, and every number below it has the digits i_o and
// i_i. The new program runs the instances of the old program in the same order, and also instances whose number is M or
// more. If each number is the index of an element in both programs, then everything that is proved about the new
// programs also holds for the old programs. If n is known to divide M, M is c*n, and the programs stay the same. See
// docs/fused.md.
#include "ir/program/lift.h"
#include "poly/whole/whole.h"

enum { MOST_ROUNDED = 4 };

typedef struct rounding {
  nw_program *p; // a clone, edited
  const nw_expr *size; // M
  const nw_expr *rounds; // the new size c, which stands for ceil(M / n)
  // The canonical form of ceil(M / n) is a quotient plus a number. `value` replaces the quotient: c minus this number.
  const nw_expr *quotient, *value;
  const nw_expr *whole; // c*n, which replaces M
  nw_vec limited; // const nw_block_var *: variables for which a loop or a condition says that they are below M
  const nw_expr *from, *to; // what is replaced at the moment, and by what
  bool ok;
} rounding;

static bool uses_size(const rounding *x, const nw_expr *e) { return e && nw_uses_var(e, x->size->name); }

// True if the variable numbers 0..M.
static bool is_number(const rounding *x, const nw_block_var *v) {
  return v->extent == x->size && nw_is_const(v->lo, 0);
}

// ---- ceil(M / n) becomes c, and if n divides M, M becomes c*n

static const nw_expr *replaced(void *env, const nw_expr *e) {
  const rounding *x = env;
  return e ? nw_replace(x->p->pool, e, x->from, x->to) : NULL;
}

static bool replace_in_block(void *env, nw_stmt *s) {
  rounding *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) {
    s->block.var[i].lo = replaced(x, s->block.var[i].lo);
    s->block.var[i].extent = replaced(x, s->block.var[i].extent);
  }
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) {
    nw_block_target *g = &s->block.target[t];
    g->value = replaced(x, g->value);
    g->init = replaced(x, g->init);
    for (int d = 0; d < g->n; d++) g->index[d] = replaced(x, g->index[d]);
  }
  return true;
}

static void replace_all(rounding *x, const nw_expr *from, const nw_expr *to) {
  x->from = from, x->to = to;
  nw_stmt_map(x->p, x->p->root, replaced, x);
  nw_walk_from(x->p->root, replace_in_block, x);
  for (int i = 0; i < x->p->nbuffers; i++) {
    nw_buffer *b = x->p->buffer[i];
    const nw_expr **shape = NW_NEW_N(x->p->arena, const nw_expr *, b->ndim + 1);
    for (int d = 0; d < b->ndim; d++) shape[d] = replaced(x, b->shape[d]);
    b->shape = shape;
    if (b->alloc) nw_stmt_map(x->p, b->alloc, replaced, x);
  }
}

// Returns the terms of the condition that do not follow from the ranges and from the other terms.
static const nw_expr *not_proven(nw_ranges *r, const nw_expr *where) {
  const nw_expr *term[NW_MAX_TERMS], *left = NULL;
  int n = nw_conjuncts(where, NW_MAX_TERMS, term);
  if (n == NW_MAX_TERMS) return where;
  for (int i = 0; i < n; i++) {
    int facts = 0;
    for (int k = 0; k < n; k++)
      if (k != i && term[k]) nw_ranges_fact(r, term[k]), facts++;
    if (nw_prove(r, term[i])) term[i] = NULL;
    while (facts-- > 0) nw_ranges_pop_fact(r);
  }
  for (int i = 0; i < n; i++)
    if (term[i]) left = nw_and(r->pool, left, term[i]);
  return left;
}

// Removes the conditions that hold because M is c*n, such as i_o*n + i_i < c*n.
static bool drop_proven(void *env, const nw_path *path) {
  const rounding *x = env;
  nw_stmt *s = path->at[path->n - 1];
  nw_ranges r;
  if (s->kind != NW_BLOCK || !s->block.where) return true;
  nw_ranges_of(&r, x->p, path);
  s->block.where = not_proven(&r, s->block.where);
  nw_ranges_free(&r);
  return true;
}

static void make_exact(rounding *x) {
  replace_all(x, x->size, x->whole);
  nw_walk(x->p, drop_proven, x);
}

// ---- limits: loops and conditions that say that a number is below M

// True if `room` is M - number for a number of the block. Such a room is positive exactly where the number is below M.
static bool limits_block(rounding *x, const nw_stmt *block, const nw_expr *room) {
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    if (!is_number(x, v) || nw_sub(x->p->pool, x->size, v->bind) != room) continue;
    nw_vec_push(&x->limited, (void *)v);
    return true;
  }
  return false;
}

static bool limits_all(rounding *x, const nw_stmt *s, const nw_expr *room) {
  bool all = s->kind != NW_BLOCK || limits_block(x, s, room);
  for (int i = 0; i < s->nkids && all; i++) all = limits_all(x, s->kid[i], room);
  return all;
}

// Returns the other operand of max(e, 0), or NULL if e is not such a maximum.
static const nw_expr *above_zero(const nw_expr *e) {
  if (e->op != NW_OP_MAX) return NULL;
  return nw_is_const(e->arg[0], 0) ? e->arg[1] : nw_is_const(e->arg[1], 0) ? e->arg[0] : NULL;
}

typedef bool (*is_limit_fn)(rounding *x, const void *env, const nw_expr *e);

// Removes the limits from an extent, which may be a minimum of several extents. Sets *left to NULL if nothing is left.
// Returns false if a part of the extent uses M, but is not a limit.
static bool strip(rounding *x, is_limit_fn is_limit, const void *env, const nw_expr *e, const nw_expr **left) {
  const nw_expr *a, *b;
  *left = e;
  if (!uses_size(x, e)) return true;
  if (above_zero(e)) return strip(x, is_limit, env, above_zero(e), left);
  *left = NULL;
  if (e->op != NW_OP_MIN) return is_limit(x, env, e);
  if (!strip(x, is_limit, env, e->arg[0], &a) || !strip(x, is_limit, env, e->arg[1], &b)) return false;
  *left = a && b ? nw_min(x->p->pool, a, b) : a ? a : b;
  return true;
}

static bool limits_loop(rounding *x, const void *env, const nw_expr *extent) {
  const nw_stmt *loop = env;
  nw_pool *pool = x->p->pool;
  return limits_all(x, loop, nw_sub(pool, nw_add(pool, loop->loop.begin, extent), loop->loop.var));
}

static bool round_loop(rounding *x, nw_stmt *s) {
  const nw_expr *left;
  if (!uses_size(x, s->loop.extent)) return true;
  if (s->loop.nfused || (s->loop.mark != NW_SERIAL && s->loop.mark != NW_PARALLEL)) return false;
  if (!strip(x, limits_loop, s, s->loop.extent, &left)) return false;
  bool whole = s->loop.extent == x->size && nw_is_const(s->loop.begin, 0);
  s->loop.extent = left ? left : x->whole;
  return left || whole;
}

static bool round_where(rounding *x, nw_stmt *s) {
  const nw_expr *term[NW_MAX_TERMS], *where = NULL;
  nw_pool *pool = x->p->pool;
  int n = s->block.where ? nw_conjuncts(s->block.where, NW_MAX_TERMS, term) : 0;
  for (int i = 0; i < n; i++) {
    const nw_expr *e = term[i];
    if (!uses_size(x, e)) {
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
  rounding *x = env;
  if (s->kind == NW_LOOP) x->ok = x->ok && round_loop(x, s);
  if (s->kind == NW_BLOCK) x->ok = x->ok && round_where(x, s);
  return x->ok;
}

// ---- blocks: the numbers must be indices

static const nw_block_var *number_at(const rounding *x, const nw_stmt *block, const nw_expr *e) {
  for (int i = 0; i < block->block.nvars; i++)
    if (block->block.var[i].var == e && is_number(x, &block->block.var[i])) return &block->block.var[i];
  return NULL;
}

typedef struct in_block {
  const rounding *x;
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

static bool is_index_of(const rounding *x, const nw_block_target *t, const nw_expr *var) {
  const nw_buffer *b = nw_find_buffer(x->p, t->buffer);
  for (int d = 0; d < t->n; d++)
    if (t->index[d] == var && b->shape[d] == x->size) return true;
  return false;
}

// True if the number is limited, and tells the element that is written, unless it numbers the terms of a reduction.
static bool tells_element(const rounding *x, const nw_stmt *block, const nw_block_var *v) {
  bool limited = NW_MUTATED(rounded_unlimited);
  for (int i = 0; i < x->limited.n; i++) limited |= x->limited.at[i] == v;
  if (!limited || v->kind == NW_ORDERED) return false;
  if (v->kind == NW_REDUCE) return block->block.combiner != NW_PLAIN;
  for (int t = 0; t < block->block.ntargets; t++)
    if (!is_index_of(x, &block->block.target[t], v->var)) return false;
  return true;
}

static bool block_fits(const rounding *x, const nw_stmt *s) {
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
  const rounding *x = env;
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++)
    if (is_number(x, &s->block.var[i])) s->block.var[i].extent = x->whole;
  return true;
}

// ---- buffers

static bool limits_box(rounding *x, const void *env, const nw_expr *extent) {
  return extent == nw_sub(x->p->pool, x->size, env);
}

static bool round_alloc(void *env, const nw_path *path) {
  rounding *x = env;
  nw_stmt *s = path->at[path->n - 1];
  const nw_buffer *b = s->kind == NW_ALLOC ? nw_find_buffer(x->p, s->alloc.buffer) : NULL;
  for (int d = 0; b && d < s->alloc.n && x->ok; d++) {
    const nw_expr *left = NULL, *extent = s->alloc.extent[d];
    if (b->shape[d] != x->size || !uses_size(x, extent)) continue;
    x->ok = strip(x, limits_box, s->alloc.min[d], extent, &left);
    x->ok = x->ok && (left || (extent == x->size && nw_is_const(s->alloc.min[d], 0)));
    s->alloc.extent[d] = left ? left : x->whole;
  }
  return x->ok;
}

static bool round_shape(const rounding *x, nw_buffer *b) {
  for (int d = 0; d < b->ndim; d++) {
    if (b->shape[d] != x->size) continue;
    if (b->nlayout || b->nstrides || b->pitch) return false;
    b->shape[d] = x->whole;
  }
  return true;
}

// ---- whether M is left anywhere

static const nw_expr *look(void *env, const nw_expr *e) {
  rounding *x = env;
  if (uses_size(x, e)) x->ok = false;
  return e;
}

static void look_at_all(rounding *x, int n, const nw_expr *const *e) {
  for (int i = 0; i < n; i++) look(x, e[i]);
}

static bool look_at_block(void *env, nw_stmt *s) {
  for (int i = 0; s->kind == NW_BLOCK && i < s->block.nvars; i++) {
    look(env, s->block.var[i].lo);
    look(env, s->block.var[i].extent);
  }
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++) {
    const nw_block_target *g = &s->block.target[t];
    look(env, g->value);
    look(env, g->init);
    look_at_all(env, g->n, g->index);
  }
  return true;
}

// Facts about M may stay, since they hold for the old size M.
static bool is_gone(rounding *x) {
  nw_stmt_map(x->p, x->p->root, look, x);
  nw_walk_from(x->p->root, look_at_block, x);
  for (int i = 0; i < x->p->nbuffers; i++) {
    nw_buffer *b = x->p->buffer[i];
    look_at_all(x, b->ndim, b->shape);
    look_at_all(x, b->nlayout, b->layout);
    look_at_all(x, b->nlayout, b->layout_shape);
    if (b->alloc) nw_stmt_map(x->p, b->alloc, look, x);
  }
  return x->ok;
}

// ---- which sizes

typedef struct finding {
  const nw_program *p;
  const nw_expr *size; // NULL if none was found
  const nw_expr *quotient; // ceil(size / n) is `quotient` + `more`
  int64_t more;
  bool exact; // true if n divides the size
} finding;

static bool is_at_least_one(const nw_program *p, const nw_expr *e) {
  nw_ranges r;
  nw_ranges_of(&r, p, NULL);
  bool holds = nw_prove(&r, nw_le(p->pool, nw_index(p->pool, 1), e));
  nw_ranges_free(&r);
  return holds;
}

static bool find_quotient(void *env, const nw_expr *e) {
  finding *x = env;
  nw_pool *pool = x->p->pool;
  int64_t c;
  if (e->op != NW_OP_FLOORDIV || nw_is_int(e->arg[1], &c) || !nw_uses_only_sizes(x->p, e)) return true;
  for (int i = 0; i < x->p->nsizes && !x->size; i++) {
    const nw_expr *size = nw_var(pool, x->p->size[i].name);
    bool exact = e->arg[0] == size && nw_is_multiple(x->p, size, e->arg[1]);
    if (nw_uses_var(e->arg[1], size->name)) continue;
    if (!exact && !nw_is_int(nw_sub(pool, nw_ceildiv(pool, size, e->arg[1]), e), &c)) continue;
    if (is_at_least_one(x->p, e->arg[1])) *x = (finding){x->p, size, e, exact ? 0 : c, exact};
  }
  return !x->size;
}

static bool find_in_loop(void *env, nw_stmt *s) {
  return s->kind != NW_LOOP || nw_visit(s->loop.extent, find_quotient, env);
}

static bool find_size(const nw_program *before, const nw_program *after, finding *out) {
  for (int i = 0; i < 2; i++) {
    *out = (finding){.p = i ? before : after};
    nw_walk_from(out->p->root, find_in_loop, out);
    if (out->size) return true;
  }
  return false;
}

// ---- one size

// True if every init of p is lifted in both programs, or in none. Otherwise it might run in other iterations.
static bool keeps_inits(const nw_program *p, const nw_program *q, const nw_stmt *s) {
  nw_path path;
  bool ok = true;
  if (s->kind == NW_BLOCK && s->block.has_init)
    ok = nw_find(q, s->id, &path) && nw_init_lifts(p, s) == nw_init_lifts(q, path.at[path.n - 1]);
  for (int i = 0; i < s->nkids && ok; i++) ok = keeps_inits(p, q, s->kid[i]);
  return ok;
}

// Adds the size c. Every c that is needed is at least 0, and at least 1 if M is at least 1.
static void add_rounds(rounding *x) {
  nw_program *p = x->p;
  nw_size *size = NW_NEW_N(p->arena, nw_size, p->nsizes + 1);
  memcpy(size, p->size, (size_t)p->nsizes * sizeof *size);
  size[p->nsizes] = (nw_size){x->rounds->name, nw_index(p->pool, is_at_least_one(p, x->size))};
  p->size = size;
  p->nsizes++;
}

// Removes the conditions that say that a number is below M, and replaces M by c*n.
static void round_up(rounding *x) {
  nw_walk_from(x->p->root, round_limits, x);
  x->ok = x->ok && nw_walk_from(x->p->root, see_block, x);
  if (x->ok) nw_walk(x->p, round_alloc, x);
  if (x->ok) nw_walk_from(x->p->root, round_vars, x);
  for (int i = 0; i < x->p->nbuffers && x->ok; i++) x->ok = round_shape(x, x->p->buffer[i]);
}

static nw_program *rounded(const nw_program *p, const finding *f) {
  rounding x = {.p = nw_program_clone(p), .size = f->size, .quotient = f->quotient, .ok = true};
  nw_pool *pool = p->pool;
  char name[NW_NAME_MOST + 32];
  x.p->step = p->step;
  snprintf(name, sizeof name, "%s.rounds", f->size->name);
  x.rounds = nw_var(pool, name);
  x.value = nw_sub(pool, x.rounds, nw_index(pool, f->more));
  x.whole = nw_mul(pool, x.rounds, f->quotient->arg[1]);
  add_rounds(&x);
  replace_all(&x, x.quotient, x.value);
  f->exact ? make_exact(&x) : round_up(&x);
  x.ok = x.ok && is_gone(&x);
  nw_vec_free(&x.limited);
  if (!x.ok) return nw_program_release(x.p), NULL;
  nw_program *made = nw_program_freeze(x.p);
  if (!made || keeps_inits(p, made, p->root)) return made;
  nw_program_release(made);
  return NULL;
}

// ---- all sizes

static bool can_round(const nw_program *p) { return !p->unsafe && !nw_find_bound(p->root); }

bool nw_rounded(const nw_program *before, const nw_program *after, nw_program **was, nw_program **is) {
  finding f;
  *was = nw_program_retain(before);
  *is = nw_program_retain(after);
  bool ok = can_round(before) && can_round(after), any = false;
  for (int i = 0; i < MOST_ROUNDED && ok && find_size(*was, *is, &f); i++) {
    nw_program *b = rounded(*was, &f), *a = b ? rounded(*is, &f) : NULL;
    nw_program_release(*was);
    nw_program_release(*is);
    *was = b;
    *is = a;
    any = ok = a != NULL;
  }
  if (ok && any) return true;
  nw_program_release(*was);
  nw_program_release(*is);
  return false;
}
