// store_at: keeps the storage of a stage over the iterations of the loops between its allocation and its computation.
// Elements that an earlier iteration computed are then not computed again.
//
// Iteration y uses the rows lo(y)..hi(y), and computes only the rows hi(y-1)+1..hi(y). The first iteration also uses
// earlier rows, which the loop does not compute. A copy of the nest before the loop computes these rows.
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

typedef struct slide {
  nw_step *st;
  nw_path path; // the path from the root to the stage's block
  int top; // index on the path of the outermost loop of the stage's own nest
  int home; // index of the allocation on the path
  const nw_stmt *over; // the loop along which the rows slide: the innermost loop around the nest
  int at; // index of `over` on the path
  nw_block_var *var; // the variable whose range moves with `over`
  nw_stmt *loop; // the stage's own loop along `var`
  const nw_expr *lo, *hi; // range of `var` in one iteration
  int before; // index on the path of the loop before which the first rows are computed
  const nw_expr *first, *next; // begin and end (exclusive) of the first rows
} slide;

static nw_stmt *block_of(const slide *x) { return x->path.at[x->path.n - 1]; }

// ---- the moving dimension

static int own_loops(const slide *x, const char **name) {
  int n = 0;
  for (int i = x->top; i < x->path.n - 1; i++) name[n++] = x->path.at[i]->loop.var->name;
  return n;
}

static const nw_expr *end_of_range(const slide *x, const nw_block_var *v, bool least) {
  const char *own[NW_MAX_DEPTH];
  int n = own_loops(x, own);
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &x->path);
  const nw_expr *e = least ? nw_lower_over(&r, v->bind, n, own) : nw_upper_over(&r, v->bind, n, own);
  if (e) e = nw_simplify(&r, e);
  nw_ranges_free(&r);
  return e;
}

static bool moves(const slide *x, const nw_block_var *v) {
  const nw_expr *hi = v->kind == NW_REDUCE ? NULL : end_of_range(x, v, false);
  return hi && nw_uses_var(hi, x->over->loop.var->name);
}

// Returns the stage's loop over only this variable, or NULL if that loop was split or marked.
static nw_stmt *loop_along(const slide *x, const nw_block_var *v) {
  nw_stmt *found = NULL;
  for (int i = x->top; i < x->path.n - 1; i++) {
    nw_stmt *s = x->path.at[i];
    int64_t coef;
    const nw_expr *rest;
    if (!nw_uses_var(v->bind, s->loop.var->name)) continue;
    if (found || s->loop.mark != NW_SERIAL || s->loop.nfused || !nw_is_const(s->loop.begin, 0)) return NULL;
    if (!nw_affine(x->st->p->pool, v->bind, 1, (const char *[]){s->loop.var->name}, &coef, &rest) || coef != 1)
      return NULL;
    found = s;
  }
  return found;
}

static bool find_moving(slide *x) {
  const char *name = block_of(x)->block.name, *over = x->over->loop.var->name;
  for (int i = 0; i < block_of(x)->block.nvars; i++) {
    nw_block_var *v = &block_of(x)->block.var[i];
    if (!moves(x, v)) continue;
    if (x->var)
      return nw_step_refuse(x->st, "the new elements of an iteration would not form a box", x->over,
                            "%s and %s both move along %s", x->var->var->name, v->var->name, over);
    x->var = v;
  }
  if (!x->var)
    return nw_step_refuse(x->st, "compute the stage outside that loop", x->over,
                          "every iteration of %s computes the same part of %s", over, name);
  x->loop = loop_along(x, x->var);
  if (!x->loop)
    return nw_step_refuse(x->st, "store_at must shorten that loop: use store_at before splitting or marking it",
                          x->over, "the loop of %s along %s was split or marked", name, x->var->var->name);
  x->lo = end_of_range(x, x->var, true);
  x->hi = end_of_range(x, x->var, false);
  return x->lo || nw_step_refuse(x->st, "the new elements of an iteration are not known", x->over,
                                 "the part of %s that an iteration computes has no known first element", name);
}

// ---- ranges of rows

static const nw_expr *plus(const slide *x, const nw_expr *e, int64_t n) {
  return nw_add(x->st->p->pool, e, nw_index(x->st->p->pool, n));
}

static const nw_expr *in_round(const slide *x, const nw_expr *e, const nw_stmt *loop, const nw_expr *round) {
  return nw_subst(x->st->p->pool, e, loop->loop.var->name, round);
}

static const nw_expr *round_before(const slide *x, const nw_expr *e, const nw_stmt *loop) {
  return in_round(x, e, loop, plus(x, loop->loop.var, -1));
}

static bool proven(const slide *x, int depth, const nw_expr *cond) {
  nw_path path = x->path;
  path.n = depth;
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &path);
  bool sure = nw_prove(&r, cond);
  nw_ranges_free(&r);
  return sure;
}

// Finds where the first rows are computed. If each iteration of an outer loop continues where the previous iteration
// ended, the first rows are computed before the outer loop.
static void find_first(slide *x, int keep) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *end = plus(x, x->hi, 1), *last = in_round(x, end, x->over, nw_loop_last(pool, x->over));
  x->before = x->at;
  x->first = in_round(x, x->lo, x->over, x->over->loop.begin);
  x->next = in_round(x, round_before(x, end, x->over), x->over, x->over->loop.begin);
  for (int i = x->at - 1; i > keep && x->path.at[i]->kind == NW_LOOP; i--) {
    const nw_stmt *loop = x->path.at[i];
    if (!proven(x, i + 1, nw_eq(pool, x->next, round_before(x, last, loop)))) break;
    x->before = i;
    x->first = in_round(x, x->first, loop, loop->loop.begin);
    x->next = in_round(x, x->next, loop, loop->loop.begin);
    last = in_round(x, last, loop, nw_loop_last(pool, loop));
  }
}

// Makes the stage's own loop run over `rows` rows, shifted by `shift`. If `rows` is not constant, the loop has as many
// iterations as the maximum of `rows`, and a guard skips the rows beyond the end.
static void set_rows(const slide *x, nw_stmt *nest, nw_stmt *loop, const nw_expr *shift, const nw_expr *rows,
                     int depth) {
  nw_pool *pool = x->st->p->pool;
  nw_path path = x->path;
  path.n = depth;
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &path);
  int64_t most;
  rows = nw_simplify(&r, rows);
  const nw_expr *var = loop->loop.var, *fixed = rows;
  if (!nw_is_int(rows, &most) && nw_const_upper(&r, rows, &most)) fixed = nw_index(pool, most > 0 ? most : 0);
  loop->loop.extent = fixed;
  loop->step = x->st->p->step;
  nw_stmt *block = nw_blocks_below(x->st->scratch, nest).at[0];
  nw_stmt_subst(x->st->p, nest, var->name, nw_add(pool, var, nw_simplify(&r, shift)));
  if (fixed != rows) nw_block_guard(x->st->p, block, nw_lt(pool, var, rows));
  block->step = x->st->p->step;
  nw_ranges_free(&r);
}

// ---- the two nests

// Makes a copy of the nest. The copy runs before the loop, and computes the first rows. The variables of the loops that
// are not around the copy are replaced by their first values. The replacement begins with the innermost loop, because
// the first value of a loop may depend on outer loops.
static nw_stmt *first_rows(const slide *x) {
  nw_pool *pool = x->st->p->pool;
  const nw_stmt *top = x->path.at[x->top];
  const char *name = nw_arena_printf(x->st->scratch, "%s.pre", top->loop.var->name);
  nw_stmt *nest = nw_copy_stmt_as(x->st->p, top, name), *loop = nest;
  for (int i = x->top; x->path.at[i] != x->loop; i++) loop = loop->kid[0];
  for (int i = x->at; i >= x->before; i--)
    if (x->path.at[i]->kind == NW_LOOP)
      nw_stmt_subst(x->st->p, nest, x->path.at[i]->loop.var->name, x->path.at[i]->loop.begin);
  set_rows(x, nest, loop, nw_index(pool, 0), nw_sub(pool, x->next, x->first), x->before);
  nw_guard_domain(x->st, nw_blocks_below(x->st->scratch, nest).at[0]);
  return nest;
}

// Makes each iteration compute only the rows that the previous iterations have not computed.
static void new_rows(const slide *x) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *end = plus(x, x->hi, 1), *next = round_before(x, end, x->over);
  set_rows(x, x->path.at[x->top], x->loop, nw_sub(pool, next, x->lo), nw_sub(pool, end, next), x->top);
}

static void slide_along(slide *x, int keep) {
  nw_step *st = x->st;
  const char *name = block_of(x)->block.name, *over = x->over->loop.var->name;
  if (!proven(x, x->top, nw_le(st->p->pool, x->lo, round_before(x, x->hi, x->over)))) {
    nw_step_note(st, "iterations of %s share no elements of %s: only its storage moves", over, name);
    return;
  }
  find_first(x, keep);
  nw_stmt *nest = first_rows(x);
  new_rows(x);
  nw_kids_insert(st->p, x->path.at[x->before - 1], x->path.pos[x->before], nest);
  nw_step_note(st,
               "%s slides along %s: an iteration computes only new elements; %s computes the other elements of the "
               "first iteration",
               name, over, nw_blocks_below(st->scratch, nest).at[0]->block.name);
}

// ---- the step

static int loop_above(const nw_path *path, int from) {
  while (from > 0 && path->at[from]->kind != NW_LOOP) from--;
  return from;
}

static bool can_hold(slide *x, const nw_stmt *keep, int at) {
  const char *name = block_of(x)->block.name;
  x->at = loop_above(&x->path, x->top - 1);
  if (at < 0)
    return nw_step_refuse(x->st, "first use compute_at to move it into that loop", keep,
                          "it is not computed inside that loop");
  if (loop_above(&x->path, x->home) <= at)
    return nw_step_refuse(x->st, "store_at can only move storage outward", keep,
                          "%s is already stored there or further out", name);
  x->over = x->path.at[x->at];
  return true;
}

bool nw_apply_store_at(void *step) {
  nw_step *st = step;
  slide x = {.st = st};
  nw_path outside = {.n = 1, .at = {st->p->root}};
  nw_stmt *block = nw_step_block(st, 0, &x.path), *loop = NULL;
  if (!block || (nw_step_given(st, 1) && !(loop = nw_step_loop(st, 1, &outside))) || !nw_can_move(st, block))
    return false;
  nw_stmt *keep = loop ? loop : st->p->root;
  x.top = nw_path_exclusive(&x.path);
  x.home = nw_path_storage(&x.path, block->block.target[0].buffer);
  int at = nw_path_index(&x.path, keep);
  if (!can_hold(&x, loop, at) || !find_moving(&x)) return false;
  nw_box box = nw_box_read(st, block, keep, &outside);
  slide_along(&x, at);
  for (int t = 0; t < block->block.ntargets; t++) nw_splice_alloc(st->p, block->block.target[t].buffer);
  nw_store_around(st, keep, block, loop ? &box : NULL);
  return true;
}
