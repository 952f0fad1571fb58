// double_buffer: what a stage computes for one round of a loop is computed in the round before, beside what that one uses.
//
// The storage moves out of the loop, with room for two rounds: a dimension along which the rounds move on is folded to what
// two of them use. What the first round uses is computed before the loop, in a copy of the nest.
#include "sched/fold.h"
#include "sched/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

typedef struct ahead {
  nw_step *st;
  nw_stmt *block, *loop;
  nw_path own; // of the block
  int at, top; // on it: the loop, and the block's own nest
  int64_t *rows; // per dimension: what two rounds use; 0 where they do not move
} ahead;

static const nw_expr *next_round(const ahead *x, const nw_expr *e) {
  nw_pool *pool = x->st->p->pool;
  return nw_subst(pool, e, x->loop->loop.var->name, nw_add(pool, x->loop->loop.var, nw_index(pool, 1)));
}

// ---- how far a round moves on

static bool rows_of_two(const ahead *x, const nw_expr *lo, const nw_expr *extent, int64_t *out) {
  nw_pool *pool = x->st->p->pool;
  nw_path path = x->own;
  path.n = x->at + 1;
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &path);
  const nw_expr *by = nw_simplify(&r, nw_sub(pool, next_round(x, lo), lo));
  nw_ranges_free(&r);
  int64_t step, rows;
  if (!nw_is_int(by, &step) || !nw_is_int(extent, &rows)) return false;
  *out = step ? rows + (step > 0 ? step : -step) : 0;
  return true;
}

static bool find_rows(ahead *x, const nw_stmt *alloc) {
  const char *name = alloc->alloc.buffer, *loop = x->loop->loop.var->name;
  bool moves = false;
  x->rows = NW_NEW_N(x->st->scratch, int64_t, alloc->alloc.n + 1);
  for (int d = 0; d < alloc->alloc.n; d++) {
    if (!nw_uses_var(alloc->alloc.min[d], loop)) continue;
    if (!rows_of_two(x, alloc->alloc.min[d], alloc->alloc.extent[d], &x->rows[d]))
      return nw_step_refuse(x->st, "then no fixed room is enough for two rounds", x->loop,
                            "rounds of %s do not move on evenly along dimension %d of %s", loop, d + 1, name);
    moves |= x->rows[d] > 0;
  }
  return moves || nw_step_refuse(x->st, "nothing tells their elements apart; compute it outside of that loop, once",
                                 x->loop, "every round of %s computes the same part of %s", loop, name);
}

// ---- may it

static bool can_double(ahead *x) {
  nw_step *st = x->st;
  const char *name = x->block->block.name, *buffer = x->block->block.target[0].buffer;
  if (!nw_can_move(st, x->block)) return false;
  if (nw_find_buffer(st->p, buffer)->nlayout)
    return nw_step_refuse(st, "a buffer has one layout", NULL, "%s has a layout already", buffer);
  x->loop = nw_loop_around(&x->own);
  if (!x->loop)
    return nw_step_refuse(st, "there is no round before; compute_at puts it into a loop", NULL, "%s is computed whole",
                          name);
  x->at = nw_path_index(&x->own, x->loop);
  x->top = nw_path_exclusive(&x->own);
  int alloc = nw_path_storage(&x->own, buffer);
  if (alloc < x->at)
    return nw_step_refuse(st, "a round finds there what others have left", x->loop, "%s is stored outside of %s", name,
                          x->loop->loop.var->name);
  return find_rows(x, x->own.at[alloc]);
}

// ---- the two nests

static nw_stmt *first_round(const ahead *x) {
  nw_stmt *top = x->own.at[x->top];
  nw_stmt *nest = nw_copy_stmt_as(x->st->p, top, nw_arena_printf(x->st->scratch, "%s.pre", nw_tree_what(top)));
  nw_stmt_subst(x->st->p, nest, x->loop->loop.var->name, x->loop->loop.begin);
  nw_guard_domain(x->st, nw_blocks_below(x->st->scratch, nest).at[0]);
  return nest;
}

static void go_ahead(const ahead *x) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *next = next_round(x, x->loop->loop.var);
  nw_stmt_subst(x->st->p, x->own.at[x->top], x->loop->loop.var->name, next);
  nw_block_guard(x->st->p, x->block, nw_le(pool, next, nw_loop_last(pool, x->loop)));
}

// The innermost loop around this one; the root if there is none.
static nw_stmt *outside(const ahead *x, nw_path *path) {
  int i = x->at - 1;
  while (i > 0 && x->own.at[i]->kind != NW_LOOP) i--;
  *path = x->own;
  path->n = i + 1;
  return x->own.at[i];
}

bool nw_apply_double_buffer(void *step) {
  nw_step *st = step;
  ahead x = {.st = st};
  nw_path around;
  x.block = nw_step_block(st, 0, &x.own);
  if (!x.block || !can_double(&x)) return false;
  nw_stmt *keep = outside(&x, &around);
  nw_box box = nw_box_read(st, x.block, keep, &around);
  nw_stmt *first = first_round(&x);
  go_ahead(&x);
  nw_kids_insert(st->p, x.own.at[x.at - 1], x.own.pos[x.at], first);
  for (int t = 0; t < x.block->block.ntargets; t++) {
    nw_buffer *b = nw_find_buffer(st->p, x.block->block.target[t].buffer);
    nw_splice_alloc(st->p, b->name);
    for (int d = 0; d < b->ndim; d++)
      if (x.rows[d]) nw_fold_buffer(st->p, b, d, x.rows[d]);
  }
  nw_store_around(st, keep, x.block, keep == st->p->root ? NULL : &box);
  nw_step_note(st, "%s is computed a round of %s ahead, %s for the first round before the loop", x.block->block.name,
               x.loop->loop.var->name, nw_blocks_below(st->scratch, first).at[0]->block.name);
  return true;
}
