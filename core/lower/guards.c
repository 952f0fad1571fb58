// Pass: moves guards outwards as far as their conditions allow. Adjacent statements with the same condition get a
// common guard.
//
// A condition uses only loop variables and sizes. If the whole body of a loop is guarded by a condition that does not
// use the loop's variable, the guard is moved around the loop. A condition that uses the variable of a vector loop
// stays inside this loop.
#include "lower/pass.h"

static nw_stmt *hoist(nw_program *p, nw_stmt *s);

static bool has(const nw_vec *v, const void *e) {
  for (int i = 0; i < v->n; i++) {
    if (v->at[i] == e) return true;
  }
  return false;
}

static nw_vec conditions(const nw_stmt *guard) {
  nw_vec v = {0};
  nw_add_conjuncts(guard->guard.cond, &v);
  return v;
}

static void keep_common(nw_vec *common, const nw_stmt *guard) {
  nw_vec mine = conditions(guard);
  for (int i = common->n - 1; i >= 0; i--) {
    if (!has(&mine, common->at[i])) nw_vec_remove(common, i);
  }
  nw_vec_free(&mine);
}

static int shared_with(const nw_vec *common, const nw_stmt *guard) {
  nw_vec mine = conditions(guard);
  int n = 0;
  for (int i = 0; i < common->n; i++) n += has(&mine, common->at[i]);
  nw_vec_free(&mine);
  return n;
}

// Adds to `out` the guard without the conditions in `gone`. If no condition remains, adds the children of the guard.
static void without(nw_program *p, nw_stmt *guard, const nw_vec *gone, nw_vec *out) {
  nw_vec mine = conditions(guard);
  for (int i = mine.n - 1; i >= 0; i--) {
    if (has(gone, mine.at[i])) nw_vec_remove(&mine, i);
  }
  guard->guard.cond = nw_conjunction(p->pool, mine.n, mine.at);
  if (guard->guard.cond)
    nw_vec_push(out, guard);
  else
    for (int i = 0; i < guard->nkids; i++) nw_vec_push(out, guard->kid[i]);
  nw_vec_free(&mine);
}

// Finds the consecutive guards, beginning at `from`, that have conditions in common. Sets *common to these conditions.
// Returns the position after the last of these guards.
static int run_of(const nw_vec *kids, int from, nw_vec *common) {
  *common = conditions(kids->at[from]);
  int end = from + 1;
  while (end < kids->n) {
    const nw_stmt *next = kids->at[end];
    if (next->kind != NW_GUARD || !shared_with(common, next)) break;
    keep_common(common, next);
    end++;
  }
  return end;
}

static void group(nw_program *p, nw_vec *kids) {
  for (int i = 0; i < kids->n; i++) {
    nw_stmt *first = kids->at[i];
    if (first->kind != NW_GUARD) continue;
    nw_vec common, inside = {0};
    int end = run_of(kids, i, &common);
    if (end - i > 1) {
      nw_stmt *g = nw_new_like(p, NW_GUARD, first);
      g->guard.cond = nw_conjunction(p->pool, common.n, common.at);
      for (int k = i; k < end; k++) without(p, kids->at[k], &common, &inside);
      group(p, &inside);
      nw_kids_set(p, g, inside.n, (nw_stmt **)inside.at);
      for (int k = i; k < end; k++) nw_vec_remove(kids, i);
      nw_vec_insert(kids, i, g);
    }
    nw_vec_free(&common);
    nw_vec_free(&inside);
  }
}

// Adds a hoisted statement to `kids`, the children of its new parent. If the statement is a sequence, adds the children
// of the sequence instead.
static void add_flat(nw_vec *kids, nw_stmt *s) {
  if (s->kind != NW_SEQ)
    nw_vec_push(kids, s);
  else
    for (int i = 0; i < s->nkids; i++) nw_vec_push(kids, s->kid[i]);
}

static void hoist_kids(nw_program *p, nw_stmt *s) {
  nw_vec kids = {0};
  for (int i = 0; i < s->nkids; i++) add_flat(&kids, hoist(p, s->kid[i]));
  group(p, &kids);
  nw_kids_set(p, s, kids.n, (nw_stmt **)kids.at);
  nw_vec_free(&kids);
}

static nw_stmt *merge_guards(nw_program *p, nw_stmt *outer) {
  if (outer->nkids != 1 || outer->kid[0]->kind != NW_GUARD) return outer;
  nw_stmt *inner = outer->kid[0];
  outer->guard.cond = nw_and(p->pool, outer->guard.cond, inner->guard.cond);
  nw_kids_set(p, outer, inner->nkids, inner->kid);
  return outer;
}

static nw_stmt *lift_guard(nw_program *p, nw_stmt *s) {
  if (s->nkids != 1 || s->kid[0]->kind != NW_GUARD) return s;
  nw_stmt *guard = s->kid[0];
  nw_vec movable = conditions(guard), left = {0};
  for (int i = movable.n - 1; i >= 0; i--) {
    if (s->kind == NW_LOOP && nw_uses_var(movable.at[i], s->loop.var->name)) nw_vec_remove(&movable, i);
  }
  if (movable.n) {
    const nw_expr *cond = nw_conjunction(p->pool, movable.n, movable.at);
    without(p, guard, &movable, &left);
    nw_kids_set(p, s, left.n, (nw_stmt **)left.at);
    nw_stmt *out = nw_guarded(p, cond, s);
    out->step = guard->step;
    s = out;
  }
  nw_vec_free(&movable);
  nw_vec_free(&left);
  return s;
}

static nw_stmt *hoist(nw_program *p, nw_stmt *s) {
  if (nw_is_leaf(s)) return s;
  hoist_kids(p, s);
  if (s->kind == NW_GUARD) return merge_guards(p, s);
  return s->kind == NW_LOOP || s->kind == NW_ALLOC ? lift_guard(p, s) : s;
}

nw_program *nw_pass_guards(nw_program *p) {
  hoist(p, p->root);
  return p;
}
