// specialize: makes two versions of a nest, one that runs if a condition holds, and one that runs if the condition does
// not hold. assume: adds a fact about the sizes to the whole program.
#include "sched/empty.h"
#include "sched/primitives/pieces.h"
#include "sched/primitives.h"
#include "sched/tidy.h"
#include "sched/tree.h"
#include <stdlib.h>

enum { SPECIALIZE_CONDITION, SPECIALIZE_LOOP, SPECIALIZE_STAGE };

// ---- the variables of a condition

typedef struct speaks {
  const nw_program *p;
  const nw_path *around; // the loops on this path may be used; NULL if only sizes may be used
  const char *other;
} speaks;

static bool see_var(void *env, const nw_expr *e) {
  speaks *s = env;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < s->p->nsizes; i++)
    if (!strcmp(s->p->size[i].name, e->name)) return true;
  for (int i = 0; s->around && i < s->around->n; i++)
    if (s->around->at[i]->kind == NW_LOOP && s->around->at[i]->loop.var == e) return true;
  s->other = e->name;
  return false;
}

static bool condition_ok(nw_step *st, const nw_expr *cond, const nw_path *around) {
  speaks s = {st->p, around, NULL};
  if (nw_visit(cond, see_var, &s)) return true;
  nw_fail(st->ctx, NW_EINVAL, NULL,
          around ? "%s: the condition may use sizes and enclosing loops; %s is neither"
                 : "%s: the fact may use only sizes; %s is not a size",
          st->primitive->name, s.other);
  return false;
}

// ---- specialize: the statement

// Finds the path to the statement that gets two versions. If the whole program gets two versions, this is the root.
static bool place(nw_step *st, nw_path *path) {
  bool loop = nw_step_given(st, SPECIALIZE_LOOP), stage = nw_step_given(st, SPECIALIZE_STAGE);
  if (loop && stage) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "specialize: give a loop or a stage, not both");
    return false;
  }
  if (loop) return nw_step_loop(st, SPECIALIZE_LOOP, path) != NULL;
  if (stage && !nw_step_block(st, SPECIALIZE_STAGE, path)) return false;
  if (stage)
    path->n = nw_path_exclusive(path) + 1;
  else
    *path = (nw_path){.n = 1, .at = {st->p->root}};
  return true;
}

// Returns the statement that gets two versions. If this is the whole program, puts the children of the root into one
// statement, to which a condition can be added.
static nw_stmt *body_of(nw_step *st, nw_path *path) {
  nw_stmt *s = path->at[path->n - 1];
  if (path->n > 1) return s;
  nw_stmt *all = nw_new_stmt(st->p, NW_SEQ);
  nw_kids_set(st->p, all, s->nkids, s->kid);
  nw_kids_set(st->p, s, 1, &all);
  path->at[path->n] = all;
  path->pos[path->n++] = 0;
  return all;
}

// ---- specialize: the versions

static nw_stmt *under(nw_step *st, const nw_expr *cond, nw_stmt *s) {
  nw_stmt *g = nw_new_stmt(st->p, NW_GUARD);
  bool seq = s->kind == NW_SEQ;
  g->guard.cond = cond;
  nw_kids_set(st->p, g, seq ? s->nkids : 1, seq ? s->kid : &s);
  return g;
}

static void give(nw_step *st, int then, int otherwise) {
  st->out.loop[st->out.n++] = then;
  st->out.loop[st->out.n++] = otherwise;
}

// Makes two versions. If it is known whether the condition holds, only one version is made, but the names of the other
// version stay valid. `known` is the result of known_there.
static void make_versions(nw_step *st, const nw_path *path, nw_stmt *s, const nw_expr *cond, int known) {
  nw_pool *pool = st->p->pool;
  nw_vec old = {0}, now = {0}, other = {0};
  const nw_expr *no = nw_apply(pool, NW_OP_NOT, 1, &cond);
  nw_stmt *in = path->at[path->n - 2], *copy = known ? NULL : nw_copy_stmt_as(st->p, s, "else");
  int pos = path->pos[path->n - 1];
  nw_tree_loops(s, &old);
  for (int i = 0; i < old.n; i++) old.at[i] = (void *)(intptr_t)((nw_stmt *)old.at[i])->id;
  int empty = known ? nw_empty_version(st, s, known > 0 ? "else" : "then") : copy->id;
  nw_rename_as(st->p, s, known < 0 ? "else" : "then");
  if (!known) nw_kids_replace(in, pos, under(st, cond, s)), nw_kids_insert(st->p, in, pos + 1, under(st, no, copy));
  nw_tree_loops(s, &now);
  if (copy) nw_tree_loops(copy, &other);
  for (int i = 0; i < old.n; i++) {
    nw_stmt *into[] = {now.at[i], copy ? other.at[i] : NULL};
    nw_step_replaces(st, (int)(intptr_t)old.at[i], copy ? 2 : 1, into, "specialized");
  }
  if (s->kind == NW_LOOP) give(st, known < 0 ? empty : s->id, known < 0 ? s->id : empty);
  nw_vec_free(&old), nw_vec_free(&now), nw_vec_free(&other);
}

// Returns 1 if the condition always holds at the end of the path, -1 if it never holds there, and 0 if neither is
// proven.
static int known_there(nw_step *st, const nw_path *path, const nw_expr *cond) {
  nw_ranges r;
  nw_ranges_around(&r, st->p, path);
  int known = nw_prove(&r, cond) ? 1 : nw_disprove(&r, cond) ? -1 : 0;
  nw_ranges_free(&r);
  return known;
}

bool nw_apply_specialize(void *step) {
  nw_step *st = step;
  nw_path path, around;
  const nw_expr *cond = st->resolved[SPECIALIZE_CONDITION].expr[0];
  if (!place(st, &path)) return false;
  around = path;
  around.n--;
  if (!condition_ok(st, cond, &around)) return false;
  int known = known_there(st, &path, cond);
  nw_stmt *s = body_of(st, &path);
  if (!known && !nw_affordable(st, s, 2)) return false;
  make_versions(st, &path, s, cond, known);
  if (known) nw_step_note(st, "the condition %s: only one version is kept", known > 0 ? "always holds" : "never holds");
  return true;
}

// ---- assume

static bool refuse_fact(nw_step *st, const nw_ranges *r, const nw_expr *fact) {
  const nw_expr *known = nw_ruled_out_by(r, fact);
  char *text = known ? nw_expr_show(known) : NULL;
  nw_step_refuse(st, "a fact must be true for some sizes", NULL, "it is never true%s%s%s", text ? ": " : "",
                 text ? text : "", text ? " is known" : "");
  free(text);
  return false;
}

bool nw_apply_assume(void *step) {
  nw_step *st = step;
  nw_program *p = st->p;
  const nw_expr *fact = st->resolved[0].expr[0];
  nw_ranges r;
  if (!condition_ok(st, fact, NULL)) return false;
  nw_ranges_of(&r, p, NULL);
  bool always = nw_prove(&r, fact), never = nw_disprove(&r, fact) && !refuse_fact(st, &r, fact);
  nw_ranges_free(&r);
  if (never) return false;
  if (always) nw_step_note(st, "this fact is already known");
  const nw_expr **all = NW_NEW_N(p->arena, const nw_expr *, p->nfacts + 1);
  for (int i = 0; i < p->nfacts; i++) all[i] = p->fact[i];
  all[p->nfacts++] = fact;
  p->fact = all;
  p->nassumed++;
  nw_tidy_all(st);
  return true;
}
