// Moves a loop inwards, past the statements inside it.
#include "sched/inwards.h"
#include "sched/box.h"
#include "sched/tree.h"

typedef struct inwards {
  nw_step *st;
  nw_path path; // from the root through the loop to `end`
  int loop, end; // positions of the loop and of the innermost statement that it passes or enters
  bool split;
  bool used; // true if the loop itself has a new place already, so that the next places get copies
} inwards;

static inwards inwards_of(nw_step *st, const nw_inwards *to) {
  inwards x = {.st = st, .split = to->split};
  nw_find(st->p, to->end->id, &x.path);
  x.loop = nw_path_index(&x.path, to->loop);
  x.end = x.path.n - 1 - to->split;
  return x;
}

static const char *var_of(const inwards *x) { return x->path.at[x->loop]->loop.var->name; }

// True if the condition at this position uses the variable of the loop, so that it must stay inside the loop.
static bool travels(const inwards *x, int i) {
  const nw_stmt *s = x->path.at[i];
  return s->kind == NW_GUARD && nw_uses_var(s->guard.cond, var_of(x)) && !NW_MUTATED(inwards_condition);
}

// ---- conditions on the move

bool nw_moves_inwards(nw_step *st, const nw_inwards *to, const char **why) {
  inwards x = inwards_of(st, to);
  const char *var = var_of(&x);
  for (int i = x.loop + 1; i <= x.end; i++) {
    const nw_stmt *s = x.path.at[i];
    const char *name = nw_tree_what(s);
    if (s->kind == NW_ALLOC || s->kind == NW_SEQ || s->kind == NW_GUARD) continue;
    bool loop = s->kind == NW_LOOP,
         varies = loop && (nw_uses_var(s->loop.begin, var) || nw_uses_var(s->loop.extent, var));
    if (loop && (!varies || NW_MUTATED(inwards_bounds)) && !nw_is_vector_loop(s)) continue;
    *why = varies ? nw_arena_printf(st->scratch, "the bounds of %s depend on %s", name, var)
                  : nw_arena_printf(st->scratch, "%s cannot be outside of %s", name, var);
    return false;
  }
  return true;
}

// ---- the loop around consecutive statements

static nw_stmt *loop_for(inwards *x) {
  nw_program *p = x->st->p;
  nw_stmt *own = x->path.at[x->loop];
  own->step = p->step;
  if (!x->used) return x->used = true, own;
  nw_stmt *copy = nw_new_stmt(p, NW_LOOP);
  int id = copy->id;
  *copy = *own;
  copy->id = id;
  copy->loop.var = nw_var(p->pool, nw_unique_loop_name(p, own->loop.var->name));
  return copy;
}

// Adds the statements to `out`, inside the loop or a copy of it, and inside the conditions that moved with the loop.
// `level` is the position on the path of the statement whose children they were.
static void wrap(inwards *x, int level, int n, nw_stmt **kid, nw_vec *out) {
  nw_program *p = x->st->p;
  if (!n) return;
  nw_stmt *loop = loop_for(x), *inner;
  for (int i = level; i > x->loop; i--) {
    if (!travels(x, i)) continue;
    nw_stmt *guard = nw_new_stmt(p, NW_GUARD);
    guard->guard.cond = x->path.at[i]->guard.cond;
    nw_kids_set(p, guard, n, kid);
    inner = guard, kid = &inner, n = 1;
  }
  nw_kids_set(p, loop, n, kid);
  for (int i = 0; i < loop->nkids && loop->loop.var != x->path.at[x->loop]->loop.var; i++)
    nw_stmt_subst(p, loop->kid[i], var_of(x), loop->loop.var);
  nw_vec_push(out, loop);
}

// Adds to `out` the statements that take the places of the children of path.at[i]. The innermost statements come first,
// so that the loop itself goes there, and copies go to the other places.
static void divide(inwards *x, int i, nw_vec *out) {
  nw_stmt *s = x->path.at[i], **kid = s->kid, *next = i < x->end || x->split ? x->path.at[i + 1] : NULL;
  int n = s->nkids, at = next ? x->path.pos[i + 1] : n;
  nw_vec inside = {0}, after = {0};
  if (next && i == x->end) nw_vec_push(&inside, next);
  if (i < x->end) divide(x, i + 1, &inside);
  if (i < x->end && !travels(x, i + 1)) {
    nw_kids_set(x->st->p, next, inside.n, (nw_stmt **)inside.at);
    inside.n = 0;
    nw_vec_push(&inside, next);
  }
  if (next) wrap(x, i, n - at - 1, kid + at + 1, &after);
  wrap(x, i, at, kid, out);
  for (int k = 0; k < inside.n; k++) nw_vec_push(out, inside.at[k]);
  for (int k = 0; k < after.n; k++) nw_vec_push(out, after.at[k]);
  nw_vec_free(&inside);
  nw_vec_free(&after);
}

static bool keep_name(void *env, nw_stmt *s) {
  nw_step *st = env;
  if (s->kind == NW_LOOP && !NW_MUTATED(inwards_names)) nw_keep_loop_name(st->p, s->loop.var->name);
  return true;
}

// While the loop gets its new children, some loops inside it are not in the tree. No copy of the loop may get a name of
// theirs.
void nw_move_inwards(nw_step *st, const nw_inwards *to) {
  inwards x = inwards_of(st, to);
  const char *var = var_of(&x);
  nw_walk_from(to->loop, keep_name, st);
  nw_vec out = {0};
  for (int i = x.loop + 1; i <= x.end; i++)
    if (x.path.at[i]->kind == NW_ALLOC && !NW_MUTATED(inwards_storage)) nw_box_widen(st, &x.path, i, 1, &var);
  divide(&x, x.loop, &out);
  nw_stmt *in = x.path.at[x.loop - 1];
  int pos = x.path.pos[x.loop];
  nw_kids_remove(st->p, in, pos);
  for (int i = 0; i < out.n; i++) nw_kids_insert(st->p, in, pos + i, out.at[i]);
  if (!x.used) nw_step_replaces(st, to->loop->id, 0, NULL, "removed, because nothing remained inside it");
  nw_vec_free(&out);
}
