// Pass: shortens serial loops to the iterations in which the reduction inside them gets a contribution.
//
// A sum over select(condition, x, 0) changes only where the condition holds. If a loop contains nothing else, its other
// iterations are left out. So a reduction over a triangle, over ragged rows or over the rows of a sparse matrix becomes a
// loop with these bounds, although it is scheduled as a reduction over a box. A conjunct of the condition that holds in
// all remaining iterations is dropped from the select.
//
// A conjunct has one of the forms S < E, S <= E, E < S and E <= S, where S = coef*variable + rest is affine, and E does not
// use the loop. The least or greatest value of `rest` over the loops inside tells in which iterations the conjunct may
// hold. E may read data; then its arithmetic may wrap. So E is limited to the values of S before it is used, which does
// not change the comparison. It is read before the loop, also if the loop then has no iterations. So every read in E must
// be inside its tensor there, and nothing inside the loop may write the tensor.
#include "ir/expr/fold.h"
#include "lower/pass.h"
#include "poly/poly.h"

typedef struct shortening {
  nw_program *p;
  nw_pool *pool;
  nw_path path; // to the block
  nw_stmt *block;
  int top; // position of the outermost statement that contains nothing but the block
  nw_vec raw, bound; // the conjuncts, in the variables of the block and of the loops; NULL: dropped
  bool dropped;
} shortening;

// The range that one loop gets: begin and end are NULL if they do not change.
typedef struct limits {
  const nw_expr *begin, *end;
} limits;

// ---- the condition of a block

// Returns the condition under which the block contributes; NULL if it always does.
static const nw_expr *condition_of(const nw_program *p, const nw_stmt *block) {
  const nw_expr *cond = NULL;
  for (int t = 0; t < block->block.ntargets; t++) {
    const nw_expr *e = block->block.target[t].value;
    nw_dtype dtype = nw_find_buffer(p, block->block.target[t].buffer)->dtype;
    if (nw_is_neutral(block, t, dtype, e)) continue;
    if (e->op != NW_OP_SELECT || (cond && e->arg[0] != cond)) return NULL;
    if (!nw_is_neutral(block, t, dtype, e->arg[2]) && !NW_MUTATED(bounds_any)) return NULL;
    cond = e->arg[0];
  }
  return cond;
}

static void keep_conditions(shortening *x) {
  nw_vec left = {0};
  for (int i = 0; i < x->raw.n; i++)
    if (x->bound.at[i]) nw_vec_push(&left, x->raw.at[i]);
  const nw_expr *cond = nw_conjunction(x->pool, left.n, left.at);
  for (int t = 0; t < x->block->block.ntargets; t++) {
    const nw_expr **value = &x->block->block.target[t].value, *e = *value;
    if (e->op != NW_OP_SELECT) continue; // always neutral
    *value = cond ? nw_choose(x->pool, cond, e->arg[1], e->arg[2]) : e->arg[1];
  }
  nw_vec_free(&left);
}

// ---- reads before a loop

static const nw_expr *outside_facts(const shortening *x, int at) {
  nw_vec conds = {0};
  nw_add_conjuncts(x->block->block.where, &conds);
  for (int i = conds.n - 1; i >= 0; i--) {
    bool inside = nw_uses_load(conds.at[i], NULL);
    for (int k = at; k < x->path.n - 1; k++)
      inside |= x->path.at[k]->kind == NW_LOOP && nw_uses_var(conds.at[i], x->path.at[k]->loop.var->name);
    if (inside) nw_vec_remove(&conds, i);
  }
  const nw_expr *cond = nw_conjunction(x->pool, conds.n, conds.at);
  nw_vec_free(&conds);
  return cond;
}

typedef struct safety {
  const shortening *x;
  const nw_ranges *r;
} safety;

// True if the whole tensor has storage, wherever the loop is.
static bool is_whole(const nw_buffer *b) {
  if (b->role != NW_TEMP) return true;
  if (!b->alloc) return false;
  for (int d = 0; d < b->ndim; d++)
    if (!nw_is_const(b->alloc->alloc.min[d], 0) || b->alloc->alloc.extent[d] != b->shape[d]) return false;
  return true;
}

static bool safe(void *env, const nw_expr *e) {
  const safety *s = env;
  nw_pool *pool = s->x->pool;
  if (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) return e->arg[1]->op == NW_OP_INT && e->arg[1]->i > 0;
  if (e->op == NW_OP_SELECT) return false;
  if (e->op != NW_OP_LOAD) return true;
  const nw_buffer *b = nw_find_buffer(s->x->p, e->name);
  if (!is_whole(b) || nw_block_writes(s->x->block, e->name)) return false;
  for (int d = 0; d < e->n && !NW_MUTATED(bounds_outside); d++)
    if (!nw_prove(s->r, nw_le(pool, nw_index(pool, 0), e->arg[d])) ||
        !nw_prove(s->r, nw_lt(pool, e->arg[d], b->shape[d])))
      return false;
  return true;
}

// True if e can be computed before the loop at position `at` of the path. If this needs the guard of the block, sets *guard
// to the part of it that must hold.
static bool is_safe(const shortening *x, int at, nw_ranges *around, const nw_expr *e, const nw_expr **guard) {
  safety s = {x, around};
  if (nw_visit(e, safe, &s)) return true;
  const nw_expr *facts = outside_facts(x, at);
  if (!facts) return false;
  nw_vec conds = {0};
  nw_add_conjuncts(facts, &conds);
  for (int i = 0; i < conds.n; i++) nw_ranges_fact(around, conds.at[i]);
  bool ok = nw_visit(e, safe, &s);
  for (int i = 0; i < conds.n; i++) nw_ranges_pop_fact(around);
  nw_vec_free(&conds);
  if (ok) *guard = facts;
  return ok;
}

// ---- one conjunct and one loop

typedef struct form {
  int64_t coef; // of the loop's variable in S; not 0
  const nw_expr *least, *most; // the extreme values of the rest of S over the hidden loops
  bool exact; // the rest of S does not use hidden loops
  const nw_expr *e;
  bool below; // S < E or S <= E; otherwise E < S or E <= S
  bool strict;
} form;

// True if the bounds of the loop at position `at` cannot use this loop of the path: it is inside, or it is a vector loop,
// whose lanes run the loops inside together.
static bool is_hidden(const shortening *x, int at, int i) {
  const nw_stmt *s = x->path.at[i];
  return s->kind == NW_LOOP && (i > at || (i < at && nw_is_vector_loop(s)));
}

static bool uses_hidden(const shortening *x, int at, const nw_expr *e) {
  for (int i = 0; i < x->path.n - 1; i++)
    if (is_hidden(x, at, i) && nw_uses_var(e, x->path.at[i]->loop.var->name)) return true;
  return false;
}

static bool is_fixed(const shortening *x, int at, const nw_expr *e) {
  return e && !uses_hidden(x, at, e) && !nw_uses_var(e, x->path.at[at]->loop.var->name);
}

// Reads S from an operand of the comparison. `r` has the ranges of all loops.
static bool read_affine(const shortening *x, int at, const nw_ranges *r, const nw_expr *s, form *f) {
  const char *var = x->path.at[at]->loop.var->name, *over[NW_MAX_DEPTH];
  const nw_expr *rest;
  int n = 0;
  if (s->data || !nw_affine(x->pool, s, 1, &var, &f->coef, &rest) || !f->coef || nw_uses_var(rest, var)) return false;
  for (int i = 0; i < x->path.n - 1; i++)
    if (is_hidden(x, at, i)) over[n++] = x->path.at[i]->loop.var->name;
  f->exact = !uses_hidden(x, at, rest);
  f->least = f->exact ? rest : nw_lower_over(r, rest, n, over);
  f->most = f->exact ? rest : nw_upper_over(r, rest, n, over);
  return is_fixed(x, at, f->least) && is_fixed(x, at, f->most) && !f->least->data && !f->most->data;
}

// Reads a conjunct. If no operand reads data, both are moved to S, and E is 0.
static bool read_form(const shortening *x, int at, const nw_ranges *r, const nw_expr *cond, form *f) {
  if ((cond->op != NW_OP_LT && cond->op != NW_OP_LE) || !nw_is_index(cond->arg[0])) return false;
  const nw_expr *a = cond->arg[0], *b = cond->arg[1];
  f->strict = cond->op == NW_OP_LT;
  if (!a->data && !b->data) {
    f->below = true;
    f->e = nw_index(x->pool, 0);
    return read_affine(x, at, r, nw_sub(x->pool, a, b), f);
  }
  f->below = b->data;
  f->e = f->below ? b : a;
  return is_fixed(x, at, f->e) && read_affine(x, at, r, f->below ? a : b, f);
}

// Returns E, limited so that its comparison with S does not change and no arithmetic on it exceeds 64 bits.
static const nw_expr *limited(nw_pool *pool, const form *f, const nw_expr *begin, const nw_expr *last) {
  const nw_expr *c = nw_index(pool, f->coef), *one = nw_index(pool, 1);
  const nw_expr *low = nw_add(pool, nw_mul(pool, c, f->coef > 0 ? begin : last), f->least),
                *high = nw_add(pool, nw_mul(pool, c, f->coef > 0 ? last : begin), f->most);
  bool unused = f->coef == 1 && nw_is_const(f->least, 0) && nw_is_const(f->most, 0) && f->below == f->strict;
  if (!f->e->data || unused) return f->e; // no arithmetic on E follows
  return nw_min(pool, nw_max(pool, f->e, nw_sub(pool, low, one)), nw_add(pool, high, one));
}

// Computes the iterations in which the conjunct may hold.
static limits solve(nw_pool *pool, const form *f, const nw_expr *begin, const nw_expr *last) {
  const nw_expr *one = nw_index(pool, 1), *e = limited(pool, f, begin, last);
  int64_t c = f->coef > 0 ? f->coef : -f->coef;
  const nw_expr *by = nw_index(pool, c), *round = nw_index(pool, c - 1);
  if (f->below) { // coef*v + least < d
    const nw_expr *d = f->strict ? e : nw_add(pool, e, one);
    if (f->coef > 0) return (limits){NULL, nw_floordiv(pool, nw_add(pool, nw_sub(pool, d, f->least), round), by)};
    return (limits){nw_add(pool, nw_floordiv(pool, nw_sub(pool, f->least, d), by), one), NULL};
  }
  const nw_expr *d = f->strict ? nw_add(pool, e, one) : e; // coef*v + most >= d
  if (f->coef > 0) return (limits){nw_floordiv(pool, nw_add(pool, nw_sub(pool, d, f->most), round), by), NULL};
  return (limits){NULL, nw_add(pool, nw_floordiv(pool, nw_sub(pool, f->most, d), by), one)};
}

// ---- one loop

// Sets the range of the loop, if it is shorter. The new range is within the old one, and its extent is not negative.
static bool set_range(const nw_ranges *around, nw_stmt *loop, limits to) {
  nw_pool *pool = around->pool;
  const nw_expr *begin = loop->loop.begin, *end = nw_simplify(around, nw_add(pool, begin, loop->loop.extent));
  const nw_expr *from = to.begin ? nw_simplify(around, nw_min(pool, nw_max(pool, to.begin, begin), end)) : begin;
  const nw_expr *until = to.end ? nw_simplify(around, nw_max(pool, nw_min(pool, to.end, end), from)) : end;
  if (nw_prove(around, nw_eq(pool, from, begin)) && nw_prove(around, nw_eq(pool, until, end))) return false;
  loop->loop.begin = from;
  loop->loop.extent = nw_simplify(around, nw_sub(pool, until, from));
  return true;
}

static void guard_loop(shortening *x, int at, const nw_expr *cond) {
  nw_stmt *loop = x->path.at[at], *guard = nw_new_like(x->p, NW_GUARD, loop);
  guard->guard.cond = cond;
  nw_kids_replace(x->path.at[at - 1], x->path.pos[at], guard);
  nw_kids_set(x->p, guard, 1, &loop);
}

static const nw_expr *both(nw_pool *pool, const nw_expr *a, const nw_expr *b, bool greater) {
  if (!a || !b) return a ? a : b;
  return greater ? nw_max(pool, a, b) : nw_min(pool, a, b);
}

static void shorten_loop(shortening *x, int at) {
  nw_stmt *loop = x->path.at[at];
  nw_path outside = x->path;
  nw_ranges r, around;
  const nw_expr *guard = NULL,
                *last = nw_sub(x->pool, nw_add(x->pool, loop->loop.begin, loop->loop.extent), nw_index(x->pool, 1));
  limits all = {NULL, NULL};
  bool exact[NW_MAX_TERMS] = {false};
  outside.n = at + 1;
  nw_ranges_of(&r, x->p, &x->path);
  nw_ranges_around(&around, x->p, &outside);
  for (int i = 0; i < x->bound.n && i < NW_MAX_TERMS; i++) {
    form f = {0};
    const nw_expr *needs = NULL;
    if (!x->bound.at[i] || !read_form(x, at, &r, x->bound.at[i], &f)) continue;
    if (!is_safe(x, at, &around, f.e, &needs)) continue;
    limits one = solve(x->pool, &f, loop->loop.begin, last);
    all = (limits){both(x->pool, all.begin, one.begin, true), both(x->pool, all.end, one.end, false)};
    exact[i] = f.exact;
    if (needs) guard = needs;
  }
  bool shorter = (all.begin || all.end) && set_range(&around, loop, all);
  for (int i = 0; i < x->bound.n && i < NW_MAX_TERMS; i++)
    if (exact[i]) x->bound.at[i] = NULL, x->dropped = true;
  if (shorter && guard) guard_loop(x, at, guard);
  nw_ranges_free(&r);
  nw_ranges_free(&around);
}

// ---- one block

static int top_of(const nw_path *path) {
  int top = path->n - 1;
  while (top > 1 && (path->at[top - 1]->kind == NW_LOOP || path->at[top - 1]->kind == NW_SEQ) &&
         path->at[top - 1]->nkids == 1)
    top--;
  return top;
}

static bool is_in_call(const nw_path *path) {
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_CALL) return true;
  return false;
}

static void shorten(nw_program *p, nw_stmt *block) {
  shortening x = {.p = p, .pool = p->pool, .block = block};
  const nw_expr *cond = condition_of(p, block);
  if (!cond || !nw_find(p, block->id, &x.path) || is_in_call(&x.path)) return;
  x.top = top_of(&x.path);
  nw_add_conjuncts(cond, &x.raw);
  for (int i = 0; i < x.raw.n; i++) nw_vec_push(&x.bound, (void *)nw_block_bound(p, block, x.raw.at[i]));
  for (int i = x.top; i < x.path.n - 1; i++) {
    const nw_stmt *s = x.path.at[i];
    if (s->kind == NW_LOOP && s->loop.mark == NW_SERIAL && !s->loop.nfused) shorten_loop(&x, i);
  }
  if (x.dropped) keep_conditions(&x);
  nw_vec_free(&x.raw);
  nw_vec_free(&x.bound);
}

static void collect(nw_stmt *s, nw_vec *out) {
  if (s->kind == NW_BLOCK && s->block.combiner != NW_PLAIN && !s->block.init_part && !s->block.has_init)
    nw_vec_push(out, s);
  for (int i = 0; i < s->nkids; i++) collect(s->kid[i], out);
}

// Threads of a grid run the iterations of a loop together, so the loops of a program with a grid keep their bounds.
nw_program *nw_pass_bounds(nw_program *p) {
  nw_vec blocks = {0};
  if (!nw_find_bound(p->root)) collect(p->root, &blocks);
  for (int i = 0; i < blocks.n; i++) shorten(p, blocks.at[i]);
  nw_vec_free(&blocks);
  return p;
}
