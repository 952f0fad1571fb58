// Suggests steps after a refusal: alternatives to the refused step, and steps that make the refused step possible. A
// suggestion is shown to the user only if it was tried and is legal (refuse.c).
#include "poly/poly.h"
#include "sched/args.h"
#include "sched/advice/suggest.h"
#include "sched/primitives.h"
#include "sched/tree.h"

static void offer_order(nw_step *st, int n, nw_stmt *const *loop) {
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, n);
  for (int i = 0; i < n; i++) item[i] = loop_arg(loop[i]);
  offer1(st, "reorder", (nw_arg){.kind = NW_ARG_LIST, .n = n, .item = item});
}

static nw_arg list_of(nw_step *st, nw_arg a, nw_arg b) {
  nw_arg *item = NW_NEW_N(st->scratch, nw_arg, 2);
  item[0] = a, item[1] = b;
  return (nw_arg){.kind = NW_ARG_LIST, .n = 2, .item = item};
}

// ---- the nest of the refused step

// Finds the loop of argument `param`, and the loops around the first block in that loop, outermost first. Returns the
// number of these loops, or 0 if the argument is not a loop of the program.
static int nest_of(nw_step *st, int param, nw_stmt **loop, nw_stmt **out) {
  nw_path path;
  const nw_arg *a = &st->resolved[param];
  if (a->kind == NW_ARG_LIST) a = a->n ? &a->item[0] : a;
  if (a->kind != NW_ARG_LOOP || !nw_find(st->before, (int)a->i, &path)) return 0;
  *loop = path.at[path.n - 1];
  nw_blocks b = nw_blocks_below(st->scratch, *loop);
  if (b.n) nw_find(st->before, b.at[0]->id, &path);
  return nw_path_loops(&path, out);
}

int nw_suggest_nest_of(nw_step *st, const char *stage, nw_stmt **out) {
  nw_path path;
  const nw_stmt *block = stage ? nw_stage_block(st->before, stage) : NULL;
  return block && nw_find(st->before, block->id, &path) ? nw_path_loops(&path, out) : 0;
}

static bool speaks_of(const nw_step *st, const nw_arg *args, int n, const nw_stmt *s) {
  for (int i = 0; i < n; i++) {
    const nw_arg *x = &args[i];
    bool stmt = x->kind == NW_ARG_STMT;
    if (x->kind == NW_ARG_LIST && speaks_of(st, x->item, x->n, s)) return true;
    if ((stmt || x->kind == NW_ARG_LOOP) && x->i == s->id) return true;
    const nw_stmt *block = stmt && !x->i ? nw_stage_block(st->before, x->name) : NULL;
    if (block && nw_tree_has(s, block)) return true;
  }
  return false;
}

bool nw_suggest_about(const nw_step *st, const nw_stmt *s) {
  return speaks_of(st, st->resolved, nw_param_count(st->primitive), s);
}

// ---- marks

// For a reduction loop, suggests rfactor, because the updates of different partial results do not conflict. Also
// suggests an atomic update if `atomic` is true, and a separate init if the update is atomic.
static void offer_parts(nw_step *st, const nw_stmt *loop, bool atomic) {
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  for (int i = 0; i < b.n; i++)
    if (nw_loop_binds(b.at[i], loop, true)) {
      first2(st, "rfactor", stage_arg(b.at[i]->block.name), loop_arg(loop));
      if (atomic) first1(st, "atomic", stage_arg(b.at[i]->block.name));
      if (b.at[i]->block.atomic) first2(st, "decompose_reduction", stage_arg(b.at[i]->block.name), loop_arg(loop));
    }
}

// Suggests a mark, except for a loop with one iteration, where the mark is useless.
static void offer_mark(nw_step *st, const char *mark, const nw_stmt *loop) {
  if (!small(loop, 1)) offer1(st, mark, loop_arg(loop));
}

// Suggests splitting a loop that is too long for a mark, and marking the inner loop.
static void offer_piece(nw_step *st, const char *mark, const nw_stmt *loop) {
  nw_arg split[] = {loop_arg(loop), int_arg(small(loop, 16) ? 4 : 16)};
  nw_arg inner = {.kind = NW_ARG_LOOP, .name = nw_arena_printf(st->scratch, "%s_i", loop->loop.var->name)};
  nw_step_suggest(st, "split", split, 2)->then = nw_step_candidate(st, mark, &inner, 1);
}

void nw_suggest_parallel(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest), first = 0;
  first_unmarks(st, n, nest);
  while (first < n && nest[first] == loop) first++;
  if (first < n) offer_mark(st, "parallel", nest[first]);
  if (n) offer_parts(st, loop, true);
  for (int i = first + 1; i < n; i++)
    if (nest[i] != loop) offer_mark(st, "parallel", nest[i]);
  for (int i = n - 1; i >= 0; i--)
    if (nest[i] != loop) offer_mark(st, "vectorize", nest[i]);
}

// Returns the dimension of the grid with this name, or -1.
static int dim_named(const char *tag) {
  for (int d = 0; d < NW_GRID_DIMS; d++)
    if (tag && !strcmp(tag, nw_loop_kind_name((nw_loop_kind)(NW_BLOCK_X + d)))) return d;
  return -1;
}

// Returns the largest power of two such that a dimension of the grid can have so many values beside the loops of the nest
// that are bound to threads.
static int64_t room_of(const nw_step *st, int n, nw_stmt *const *nest, const nw_stmt *loop, int dim) {
  const nw_launch_limit *limit = &st->p->target->limit.launch;
  int64_t room = limit->extent[dim], threads = limit->threads, out = 1, e;
  for (int i = 0; i < n; i++)
    if (nest[i] != loop && nw_grid_dim(nest[i]) >= 3 && nw_is_int(nest[i]->loop.extent, &e) && e > 1) threads /= e;
  if (dim >= 3 && threads < room) room = threads;
  while (2 * out <= room) out *= 2;
  return out;
}

// Suggests splitting a loop that is too long for a dimension of the grid, and binding the inner loop.
static void offer_bound_piece(nw_step *st, int n, nw_stmt *const *nest, const nw_stmt *loop) {
  int dim = dim_named(st->resolved[1].name);
  int64_t extent, room = dim < 0 ? 0 : room_of(st, n, nest, loop, dim);
  if (room < 2 || !nw_is_int(loop->loop.extent, &extent) || extent <= room) return;
  nw_arg split[] = {loop_arg(loop), int_arg(room)};
  nw_arg bind[] = {{.kind = NW_ARG_LOOP, .name = nw_arena_printf(st->scratch, "%s_i", loop->loop.var->name)},
                   st->resolved[1]};
  nw_step_suggest(st, "split", split, 2)->then = nw_step_candidate(st, "bind", bind, 2);
}

// Suggests binding other loops of the nest to the same index, and other steps for the loop of the refused step.
void nw_suggest_bind(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  if (n) offer_bound_piece(st, n, nest, loop);
  first_unmarks(st, n, nest);
  for (int i = 0; i < n; i++)
    if (nest[i] != loop) offer2(st, "bind", loop_arg(nest[i]), st->resolved[1]);
  if (n) offer_parts(st, loop, true);
  if (n && nw_grid_dim(loop) < 0) offer2(st, "bind", loop_arg(loop), str_arg("vthread"));
  if (n && small(loop, 64)) offer1(st, "unroll", loop_arg(loop));
}

// Suggests the option reduce for a loop of a reduction, and no option for any other loop.
static void offer_lanes(nw_step *st, const nw_stmt *loop) {
  bool given = st->resolved[1].kind != NW_ARG_NONE, reduces = false;
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  for (int i = 0; i < b.n; i++) reduces |= nw_loop_binds(b.at[i], loop, true);
  if (reduces && !given) offer2(st, "vectorize", loop_arg(loop), str_arg("tree"));
  if (!reduces && given) offer1(st, "vectorize", loop_arg(loop));
}

void nw_suggest_vectorize(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  first_unmarks(st, n, nest);
  for (int i = n - 1; i >= 0; i--)
    if (nest[i] != loop) offer_mark(st, "vectorize", nest[i]);
  int64_t lanes = st->p->target->limit.lanes;
  if (n && small(loop, lanes)) offer_lanes(st, loop);
  if (n && small(loop, lanes)) offer_parts(st, loop, false);
  if (n && small(loop, 64)) offer1(st, "unroll", loop_arg(loop));
  for (int i = n - 1; i >= 0; i--)
    if (!small(nest[i], lanes)) offer_piece(st, "vectorize", nest[i]);
}

void nw_suggest_unroll(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  first_unmarks(st, n, nest);
  if (n) offer_piece(st, "unroll", loop);
  for (int i = n - 1; i >= 0; i--)
    if (nest[i] != loop && small(nest[i], 64)) offer1(st, "unroll", loop_arg(nest[i]));
}

// ---- loops

// Suggests skewing each inner loop of the list by the loop around it.
static void first_skews(nw_step *st) {
  const nw_arg *list = &st->resolved[0];
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  for (int k = 1; k < n; k++)
    for (int i = 0; i < list->n; i++) {
      if (list->item[i].i != nest[k]->id) continue;
      nw_arg args[] = {loop_arg(nest[k]), loop_arg(nest[k - 1]), int_arg(1)};
      nw_step_suggest(st, "skew", args, 3)->then = nw_step_again(st);
    }
}

void nw_suggest_skew(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  for (int i = 0; i < n; i++)
    for (int k = i + 1; k < n; k++) {
      nw_arg args[] = {loop_arg(nest[k]), loop_arg(nest[i]), int_arg(1)};
      if (nest[k] == loop || nest[i] == loop) nw_step_suggest(st, "skew", args, 3);
    }
}

// ---- reversals, shifts and loops of one iteration

// Suggests splitting off the inits of the reductions that the loop carries, since an init runs before all updates. Also
// suggests reversing other loops of the nest.
void nw_suggest_reverse(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  if (!n) return;
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  for (int i = 0; i < b.n; i++)
    if (b.at[i]->block.has_init && nw_loop_binds(b.at[i], loop, true))
      for (int k = n - 1; k >= 0; k--)
        if (nw_tree_has(nest[k], loop))
          first2(st, "decompose_reduction", stage_arg(b.at[i]->block.name), loop_arg(nest[k]));
  for (int i = n - 1; i >= 0; i--)
    if (nest[i] != loop) offer1(st, "reverse", loop_arg(nest[i]));
}

void nw_suggest_shift(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  first_unmarks(st, nest_of(st, 0, &loop, nest), nest);
}

void nw_suggest_unit_loop(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  first_unmarks(st, n, nest);
  for (int i = 0; i < n; i++)
    if (small(nest[i], 1)) offer1(st, "remove_unit_loop", loop_arg(nest[i]));
}

void nw_suggest_unmark(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  for (int i = 0; i < n; i++)
    if (nest[i]->loop.mark != NW_SERIAL) offer1(st, "unmark", loop_arg(nest[i]));
}

// ---- pieces of loops

// Suggests a fact that makes the tail possible. A shifted tail is possible if the loop has at least one full block of
// iterations. A padded tail is possible if all blocks are full.
static void first_fact(nw_step *st, const nw_stmt *loop, const char *tail, int64_t factor) {
  nw_pool *pool = st->before->pool;
  const nw_expr *extent = loop->loop.extent, *by = nw_index(pool, factor), *fact = NULL;
  if (!strcmp(tail, "shift")) fact = nw_le(pool, by, extent);
  if (!strcmp(tail, "pad")) fact = nw_eq(pool, nw_floormod(pool, extent, by), nw_index(pool, 0));
  if (!fact || fact->op == NW_OP_INT) return;
  first1(st, "assume", cond_arg(st, fact));
  first2(st, "specialize", cond_arg(st, fact), loop_arg(loop));
}

// Suggests a fact that makes the tail possible. Also suggests the split without the option `tail`, because the default,
// a guard, is always possible.
void nw_suggest_split(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  if (!nest_of(st, 0, &loop, nest)) return;
  if (st->resolved[1].kind == NW_ARG_INT && st->resolved[1].i > 0 && st->resolved[3].kind == NW_ARG_STR)
    first_fact(st, loop, st->resolved[3].name, st->resolved[1].i);
  first_unmark(st, loop);
  nw_arg plain[NW_MAX_PARAMS];
  memcpy(plain, st->resolved, sizeof plain);
  plain[3] = (nw_arg){0};
  nw_step_suggest(st, "split", plain, NW_MAX_PARAMS);
}

// Suggests a split instead of a cut.
void nw_suggest_cut(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  if (!nest_of(st, 0, &loop, nest)) return;
  first_unmark(st, loop);
  offer2(st, "split", loop_arg(loop), int_arg(small(loop, 16) ? 4 : 16));
}

// Suggests a cut in the middle if the iterations that satisfy all conditions are not consecutive. Also suggests
// partitioning other loops of the nest.
void nw_suggest_partition(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  nw_interval x;
  nw_pool *pool = st->before->pool;
  int64_t extent;
  int n = nest_of(st, 0, &loop, nest);
  for (int i = 0; i < n; i++) {
    bool known = nw_holding_rounds(st->before, nest[i], &x);
    if (nest[i] != loop && known && x.lo) offer1(st, "partition", loop_arg(nest[i]));
    if (nest[i] == loop && known && x.apart && nw_is_int(loop->loop.extent, &extent) && extent > 1)
      first2(st, "cut", loop_arg(loop), cut_at(st, nw_add(pool, loop->loop.begin, nw_index(pool, extent / 2))));
  }
  nw_clear(st->ctx);
}

void nw_suggest_specialize(void *step) {
  nw_step *st = step;
  nw_stmt *nest[NW_MAX_DEPTH];
  nw_blocks b = nw_blocks_below(st->scratch, st->before->root);
  offer1(st, "specialize", st->resolved[0]);
  for (int i = 0; i < b.n; i++) {
    int n = nw_suggest_nest_of(st, b.at[i]->block.name, nest);
    for (int k = 0; k < n; k++) offer2(st, "specialize", st->resolved[0], loop_arg(nest[k]));
  }
}

// Suggests partitioning the enclosing loops that the condition of a block uses: first each loop alone, then all of
// them, outermost first. The step `then` follows. This step can refer to the main part, because the main part keeps the
// name of the stage and the names of its loops.
void nw_suggest_unguarded(nw_step *st, const nw_stmt *block, int n, nw_stmt *const *nest, nw_candidate *then) {
  nw_stmt *asked[NW_MAX_DEPTH];
  int nasked = 0;
  for (int i = 0; i < n && block->block.where; i++)
    if (nw_uses_var(block->block.where, nest[i]->loop.var->name)) asked[nasked++] = nest[i];
  for (int i = 0; i < nasked; i++) nw_step_suggest(st, "partition", (nw_arg[]){loop_arg(asked[i])}, 1)->then = then;
  for (int i = nasked - 1; i > 0; i--) {
    nw_candidate *c = nw_step_candidate(st, "partition", (nw_arg[]){same_loop(asked[i])}, 1);
    c->then = then;
    then = c;
  }
  if (nasked > 1) nw_step_suggest(st, "partition", (nw_arg[]){loop_arg(asked[0])}, 1)->then = then;
}

// Suggests joining each of the two loops with another adjacent loop.
void nw_suggest_join(void *step) {
  nw_step *st = step;
  for (int i = 0; i < 2; i++) {
    nw_path path;
    if (!nw_find(st->before, (int)st->resolved[i].i, &path)) continue;
    const nw_stmt *in = path.at[path.n - 2], *loop = path.at[path.n - 1];
    first_unmark(st, loop);
    for (int k = 0; k + 1 < in->nkids; k++)
      if ((in->kid[k] == loop || in->kid[k + 1] == loop) && in->kid[k]->kind == NW_LOOP &&
          in->kid[k + 1]->kind == NW_LOOP)
        offer2(st, "join", loop_arg(in->kid[k]), loop_arg(in->kid[k + 1]));
  }
}

// True if loop i + 1 is the only statement directly in loop i, and one of these two loops is an argument of the refused
// step.
static bool neighbours(const nw_step *st, nw_stmt *const *nest, int i) {
  return nest[i]->nkids == 1 && nest[i]->kid[0] == nest[i + 1] &&
         (nw_suggest_about(st, nest[i]) || nw_suggest_about(st, nest[i + 1]));
}

// Suggests fusing a loop with the loop directly inside it. If `fuse` was refused, also suggests merging its two loops,
// because one of them may follow the other.
void nw_suggest_fuse(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  int n = nest_of(st, 0, &loop, nest);
  first_unmarks(st, n, nest);
  if (!strcmp(st->primitive->name, "fuse")) offer2(st, "merge", st->resolved[0], st->resolved[1]);
  for (int i = 0; i + 1 < n; i++)
    if (neighbours(st, nest, i)) offer2(st, "fuse", loop_arg(nest[i]), loop_arg(nest[i + 1]));
}

// If the refused step has the option `tail`, suggests the step without this option. Otherwise suggests tiling two other
// neighbouring loops with the same factors. Also suggests skewing the inner loop first, which makes the tile legal if
// an inner loop carries a dependence backwards.
void nw_suggest_tile(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH];
  const nw_arg *factor = st->resolved[1].item;
  int n = nest_of(st, 0, &loop, nest);
  first_unmarks(st, n, nest);
  if (st->resolved[2].kind != NW_ARG_NONE) nw_step_suggest(st, "tile", st->resolved, 2);
  for (int i = 0; i + 1 < n && st->resolved[1].n > 1 && st->resolved[2].kind == NW_ARG_NONE; i++)
    if (neighbours(st, nest, i))
      offer2(st, "tile", list_of(st, loop_arg(nest[i]), loop_arg(nest[i + 1])), list_of(st, factor[0], factor[1]));
  first_skews(st);
}

// Suggests orders that differ from the requested order in two adjacent loops. Also suggests skewing before the reorder,
// and swaps of two adjacent loops of the nest.
void nw_suggest_reorder(void *step) {
  nw_step *st = step;
  nw_stmt *loop, *nest[NW_MAX_DEPTH], *want[NW_MAX_DEPTH];
  const nw_arg *list = &st->resolved[0];
  for (int i = 0; i < list->n && list->n <= NW_MAX_DEPTH; i++) {
    nw_path path;
    if (!nw_find(st->before, (int)list->item[i].i, &path)) return;
    want[i] = path.at[path.n - 1];
  }
  for (int i = 0; list->n > 2 && i + 1 < list->n; i++) {
    nw_stmt *order[NW_MAX_DEPTH];
    memcpy(order, want, (size_t)list->n * sizeof *order);
    order[i] = want[i + 1], order[i + 1] = want[i];
    offer_order(st, list->n, order);
  }
  first_skews(st);
  int n = nest_of(st, 0, &loop, nest);
  for (int i = n - 2; i >= 0; i--) {
    if (neighbours(st, nest, i)) offer_order(st, 2, (nw_stmt *[]){nest[i + 1], nest[i]});
  }
}
