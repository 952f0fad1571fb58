// decompose_reduction: the init of a reduction as a nest of its own.
#include "sched/primitives.h"
#include "sched/storage.h"
#include "sched/tree.h"

// The part of the path the init needs anew: from the loop it comes before, inwards.
typedef struct parting {
  nw_path path;
  int from;
  nw_stmt *block;
} parting;

static bool can_part(nw_step *st, const parting *x, const nw_stmt *loop) {
  const char *at = loop->loop.var->name;
  if (x->block->block.combiner == NW_PLAIN || x->block->block.init_part)
    return nw_step_refuse(st, "only a reduction has an init", NULL, "it is no reduction");
  if (!x->block->block.has_init)
    return nw_step_refuse(st, "its init is a nest of its own by now", NULL, "it was split off already");
  if (x->from < 0)
    return nw_step_refuse(st, "the init is done before a loop around the reduction", loop,
                          "it is not inside that loop");
  for (int i = 1; i < x->from; i++) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind == NW_LOOP && nw_loop_binds(x->block, s, true))
      return nw_step_refuse(st, "the init would be done again each time round", s,
                            "the reduction runs along %s, which is outside %s", s->loop.var->name, at);
  }
  for (int i = x->from; i < x->path.n - 1; i++) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind == NW_LOOP && nw_loop_binds(x->block, s, true) && nw_loop_binds(x->block, s, false))
      return nw_step_refuse(st, "the init would run once for each of them", s,
                            "%s runs along the reduction and the output", s->loop.var->name);
  }
  return true;
}

static bool stays(const parting *x, int i) {
  return x->path.at[i]->kind == NW_LOOP && !nw_loop_binds(x->block, x->path.at[i], true);
}

// Guards that speak of the reduction's loops go.
static const nw_expr *where_of_init(nw_step *st, const parting *x) {
  const nw_expr *term[NW_MAX_TERMS], *where = NULL;
  const char *gone[NW_MAX_DEPTH];
  int ngone = 0, n = nw_conjuncts(x->block->block.where, NW_MAX_TERMS, term);
  for (int i = x->from; i < x->path.n - 1; i++)
    if (x->path.at[i]->kind == NW_LOOP && !stays(x, i)) gone[ngone++] = x->path.at[i]->loop.var->name;
  for (int i = 0; i < n; i++)
    if (!nw_uses_any(term[i], ngone, gone)) where = nw_and(st->p->pool, where, term[i]);
  return where;
}

static nw_stmt *init_block(nw_step *st, const parting *x) {
  const nw_stmt *b = x->block;
  nw_stmt *s = nw_new_stmt(st->p, NW_BLOCK);
  s->block.name = nw_unique_block_name(st->p, nw_arena_printf(st->scratch, "%s_init", b->block.name));
  s->block.origin = b->block.origin;
  s->block.init_part = true;
  s->block.combiner = NW_PLAIN;
  s->block.var = NW_NEW_N(st->p->arena, nw_block_var, b->block.nvars + 1);
  for (int i = 0; i < b->block.nvars; i++)
    if (b->block.var[i].kind != NW_REDUCE) s->block.var[s->block.nvars++] = b->block.var[i];
  s->block.ntargets = b->block.ntargets;
  s->block.target = NW_NEW_N(st->p->arena, nw_target, b->block.ntargets);
  for (int i = 0; i < b->block.ntargets; i++) {
    s->block.target[i] = b->block.target[i];
    s->block.target[i].value = b->block.target[i].init;
    s->block.target[i].init = NULL;
  }
  s->block.where = where_of_init(st, x);
  return s;
}

// Copies of the loops along the output, named x_init; what speaks of the loops follows.
static nw_stmt *init_nest(nw_step *st, const parting *x) {
  nw_stmt *block = init_block(st, x), *outer = NULL, *inner = NULL, *copy[NW_MAX_DEPTH] = {NULL};
  for (int i = x->from; i < x->path.n - 1; i++) {
    nw_stmt *old = x->path.at[i];
    if (!stays(x, i)) continue;
    const char *name = nw_arena_printf(st->scratch, "%s_init", old->loop.var->name);
    nw_stmt *loop = nw_new_loop(st->p, nw_unique_loop_name(st->p, name), old->loop.begin, old->loop.extent);
    loop->loop.mark = old->loop.mark;
    loop->loop.nfused = old->loop.nfused;
    loop->loop.fused = old->loop.fused;
    if (inner)
      nw_kids_insert(st->p, inner, 0, loop);
    else
      outer = loop;
    inner = copy[i] = loop;
  }
  if (inner) nw_kids_insert(st->p, inner, 0, block);
  nw_stmt *nest = outer ? outer : block;
  for (int i = x->from; i < x->path.n - 1; i++)
    if (copy[i]) nw_stmt_subst(st->p, nest, x->path.at[i]->loop.var->name, copy[i]->loop.var);
  return nest;
}

bool nw_apply_decompose_reduction(void *step) {
  nw_step *st = step;
  parting x;
  x.block = nw_step_block(st, 0, &x.path);
  nw_stmt *loop = x.block ? nw_step_loop(st, 1, NULL) : NULL;
  if (!loop) return false;
  x.from = nw_path_index(&x.path, loop);
  if (!can_part(st, &x, loop)) return false;
  nw_stmt *nest = init_nest(st, &x);
  nw_kids_insert(st->p, x.path.at[x.from - 1], x.path.pos[x.from], nest);
  x.block->block.has_init = false;
  x.block->step = st->p->step;
  nw_blocks b = nw_blocks_below(st->scratch, nest);
  nw_step_returns_stage(st, b.at[0]->block.name);
  return true;
}
