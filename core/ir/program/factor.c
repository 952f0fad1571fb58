// Makes the two blocks of a factored reduction, and nests along the output of a stage.
#include "ir/program/factor.h"
#include <stdio.h>

// ---- nests along the output

static bool stays(const nw_stmt *s, const nw_stmt *stage) {
  return s->kind == NW_LOOP && !nw_loop_binds(stage, s, true);
}

const nw_expr *nw_where_along_output(nw_program *p, const nw_path *path, int from, const nw_stmt *stage) {
  const nw_expr *term[NW_MAX_TERMS], *where = NULL;
  const char *gone[NW_MAX_DEPTH];
  int ngone = 0, n = nw_conjuncts(stage->block.where, NW_MAX_TERMS, term);
  for (int i = from; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && !stays(path->at[i], stage)) gone[ngone++] = path->at[i]->loop.var->name;
  for (int i = 0; i < n; i++)
    if (!nw_uses_any(term[i], ngone, gone)) where = nw_and(p->pool, where, term[i]);
  return where;
}

static nw_stmt *copy_of(nw_program *p, const nw_stmt *old, const char *suffix) {
  const char *name = nw_arena_printf(p->arena, "%s%s", old->loop.var->name, suffix);
  nw_stmt *loop = nw_new_loop(p, nw_unique_loop_name(p, name), old->loop.begin, old->loop.extent);
  loop->loop.mark = old->loop.mark;
  loop->loop.nfused = old->loop.nfused;
  loop->loop.fused = old->loop.fused;
  return loop;
}

nw_stmt *nw_nest_along_output(nw_program *p, const nw_path *path, int from, const nw_stmt *stage, nw_stmt *inside,
                              const char *suffix) {
  nw_stmt *outer = NULL, *inner = NULL, *copy[NW_MAX_DEPTH] = {NULL};
  for (int i = from; i < path->n - 1; i++) {
    if (!stays(path->at[i], stage)) continue;
    copy[i] = copy_of(p, path->at[i], suffix);
    if (inner)
      nw_kids_insert(p, inner, 0, copy[i]);
    else
      outer = copy[i];
    inner = copy[i];
  }
  if (inner) nw_kids_insert(p, inner, 0, inside);
  nw_stmt *nest = outer ? outer : inside;
  for (int i = from; i < path->n - 1; i++)
    if (copy[i]) nw_stmt_subst(p, nest, path->at[i]->loop.var->name, copy[i]->loop.var);
  return nest;
}

// ---- conditions

bool nw_factor_bounds(const nw_factoring *f, const nw_stmt *loop) {
  for (int i = 0; i < f->path.n - 1; i++) {
    if (f->path.at[i]->kind != NW_LOOP) continue;
    const char *var = f->path.at[i]->loop.var->name;
    if (nw_uses_var(loop->loop.begin, var) || nw_uses_var(loop->loop.extent, var)) return false;
  }
  return true;
}

bool nw_factor_guards(const nw_factoring *f) {
  const nw_expr *term[NW_MAX_TERMS];
  int n = nw_conjuncts(f->block->block.where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++) {
    bool reduces = false, other = false;
    for (int p = 1; p < f->path.n - 1; p++) {
      const nw_stmt *s = f->path.at[p];
      if (s->kind == NW_LOOP && nw_uses_var(term[i], s->loop.var->name))
        *(stays(s, f->block) ? &other : &reduces) = true;
    }
    if (reduces && other) return false;
  }
  return true;
}

// ---- the partial results

static bool taken(const nw_factoring *f, const char *name) {
  for (int i = 0; i < f->block->block.nvars; i++)
    if (f->block->block.var[i].kind != NW_REDUCE && !strcmp(f->block->block.var[i].var->name, name)) return true;
  return false;
}

static void name_vars(nw_factoring *f) {
  for (int i = 0; i < f->nred; i++) {
    const char *name = f->red[i]->loop.var->name;
    while (taken(f, name)) name = nw_arena_printf(f->p->arena, "%s_", name);
    f->var[i] = nw_var(f->p->pool, name);
  }
}

// Replaces the variable of each reduction loop in e by the begin of the loop plus the block variable that stands for
// the loop, because these block variables start at 0.
static const nw_expr *in_vars(const nw_factoring *f, const nw_expr *e) {
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  for (int i = 0; i < f->nred; i++) {
    name[i] = f->red[i]->loop.var->name;
    by[i] = nw_add(f->p->pool, f->red[i]->loop.begin, f->var[i]);
  }
  return nw_subst_n(f->p->pool, e, f->nred, name, by);
}

static bool speaks_of_reduction(const nw_factoring *f, const nw_expr *e) {
  for (int i = 0; i < f->nred; i++)
    if (nw_uses_var(e, f->red[i]->loop.var->name)) return true;
  return false;
}

// Returns the guards along the reduction, in terms of block variables, or NULL if there are none.
static const nw_expr *within(const nw_factoring *f) {
  const nw_expr *term[NW_MAX_TERMS], *cond = NULL;
  int n = nw_conjuncts(f->block->block.where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++)
    if (speaks_of_reduction(f, term[i])) cond = nw_and(f->p->pool, cond, in_vars(f, term[i]));
  return cond;
}

static const nw_expr *contribution(const nw_factoring *f, int t, const nw_expr *cond) {
  const nw_stmt *b = f->block;
  const nw_block_target *g = &b->block.target[t];
  const char *name[NW_MAX_DEPTH];
  const nw_expr *by[NW_MAX_DEPTH];
  int n = 0;
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind == NW_REDUCE)
      name[n] = b->block.var[i].var->name, by[n++] = in_vars(f, b->block.var[i].bind);
  const nw_expr *value = nw_subst_n(f->p->pool, g->value, n, name, by);
  nw_dtype type = nw_find_buffer(f->p, g->buffer)->dtype;
  return cond ? nw_choose(f->p->pool, cond, value, nw_combiner_identity(f->p->pool, b->block.combiner, type, t))
              : value;
}

static int dims_of(const nw_factoring *f) {
  int n = 0;
  for (int i = 0; i < f->nred; i++) n += f->part[i];
  return n;
}

// Returns `of` with the new dimensions inserted: the variables of the loops, or their extents if `extents` is true.
static const nw_expr **with_dims(const nw_factoring *f, int n, const nw_expr *const *of, bool extents) {
  const nw_expr **out = NW_NEW_N(f->p->arena, const nw_expr *, n + f->nred + 1);
  int at = 0;
  for (int d = 0; d <= n; d++) {
    for (int i = 0; d == f->axis && i < f->nred; i++)
      if (f->part[i]) out[at++] = extents ? f->red[i]->loop.extent : f->var[i];
    if (d < n) out[at++] = of[d];
  }
  return out;
}

static nw_block_var var_of(const nw_factoring *f, int i, nw_var_kind kind) {
  nw_pool *pool = f->p->pool;
  const nw_stmt *l = f->red[i];
  return (nw_block_var){f->var[i], kind, nw_index(pool, 0), l->loop.extent, nw_sub(pool, l->loop.var, l->loop.begin)};
}

// Sets the block's variables: the spatial variables, the new variables, and then the remaining reduce variables.
static void set_vars(const nw_factoring *f, nw_stmt *b) {
  nw_block_var *var = NW_NEW_N(f->p->arena, nw_block_var, b->block.nvars + f->nred);
  int n = 0;
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind != NW_REDUCE) var[n++] = b->block.var[i];
  for (int i = 0; i < f->nred; i++)
    if (f->part[i]) var[n++] = var_of(f, i, NW_SPATIAL);
  for (int i = 0; i < f->nred; i++)
    if (!f->part[i]) var[n++] = var_of(f, i, NW_REDUCE);
  b->block.var = var;
  b->block.nvars = n;
}

static const nw_buffer *partial_buffer(const nw_factoring *f, const nw_buffer *of) {
  const nw_expr **shape = with_dims(f, of->ndim, (const nw_expr *const *)of->shape, true);
  const char *name = nw_arena_printf(f->p->arena, "%s%s", of->name, f->suffix);
  return nw_add_buffer(f->p, name, of->dtype, f->scope, NW_TEMP, of->ndim + dims_of(f), (const nw_expr *const *)shape);
}

// Turns the block into the block of the partial results, in place. If all loops of the reduction become dimensions,
// each partial result is a single term, and the block stores this term.
static void make_partial(const nw_factoring *f) {
  nw_stmt *b = f->block;
  const nw_expr *cond = NW_MUTATED(factor_guard) ? NULL : within(f);
  bool terms = dims_of(f) == f->nred;
  nw_block_target *target = NW_NEW_N(f->p->arena, nw_block_target, b->block.ntargets);
  for (int t = 0; t < b->block.ntargets; t++) {
    const nw_block_target *g = &b->block.target[t];
    const nw_buffer *of = nw_find_buffer(f->p, g->buffer), *to = partial_buffer(f, of);
    target[t] = (nw_block_target){.buffer = to->name,
                                  .n = g->n + dims_of(f),
                                  .index = with_dims(f, g->n, (const nw_expr *const *)g->index, false),
                                  .value = contribution(f, t, cond)};
    if (!terms) target[t].init = nw_combiner_identity(f->p->pool, b->block.combiner, of->dtype, t);
  }
  set_vars(f, b);
  b->block.target = target;
  b->block.name = nw_unique_block_name(f->p, target[0].buffer);
  b->block.origin = nw_unique_origin(f->p, b->block.name);
  b->block.has_init = !terms;
  if (terms) b->block.combiner = NW_PLAIN;
  b->block.atomic = false;
  b->step = f->p->step;
}

// ---- the combination of the partial results

static nw_stmt *combination(const nw_factoring *f, const nw_stmt *was) {
  nw_pool *pool = f->p->pool;
  nw_stmt *s = nw_new_stmt(f->p, NW_BLOCK), *nest = s, *around = NULL;
  s->block = was->block;
  s->block.var = NW_NEW_N(f->p->arena, nw_block_var, was->block.nvars + f->nred);
  s->block.nvars = 0;
  for (int i = 0; i < was->block.nvars; i++)
    if (was->block.var[i].kind != NW_REDUCE) s->block.var[s->block.nvars++] = was->block.var[i];
  for (int i = 0; i < f->nred; i++) {
    if (!f->part[i]) continue;
    nw_block_var dim = var_of(f, i, NW_REDUCE);
    nw_stmt *loop = nw_new_loop(f->p, nw_unique_loop_name(f->p, dim.var->name), nw_index(pool, 0), dim.extent);
    dim.bind = loop->loop.var;
    s->block.var[s->block.nvars++] = dim;
    if (around)
      nw_kids_set(f->p, around, 1, &loop);
    else
      nest = loop;
    around = loop;
  }
  s->block.target = NW_NEW_N(f->p->arena, nw_block_target, was->block.ntargets);
  for (int t = 0; t < was->block.ntargets; t++) {
    const nw_block_target *part = &f->block->block.target[t];
    nw_dtype type = nw_find_buffer(f->p, part->buffer)->dtype;
    s->block.target[t] = was->block.target[t];
    s->block.target[t].value =
        nw_load(pool, (nw_type){(uint8_t)type, 1}, part->buffer, part->n, (const nw_expr *const *)part->index);
  }
  if (around) nw_kids_set(f->p, around, 1, &s);
  return nest;
}

const nw_stmt *nw_factor_combination(const nw_stmt *nest) {
  while (nest->kind != NW_BLOCK) nest = nest->kid[0];
  return nest;
}

nw_stmt *nw_factor_inside(nw_factoring *f) {
  const nw_stmt was = *f->block;
  name_vars(f);
  const nw_expr *where = nw_where_along_output(f->p, &f->path, f->top, f->block);
  make_partial(f);
  nw_stmt *inside = combination(f, &was);
  f->block->block.where = where;
  ((nw_stmt *)nw_factor_combination(inside))->block.where = where;
  return inside;
}

nw_stmt *nw_factor(nw_factoring *f) {
  const nw_stmt was = *f->block;
  return nw_nest_along_output(f->p, &f->path, f->top, &was, nw_factor_inside(f), "");
}
