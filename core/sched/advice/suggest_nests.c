// Suggests steps after the refusal of a step on consecutive statements.
#include "sched/primitives.h"
#include "sched/advice/suggest.h"
#include "sched/tree.h"

// ---- neighbours in the tree (storage between them is ignored)

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

static bool asked(const nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  return nw_suggest_about(st, a) || nw_suggest_about(st, b);
}

// Suggests merging two adjacent loops before the refused step.
static bool first_merge(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  bool loops = a->kind == NW_LOOP && b->kind == NW_LOOP;
  if (loops && a->loop.extent == b->loop.extent) first2(st, "merge", loop_arg(a), loop_arg(b));
  return loops;
}

static bool offer_merge(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  bool loops = a->kind == NW_LOOP && b->kind == NW_LOOP && asked(st, a, b);
  if (loops && a->loop.extent == b->loop.extent) offer2(st, "merge", loop_arg(a), loop_arg(b));
  return loops;
}

// Suggests cutting the longer of two loops, so that one of its pieces has as many iterations as the shorter loop. The
// next suggested step merges this piece with the shorter loop.
static void cut_longer(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  nw_pool *pool = st->before->pool;
  int64_t more;
  if (!nw_is_int(nw_sub(pool, a->loop.extent, b->loop.extent), &more) || !more) return;
  const nw_stmt *cut = more > 0 ? a : b;
  const nw_expr *at = more > 0 ? nw_index(pool, more) : a->loop.extent;
  const char *piece = nw_arena_printf(st->scratch, "%s.%s", cut->loop.var->name, more > 0 ? "rest" : "head");
  nw_arg near = {.kind = NW_ARG_LOOP, .name = piece},
         args[] = {loop_arg(cut), cut_at(st, nw_add(pool, cut->loop.begin, at))};
  nw_arg merge[] = {more > 0 ? near : loop_arg(a), more > 0 ? loop_arg(b) : near};
  nw_step_suggest(st, "cut", args, 2)->then = nw_step_candidate(st, "merge", merge, 2);
}

static bool offer_fused(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  bool loops = a->kind == NW_LOOP && b->kind == NW_LOOP && asked(st, a, b);
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, 2);
  if (loops) item[0] = loop_arg(a), item[1] = loop_arg(b);
  if (loops) offer1(st, "create_fused_loop", (nw_arg){.kind = NW_ARG_LIST, .n = 2, .item = item});
  return loops;
}

static const nw_stmt *loop_of(nw_step *st, const nw_arg *a) {
  nw_path path;
  if (a->kind == NW_ARG_LIST) a = &a->item[0];
  return a->i && nw_find(st->before, (int)a->i, &path) ? path.at[path.n - 1] : NULL;
}

// True if one of two loops is inside the other.
static bool nested(nw_step *st, const nw_arg *x, const nw_arg *y) {
  const nw_stmt *a = loop_of(st, x), *b = loop_of(st, y);
  return a && b && a != b && (nw_tree_has(a, b) || nw_tree_has(b, a));
}

// Suggests reorder for two nested loops, because reorder_stmts applies only to statements that follow each other.
static void offer_reordered(nw_step *st) {
  const nw_stmt *a = loop_of(st, &st->resolved[0]), *b = loop_of(st, &st->resolved[1]);
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, 2);
  item[0] = loop_arg(nw_tree_has(a, b) ? b : a), item[1] = loop_arg(nw_tree_has(a, b) ? a : b);
  offer1(st, "reorder", (nw_arg){.kind = NW_ARG_LIST, .n = 2, .item = item});
}

static bool offer_swap(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  if (named(a) && named(b) && asked(st, a, b)) offer2(st, "reorder_stmts", stmt_arg(a), stmt_arg(b));
  return true;
}

static bool offer_fission(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  nw_path path;
  (void)b;
  if (!named(a) || !nw_find(st->before, a->id, &path) || path.at[path.n - 2]->id != st->resolved[0].i) return false;
  offer2(st, "fission", st->resolved[0], stmt_arg(a));
  return true;
}

// ---- the primitives

static void first_marks_away(nw_step *st, const nw_arg *a) {
  const nw_arg *item = a->kind == NW_ARG_LIST ? a->item : a;
  for (int i = 0; i < (a->kind == NW_ARG_LIST ? a->n : 1); i++) {
    const nw_stmt *loop = loop_of(st, &item[i]);
    if (loop) first_unmark(st, loop);
  }
}

void nw_suggest_merge(void *step) {
  nw_step *st = step;
  if (nested(st, &st->resolved[0], &st->resolved[1])) nw_suggest_fuse(st);
  first_marks_away(st, &st->resolved[0]);
  first_marks_away(st, &st->resolved[1]);
  const nw_stmt *a = loop_of(st, &st->resolved[0]), *b = loop_of(st, &st->resolved[1]);
  if (a && b) cut_longer(st, a, b);
  each_pair(st, st->before->root, first_merge);
  each_pair(st, st->before->root, offer_merge);
  each_pair(st, st->before->root, offer_fused);
}

void nw_suggest_create_fused_loop(void *step) {
  nw_step *st = step;
  const nw_arg *list = &st->resolved[0];
  if (list->n > 1 && nested(st, &list->item[0], &list->item[1])) nw_suggest_fuse(st);
  first_marks_away(st, &st->resolved[0]);
  each_pair(st, st->before->root, offer_fused);
  each_pair(st, st->before->root, offer_merge);
}

void nw_suggest_reorder_stmts(void *step) {
  nw_step *st = step;
  if (nested(st, &st->resolved[0], &st->resolved[1])) offer_reordered(st);
  each_pair(st, st->before->root, offer_swap);
  each_pair(st, st->before->root, offer_merge);
}

void nw_suggest_fission(void *step) {
  nw_step *st = step;
  each_pair(st, st->before->root, offer_fission);
}
