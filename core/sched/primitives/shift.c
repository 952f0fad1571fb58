// skew, shift, reverse, add_unit_loop and remove_unit_loop: change the values of a loop's variable, and add or remove
// loops of one iteration.
#include "sched/primitives.h"
#include "sched/tree.h"

// Moves the begin of a loop by `by`. In the body, the variable minus `by` replaces the variable, so that the iterations
// stay the same. A fused loop loses its original dimensions, which are not valid after a shift.
static void move_begin(nw_step *st, nw_stmt *loop, const nw_expr *by) {
  nw_pool *pool = st->p->pool;
  const nw_expr *var = loop->loop.var;
  for (int i = 0; i < loop->nkids; i++) nw_stmt_subst(st->p, loop->kid[i], var->name, nw_sub(pool, var, by));
  loop->loop.begin = nw_add(pool, loop->loop.begin, by);
  loop->loop.nfused = 0;
  loop->step = st->p->step;
}

// ---- skew

enum { SKEW_LOOP, SKEW_OUTER, SKEW_FACTOR, SKEW_LIMIT = 1 << 20 };

bool nw_apply_skew(void *step) {
  nw_step *st = step;
  nw_stmt *loop = nw_step_loop(st, SKEW_LOOP, NULL), *outer = nw_step_loop(st, SKEW_OUTER, NULL);
  int64_t f = nw_step_int(st, SKEW_FACTOR, 0);
  if (!loop || !outer) return false;
  if (f == 0 || f > SKEW_LIMIT || f < -SKEW_LIMIT) {
    const char *hint =
        nw_arena_printf(st->scratch, "give a number from %d to %d other than 0", -SKEW_LIMIT, SKEW_LIMIT);
    return nw_fail(st->ctx, NW_ERANGE, hint, "skew: factor = %lld is out of range", (long long)f);
  }
  if (loop == outer || !nw_tree_has(outer, loop))
    return nw_step_refuse(st, "a loop can only be skewed by an enclosing loop", outer, "%s is not inside %s",
                          loop->loop.var->name, outer->loop.var->name);
  move_begin(st, loop, nw_mul(st->p->pool, nw_index(st->p->pool, f), outer->loop.var));
  return true;
}

// ---- shift

enum { SHIFT_LOOP, SHIFT_BEGIN };

// False for a constant above 2^40 or below -2^40, because index arithmetic must not overflow 64 bits.
static bool moderate(void *env, const nw_expr *e) {
  const int64_t limit = INT64_C(1) << 40;
  (void)env;
  return e->op != NW_OP_INT || (e->i <= limit && e->i >= -limit);
}

static bool begin_ok(nw_step *st, const nw_expr *begin) {
  if (nw_visit(begin, moderate, NULL)) return true;
  nw_fail(st->ctx, NW_ERANGE, "give a number from -2^40 to 2^40", "shift: begin is out of range");
  return false;
}

bool nw_apply_shift(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *loop = nw_step_loop(st, SHIFT_LOOP, &path);
  const nw_expr *begin = nw_step_expr(st, SHIFT_BEGIN);
  if (!loop || !begin_ok(st, begin) || !nw_expr_known_at(st, begin, "begin", &path)) return false;
  nw_pool *pool = st->p->pool;
  const nw_expr *by = nw_sub(pool, begin, loop->loop.begin);
  if (!nw_is_const(by, 0)) move_begin(st, loop, by);
  return true;
}

// ---- reverse

// Runs iteration begin + extent - 1 - n in place of iteration begin + n. A fused loop loses its original dimensions, like
// in move_begin. If they are symbolic, nothing could then be proved about the loop.
bool nw_apply_reverse(void *step) {
  nw_step *st = step;
  nw_stmt *loop = nw_step_loop(st, 0, NULL);
  int64_t extent;
  if (!loop) return false;
  if (loop->loop.nfused && !nw_is_int(loop->loop.extent, &extent))
    return nw_step_refuse(st, "its iterations combine several loops: use reverse before fuse", loop,
                          "it is a fused loop");
  nw_pool *pool = st->p->pool;
  const nw_expr *var = loop->loop.var;
  const nw_expr *ends = nw_add(pool, loop->loop.begin, nw_loop_last(pool, loop)), *at = nw_sub(pool, ends, var);
  for (int i = 0; i < loop->nkids; i++) nw_stmt_subst(st->p, loop->kid[i], var->name, at);
  loop->loop.nfused = 0;
  loop->step = st->p->step;
  return true;
}

// ---- loops of one iteration

bool nw_apply_add_unit_loop(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *s = nw_step_stmt(st, 0, &path);
  if (!s) return false;
  nw_stmt *loop =
      nw_new_loop(st->p, nw_unique_loop_name(st->p, "u"), nw_index(st->p->pool, 0), nw_index(st->p->pool, 1));
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], loop);
  nw_kids_set(st->p, loop, 1, &s);
  nw_step_returns_loop(st, loop);
  return true;
}

static bool runs_once(nw_step *st, const nw_path *path) {
  nw_ranges r;
  nw_ranges_around(&r, st->p, path);
  bool once = nw_prove(&r, nw_eq(st->p->pool, path->at[path->n - 1]->loop.extent, nw_index(st->p->pool, 1)));
  nw_ranges_free(&r);
  return once;
}

bool nw_apply_remove_unit_loop(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *loop = nw_step_loop(st, 0, &path);
  if (!loop) return false;
  if (loop->loop.mark != NW_SERIAL)
    return nw_step_refuse(st, "its mark would be lost", loop, "it is marked %s", nw_loop_kind_name(loop->loop.mark));
  if (!runs_once(st, &path))
    return nw_step_refuse(st, "only a loop of one iteration can be replaced by its body", loop,
                          "it is not known to run exactly once");
  nw_stmt *parent = path.at[path.n - 2];
  int pos = path.pos[path.n - 1];
  nw_kids_remove(st->p, parent, pos);
  for (int i = 0; i < loop->nkids; i++) {
    nw_stmt_subst(st->p, loop->kid[i], loop->loop.var->name, loop->loop.begin);
    nw_kids_insert(st->p, parent, pos + i, loop->kid[i]);
  }
  nw_step_replaces(st, loop->id, 0, NULL, "removed: it ran once");
  return true;
}
