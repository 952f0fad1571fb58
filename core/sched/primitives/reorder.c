// reorder: permutes loops of one perfect nest.
#include "sched/bounds.h"
#include "sched/primitives.h"
#include "sched/shape.h"
#include "sched/tree.h"

// ---- perfect nests

const nw_stmt *nw_in_the_way(const nw_stmt *outer, const nw_stmt *inner, bool *not_inside) {
  *not_inside = !nw_tree_has(outer, inner);
  if (*not_inside) return NULL;
  for (const nw_stmt *s = outer; s != inner; s = s->kid[0]) {
    if (s->nkids == 1 && s->kid[0]->kind == NW_LOOP) continue;
    for (int i = 0; i < s->nkids; i++)
      if (!nw_tree_has(s->kid[i], inner) || s->kid[i]->kind != NW_LOOP) return s->kid[i];
  }
  return NULL;
}

// Refuses the step, and names the statement that makes the nest imperfect, for example: "P is computed also inside i".
bool nw_refuse_imperfect(nw_step *st, const nw_stmt *outer, const nw_stmt *inner, const nw_stmt *way) {
  nw_blocks b = nw_blocks_below(st->scratch, way);
  if (way->kind == NW_UNIT) {
    const char *apart = nw_arena_printf(st->scratch, "%s is inside the unit %s, and %s is outside of it",
                                        inner->loop.var->name, way->unit.name, outer->loop.var->name);
    return nw_step_refuse(st, apart, outer, "it would take the unit %s apart", way->unit.name);
  }
  bool named = way->kind == NW_ALLOC || way->kind == NW_GUARD || !b.n;
  const char *what = named ? nw_tree_what(way) : b.at[0]->block.name;
  const char *does = way->kind == NW_ALLOC ? "is allocated" : way->kind == NW_GUARD ? "is" : "is computed";
  const char *why = nw_arena_printf(st->scratch, "%s %s also inside %s, so %s and %s are not perfectly nested", what,
                                    does, outer->loop.var->name, outer->loop.var->name, inner->loop.var->name);
  return nw_step_refuse(st, why, outer, "%s is in the way", what);
}

// ---- reorder

// Writes the loops of the path, from the outermost given loop to the innermost given loop, to `chain` in the new order.
// Loops that were not given keep their positions. Returns the number of loops.
static int new_chain(const nw_path *path, int first, int n, nw_stmt **given, nw_stmt **chain) {
  int m = 0, next = 0;
  for (int i = first; i < path->n; i++) {
    nw_stmt *s = path->at[i];
    for (int j = 0; j < n; j++)
      if (given[j] == path->at[i]) s = given[next++], j = n;
    chain[m++] = s;
  }
  return m;
}

static void relink(nw_program *p, nw_path *path, int first, int n, nw_stmt **chain) {
  nw_stmt *last = path->at[path->n - 1];
  int nkids = last->nkids;
  nw_stmt **kids = last->kid;
  nw_kids_replace(path->at[first - 1], path->pos[first], chain[0]);
  for (int i = 0; i < n; i++) {
    if (chain[i] != path->at[first + i]) chain[i]->step = p->step;
    if (i + 1 < n) nw_kids_set(p, chain[i], 1, &chain[i + 1]);
  }
  nw_kids_set(p, chain[n - 1], nkids, kids);
}

static bool no_repeats(nw_step *st, int n, nw_stmt **loop) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (loop[i] == loop[j]) {
        nw_fail(st->ctx, NW_EINVAL, NULL, "%s: %s is given twice", st->primitive->name, loop[i]->loop.var->name);
        return false;
      }
  return true;
}

static nw_stmt *extreme(const nw_program *p, int n, nw_stmt **loop, bool deepest, nw_path *path) {
  nw_stmt *best = NULL;
  int depth = 0;
  for (int i = 0; i < n; i++) {
    nw_path at;
    nw_find(p, loop[i]->id, &at);
    if (best && (deepest ? at.n <= depth : at.n >= depth)) continue;
    best = loop[i];
    depth = at.n;
    *path = at;
  }
  return best;
}

static bool on_one_path(nw_step *st, int n, nw_stmt **loop, const nw_path *deep) {
  const nw_stmt *inner = deep->at[deep->n - 1];
  for (int i = 0; i < n; i++)
    if (nw_path_index(deep, loop[i]) < 0)
      return nw_step_refuse(st, "reorder can permute only loops of one nest", loop[i],
                            "neither %s nor %s is inside the other", loop[i]->loop.var->name, inner->loop.var->name);
  return true;
}

bool nw_reorder_loops(nw_step *st, int n, nw_stmt **loop) {
  nw_path top = {0}, deep = {0};
  bool apart;
  if (!no_repeats(st, n, loop)) return false;
  nw_stmt *outer = extreme(st->p, n, loop, false, &top), *inner = extreme(st->p, n, loop, true, &deep);
  if (!on_one_path(st, n, loop, &deep)) return false;
  const nw_stmt *way = nw_in_the_way(outer, inner, &apart);
  if (way) return nw_refuse_imperfect(st, outer, inner, way);
  nw_stmt *chain[NW_MAX_DEPTH];
  int first = top.n - 1, m = new_chain(&deep, first, n, loop, chain);
  if (!nw_rebound(st, m, &deep.at[first], chain)) return false;
  relink(st->p, &deep, first, m, chain);
  return true;
}

bool nw_apply_reorder(void *step) {
  nw_step *st = step;
  const nw_arg *list = &st->resolved[0];
  nw_stmt *loop[NW_MAX_DEPTH];
  if (list->n < 2 || list->n > NW_MAX_DEPTH) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "reorder: give at least two loops");
    return false;
  }
  for (int i = 0; i < list->n; i++)
    if (!(loop[i] = nw_step_loop_arg(st, &list->item[i], "loop", NULL))) return false;
  return nw_reorder_loops(st, list->n, loop);
}
