// Converts loops of a program to loops with affine bounds. A loop is split if expressions in its body divide its
// variable by constants, as in a fused loop.
#include "access/affine/affine_make.h"
#include "ir/program/tags.h"

enum { MOST_BLOCKS = 8 };

// The constants by which expressions in a loop's body divide the loop's variable. For each of these constants d, the
// loop is split into *blocks* of d iterations.
typedef struct blocks { // block sizes, in descending order
  int n;
  int64_t at[MOST_BLOCKS];
} blocks;

static const nw_form zero = {0};

static nw_form scaled(nw_maker *m, int64_t by, const nw_form *f, int64_t rest) {
  return nw_form_sum(m->s.arena, &zero, by, f, rest);
}

// ---- splitting

typedef struct search {
  nw_pool *pool;
  const char *name;
  blocks *found;
} search;

static void add_block(blocks *b, int64_t block) {
  int at = 0;
  while (at < b->n && b->at[at] > block) at++;
  if (block <= 1 || b->n == MOST_BLOCKS || (at < b->n && b->at[at] == block)) return;
  for (int i = b->n++; i > at; i--) b->at[i] = b->at[i - 1];
  b->at[at] = block;
}

static bool find_block(void *env, const nw_expr *e) {
  search *x = env;
  int64_t by, coef, offset;
  const nw_expr *rest;
  if ((e->op != NW_OP_FLOORDIV && e->op != NW_OP_FLOORMOD) || !nw_is_int(e->arg[1], &by) || by < 2) return true;
  if (e->arg[0]->type.lanes != 1 || !nw_affine(x->pool, e->arg[0], 1, &x->name, &coef, &rest)) return true;
  if (coef <= 0 || by % coef || (nw_is_int(rest, &offset) && offset % by)) return true;
  add_block(x->found, by / coef);
  return true;
}

static void find_in(search *x, const nw_expr *e) {
  if (e) nw_visit(e, find_block, x);
}

static void find_blocks(const nw_maker *m, const nw_nest *c, search *x) {
  if (c->stmt->kind == NW_LOOP) find_in(x, c->stmt->loop.begin), find_in(x, c->stmt->loop.extent);
  if (c->stmt->kind == NW_GUARD) find_in(x, c->stmt->guard.cond);
  for (int i = 0; i < c->nacts; i++) {
    const nw_site_code *s = m->w->site.at[c->act[i].site];
    if (c->act[i].kind == NW_ACT_TOUCH) find_in(x, s->where), find_in(x, s->when);
    if (c->act[i].kind == NW_ACT_UNLESS) find_in(x, c->act[i].when);
  }
  for (int i = 0; i < c->nkids; i++) find_blocks(m, c->kid[i], x);
}

// Finds the block sizes by which to split a loop whose variable is in lo..hi. Each block size divides the previous
// block size.
static blocks blocks_of(const nw_maker *m, const nw_nest *c, int64_t lo, int64_t hi) {
  blocks all = {0}, chain = {0};
  search x = {c->stmt->loop.var->pool, c->stmt->loop.var->name, &all};
  for (int i = 0; i < c->nkids; i++) find_blocks(m, c->kid[i], &x);
  for (int i = 0; i < all.n; i++) {
    int64_t b = all.at[i];
    if (nw_floordiv_i64(lo, b) == nw_floordiv_i64(hi, b)) continue;
    if (!chain.n || chain.at[chain.n - 1] % b == 0) chain.at[chain.n++] = b;
  }
  return chain;
}

// ---- loops

typedef struct wanted {
  const nw_nest *from;
  bool parallel;
  blocks by;
} wanted;

static nw_affine_node *new_loop(nw_maker *m, const wanted *x, int slot, const nw_bounds *begin, const nw_bounds *end) {
  nw_affine_node *loop = nw_maker_node(m, NW_AFFINE_LOOP);
  loop->name = nw_arena_strdup(m->s.arena, x->from->stmt->loop.var->name);
  loop->slot = slot;
  loop->step = 1;
  loop->nbegin = begin->n;
  loop->nend = end->n;
  loop->begin = nw_bounds_keep(&m->s, begin);
  loop->end = nw_bounds_keep(&m->s, end);
  loop->parallel = x->parallel;
  loop->chunk = x->parallel ? (int)nw_chunk_of(x->from->stmt) : 0;
  return loop;
}

static bool make_body(nw_maker *m, const wanted *x, const nw_form *value, nw_affine_node *to) {
  bool inside = m->inside;
  m->inside = inside || x->parallel;
  nw_affine_scope_push(&m->s, x->from->stmt->loop.var->name, value);
  bool ok = true;
  for (int i = 0; i < x->from->nkids && ok; i++) ok = nw_make_nest(m, x->from->kid[i], to);
  nw_affine_scope_pop(&m->s);
  m->inside = inside;
  return ok;
}

// Returns a bound of the block number. If `begin` is true, this is floor(first / block), where `first` is the loop's
// first value. Otherwise it is floor(last / block), where `last` is the loop's last value.
static nw_bounds in_blocks(nw_maker *m, const nw_bounds *b, int64_t block, bool begin) {
  nw_bounds out = {.n = b->n};
  for (int i = 0; i < b->n; i++) {
    const nw_affine_bound *x = &b->at[i];
    out.at[i] = (nw_affine_bound){scaled(m, 1, &x->form, begin ? x->div * (1 - block) : 0), x->div * block};
  }
  return out;
}

// True if b is a constant at which a block begins (if `plus` is 0) or ends (if `plus` is 1).
static bool is_even(const nw_bounds *b, int64_t block, int64_t plus) {
  return b->n == 1 && !b->at[0].form.n && b->at[0].div == 1 && (b->at[0].form.rest + plus) % block == 0;
}

// Finds a bound of the position inside a block of the loop `of`. The number of the block is in slot `outer`. Returns
// false with a diagnostic if the bound has too many forms.
static bool in_block(nw_maker *m, const wanted *of, const nw_bounds *b, int64_t block, int outer, bool begin,
                     nw_bounds *out) {
  *out = (nw_bounds){.n = 1, .at = {{.form.rest = begin ? 0 : block - 1, .div = 1}}};
  if (is_even(b, block, begin ? 0 : 1)) return true;
  nw_form slot = nw_form_slot(m->s.arena, outer);
  for (int i = 0; i < b->n; i++) {
    const nw_affine_bound *x = &b->at[i];
    nw_form f = nw_form_sum(m->s.arena, &x->form, -x->div * block, &slot, 0);
    if (out->n == NW_MOST_BOUNDS)
      return nw_fail(m->s.ctx, NW_ELIMIT, NULL, "a bound of %s is the minimum or maximum of more than %d expressions",
                     of->from->stmt->loop.var->name, NW_MOST_BOUNDS);
    out->at[out->n++] = (nw_affine_bound){f, x->div};
  }
  return true;
}

// Makes the loops. The value of the program's loop variable is `base` plus the variable of the innermost of these
// loops.
static bool make_loops(nw_maker *m, const wanted *x, int block, const nw_bounds *begin, const nw_bounds *end,
                       nw_form base, nw_affine_node *to) {
  int64_t lo, hi;
  nw_bounds_range(&m->s, begin, end, &lo, &hi);
  if (lo > hi) return true;
  if (lo == INT64_MIN || hi == INT64_MAX)
    return nw_fail(m->s.ctx, NW_ELIMIT, NULL, "the number of iterations of %s is not known",
                   x->from->stmt->loop.var->name);
  if (block == x->by.n) {
    nw_affine_node *loop = new_loop(m, x, nw_affine_scope_slot(&m->s, lo, hi), begin, end);
    nw_form *value = NW_NEW(m->s.arena, nw_form), slot = nw_form_slot(m->s.arena, loop->slot);
    *value = nw_form_sum(m->s.arena, &base, 1, &slot, 0);
    return make_body(m, x, value, loop) && nw_maker_add(m, to, loop);
  }
  int64_t size = x->by.at[block];
  nw_bounds from = in_blocks(m, begin, size, true), until = in_blocks(m, end, size, false), inner_from, inner_until;
  int outer = nw_affine_scope_slot(&m->s, nw_floordiv_i64(lo, size), nw_floordiv_i64(hi, size));
  nw_affine_node *loop = new_loop(m, x, outer, &from, &until);
  nw_form slot = nw_form_slot(m->s.arena, outer);
  base = nw_form_sum(m->s.arena, &base, size, &slot, 0);
  return in_block(m, x, begin, size, outer, true, &inner_from) &&
         in_block(m, x, end, size, outer, false, &inner_until) &&
         make_loops(m, x, block + 1, &inner_from, &inner_until, base, loop) && nw_maker_add(m, to, loop);
}

static bool make_bounded(nw_maker *m, const nw_nest *c, const nw_bounds *begin, const nw_bounds *end,
                         nw_affine_node *to) {
  wanted x = {.from = c, .parallel = c->stmt->loop.mark == NW_PARALLEL && !m->inside};
  int64_t lo, hi;
  nw_bounds_range(&m->s, begin, end, &lo, &hi);
  if (lo > hi) return true;
  if (!x.parallel) x.by = blocks_of(m, c, lo, hi);
  return make_loops(m, &x, 0, begin, end, zero, to);
}

// Replaces max(v, extent) by `extent` if v <= 0, since a loop with a negative extent has no iterations either.
static const nw_expr *without_zero(const nw_expr *extent) {
  while (extent->op == NW_OP_MAX) {
    int64_t v;
    int side = nw_is_int(extent->arg[0], &v) && v <= 0 ? 1 : nw_is_int(extent->arg[1], &v) && v <= 0 ? 0 : -1;
    if (side < 0) break;
    extent = extent->arg[side];
  }
  return extent;
}

// If `begin` is a single form and `extent` is a minimum of forms, makes the loop and sets *made to true. Otherwise sets
// *made to false. Returns false with a diagnostic if the loop cannot be made.
static bool make_plain(nw_maker *m, const nw_nest *c, nw_affine_node *to, bool *made) {
  nw_form begin, last;
  nw_bounds from = {0}, until = {0};
  *made = nw_one_form(&m->s, c->stmt->loop.begin, &begin);
  if (!*made) return true;
  last = scaled(m, 1, &begin, -1);
  *made = nw_bounds_of(&m->s, without_zero(c->stmt->loop.extent), &last, false, &until) &&
          nw_bounds_add(&m->s, &from, (nw_affine_bound){begin, 1}, true);
  return !*made || make_bounded(m, c, &from, &until, to);
}

// Makes a loop for each combination of a case of `begin` and a case of `extent`. Each of these loops has its own copy
// of the body.
static bool make_cases(nw_maker *m, const nw_nest *c, nw_affine_node *to) {
  nw_cases b, e;
  if (!nw_cases_of(&m->s, c->stmt->loop.begin, &b) || !nw_cases_of(&m->s, c->stmt->loop.extent, &e)) return false;
  for (int i = 0; i < b.n; i++)
    for (int k = 0; k < e.n; k++) {
      nw_conds when;
      nw_bounds from = {0}, until = {0};
      if (!nw_conds_join(&m->s, &b.at[i].when, &e.at[k].when, &when)) continue;
      nw_affine_node *in = nw_maker_where(m, to, &when);
      nw_form last = nw_form_sum(m->s.arena, &b.at[i].value, 1, &e.at[k].value, -1);
      nw_bounds_add(&m->s, &from, (nw_affine_bound){b.at[i].value, 1}, true);
      nw_bounds_add(&m->s, &until, (nw_affine_bound){last, 1}, false);
      if (!in || !make_bounded(m, c, &from, &until, in)) return false;
    }
  return true;
}

bool nw_make_loop(nw_maker *m, const nw_nest *c, nw_affine_node *to) {
  int quotients = m->s.quotient.n;
  bool made;
  nw_affine_node *all = nw_maker_node(m, NW_AFFINE_SEQ);
  if (!make_plain(m, c, all, &made) || (!made && !make_cases(m, c, all))) return false;
  all = nw_maker_wrap(m, all, quotients);
  if (all->kind == NW_AFFINE_LOOP) return nw_maker_add(m, to, all);
  for (int i = 0; i < all->nkids; i++)
    if (!nw_maker_add(m, to, all->kid[i])) return false;
  return true;
}
