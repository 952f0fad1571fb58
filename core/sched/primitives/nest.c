// Makes a second nest over a stage's output, next to the stage's own nest.
#include "sched/primitives/nest.h"
#include "sched/bounds.h"
#include "sched/tree.h"

static bool stays(const nw_stmt *s, const nw_stmt *stage) {
  return s->kind == NW_LOOP && !nw_loop_binds(stage, s, true);
}

bool nw_stays_clear(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, const char *why) {
  const nw_stmt *gone[NW_MAX_DEPTH];
  int n = 0;
  for (int i = from; i < path->n - 1; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind != NW_LOOP) continue;
    for (int k = 0; stays(s, stage) && k < n; k++)
      if (nw_loop_depends(s, gone[k]))
        return nw_step_refuse(st, why, s, "the bounds of %s depend on %s", s->loop.var->name, gone[k]->loop.var->name);
    if (!stays(s, stage)) gone[n++] = s;
  }
  return true;
}

const nw_expr *nw_where_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage) {
  const nw_expr *term[NW_MAX_TERMS], *where = NULL;
  const char *gone[NW_MAX_DEPTH];
  int ngone = 0, n = nw_conjuncts(stage->block.where, NW_MAX_TERMS, term);
  for (int i = from; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && !stays(path->at[i], stage)) gone[ngone++] = path->at[i]->loop.var->name;
  for (int i = 0; i < n; i++)
    if (!nw_uses_any(term[i], ngone, gone)) where = nw_and(st->p->pool, where, term[i]);
  return where;
}

static nw_stmt *copy_of(nw_step *st, const nw_stmt *old, const char *suffix) {
  const char *name = nw_arena_printf(st->scratch, "%s%s", old->loop.var->name, suffix);
  nw_stmt *loop = nw_new_loop(st->p, nw_unique_loop_name(st->p, name), old->loop.begin, old->loop.extent);
  loop->loop.mark = old->loop.mark;
  loop->loop.nfused = old->loop.nfused;
  loop->loop.fused = old->loop.fused;
  return loop;
}

nw_stmt *nw_nest_along_output(nw_step *st, const nw_path *path, int from, const nw_stmt *stage, nw_stmt *inside,
                              const char *suffix) {
  nw_stmt *outer = NULL, *inner = NULL, *copy[NW_MAX_DEPTH] = {NULL};
  for (int i = from; i < path->n - 1; i++) {
    if (!stays(path->at[i], stage)) continue;
    copy[i] = copy_of(st, path->at[i], suffix);
    if (inner)
      nw_kids_insert(st->p, inner, 0, copy[i]);
    else
      outer = copy[i];
    inner = copy[i];
  }
  if (inner) nw_kids_insert(st->p, inner, 0, inside);
  nw_stmt *nest = outer ? outer : inside;
  for (int i = from; i < path->n - 1; i++)
    if (copy[i]) nw_stmt_subst(st->p, nest, path->at[i]->loop.var->name, copy[i]->loop.var);
  return nest;
}
