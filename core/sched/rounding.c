// Detects changes of rounding: a sum in another order, a product that is rounded together with a sum, or a temporary
// that is stored in another dtype.
#include "ir/expr/fma.h"
#include "ir/program/cross.h"
#include "ir/program/reducer.h"
#include "ir/program/tags.h"
#include "poly/poly.h"
#include "sched/rounding.h"
#include "sched/tree.h"
#include <string.h>

// ---- the order of the terms of a float sum

bool nw_rounds(const nw_program *p, const nw_stmt *s) {
  if (s->kind != NW_BLOCK) return false;
  if (s->block.combiner >= NW_OWN) return nw_reducer_of(p->ctx, s->block.combiner)->rounds;
  if (s->block.combiner != NW_SUM && s->block.combiner != NW_PROD) return false;
  for (int i = 0; i < s->block.ntargets; i++) {
    const nw_buffer *b = nw_find_buffer(p, s->block.target[i].buffer);
    if (b && nw_dtype_is_float(b->dtype)) return true;
  }
  return false;
}

// True if the sum adds its terms along variable v of the block. A definition of an update adds along its ordered axes. The
// time of a scan is an index of the element, so a scan does not add along it.
static bool adds_along(const nw_stmt *block, int v) {
  if (block->block.var[v].kind != NW_ORDERED) return block->block.var[v].kind == NW_REDUCE;
  const nw_block_target *t = &block->block.target[0];
  for (int d = 0; d < t->n; d++)
    if (t->index[d] == block->block.var[v].var) return false;
  return true;
}

static bool binds_sum(const nw_stmt *block, const nw_stmt *loop) {
  for (int v = 0; v < block->block.nvars; v++)
    if (adds_along(block, v) && nw_uses_var(block->block.var[v].bind, loop->loop.var->name)) return true;
  return false;
}

static int reduce_loops(const nw_path *path, int *ids) {
  const nw_stmt *block = path->at[path->n - 1];
  int n = 0;
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && binds_sum(block, path->at[i])) ids[n++] = path->at[i]->id;
  return n;
}

// Finds the loops whose threads share the reduction of the block at the end of the path.
static int crossing_loops(const nw_path *path, int *ids) {
  int n = 0;
  for (int i = 0; i < path->n - 1; i++)
    if (nw_crosses(path->at[path->n - 1], path->at[i])) ids[n++] = path->at[i]->id;
  return n;
}

static int index_of(int id, int n, const int *ids) {
  for (int i = 0; i < n; i++)
    if (ids[i] == id) return i;
  return -1;
}

// True if two of the sum's loops have changed their order.
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

// True if e increases with each iteration of loop[0], which is the outermost loop, for all values of the other loops.
static bool climbs(const nw_ranges *r, const nw_expr *e, int n, const nw_stmt *const *loop) {
  nw_pool *pool = r->pool;
  const nw_expr *first = loop[0]->loop.var, *low = e, *high = e, *one = nw_index(pool, 1);
  for (int i = n - 1; i > 0; i--) {
    const nw_expr *begin = loop[i]->loop.begin, *extent = loop[i]->loop.extent;
    if (nw_uses_var(begin, first->name) || nw_uses_var(extent, first->name)) return false;
    low = nw_subst(pool, low, loop[i]->loop.var->name, begin);
    high = nw_subst(pool, high, loop[i]->loop.var->name, nw_sub(pool, nw_add(pool, begin, extent), one));
  }
  const nw_expr *next = nw_subst(pool, low, first->name, nw_add(pool, first, one));
  return nw_prove(r, nw_lt(pool, nw_sub(pool, high, low), nw_sub(pool, next, low)));
}

// True if the terms of every element are added in the order of the definition. This is the case if the loops are in the
// order of the reduction variables that they bind, and no variable ever decreases. The judge can also prove this, but
// takes seconds if the sizes are symbolic.
static bool ascending(const nw_program *p, const nw_path *path) {
  const nw_stmt *block = path->at[path->n - 1], *loop[NW_MAX_DEPTH];
  int var[NW_MAX_DEPTH], n = 0;
  for (int i = 0; i < path->n - 1; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind != NW_LOOP || !binds_sum(block, s)) continue;
    loop[n] = s, var[n] = -1;
    for (int v = 0; v < block->block.nvars; v++) {
      if (!nw_uses_var(block->block.var[v].bind, s->loop.var->name)) continue;
      if (!adds_along(block, v) || var[n] >= 0) return false;
      var[n] = v;
    }
    if (n && var[n] < var[n - 1]) return false;
    n++;
  }
  nw_ranges r;
  bool ok = true;
  nw_ranges_of(&r, p, path);
  for (int i = 0, end; i < n && ok; i++) {
    for (end = i + 1; end < n && var[end] == var[i];) end++;
    ok = climbs(&r, block->block.var[var[i]].bind, end - i, loop + i);
  }
  nw_ranges_free(&r);
  return ok;
}

// True if a variable of the sum is bound to another expression of the loops, for example because a loop was reversed.
static bool rebound(const nw_stmt *was, const nw_stmt *is) {
  if (was->block.nvars != is->block.nvars) return true;
  for (int v = 0; v < is->block.nvars; v++)
    if (adds_along(is, v) && was->block.var[v].bind != is->block.var[v].bind) return true;
  return false;
}

static int pieces(const nw_blocks *b, const nw_stmt *block) {
  int n = 0;
  for (int i = 0; i < b->n; i++)
    n += !b->at[i]->block.init_part && !strcmp(b->at[i]->block.origin, block->block.origin);
  return n;
}

typedef struct sums {
  const nw_step *st;
  const nw_program *p;
  nw_blocks was, is; // the blocks before the step, and after it
  bool *met; // true for the blocks that were already found in the new program
  // `other`: a sum has other loops, other blocks or another order than before; `swapped`: two loops or blocks of a sum
  // were swapped, or a variable of a sum is bound to another expression of the same loops
  bool other, swapped;
  bool shared; // other threads than before share a sum, so that other partial results are combined
} sums;

// True if the step moved another piece of the same sum from a place after this block to a place before it. Blocks are
// visited in the new order. Therefore that piece is visited before this block, although it comes after this block in
// the old program. Also records this block in x->met.
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
  int before[NW_MAX_DEPTH], after[NW_MAX_DEPTH], k = crossing_loops(&was, before), l = crossing_loops(path, after);
  if (!same_loops(k, before, l, after) && !NW_MUTATED(cross_rounds)) return x->shared = x->other = true;
  bool turned = overtaken(x, block), whole = pieces(&x->was, block) == 1 && pieces(&x->is, block) == 1;
  if (whole && ascending(x->st->before, &was) && ascending(x->p, path)) return true;
  bool same = same_loops(n, old, m, now);
  bool moved = same && rebound(was.at[was.n - 1], block) && !NW_MUTATED(reversed_exactly);
  x->other |= turned || moved || !same;
  x->swapped |= turned || moved || swapped(n, old, m, now);
  return true;
}

enum { NOTE_BUDGET = 500000 }; // limit on isl operations; if a proof needs more, a change is reported

static void note_sums(nw_step *st, const nw_program *p) {
  sums x = {.st = st,
            .p = p,
            .was = nw_blocks_below(st->scratch, st->before->root),
            .is = nw_blocks_below(st->scratch, p->root)};
  x.met = NW_NEW_N(st->scratch, bool, x.was.n);
  nw_walk(p, see_sum, &x);
  if (!x.other) return;
  long budget = nw_judge_budget(st->ctx, NOTE_BUDGET);
  bool kept = !x.shared && (st->sched->unsafe ? !x.swapped : nw_judge_sums(st->before, p));
  nw_judge_budget(st->ctx, budget);
  if (!kept) nw_step_rounds(st, "rounding may change: floats are summed in another order");
}

// ---- products under conditions (if a step makes the condition known, the select is removed, and the product may
// become an fma)

static const nw_expr *load_of(nw_pool *pool, const nw_block_target *t, const nw_expr *value) {
  return nw_load(pool, value->type, t->buffer, t->n, (const nw_expr *const *)t->index);
}

const nw_expr *nw_block_stored(nw_pool *pool, const nw_stmt *b, int t) {
  const nw_expr *value = b->block.target[t].value;
  if (b->block.combiner != NW_SUM) return value;
  const nw_expr *old = load_of(pool, &b->block.target[t], value);
  return nw_combine(pool, NW_SUM, 0, &old, &value);
}

static bool count_fma(void *env, const nw_expr *e) {
  *(int *)env += e->op == NW_OP_FMA;
  return true;
}

static bool holds_select(void *env, const nw_expr *e) {
  *(bool *)env |= e->op == NW_OP_SELECT;
  return true;
}

static bool has_select(const nw_stmt *block) {
  bool found = false;
  for (int t = 0; t < block->block.ntargets; t++) nw_visit(block->block.target[t].value, holds_select, &found);
  return found && !nw_tag_is(block, "fma", "never");
}

// Returns the number of fmas that lowering makes in the block at the end of the path.
static int fmas(const nw_program *p, const nw_path *path) {
  const nw_stmt *block = path->at[path->n - 1];
  nw_ranges r;
  int n = 0;
  nw_ranges_of(&r, p, path);
  if (block->block.where) nw_ranges_fact(&r, nw_block_bound(p, block, block->block.where));
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_stmt known = *block;
    nw_block_target one = block->block.target[t];
    one.value = nw_simplify(&r, nw_block_bound(p, block, one.value));
    known.block.target = &one;
    const nw_expr *e = nw_simplify(&r, nw_block_bound(p, block, nw_block_stored(p->pool, &known, 0)));
    nw_visit(nw_form_fma(p->pool, e), count_fma, &n);
  }
  nw_ranges_free(&r);
  return n;
}

typedef struct products {
  const nw_step *st;
  const nw_program *p;
  const nw_stmt *block; // the block to find in the old program
  int n; // number of fmas of `block`
  bool like, unlike; // like: an old block of the same origin has n fmas; unlike: an old block has another number
} products;

static bool see_before(void *env, const nw_path *path) {
  products *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  if (s->kind != NW_BLOCK || strcmp(s->block.origin, x->block->block.origin) || !has_select(s)) return true;
  fmas(x->st->before, path) == x->n ? (x->like = true) : (x->unlike = true);
  return true;
}

// Checks one block. Every block is checked, even if the step did not change it, because an assumption about the sizes
// may decide a condition in the block.
static bool see_product(void *env, const nw_path *path) {
  products *x = env;
  nw_path was;
  x->block = path->at[path->n - 1];
  if (x->block->kind != NW_BLOCK || !has_select(x->block)) return true;
  x->n = fmas(x->p, path);
  x->like = x->unlike = false;
  if (nw_find(x->st->before, x->block->id, &was))
    x->unlike = fmas(x->st->before, &was) != x->n;
  else
    nw_walk(x->st->before, see_before, x);
  return x->like || !x->unlike;
}

static void note_products(nw_step *st, const nw_program *p) {
  products x = {.st = st, .p = p};
  nw_walk(p, see_product, &x);
  if (x.unlike && !x.like)
    nw_step_rounds(
        st,
        "rounding may change: a condition became constant, so its product is now rounded once, together with the sum");
}

// ---- temporaries that are stored in another dtype

typedef struct narrowing {
  const nw_program *p;
  const char *buffer;
  nw_dtype to;
  bool rounds; // result: some value of the buffer may not be a value of the new dtype
} narrowing;

static bool see_store(void *env, nw_stmt *s) {
  narrowing *x = env;
  for (int t = 0; s->kind == NW_BLOCK && t < s->block.ntargets; t++)
    x->rounds |= !strcmp(s->block.target[t].buffer, x->buffer) && !nw_stores_values_of(x->p, s, t, x->to);
  return true;
}

static int precision(nw_dtype t) { return t == NW_BF16 ? 8 : t == NW_F16 ? 11 : t == NW_F32 ? 24 : 53; }

static void note_storage(nw_step *st, const nw_program *p) {
  st->stored = nw_sched_stored(st->sched);
  for (int i = 0; i < p->nbuffers; i++) {
    const nw_buffer *is = p->buffer[i], *was = nw_find_buffer(st->before, is->name);
    if (!was || was->dtype == is->dtype) continue;
    // The judge has proven that integers fit (poly/body.c), if necessary in the digits of products of sizes.
    if (!nw_dtype_is_float((nw_dtype)was->dtype) || !nw_dtype_is_float((nw_dtype)is->dtype)) continue;
    narrowing x = {st->before, is->name, is->dtype, false};
    nw_walk_from(st->before->root, see_store, &x);
    if (!x.rounds || NW_MUTATED(stored_exactly)) continue;
    nw_step_rounds(st, "rounding may change: %s is stored as %s%s", is->name, nw_dtype_name(is->dtype),
                   is->dtype == NW_F16 ? ", in which numbers above 65504 are infinite" : "");
    if ((!st->stored || precision(is->dtype) < precision(st->stored))) st->stored = is->dtype;
  }
}

void nw_note_rounding(nw_step *st, const nw_program *p) {
  note_sums(st, p);
  note_products(st, p);
  note_storage(st, p);
}
