// Ways on after the refusal of a step on statements that follow each other.
#include "sched/primitives.h"
#include "sched/suggest.h"
#include "sched/tree.h"

// ---- neighbours, as the tree has them; storage between them is looked through

typedef bool (*pair_fn)(nw_step *st, const nw_stmt *a, const nw_stmt *b);

static const nw_stmt *first_in(const nw_stmt *s) {
  while (s->kind == NW_ALLOC && s->nkids) s = s->kid[0];
  return s;
}

static void each_pair(nw_step *st, const nw_stmt *s, pair_fn f) {
  for (int i = 0; i + 1 < s->nkids; i++) f(st, s->kid[i], first_in(s->kid[i + 1]));
  for (int i = 0; i < s->nkids; i++) each_pair(st, s->kid[i], f);
}

static nw_arg stmt_arg(const nw_stmt *s) {
  return (nw_arg){.kind = NW_ARG_STMT, .name = s->kind == NW_LOOP ? s->loop.var->name : s->block.name};
}

static bool named(const nw_stmt *s) { return s->kind == NW_LOOP || s->kind == NW_BLOCK; }

static bool offer_merge(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  bool loops = a->kind == NW_LOOP && b->kind == NW_LOOP;
  if (loops && a->loop.extent == b->loop.extent) offer2(st, "merge", loop_arg(a), loop_arg(b));
  return loops;
}

static bool offer_fused(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  bool loops = a->kind == NW_LOOP && b->kind == NW_LOOP;
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, 2);
  if (loops) item[0] = loop_arg(a), item[1] = loop_arg(b);
  if (loops) offer1(st, "create_fused_loop", (nw_arg){.kind = NW_ARG_LIST, .n = 2, .item = item});
  return loops;
}

static bool offer_swap(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  if (named(a) && named(b)) offer2(st, "reorder_stmts", stmt_arg(a), stmt_arg(b));
  return true;
}

static bool offer_fission(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  nw_path path;
  (void)b;
  if (!named(a) || !nw_find(st->before, a->id, &path) || path.at[path.n - 2]->kind != NW_LOOP) return false;
  offer2(st, "fission", loop_arg(path.at[path.n - 2]), stmt_arg(a));
  return true;
}

// ---- the primitives

static const nw_stmt *loop_of(nw_step *st, const nw_arg *a) {
  nw_path path;
  if (a->kind == NW_ARG_LIST) a = &a->item[0];
  return a->i && nw_find(st->before, (int)a->i, &path) ? path.at[path.n - 1] : NULL;
}

static void offer_marks_away(nw_step *st, const nw_arg *a) {
  const nw_arg *item = a->kind == NW_ARG_LIST ? a->item : a;
  for (int i = 0; i < (a->kind == NW_ARG_LIST ? a->n : 1); i++) {
    const nw_stmt *loop = loop_of(st, &item[i]);
    if (loop && loop->loop.mark != NW_SERIAL) offer1(st, "unmark", loop_arg(loop));
  }
}

void nw_suggest_merge(void *step) {
  nw_step *st = step;
  offer_marks_away(st, &st->resolved[0]);
  offer_marks_away(st, &st->resolved[1]);
  each_pair(st, st->before->root, offer_merge);
  each_pair(st, st->before->root, offer_fused);
}

void nw_suggest_create_fused_loop(void *step) {
  nw_step *st = step;
  offer_marks_away(st, &st->resolved[0]);
  each_pair(st, st->before->root, offer_fused);
  each_pair(st, st->before->root, offer_merge);
}

void nw_suggest_reorder_stmts(void *step) {
  nw_step *st = step;
  each_pair(st, st->before->root, offer_swap);
  each_pair(st, st->before->root, offer_merge);
}

void nw_suggest_fission(void *step) {
  nw_step *st = step;
  const nw_stmt *loop = loop_of(st, &st->resolved[0]);
  each_pair(st, st->before->root, offer_fission);
  if (loop) offer_split(st, loop);
}
