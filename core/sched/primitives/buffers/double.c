// double_buffer: each iteration of a loop uses a part of a stage. After the step, this part is computed one or more
// iterations before it is used.
//
// An iteration is in flight if its part is computed, but not yet used. The storage is moved out of the loop, and holds
// the parts of all iterations in flight. If the parts of successive iterations move along a dimension, the storage is
// cyclic in this dimension (fold.h). The number of positions along this dimension is the number that the iterations in
// flight use together. Copies of the nest are placed before the loop, and compute the parts of the first iterations.
#include "sched/primitives/buffers/fold.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

enum { STAGE, AHEAD, MOST_AHEAD = 16 };

typedef struct ahead {
  nw_step *st;
  int64_t by; // number of iterations by which the stage is computed ahead
  nw_stmt *block, *loop;
  nw_path own; // the path from the root to the block
  int at, top; // indices on the path `own`: `at` of the loop, `top` of the block's own nest
  // For each dimension: number of positions that the iterations in flight use; 0 if the parts do not move along it.
  int64_t *rows;
} ahead;

static const nw_expr *later_round(const ahead *x, const nw_expr *e, int64_t by) {
  nw_pool *pool = x->st->p->pool;
  return nw_subst(pool, e, x->loop->loop.var->name, nw_add(pool, x->loop->loop.var, nw_index(pool, by)));
}

// ---- the step of an iteration

static bool rows_under_way(const ahead *x, const nw_expr *lo, const nw_expr *extent, int64_t *out) {
  nw_pool *pool = x->st->p->pool;
  nw_path path = x->own;
  path.n = x->at + 1;
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &path);
  const nw_expr *by = nw_simplify(&r, nw_sub(pool, later_round(x, lo, 1), lo));
  nw_ranges_free(&r);
  int64_t step, rows;
  if (!nw_is_int(by, &step) || !nw_is_int(extent, &rows)) return false;
  *out = step ? rows + x->by * (step > 0 ? step : -step) : 0;
  return true;
}

static bool find_rows(ahead *x, const nw_stmt *alloc) {
  const char *name = alloc->alloc.buffer, *loop = x->loop->loop.var->name;
  bool moves = false;
  x->rows = NW_NEW_N(x->st->scratch, int64_t, alloc->alloc.n + 1);
  for (int d = 0; d < alloc->alloc.n; d++) {
    if (!nw_uses_var(alloc->alloc.min[d], loop)) continue;
    if (!rows_under_way(x, alloc->alloc.min[d], alloc->alloc.extent[d], &x->rows[d]))
      return nw_step_refuse(x->st, "no fixed amount of storage is sufficient for all iterations in flight", x->loop,
                            "iterations of %s do not move in constant steps along dimension %d of %s", loop, d + 1,
                            name);
    moves |= x->rows[d] > 0;
  }
  return moves ||
         nw_step_refuse(x->st, "iterations could not have separate storage; compute it once, outside that loop",
                        x->loop, "every iteration of %s computes the same part of %s", loop, name);
}

// ---- conditions

// Returns the index on the path at which the nest of the block begins. If instructions compute it, their calls are a part of it.
static int nest_top(const nw_path *own) {
  nw_path part = *own;
  int top = nw_path_exclusive(&part);
  while (top > 0 && own->at[top - 1]->kind == NW_CALL && !NW_MUTATED(double_without_call)) {
    part.n = top;
    top = nw_path_exclusive(&part);
  }
  return top;
}

static bool ahead_ok(nw_step *st, int64_t by) {
  if (by >= 1 && by <= MOST_AHEAD) return true;
  const char *hint = nw_arena_printf(st->scratch, "give 1 to %d iterations", MOST_AHEAD);
  return nw_fail(st->ctx, NW_ERANGE, hint, "double_buffer: ahead = %lld is out of range", (long long)by);
}

static bool can_double(ahead *x) {
  nw_step *st = x->st;
  const char *name = x->block->block.name, *buffer = x->block->block.target[0].buffer;
  if (!nw_can_move(st, x->block)) return false;
  if (!nw_can_fold_buffer(nw_find_buffer(st->p, buffer)))
    return nw_step_refuse(st, "only a layout that reorders the dimensions can become cyclic", NULL,
                          "%s already has a layout", buffer);
  x->loop = nw_loop_around(&x->own);
  if (!x->loop)
    return nw_step_refuse(st, "the stage is not in a loop: use compute_at to move it into one", NULL,
                          "%s is computed as a whole", name);
  x->at = nw_path_index(&x->own, x->loop);
  x->top = nest_top(&x->own);
  int alloc = nw_path_storage(&x->own, buffer);
  if (alloc < x->at)
    return nw_step_refuse(st, "all iterations share the same storage", x->loop, "%s is stored outside %s", name,
                          x->loop->loop.var->name);
  return find_rows(x, x->own.at[alloc]);
}

// ---- the two nests

// Makes a nest that runs before the loop, and computes the part for iteration r. If r is not 0, a guard skips the nest
// if the loop has no iteration r.
static nw_stmt *early_round(const ahead *x, int64_t r) {
  nw_program *p = x->st->p;
  nw_stmt *top = x->own.at[x->top];
  const nw_expr *round = nw_add(p->pool, x->loop->loop.begin, nw_index(p->pool, r));
  const nw_stmt *named = top;
  while (named->kind == NW_CALL) named = named->kid[0];
  const char *name =
      nw_arena_printf(x->st->scratch, r ? "%s.pre%lld" : "%s.pre", nw_tree_what(named), (long long)r + 1);
  nw_stmt *nest = nw_copy_stmt_as(p, top, name), *block = nw_blocks_below(x->st->scratch, nest).at[0];
  nw_stmt_subst(p, nest, x->loop->loop.var->name, round);
  nw_guard_domain(x->st, block);
  if (r) nw_block_guard(p, block, nw_le(p->pool, round, nw_loop_last(p->pool, x->loop)));
  return nest;
}

static void go_ahead(const ahead *x) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *later = later_round(x, x->loop->loop.var, x->by);
  nw_stmt_subst(x->st->p, x->own.at[x->top], x->loop->loop.var->name, later);
  nw_block_guard(x->st->p, x->block, nw_le(pool, later, nw_loop_last(pool, x->loop)));
}

// Returns the innermost loop around the loop of the step, or the root if there is none. *path is set to the path of the
// result.
static nw_stmt *outside(const ahead *x, nw_path *path) {
  int i = x->at - 1;
  while (i > 0 && x->own.at[i]->kind != NW_LOOP) i--;
  *path = x->own;
  path->n = i + 1;
  return x->own.at[i];
}

static void note_rounds(const ahead *x, const nw_stmt *first) {
  const char *name = x->block->block.name, *loop = x->loop->loop.var->name;
  const char *before = nw_blocks_below(x->st->scratch, first).at[0]->block.name;
  if (x->by == 1)
    nw_step_note(x->st,
                 "%s is computed one iteration of %s ahead; %s computes the first iteration's part before the loop",
                 name, loop, before);
  else
    nw_step_note(x->st,
                 "%s is computed %lld iterations of %s ahead; %s and %lld more compute the first iterations' parts "
                 "before the loop",
                 name, (long long)x->by, loop, before, (long long)x->by - 1);
}

bool nw_apply_double_buffer(void *step) {
  nw_step *st = step;
  ahead x = {.st = st, .by = nw_step_int(st, AHEAD, 1)};
  nw_path around;
  x.block = nw_step_block(st, STAGE, &x.own);
  if (!x.block || !ahead_ok(st, x.by) || !can_double(&x)) return false;
  nw_stmt *keep = outside(&x, &around);
  nw_box box = nw_box_read(st, x.block, keep, &around);
  nw_stmt *early[MOST_AHEAD];
  for (int r = 0; r < x.by; r++) early[r] = early_round(&x, r);
  go_ahead(&x);
  for (int r = 0; r < x.by; r++) nw_kids_insert(st->p, x.own.at[x.at - 1], x.own.pos[x.at] + r, early[r]);
  for (int t = 0; t < x.block->block.ntargets; t++) {
    nw_buffer *b = nw_find_buffer(st->p, x.block->block.target[t].buffer);
    nw_splice_alloc(st->p, b->name);
    for (int d = 0; d < b->ndim; d++)
      if (x.rows[d]) nw_fold_buffer(st->p, b, d, x.rows[d]);
  }
  nw_store_around(st, keep, x.block, keep == st->p->root ? NULL : &box);
  note_rounds(&x, early[0]);
  return true;
}
