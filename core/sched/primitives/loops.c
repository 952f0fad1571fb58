// split, tile and fuse: run the same instances in another nest.
#include "sched/bounds.h"
#include "sched/empty.h"
#include "sched/primitives.h"
#include "sched/shape.h"
#include "sched/tree.h"
#include <stdlib.h>

// ---- split

enum { MAX_FACTOR = 1 << 30 };

bool nw_factor_ok(nw_step *st, const char *what, int64_t factor) {
  if (factor >= 1 && factor <= MAX_FACTOR) return true;
  const char *hint = nw_arena_printf(st->scratch, "give 1 to %d iterations", MAX_FACTOR);
  return nw_fail(st->ctx, NW_ERANGE, hint, "%s: %s = %lld is out of range", st->primitive->name, what,
                 (long long)factor);
}

const nw_expr *nw_step_factor(nw_step *st, const nw_arg *a, const char *what) {
  nw_pool *pool = st->p->pool;
  if (a->kind == NW_ARG_INT) return nw_factor_ok(st, what, a->i) ? nw_index(pool, a->i) : NULL;
  nw_ranges r;
  nw_ranges_around(&r, st->p, NULL);
  bool positive = nw_prove(&r, nw_le(pool, nw_index(pool, 1), a->expr[0]));
  nw_ranges_free(&r);
  if (positive) return a->expr[0];
  char *shown = nw_expr_show(a->expr[0]);
  const char *hint = nw_arena_printf(st->scratch, "s:assume(\"%s >= 1\") makes this known", shown);
  nw_fail(st->ctx, NW_ERANGE, hint, "%s: %s = %s may be less than 1", st->primitive->name, what, shown);
  free(shown);
  return NULL;
}

bool nw_can_split(nw_step *st, const nw_stmt *loop) {
  if (loop->loop.mark == NW_SERIAL) return true;
  return nw_step_refuse(st, "a mark applies to a whole loop: split first, then mark a part", loop,
                        "%s is already marked %s", loop->loop.var->name, nw_loop_kind_name(loop->loop.mark));
}

bool nw_loop_divides(const nw_program *p, const nw_path *path, const nw_expr *factor) {
  const nw_expr *extent = path->at[path->n - 1]->loop.extent;
  int64_t f;
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  bool yes = nw_is_int(factor, &f)
                 ? nw_divides(&r, extent, f)
                 : nw_prove(&r, nw_eq(p->pool, nw_floormod(p->pool, extent, factor), nw_index(p->pool, 0)));
  nw_ranges_free(&r);
  return yes;
}

// True if parts * factor is proven to be equal to the extent of the loop.
static bool parts_cover(const nw_program *p, const nw_path *path, const nw_expr *parts, const nw_expr *factor) {
  nw_ranges r;
  nw_ranges_of(&r, p, path);
  bool yes = nw_prove(&r, nw_eq(p->pool, nw_mul(p->pool, parts, factor), path->at[path->n - 1]->loop.extent));
  nw_ranges_free(&r);
  return yes;
}

static nw_stmt *loop_like(nw_step *st, const char *name, const nw_expr *begin, const nw_expr *extent) {
  return nw_new_loop(st->p, nw_unique_loop_name(st->p, name), begin, extent);
}

// Returns the name of new loop number i of n new loops: i_o and i_i, or i_0, i_1, ... if there are more than two loops.
static const char *piece_name(nw_step *st, const char *stem, int i, int n) {
  if (n == 2) return nw_arena_printf(st->scratch, "%s%s", stem, i ? "_i" : "_o");
  return nw_arena_printf(st->scratch, "%s_%d", stem, i);
}

// Returns the number of iterations of the old loop that one iteration of new loop i covers.
static const nw_expr *weight(nw_pool *pool, const nw_pieces *x, int i) {
  const nw_expr *w = nw_index(pool, 1);
  while (++i < x->n) w = nw_mul(pool, x->loop[i]->loop.extent, w);
  return w;
}

// Returns the position in the old loop as an expression of the new loops, for example factor*outer + inner.
static const nw_expr *position(nw_pool *pool, const nw_pieces *x) {
  const nw_expr *at = nw_mul(pool, weight(pool, x, 0), x->loop[0]->loop.var);
  for (int i = 1; i < x->n; i++) at = nw_add(pool, at, nw_mul(pool, weight(pool, x, i), x->loop[i]->loop.var));
  return at;
}

// Replaces the loop by the new loops. In the body, `at` replaces the variable of the old loop.
static void put_nest(nw_step *st, nw_stmt *loop, const nw_expr *at, nw_pieces *x) {
  nw_path path;
  nw_find(st->p, loop->id, &path);
  nw_kids_set(st->p, x->loop[x->n - 1], loop->nkids, loop->kid);
  for (int i = x->n - 1; i > 0; i--) nw_kids_set(st->p, x->loop[i - 1], 1, &x->loop[i]);
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], x->loop[0]);
  for (int i = 0; i < loop->nkids; i++) nw_stmt_subst(st->p, loop->kid[i], loop->loop.var->name, at);
}

static const nw_expr *end_of(nw_pool *pool, const nw_stmt *loop) {
  return nw_add(pool, loop->loop.begin, loop->loop.extent);
}

static void make_loops(nw_step *st, const nw_stmt *loop, const nw_expr *begin, const nw_expr *parts, int n,
                       const nw_expr *const *factor, nw_pieces *x) {
  const char *name = loop->loop.var->name;
  x->n = n + 1;
  x->loop[0] = loop_like(st, piece_name(st, name, 0, n + 1), begin, parts);
  for (int i = 1; i <= n; i++)
    x->loop[i] = loop_like(st, piece_name(st, name, i, n + 1), nw_index(st->p->pool, 0), factor[i - 1]);
}

// Splits a loop whose begin depends on an outer loop. In every iteration of the outer loop, the loop is cut at
// multiples of the factor, so that the pieces of different iterations are aligned. A guard skips the excess iterations
// of the first and the last piece.
static void split_aligned(nw_step *st, nw_stmt *loop, const nw_expr *block, int n, const nw_expr *const *factor,
                          nw_pieces *x) {
  nw_pool *pool = st->p->pool;
  const nw_expr *first = nw_floordiv(pool, loop->loop.begin, block), *end = end_of(pool, loop);
  make_loops(st, loop, first, nw_sub(pool, nw_ceildiv(pool, end, block), first), n, factor, x);
  const nw_expr *at = position(pool, x);
  put_nest(st, loop, at, x);
  nw_guard_below(st, x->loop[n], nw_and(pool, nw_le(pool, loop->loop.begin, at), nw_lt(pool, at, end)));
}

static bool split_from_begin(nw_step *st, nw_stmt *loop, const nw_expr *block, const nw_expr *outer, int n,
                             const nw_expr *const *factor, nw_tail tail, nw_pieces *x) {
  nw_pool *pool = st->p->pool;
  const nw_expr *extent = loop->loop.extent;
  const nw_expr *parts = outer ? outer : (x->divides || x->tail ? nw_floordiv : nw_ceildiv)(pool, extent, block);
  make_loops(st, loop, nw_index(pool, 0), parts, n, factor, x);
  const nw_expr *first = nw_mul(pool, block, x->loop[0]->loop.var), *within = nw_sub(pool, position(pool, x), first);
  bool ragged = !x->divides && !x->tail;
  if (ragged && tail == NW_TAIL_SHIFT) first = nw_min(pool, first, nw_sub(pool, extent, block));
  put_nest(st, loop, nw_add(pool, loop->loop.begin, nw_add(pool, first, within)), x);
  return !ragged || nw_close_tail(st, tail, x, position(pool, x), extent);
}

static void say_pieces(nw_step *st, const nw_stmt *loop, const nw_pieces *x) {
  nw_stmt *into[NW_MAX_FACTORS + 2];
  int n = 0;
  for (int i = 0; i < x->n; i++) into[n++] = x->loop[i];
  if (x->tail) into[n++] = x->tail;
  nw_step_replaces(st, loop->id, n, into, "split");
}

bool nw_split_loop(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out) {
  nw_path path;
  bool ok = true;
  nw_find(st->p, loop->id, &path);
  const nw_expr *block = nw_index(st->p->pool, 1);
  for (int i = 0; i < n; i++) block = nw_mul(st->p->pool, block, factor[i]);
  *out = (nw_pieces){.aligned = nw_begin_varies(&path)};
  if (out->aligned) {
    split_aligned(st, loop, block, n, factor, out);
  } else {
    out->divides = outer ? parts_cover(st->p, &path, outer, block) : nw_loop_divides(st->p, &path, block);
    if (!out->divides && tail == NW_TAIL_CUT) out->tail = nw_cut_tail(st, loop, loop, block, outer);
    ok = split_from_begin(st, loop, block, outer, n, factor, tail, out);
  }
  say_pieces(st, loop, out);
  return ok && (tail != NW_TAIL_PREDICATE || nw_vectorize_loop(st, out->loop[n], NW_VECTORIZED));
}

// Checks that the loop has a partial piece at one end only. Every kind of tail except guard and predicate requires
// this.
static bool tail_fits(nw_step *st, const nw_stmt *loop, nw_tail tail) {
  nw_path path;
  nw_find(st->p, loop->id, &path);
  if (tail == NW_TAIL_GUARD || tail == NW_TAIL_PREDICATE || !nw_begin_varies(&path)) return true;
  return nw_step_refuse(st, "the first value depends on enclosing loops, so the loop has a partial piece at both ends",
                        loop, "the first value of %s varies, so there is not just one tail", loop->loop.var->name);
}

// Splits a loop whose main part is empty. The whole loop becomes the tail, and the outer and inner loops exist only as
// names.
static bool split_off_all(nw_step *st, nw_stmt *loop, int n, const nw_expr *block, nw_pieces *x) {
  const char *name = loop->loop.var->name;
  *x = (nw_pieces){.tail = loop};
  nw_leave_tail(st, loop, loop, block, 1, &loop);
  for (int i = 0; i <= n; i++) st->out.loop[st->out.n++] = nw_empty_named(st, 0, piece_name(st, name, i, n + 1));
  nw_step_returns_loop(st, loop);
  return true;
}

bool nw_split_step(nw_step *st, nw_stmt *loop, int n, const nw_expr *const *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *x) {
  nw_stmt was = *loop;
  const nw_expr *block = nw_index(st->p->pool, 1);
  for (int i = 0; i < n; i++) block = nw_mul(st->p->pool, block, factor[i]);
  if (!tail_fits(st, loop, tail)) return false;
  if (tail == NW_TAIL_CUT && !outer && nw_all_tail(st, loop, block)) return split_off_all(st, loop, n, block, x);
  if (!nw_split_loop(st, loop, n, factor, outer, tail, x)) return false;
  nw_note_tail(st, &was, block, tail, x);
  for (int i = 0; i < x->n; i++) nw_step_returns_loop(st, x->loop[i]);
  if (x->tail) nw_step_returns_loop(st, x->tail);
  if (!x->tail && tail == NW_TAIL_CUT) st->out.loop[st->out.n++] = nw_empty_piece(st, &was, &was, "tail");
  return true;
}

enum { SPLIT_LOOP, SPLIT_FACTOR, SPLIT_PARTS, SPLIT_TAIL, SPLIT_FACTORS };

static nw_tail split_tail(const nw_step *st) { return nw_tail_of(nw_step_str(st, SPLIT_TAIL, "guard")); }

// Splits with parts = n. The outer loop has n iterations, and the inner loop has ceil(extent/n) iterations. Therefore
// the last outer iterations may be empty. With tail = "cut", the inner loop has floor(extent/n) iterations, and the
// tail has the remaining iterations.
static bool split_parts(nw_step *st, nw_stmt *loop) {
  nw_pieces x;
  nw_path path;
  const nw_expr *parts = nw_step_factor(st, &st->resolved[SPLIT_PARTS], "parts");
  if (!parts || !nw_can_split(st, loop)) return false;
  nw_find(st->p, loop->id, &path);
  if (nw_begin_varies(&path))
    return nw_step_refuse(st, "such a loop is cut at multiples of a factor", loop,
                          "the first value of %s varies: give a factor instead of parts", loop->loop.var->name);
  nw_pool *pool = st->p->pool;
  const nw_expr *extent = loop->loop.extent;
  bool cut = split_tail(st) == NW_TAIL_CUT;
  const nw_expr *factor = cut ? nw_floordiv(pool, extent, parts) : nw_ceildiv(pool, extent, parts);
  if (!cut && nw_is_const(factor, 0)) factor = nw_index(pool, 1);
  return nw_split_step(st, loop, 1, &factor, parts, split_tail(st), &x);
}

int nw_step_factors(nw_step *st, int param, const nw_expr **out) {
  const nw_arg *list = &st->resolved[param];
  const char *what = st->primitive->param[param].name;
  if (list->n < 1 || list->n > NW_MAX_FACTORS) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "%s: %s has %d entries; give 1 to %d", st->primitive->name,
            what, list->n, NW_MAX_FACTORS);
    return 0;
  }
  for (int i = 0; i < list->n; i++) {
    const char *entry = nw_arena_printf(st->scratch, "%s[%d]", what, i + 1);
    if (!(out[i] = nw_step_factor(st, &list->item[i], entry))) return 0;
  }
  return list->n;
}

static bool split_factors(nw_step *st, nw_stmt *loop) {
  nw_pieces x;
  const nw_expr *factor[NW_MAX_FACTORS];
  int n = nw_step_factors(st, SPLIT_FACTORS, factor);
  int64_t all = 1;
  for (int i = 0; i < n; i++)
    if (factor[i]->op == NW_OP_INT && !nw_factor_ok(st, "the product of the factors", all *= factor[i]->i))
      return false;
  return n && nw_can_split(st, loop) && nw_split_step(st, loop, n, factor, NULL, split_tail(st), &x);
}

bool nw_apply_split(void *step) {
  nw_step *st = step;
  nw_pieces x;
  nw_stmt *loop = nw_step_loop(st, SPLIT_LOOP, NULL);
  if (!loop) return false;
  if (nw_step_given(st, SPLIT_FACTOR) + nw_step_given(st, SPLIT_PARTS) + nw_step_given(st, SPLIT_FACTORS) != 1) {
    nw_fail(st->ctx, NW_EINVAL, "s:split(\"i\", 32), s:split(\"i\", {parts = 4}) or s:split(\"i\", {factors = {4, 8}})",
            "split: give a factor, factors or parts, exactly one of them");
    return false;
  }
  if (nw_step_given(st, SPLIT_PARTS)) return split_parts(st, loop);
  if (nw_step_given(st, SPLIT_FACTORS)) return split_factors(st, loop);
  const nw_expr *by = nw_step_factor(st, &st->resolved[SPLIT_FACTOR], "factor");
  return by && nw_can_split(st, loop) && nw_split_step(st, loop, 1, &by, NULL, split_tail(st), &x);
}

// ---- tile

enum { TILE_LOOPS, TILE_FACTORS, TILE_TAIL };

// Cuts all tails before any split. Each tail is a copy of the whole outermost loop, so that the main part stays a
// perfect nest. Returns the index of the first loop whose iterations are all in the tail, or n if there is none.
static int cut_tiles(nw_step *st, int n, nw_stmt **loop, const nw_expr *const *factor) {
  int all = 0;
  for (; all < n && !nw_all_tail(st, loop[all], factor[all]); all++) {
    nw_path path;
    nw_find(st->p, loop[all]->id, &path);
    nw_loop_divides(st->p, &path, factor[all]) ? (void)nw_empty_piece(st, loop[all], loop[0], "tail")
                                               : (void)nw_cut_tail(st, loop[all], loop[0], factor[all], NULL);
  }
  for (int i = all + 1; i < n; i++) nw_empty_piece(st, loop[i], loop[0], "tail");
  return all;
}

// Makes a tile that has no iterations. Its loops exist only as names.
static bool tile_off_all(nw_step *st, int n, nw_stmt **loop, const nw_expr *const *factor, int all) {
  const char *name[NW_MAX_FACTORS];
  for (int i = 0; i < n; i++) name[i] = loop[i]->loop.var->name;
  nw_leave_tail(st, loop[all], loop[0], factor[all], n, loop);
  for (int i = 0; i < 2 * n; i++)
    st->out.loop[st->out.n++] = nw_empty_named(st, 0, piece_name(st, name[i % n], i / n, 2));
  return true;
}

static bool tile(nw_step *st, int n, nw_stmt **loop, const nw_expr *const *factor, nw_tail tail) {
  nw_stmt *order[2 * NW_MAX_FACTORS];
  for (int i = 0; i < n; i++)
    if (!tail_fits(st, loop[i], tail)) return false;
  int all = tail == NW_TAIL_CUT ? cut_tiles(st, n, loop, factor) : n;
  if (all < n) return tile_off_all(st, n, loop, factor, all);
  for (int i = 0; i < n; i++) {
    nw_pieces x;
    nw_stmt was = *loop[i];
    nw_tail each = tail == NW_TAIL_CUT || (tail == NW_TAIL_PREDICATE && i + 1 < n) ? NW_TAIL_GUARD : tail;
    if (!nw_split_loop(st, loop[i], 1, &factor[i], NULL, each, &x)) return false;
    if (tail != NW_TAIL_CUT) nw_note_tail(st, &was, factor[i], each, &x);
    order[i] = x.loop[0];
    order[n + i] = x.loop[1];
  }
  if (!nw_reorder_loops(st, 2 * n, order)) return false;
  for (int i = 0; i < 2 * n; i++) nw_step_returns_loop(st, order[i]);
  return true;
}

static bool nested(nw_step *st, const nw_stmt *y, const nw_stmt *x) {
  bool apart;
  if (y == x) return nw_step_refuse(st, "give each loop only once", y, "%s is given twice", y->loop.var->name);
  const nw_stmt *way = nw_in_the_way(y, x, &apart);
  if (apart)
    return nw_step_refuse(st, "each loop of a tile must be inside the previous one", y, "%s is not inside %s",
                          x->loop.var->name, y->loop.var->name);
  return !way || nw_refuse_imperfect(st, y, x, way);
}

bool nw_apply_tile(void *step) {
  nw_step *st = step;
  const nw_arg *list = &st->resolved[TILE_LOOPS];
  nw_stmt *loop[NW_MAX_FACTORS];
  const nw_expr *factor[NW_MAX_FACTORS];
  if (list->n != st->resolved[TILE_FACTORS].n || list->n < 2) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "tile: give at least two loops and one factor for each");
    return false;
  }
  int n = nw_step_factors(st, TILE_FACTORS, factor);
  for (int i = 0; i < n; i++)
    if (!(loop[i] = nw_step_loop_arg(st, &list->item[i], "loop", NULL)) || !nw_can_split(st, loop[i])) return false;
  for (int i = 0; i + 1 < n; i++)
    if (!nested(st, loop[i], loop[i + 1])) return false;
  return n && tile(st, n, loop, factor, nw_tail_of(nw_step_str(st, TILE_TAIL, "guard")));
}

// ---- fuse

static int fused_dims(const nw_stmt *loop, const nw_expr **out) {
  if (!loop->loop.nfused) return out[0] = loop->loop.extent, 1;
  for (int i = 0; i < loop->loop.nfused; i++) out[i] = loop->loop.fused[i];
  return loop->loop.nfused;
}

static const char *why_apart(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  const char *x = a->loop.var->name, *y = b->loop.var->name;
  if (a == b) return "give two different loops";
  if (nw_tree_has(b, a)) return nw_arena_printf(st->scratch, "%s is inside %s; the outer loop is given first", x, y);
  if (!nw_tree_has(a, b)) return nw_arena_printf(st->scratch, "%s is not inside %s", y, x);
  if (a->nkids == 1 && a->kid[0]->kind == NW_LOOP)
    return nw_arena_printf(st->scratch, "%s is between %s and %s", a->kid[0]->loop.var->name, x, y);
  return nw_arena_printf(st->scratch, "%s is not the only statement inside %s", y, x);
}

static bool can_fuse(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  const char *x = a->loop.var->name, *y = b->loop.var->name;
  if (a->nkids != 1 || a->kid[0] != b)
    return nw_step_refuse(st, why_apart(st, a, b), a, "they are not adjacent in a perfect nest");
  if (nw_loop_depends(b, a))
    return nw_step_refuse(st, "the extent of the inner loop must not depend on the outer loop", b,
                          "the bounds of %s depend on %s", y, x);
  if (a->loop.nfused + b->loop.nfused + 2 > NW_MAX_DEPTH)
    return nw_step_refuse(st, "the fused loop would combine too many loops", a,
                          "the loops have too many dimensions together");
  return nw_can_split(st, a) && nw_can_split(st, b);
}

static void replace_by_fused(nw_step *st, nw_stmt *a, nw_stmt *b, nw_stmt *f) {
  nw_pool *pool = st->p->pool;
  nw_path path;
  int64_t n;
  nw_find(st->p, a->id, &path);
  const nw_expr *outer = nw_floordiv(pool, f->loop.var, b->loop.extent),
                *inner = nw_floormod(pool, f->loop.var, b->loop.extent);
  // Nothing is divided by 0. The fused loop then has no iterations, and stands for the outer loop, so that no init that
  // is inside the outer loop moves out of it.
  if (nw_is_int(b->loop.extent, &n) && n == 0) outer = f->loop.var, inner = nw_index(pool, 0);
  nw_kids_set(st->p, f, b->nkids, b->kid);
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], f);
  for (int i = 0; i < f->nkids; i++) {
    nw_stmt_subst(st->p, f->kid[i], a->loop.var->name, nw_add(pool, a->loop.begin, outer));
    nw_stmt_subst(st->p, f->kid[i], b->loop.var->name, nw_add(pool, b->loop.begin, inner));
  }
}

bool nw_apply_fuse(void *step) {
  nw_step *st = step;
  nw_stmt *a = nw_step_loop(st, 0, NULL), *b = nw_step_loop(st, 1, NULL);
  if (!a || !b || !can_fuse(st, a, b)) return false;
  nw_pool *pool = st->p->pool;
  const nw_expr *dims[NW_MAX_DEPTH], *box = nw_index(pool, 1);
  int n = fused_dims(a, dims);
  n += fused_dims(b, dims + n);
  for (int i = 0; i < n; i++) box = nw_mul(pool, box, dims[i]);
  const char *name = nw_arena_printf(st->scratch, "%s_%s", a->loop.var->name, b->loop.var->name);
  nw_stmt *f = nw_new_loop(st->p, nw_unique_loop_name(st->p, name), nw_index(pool, 0), box);
  f->loop.nfused = n;
  f->loop.fused = NW_NEW_N(st->p->arena, const nw_expr *, n);
  memcpy(f->loop.fused, dims, (size_t)n * sizeof *dims);
  replace_by_fused(st, a, b, f);
  nw_step_replaces(st, a->id, 1, &f, "fused");
  nw_step_replaces(st, b->id, 1, &f, "fused");
  nw_step_returns_loop(st, f);
  return true;
}
