// rfactor: splits a reduction into two stages. The first stage computes a partial result for each iteration of one
// reduction loop, and the second stage combines the partial results.
//
// The partial results have a new dimension, with one position for each iteration of the chosen loop. The old nest now
// computes the partial results. The stage itself gets a new nest, which combines them. The new nest consists of copies
// of the stage's loops along the output, and of a loop over the new dimension. If a guard skips iterations of the
// reduction, a select replaces the guard. The select gives the neutral element in these iterations, so that every
// partial result has its init and its full number of updates.
#include "sched/primitives/nest.h"
#include "sched/primitives.h"
#include "sched/rounding.h"
#include "sched/site.h"
#include "sched/primitives/storage.h"
#include "sched/tree.h"

enum { RF_STAGE, RF_LOOP, RF_AXIS };

// ---- conditions

static int writers(nw_step *st, const char *buffer) {
  nw_blocks b = nw_blocks_below(st->scratch, st->p->root);
  int n = 0;
  for (int i = 0; i < b.n; i++) n += nw_block_writes(b.at[i], buffer);
  return n;
}

static bool whole_reduction(nw_step *st, const nw_stmt *block) {
  if (block->block.combiner == NW_PLAIN)
    return nw_step_refuse(st, "only a reduction has partial results", NULL, "it is not a reduction");
  if (!block->block.has_init)
    return nw_step_refuse(st, "each partial result needs its own init: use rfactor first", NULL,
                          "its init was split off");
  for (int t = 0; t < block->block.ntargets; t++)
    if (writers(st, block->block.target[t].buffer) != 1)
      return nw_step_refuse(st, "the pieces cannot be factored separately: use rfactor before a tail is cut", NULL,
                            "%d blocks write it", writers(st, block->block.target[t].buffer));
  return true;
}

static bool reduces_alone(nw_step *st, const nw_factoring *f, const nw_stmt *loop) {
  const char *name = loop->loop.var->name;
  if (nw_loop_binds(f->block, loop, false))
    return nw_step_refuse(st, "its iterations already correspond to a dimension of the output", loop,
                          "%s runs over both the reduction and the output", name);
  if (!nw_factor_bounds(f, loop))
    return nw_step_refuse(st, "a dimension must have the same extent for all elements", loop,
                          "the bounds of %s depend on other loops", name);
  return true;
}

static bool find_loops(nw_step *st, nw_factoring *f, const nw_stmt *loop) {
  bool found = false;
  f->top = nw_path_exclusive(&f->path);
  for (int i = 1; i < f->path.n - 1; i++) {
    nw_stmt *s = f->path.at[i];
    if (s->kind != NW_LOOP || !nw_loop_binds(f->block, s, true)) continue;
    if (!reduces_alone(st, f, s)) return false;
    if (i < f->top) f->top = i;
    f->part[f->nred] = s == loop;
    f->red[f->nred++] = s;
    found |= s == loop;
  }
  if (found)
    return nw_stays_clear(st, &f->path, f->top, f->block,
                          "the combination of the partial results is outside the reduction loops");
  return nw_step_refuse(st, "partial results need a reduction loop", loop, "%s is not a reduction loop",
                        loop->loop.var->name);
}

// Checks that no guard depends on both reduction loops and other loops.
static bool guards_part(nw_step *st, const nw_factoring *f, const nw_stmt *loop) {
  return nw_factor_guards(f) ||
         nw_step_refuse(st, "the neutral element can replace only iterations that a guard of the reduction skips", loop,
                        "a guard depends on both the reduction and the output");
}

static bool axis_of(nw_step *st, nw_factoring *f) {
  int64_t axis = nw_step_int(st, RF_AXIS, 0);
  int n = f->block->block.target[0].n;
  if (axis < -1 - n || axis > n) {
    nw_fail(st->ctx, NW_ERANGE, "0: the first dimension; -1: the last",
            "rfactor: factor_axis must be %d to %d, not %lld", -1 - n, n, (long long)axis);
    return false;
  }
  f->axis = (int)(axis < 0 ? axis + n + 1 : axis);
  return true;
}

// ---- the combination of the partial results

static void put_behind(nw_step *st, const nw_factoring *f, nw_stmt *nest) {
  nw_stmt *parent = f->path.at[f->top - 1], *around = NULL;
  nw_path outside;
  nw_kids_insert(st->p, parent, f->path.pos[f->top] + 1, nest);
  for (int i = f->top - 1; i > 0 && !around; i--)
    if (f->path.at[i]->kind == NW_LOOP) around = f->path.at[i];
  if (!around) return nw_store_around(st, parent, f->block, NULL);
  nw_find(st->p, around->id, &outside);
  nw_box box = nw_box_read(st, f->block, around, &outside);
  nw_store_around(st, parent, f->block, &box);
}

bool nw_apply_rfactor(void *step) {
  nw_step *st = step;
  nw_factoring f = {.p = st->p, .scope = NW_GLOBAL, .suffix = "_rf"};
  f.block = nw_step_block(st, RF_STAGE, &f.path);
  nw_stmt *loop = f.block ? nw_step_loop(st, RF_LOOP, NULL) : NULL;
  if (!loop || !whole_reduction(st, f.block) || !find_loops(st, &f, loop) || !guards_part(st, &f, loop) ||
      !axis_of(st, &f))
    return false;
  nw_stmt *nest = nw_factor(&f);
  put_behind(st, &f, nest);
  if (nw_rounds(st->p, nw_factor_combination(nest)))
    nw_step_rounds(st, "rounding may change: floats are summed in another order");
  nw_step_returns_stage(st, f.block->block.name);
  return true;
}
