// After a primitive has edited a program: bindings and guards simplified where they stand, and a word about rounding.
#include "sched/tidy.h"
#include "poly/poly.h"
#include "sched/tree.h"

// ---- simplification. Only statements of this step: the others were tidied when they were made.

// A conjunct that always holds is dropped.
static const nw_expr *needed(const nw_ranges *r, const nw_expr *where) {
  const nw_expr *term[NW_MAX_TERMS], *out = NULL;
  int n = nw_conjuncts(where, NW_MAX_TERMS, term);
  for (int i = 0; i < n; i++) {
    const nw_expr *t = nw_simplify(r, term[i]);
    if (!nw_prove(r, t)) out = nw_and(r->pool, out, t);
  }
  return out;
}

static void tidy_block(const nw_ranges *r, nw_stmt *s) {
  for (int i = 0; i < s->block.nvars; i++) s->block.var[i].bind = nw_simplify(r, s->block.var[i].bind);
  if (s->block.where) s->block.where = needed(r, s->block.where);
}

// A prefetch is a box as well.
static void tidy_alloc(const nw_ranges *r, nw_stmt *s) {
  for (int i = 0; i < s->alloc.n; i++) {
    s->alloc.min[i] = nw_simplify(r, s->alloc.min[i]);
    s->alloc.extent[i] = nw_simplify(r, s->alloc.extent[i]);
  }
}

// The extent of a fused loop stays the product of its dimensions.
static void tidy_loop(const nw_program *p, const nw_path *path, nw_stmt *s) {
  if (s->loop.nfused) return;
  nw_ranges r;
  nw_ranges_around(&r, p, path);
  s->loop.begin = nw_simplify(&r, s->loop.begin);
  s->loop.extent = nw_simplify(&r, s->loop.extent);
  nw_ranges_free(&r);
}

static bool tidy_stmt(void *env, const nw_path *path) {
  nw_program *p = env;
  nw_stmt *s = path->at[path->n - 1];
  if (s->step != p->step) return true;
  if (s->kind == NW_LOOP) tidy_loop(p, path, s);
  if (s->kind != NW_BLOCK && s->kind != NW_ALLOC && s->kind != NW_PREFETCH) return true;
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  s->kind == NW_BLOCK ? tidy_block(&r, s) : tidy_alloc(&r, s);
  nw_ranges_free(&r);
  return true;
}

// ---- the order in which a float sum is added up

bool nw_rounds(const nw_program *p, const nw_stmt *s) {
  if (s->kind != NW_BLOCK || (s->block.combiner != NW_SUM && s->block.combiner != NW_PROD)) return false;
  for (int i = 0; i < s->block.ntargets; i++) {
    const nw_buffer *b = nw_find_buffer(p, s->block.target[i].buffer);
    if (b && nw_dtype_is_float(b->dtype)) return true;
  }
  return false;
}

static int reduce_loops(const nw_path *path, int *ids) {
  const nw_stmt *block = path->at[path->n - 1];
  int n = 0;
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && nw_loop_binds(block, path->at[i], true)) ids[n++] = path->at[i]->id;
  return n;
}

static int index_of(int id, int n, const int *ids) {
  for (int i = 0; i < n; i++)
    if (ids[i] == id) return i;
  return -1;
}

// Two loops of the sum that have changed places.
static bool swapped(int n, const int *old, int m, const int *now) {
  for (int i = 0, last = -1; i < n; i++) {
    int at = index_of(old[i], m, now);
    if (at >= 0 && at < last) return true;
    if (at >= 0) last = at;
  }
  return false;
}

static bool same_loops(int n, const int *a, int m, const int *b) {
  for (int i = 0; i < n && i < m; i++)
    if (a[i] != b[i]) return false;
  return n == m;
}

typedef struct sums {
  const nw_step *st;
  const nw_program *p;
  nw_blocks was; // before the step
  bool *met; // which of them the program that the step made has, as far as it was looked at
  bool other, swapped; // a sum has other loops than before, or other blocks; two of its loops or blocks changed places
} sums;

// Has a piece of the same sum been met that came after this one before the step?
static bool overtaken(const sums *x, const nw_stmt *block) {
  int at = 0;
  while (at < x->was.n && x->was.at[at]->id != block->id) at++;
  if (at < x->was.n) x->met[at] = true;
  for (int later = at + 1; later < x->was.n; later++)
    if (x->met[later] && !strcmp(x->was.at[later]->block.target[0].buffer, block->block.target[0].buffer)) return true;
  return false;
}

static bool see_sum(void *env, const nw_path *path) {
  sums *x = env;
  const nw_stmt *block = path->at[path->n - 1];
  nw_path was;
  if (!nw_rounds(x->p, block)) return true;
  int old[NW_MAX_DEPTH], now[NW_MAX_DEPTH], n, m = reduce_loops(path, now);
  if (!nw_find(x->st->before, block->id, &was)) return x->other |= m > 0, true;
  n = reduce_loops(&was, old);
  bool turned = overtaken(x, block);
  x->other |= turned || !same_loops(n, old, m, now);
  x->swapped |= turned || swapped(n, old, m, now);
  return true;
}

void nw_note_sums(nw_step *st, const nw_program *p) {
  sums x = {.st = st, .p = p, .was = nw_blocks_below(st->scratch, st->before->root)};
  x.met = NW_NEW_N(st->scratch, bool, x.was.n);
  nw_walk(p, see_sum, &x);
  if (!x.other) return;
  if (st->sched->unsafe ? x.swapped : !nw_judge_sums(st->before, p))
    nw_step_rounds(st, "rounding may change: floats are summed in another order");
}

void nw_tidy(nw_step *st) { nw_walk(st->p, tidy_stmt, st->p); }
