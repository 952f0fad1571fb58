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

typedef struct factoring {
  nw_path path;
  nw_stmt *block, *loop;
  int top; // index on the path of the outermost loop that belongs only to the stage, or that the stage reduces along
  int axis; // position of the new dimension
  int nred; // number of reduction loops
  nw_stmt *red[NW_MAX_DEPTH]; // the reduction loops, outermost first
  const nw_expr *var[NW_MAX_DEPTH]; // the block variable that stands for each reduction loop
} factoring;

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

static bool only_sizes(const nw_path *path, const nw_expr *e) {
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && nw_uses_var(e, path->at[i]->loop.var->name)) return false;
  return true;
}

static bool reduces_alone(nw_step *st, const factoring *f, const nw_stmt *loop) {
  const char *name = loop->loop.var->name;
  if (nw_loop_binds(f->block, loop, false))
    return nw_step_refuse(st, "its iterations already correspond to a dimension of the output", loop,
                          "%s runs over both the reduction and the output", name);
  if (!only_sizes(&f->path, loop->loop.begin) || !only_sizes(&f->path, loop->loop.extent))
    return nw_step_refuse(st, "a dimension must have the same extent for all elements", loop,
                          "the bounds of %s depend on other loops", name);
  return true;
}

static bool find_loops(nw_step *st, factoring *f) {
  bool found = false;
  f->top = nw_path_exclusive(&f->path);
  for (int i = 1; i < f->path.n - 1; i++) {
    nw_stmt *s = f->path.at[i];
    if (s->kind != NW_LOOP || !nw_loop_binds(f->block, s, true)) continue;
    if (!reduces_alone(st, f, s)) return false;
    if (i < f->top) f->top = i;
    f->red[f->nred++] = s;
    found |= s == f->loop;
  }
  if (found)
    return nw_stays_clear(st, &f->path, f->top, f->block,
                          "the combination of the partial results is outside the reduction loops");
  return nw_step_refuse(st, "partial results need a reduction loop", f->loop, "%s is not a reduction loop",
                        f->loop->loop.var->name);
}

// Checks that no guard depends on both reduction loops and other loops.
static bool guards_part(nw_step *st, const factoring *f) {
  const nw_expr *term[NW_MAX_TERMS];
  int n = nw_conjuncts(f->block->block.where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++) {
    bool reduces = false, other = false;
    for (int p = 1; p < f->path.n - 1; p++) {
      const nw_stmt *s = f->path.at[p];
      if (s->kind != NW_LOOP || !nw_uses_var(term[i], s->loop.var->name)) continue;
      *(nw_loop_binds(f->block, s, true) ? &reduces : &other) = true;
    }
    if (reduces && other)
      return nw_step_refuse(st, "the neutral element can replace only iterations that a guard of the reduction skips",
                            f->loop, "a guard depends on both the reduction and the output");
  }
  return true;
}

static bool axis_of(nw_step *st, factoring *f) {
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

// ---- the partial results

static bool taken(const factoring *f, const char *name) {
  for (int i = 0; i < f->block->block.nvars; i++)
    if (f->block->block.var[i].kind != NW_REDUCE && !strcmp(f->block->block.var[i].var->name, name)) return true;
  return false;
}

static void name_vars(nw_step *st, factoring *f) {
  for (int i = 0; i < f->nred; i++) {
    const char *name = f->red[i]->loop.var->name;
    while (taken(f, name)) name = nw_arena_printf(st->scratch, "%s_", name);
    f->var[i] = nw_var(st->p->pool, name);
  }
}

// Replaces the variable of each reduction loop in e by the begin of the loop plus the block variable that stands for
// the loop, because these block variables start at 0.
static const nw_expr *in_vars(nw_step *st, const factoring *f, const nw_expr *e) {
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  for (int i = 0; i < f->nred; i++) {
    name[i] = f->red[i]->loop.var->name;
    by[i] = nw_add(st->p->pool, f->red[i]->loop.begin, f->var[i]);
  }
  return nw_subst_n(st->p->pool, e, f->nred, name, by);
}

static bool speaks_of_reduction(const factoring *f, const nw_expr *e) {
  for (int i = 0; i < f->nred; i++)
    if (nw_uses_var(e, f->red[i]->loop.var->name)) return true;
  return false;
}

// Returns the guards along the reduction, in terms of block variables, or NULL if there are none.
static const nw_expr *within(nw_step *st, const factoring *f) {
  const nw_expr *term[NW_MAX_TERMS], *cond = NULL;
  int n = nw_conjuncts(f->block->block.where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++)
    if (speaks_of_reduction(f, term[i])) cond = nw_and(st->p->pool, cond, in_vars(st, f, term[i]));
  return cond;
}

static const nw_expr *contribution(nw_step *st, const factoring *f, int t, const nw_expr *cond) {
  const nw_stmt *b = f->block;
  const nw_block_target *g = &b->block.target[t];
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  int n = 0;
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind == NW_REDUCE)
      name[n] = b->block.var[i].var->name, by[n++] = in_vars(st, f, b->block.var[i].bind);
  const nw_expr *value = nw_subst_n(st->p->pool, g->value, n, name, by);
  nw_dtype type = nw_find_buffer(st->p, g->buffer)->dtype;
  return cond ? nw_select(st->p->pool, cond, value, nw_combiner_identity(st->p->pool, b->block.combiner, type, t))
              : value;
}

static const nw_expr **with_dim(nw_step *st, const factoring *f, int n, const nw_expr *const *of, const nw_expr *dim) {
  const nw_expr **out = NW_NEW_N(st->p->arena, const nw_expr *, n + 1);
  for (int d = 0, at = 0; d <= n; d++) out[d] = d == f->axis ? dim : of[at++];
  return out;
}

static nw_block_var var_of(nw_step *st, const factoring *f, int i, nw_var_kind kind) {
  nw_pool *pool = st->p->pool;
  const nw_stmt *l = f->red[i];
  return (nw_block_var){f->var[i], kind, nw_index(pool, 0), l->loop.extent, nw_sub(pool, l->loop.var, l->loop.begin)};
}

static int factored(const factoring *f) {
  int i = 0;
  while (f->red[i] != f->loop) i++;
  return i;
}

// Sets the block's variables: the spatial variables, the new variable, and then the remaining reduce variables.
static void set_vars(nw_step *st, const factoring *f, nw_stmt *b) {
  nw_block_var *var = NW_NEW_N(st->p->arena, nw_block_var, b->block.nvars + f->nred);
  int n = 0, at = factored(f);
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind != NW_REDUCE) var[n++] = b->block.var[i];
  var[n++] = var_of(st, f, at, NW_SPATIAL);
  for (int i = 0; i < f->nred; i++)
    if (i != at) var[n++] = var_of(st, f, i, NW_REDUCE);
  b->block.var = var;
  b->block.nvars = n;
}

static const nw_buffer *partial_buffer(nw_step *st, const factoring *f, const nw_buffer *of) {
  const nw_expr **shape = with_dim(st, f, of->ndim, (const nw_expr *const *)of->shape, f->loop->loop.extent);
  const char *name = nw_arena_printf(st->scratch, "%s_rf", of->name);
  return nw_add_buffer(st->p, name, of->dtype, NW_GLOBAL, NW_TEMP, of->ndim + 1, (const nw_expr *const *)shape);
}

// Turns the block into the block of the partial results, in place. If the reduction has only one loop, each partial
// result is a single term, and the block stores this term.
static void make_partial(nw_step *st, const factoring *f) {
  nw_stmt *b = f->block;
  const nw_expr *cond = within(st, f), *dim = f->var[factored(f)];
  nw_block_target *target = NW_NEW_N(st->p->arena, nw_block_target, b->block.ntargets);
  for (int t = 0; t < b->block.ntargets; t++) {
    const nw_block_target *g = &b->block.target[t];
    const nw_buffer *of = nw_find_buffer(st->p, g->buffer), *to = partial_buffer(st, f, of);
    target[t] = (nw_block_target){
        to->name, g->n + 1, with_dim(st, f, g->n, (const nw_expr *const *)g->index, dim), contribution(st, f, t, cond),
        NULL,     false};
    if (f->nred > 1) target[t].init = nw_combiner_identity(st->p->pool, b->block.combiner, of->dtype, t);
  }
  set_vars(st, f, b);
  b->block.target = target;
  b->block.name = nw_unique_block_name(st->p, target[0].buffer);
  b->block.origin = nw_unique_origin(st, b->block.name);
  b->block.has_init = f->nred > 1;
  if (f->nred == 1) b->block.combiner = NW_PLAIN;
  b->block.atomic = false;
  b->step = st->p->step;
}

// ---- the combination of the partial results

static nw_stmt *combination(nw_step *st, const factoring *f, const nw_stmt *was, nw_stmt **loop) {
  nw_pool *pool = st->p->pool;
  nw_stmt *s = nw_new_stmt(st->p, NW_BLOCK);
  const nw_block_var dim = var_of(st, f, factored(f), NW_REDUCE);
  *loop = nw_new_loop(st->p, nw_unique_loop_name(st->p, dim.var->name), nw_index(pool, 0), dim.extent);
  s->block = was->block;
  s->block.var = NW_NEW_N(st->p->arena, nw_block_var, was->block.nvars + 1);
  s->block.nvars = 0;
  for (int i = 0; i < was->block.nvars; i++)
    if (was->block.var[i].kind != NW_REDUCE) s->block.var[s->block.nvars++] = was->block.var[i];
  s->block.var[s->block.nvars++] = (nw_block_var){dim.var, NW_REDUCE, dim.lo, dim.extent, (*loop)->loop.var};
  s->block.target = NW_NEW_N(st->p->arena, nw_block_target, was->block.ntargets);
  for (int t = 0; t < was->block.ntargets; t++) {
    const nw_block_target *part = &f->block->block.target[t];
    nw_dtype type = nw_find_buffer(st->p, part->buffer)->dtype;
    s->block.target[t] = was->block.target[t];
    s->block.target[t].value =
        nw_load(pool, (nw_type){(uint8_t)type, 1}, part->buffer, part->n, (const nw_expr *const *)part->index);
  }
  return s;
}

static void put_behind(nw_step *st, const factoring *f, nw_stmt *nest) {
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
  factoring f = {0};
  f.block = nw_step_block(st, RF_STAGE, &f.path);
  f.loop = f.block ? nw_step_loop(st, RF_LOOP, NULL) : NULL;
  if (!f.loop || !whole_reduction(st, f.block) || !find_loops(st, &f) || !guards_part(st, &f) || !axis_of(st, &f))
    return false;
  const nw_stmt was = *f.block;
  nw_stmt *loop;
  name_vars(st, &f);
  const nw_expr *where = nw_where_along_output(st, &f.path, f.top, f.block);
  make_partial(st, &f);
  nw_stmt *block = combination(st, &f, &was, &loop);
  f.block->block.where = block->block.where = where;
  nw_kids_insert(st->p, loop, 0, block);
  put_behind(st, &f, nw_nest_along_output(st, &f.path, f.top, &was, loop, ""));
  if (nw_rounds(st->p, block)) nw_step_rounds(st, "rounding may change: floats are summed in another order");
  nw_step_returns_stage(st, f.block->block.name);
  return true;
}
