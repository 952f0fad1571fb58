// trim: removes the iterations of a reduction loop that add nothing.
//
// A sum over select(condition, x, 0) changes only in iterations in which the condition holds. After the step, the loop
// runs only from the first of these iterations to the last.
#include "poly/poly.h"
#include "sched/primitives/pieces.h"
#include "sched/primitives.h"
#include "sched/tree.h"

static bool holds_init(void *env, nw_stmt *s) {
  if (s->kind == NW_BLOCK && s->block.has_init) *(const nw_stmt **)env = s;
  return true;
}

// Checks that the loop can be trimmed. An init must not be inside the loop, because it runs in the first iteration,
// which may be removed.
static bool can_trim(nw_step *st, nw_stmt *loop) {
  const nw_stmt *owner = NULL;
  const char *name = loop->loop.var->name;
  if (loop->loop.nfused)
    return nw_step_refuse(st, "its iterations combine several loops: use trim before fuse", loop, "%s is a fused loop",
                          name);
  nw_walk_from(loop, holds_init, &owner);
  return !owner || nw_step_refuse(st, "use s:decompose_reduction to move the init out of the loop", loop,
                                  "%s gets its init in the first iteration of %s", owner->block.name, name);
}

static void set_rounds(nw_step *st, nw_stmt *loop, const nw_interval *x) {
  const nw_expr *point[4], *lo = x->lo, *hi = x->hi;
  if (!x->stands) {
    nw_cut_points(st->p, loop, 2, (const nw_expr *[]){lo, hi}, point);
    lo = point[1];
    hi = point[2];
  }
  loop->loop.begin = lo;
  loop->loop.extent = nw_sub(st->p->pool, hi, lo);
}

bool nw_apply_trim(void *step) {
  nw_step *st = step;
  nw_stmt *loop = nw_step_loop(st, 0, NULL);
  nw_interval x;
  nw_path before;
  if (!loop || !can_trim(st, loop)) return false;
  nw_find(st->before, loop->id, &before);
  if (!nw_contributing_rounds(st->before, before.at[before.n - 1], &x)) return false;
  if (!x.nconds)
    return nw_step_refuse(st,
                          "the term of the sum must have the form nw.select(condition, x, 0): select(c, x, 0)*y is not "
                          "0 where y is infinite",
                          loop, "every iteration of %s may add something", loop->loop.var->name);
  set_rounds(st, loop, &x);
  st->out.loop[st->out.n++] = loop->id;
  return true;
}
