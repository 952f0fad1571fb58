// split, tile, fuse, reorder: the same instances in another nest.
#include "sched/empty.h"
#include "sched/primitives.h"
#include "sched/shape.h"
#include "sched/tree.h"

// ---- split

enum { MAX_FACTOR = 1 << 30 };

bool nw_factor_ok(nw_step *st, const char *what, int64_t factor) {
  if (factor >= 1 && factor <= MAX_FACTOR) return true;
  nw_fail(st->ctx, NW_ERANGE,
          factor < 1 ? "a factor counts iterations: at least 1" : "that is more than a loop can run here",
          "%s: %s = %lld is out of range", st->primitive->name, what, (long long)factor);
  return false;
}

nw_tail nw_tail_of(const char *name) {
  return !strcmp(name, "cut") ? NW_TAIL_CUT : !strcmp(name, "mask") ? NW_TAIL_MASK : NW_TAIL_GUARD;
}

bool nw_can_split(nw_step *st, const nw_stmt *loop) {
  if (loop->loop.mark == NW_SERIAL) return true;
  return nw_step_refuse(st, "a mark speaks of the whole loop: split first, then mark a part", loop,
                        "%s is marked %s already", loop->loop.var->name, nw_loop_kind_name(loop->loop.mark));
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

static nw_stmt *loop_like(nw_step *st, const char *stem, const char *suffix, const nw_expr *extent) {
  const char *name = nw_unique_loop_name(st->p, nw_arena_printf(st->scratch, "%s%s", stem, suffix));
  return nw_new_loop(st->p, name, nw_index(st->p->pool, 0), extent);
}

// Puts outer{inner{body}} where the loop was. The old variable becomes begin + factor*outer + inner.
static void put_pair(nw_step *st, nw_stmt *loop, const nw_expr *factor, nw_pieces *out) {
  nw_pool *pool = st->p->pool;
  nw_path path;
  nw_find(st->p, loop->id, &path);
  const nw_expr *at = nw_add(pool, nw_mul(pool, factor, out->outer->loop.var), out->inner->loop.var);
  nw_kids_set(st->p, out->inner, loop->nkids, loop->kid);
  nw_kids_set(st->p, out->outer, 1, &out->inner);
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], out->outer);
  for (int i = 0; i < loop->nkids; i++)
    nw_stmt_subst(st->p, loop->kid[i], loop->loop.var->name, nw_add(pool, loop->loop.begin, at));
}

static void guard_below(nw_step *st, nw_stmt *s, const nw_expr *cond) {
  nw_blocks b = nw_blocks_below(st->scratch, s);
  for (int i = 0; i < b.n; i++) nw_block_guard(st->p, b.at[i], cond);
}

static const nw_expr *local_index(nw_pool *pool, const nw_expr *factor, const nw_pieces *x) {
  return nw_add(pool, nw_mul(pool, factor, x->outer->loop.var), x->inner->loop.var);
}

void nw_split_loop(nw_step *st, nw_stmt *loop, const nw_expr *factor, const nw_expr *outer, nw_tail tail,
                   nw_pieces *out) {
  nw_pool *pool = st->p->pool;
  const char *name = loop->loop.var->name;
  nw_path path;
  nw_find(st->p, loop->id, &path);
  bool divides = nw_loop_divides(st->p, &path, factor);
  const nw_expr *extent = loop->loop.extent;
  *out = (nw_pieces){.divides = divides};
  if (!divides && tail == NW_TAIL_CUT) out->tail = nw_cut_tail(st, loop, loop, factor);
  const nw_expr *parts = outer && !out->tail ? outer : nw_ceildiv(pool, extent, factor);
  if (out->tail || divides) parts = nw_floordiv(pool, extent, factor);
  out->outer = loop_like(st, name, "_o", parts);
  out->inner = loop_like(st, name, "_i", factor);
  put_pair(st, loop, factor, out);
  if (!divides && !out->tail) guard_below(st, out->inner, nw_lt(pool, local_index(pool, factor, out), extent));
  if (out->tail)
    nw_step_replaces(st, loop->id, "split into %s, %s, %s", out->outer->loop.var->name, out->inner->loop.var->name,
                     out->tail->loop.var->name);
  else
    nw_step_replaces(st, loop->id, "split into %s, %s", out->outer->loop.var->name, out->inner->loop.var->name);
}

// What the guard or the mask costs, said once.
static void note_tail(nw_step *st, const nw_stmt *loop, const nw_expr *by, nw_tail tail, const nw_pieces *x) {
  int64_t n, factor, rounds;
  if (x->divides) nw_step_note(st, "%s divides evenly: no tail", loop->loop.var->name);
  if (x->divides || x->tail || !nw_is_int(by, &factor)) return;
  const char *how = tail == NW_TAIL_MASK ? "masked" : "guarded";
  if (nw_is_int(loop->loop.extent, &n) && nw_is_int(x->outer->loop.extent, &rounds))
    nw_step_note(st, "%lld does not divide %lld: %lld of %lld iterations are %s away", (long long)factor, (long long)n,
                 (long long)(rounds * factor - n), (long long)(rounds * factor), how);
  else
    nw_step_note(st, "%lld is not known to divide the extent of %s: the last round is %s", (long long)factor,
                 loop->loop.var->name, how);
}

enum { SPLIT_LOOP, SPLIT_FACTOR, SPLIT_PARTS, SPLIT_TAIL };

static void split_by(nw_step *st, nw_stmt *loop, const nw_expr *factor, const nw_expr *outer, nw_pieces *x) {
  nw_tail tail = nw_tail_of(nw_step_str(st, SPLIT_TAIL, "guard"));
  nw_stmt was = *loop;
  nw_split_loop(st, loop, factor, outer, tail, x);
  note_tail(st, &was, factor, tail, x);
  nw_step_returns_loop(st, x->outer);
  nw_step_returns_loop(st, x->inner);
  if (x->tail) nw_step_returns_loop(st, x->tail);
  if (!x->tail && tail == NW_TAIL_CUT) st->out.loop[st->out.n++] = nw_empty_piece(st, &was, &was, "tail");
}

// parts = n: n rounds of ceil(extent/n).
static bool split_parts(nw_step *st, nw_stmt *loop, nw_pieces *x) {
  int64_t n = nw_step_int(st, SPLIT_PARTS, 0);
  if (!nw_factor_ok(st, "parts", n)) return false;
  nw_pool *pool = st->p->pool;
  const nw_expr *parts = nw_index(pool, n), *factor = nw_ceildiv(pool, loop->loop.extent, parts);
  if (nw_is_const(factor, 0)) factor = nw_index(pool, 1);
  split_by(st, loop, factor, parts, x);
  return true;
}

bool nw_apply_split(void *step) {
  nw_step *st = step;
  nw_pieces x;
  nw_stmt *loop = nw_step_loop(st, SPLIT_LOOP, NULL);
  if (!loop) return false;
  if (nw_step_given(st, SPLIT_FACTOR) == nw_step_given(st, SPLIT_PARTS)) {
    nw_fail(st->ctx, NW_EINVAL, "s:split(\"i\", 32) or s:split(\"i\", {parts = 4})",
            "split: give a factor or parts, one of them");
    return false;
  }
  if (nw_step_given(st, SPLIT_PARTS)) return nw_can_split(st, loop) && split_parts(st, loop, &x);
  int64_t factor = nw_step_int(st, SPLIT_FACTOR, 0);
  if (!nw_factor_ok(st, "factor", factor) || !nw_can_split(st, loop)) return false;
  split_by(st, loop, nw_index(st->p->pool, factor), NULL, &x);
  return true;
}

// ---- perfect nests

const nw_stmt *nw_in_the_way(const nw_stmt *outer, const nw_stmt *inner, bool *not_inside) {
  *not_inside = !nw_tree_has(outer, inner);
  if (*not_inside) return NULL;
  for (const nw_stmt *s = outer; s != inner; s = s->kid[0]) {
    if (s->nkids == 1 && s->kid[0]->kind == NW_LOOP) continue;
    for (int i = 0; i < s->nkids; i++)
      if (!nw_tree_has(s->kid[i], inner) || s->kid[i]->kind != NW_LOOP) return s->kid[i];
  }
  return NULL;
}

// "P is computed between i and j" names the first block of what is in the way.
static bool refuse_imperfect(nw_step *st, const nw_stmt *outer, const nw_stmt *inner, const nw_stmt *way) {
  nw_blocks b = nw_blocks_below(st->scratch, way);
  const char *what = way->kind == NW_ALLOC ? way->alloc.buffer : b.n ? b.at[0]->block.name : nw_tree_what(way);
  const char *why = nw_arena_printf(st->scratch, "%s %s inside %s as well, so %s and %s are not perfectly nested", what,
                                    way->kind == NW_ALLOC ? "lives" : "is computed", outer->loop.var->name,
                                    outer->loop.var->name, inner->loop.var->name);
  return nw_step_refuse(st, why, outer, "%s is in the way", what);
}

// ---- reorder

static bool depends(const nw_stmt *loop, const nw_stmt *on) {
  return nw_uses_var(loop->loop.begin, on->loop.var->name) || nw_uses_var(loop->loop.extent, on->loop.var->name);
}

static bool bounds_allow(nw_step *st, int n, nw_stmt **order) {
  for (int i = 0; i < n; i++)
    for (int j = i + 1; j < n; j++)
      if (depends(order[i], order[j]))
        return nw_step_refuse(st, "a loop runs inside those its bounds depend on", order[i],
                              "the bounds of %s depend on %s", order[i]->loop.var->name, order[j]->loop.var->name);
  return true;
}

// The loops of the path from the outermost given to the innermost given, as they will stand: those not given stay.
static int new_chain(const nw_path *path, int first, int n, nw_stmt **given, nw_stmt **chain) {
  int m = 0, next = 0;
  for (int i = first; i < path->n; i++) {
    nw_stmt *s = path->at[i];
    for (int j = 0; j < n; j++)
      if (given[j] == path->at[i]) s = given[next++], j = n;
    chain[m++] = s;
  }
  return m;
}

static void relink(nw_program *p, nw_path *path, int first, int n, nw_stmt **chain) {
  nw_stmt *last = path->at[path->n - 1];
  int nkids = last->nkids;
  nw_stmt **kids = last->kid;
  nw_kids_replace(path->at[first - 1], path->pos[first], chain[0]);
  for (int i = 0; i < n; i++) {
    if (chain[i] != path->at[first + i]) chain[i]->step = p->step;
    if (i + 1 < n) nw_kids_set(p, chain[i], 1, &chain[i + 1]);
  }
  nw_kids_set(p, chain[n - 1], nkids, kids);
}

static bool no_repeats(nw_step *st, int n, nw_stmt **loop) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (loop[i] == loop[j]) {
        nw_fail(st->ctx, NW_EINVAL, NULL, "%s: %s is given twice", st->primitive->name, loop[i]->loop.var->name);
        return false;
      }
  return true;
}

static nw_stmt *extreme(const nw_program *p, int n, nw_stmt **loop, bool deepest, nw_path *path) {
  nw_stmt *best = NULL;
  int depth = 0;
  for (int i = 0; i < n; i++) {
    nw_path at;
    nw_find(p, loop[i]->id, &at);
    if (best && (deepest ? at.n <= depth : at.n >= depth)) continue;
    best = loop[i];
    depth = at.n;
    *path = at;
  }
  return best;
}

static bool on_one_path(nw_step *st, int n, nw_stmt **loop, const nw_path *deep) {
  const nw_stmt *inner = deep->at[deep->n - 1];
  for (int i = 0; i < n; i++)
    if (nw_path_index(deep, loop[i]) < 0)
      return nw_step_refuse(st, "reorder permutes loops of one nest", loop[i],
                            "neither of %s and %s is inside the other", loop[i]->loop.var->name, inner->loop.var->name);
  return true;
}

bool nw_reorder_loops(nw_step *st, int n, nw_stmt **loop) {
  nw_path top, deep;
  bool apart;
  if (!no_repeats(st, n, loop)) return false;
  nw_stmt *outer = extreme(st->p, n, loop, false, &top), *inner = extreme(st->p, n, loop, true, &deep);
  if (!on_one_path(st, n, loop, &deep)) return false;
  const nw_stmt *way = nw_in_the_way(outer, inner, &apart);
  if (way) return refuse_imperfect(st, outer, inner, way);
  nw_stmt *chain[NW_MAX_DEPTH];
  int first = top.n - 1, m = new_chain(&deep, first, n, loop, chain);
  if (!bounds_allow(st, m, chain)) return false;
  relink(st->p, &deep, first, m, chain);
  return true;
}

bool nw_apply_reorder(void *step) {
  nw_step *st = step;
  const nw_arg *list = &st->resolved[0];
  nw_stmt *loop[NW_MAX_DEPTH];
  if (list->n < 2 || list->n > NW_MAX_DEPTH) {
    nw_fail(st->ctx, NW_EINVAL, st->primitive->example, "reorder: give two loops or more");
    return false;
  }
  for (int i = 0; i < list->n; i++)
    if (!(loop[i] = nw_step_loop_arg(st, &list->item[i], "loop", NULL))) return false;
  return nw_reorder_loops(st, list->n, loop);
}

// ---- tile

enum { TILE_Y, TILE_X, TILE_FY, TILE_FX, TILE_TAIL };

// Both tails are cut before anything is split, x's with the whole of y, so that the main part stays a perfect nest.
static void cut_tiles(nw_step *st, nw_stmt *y, nw_stmt *x, const nw_expr *fy, const nw_expr *fx) {
  nw_path path;
  nw_find(st->p, y->id, &path);
  nw_loop_divides(st->p, &path, fy) ? (void)nw_empty_piece(st, y, y, "tail") : (void)nw_cut_tail(st, y, y, fy);
  nw_find(st->p, x->id, &path);
  nw_loop_divides(st->p, &path, fx) ? (void)nw_empty_piece(st, x, y, "tail") : (void)nw_cut_tail(st, x, y, fx);
}

static bool tile(nw_step *st, nw_stmt *y, nw_stmt *x, const nw_expr *fy, const nw_expr *fx, nw_tail tail) {
  nw_pieces a, b;
  if (tail == NW_TAIL_CUT) cut_tiles(st, y, x, fy, fx);
  nw_stmt old_y = *y, old_x = *x;
  nw_split_loop(st, y, fy, NULL, NW_TAIL_GUARD, &a);
  nw_split_loop(st, x, fx, NULL, NW_TAIL_GUARD, &b);
  if (tail != NW_TAIL_CUT) {
    note_tail(st, &old_y, fy, tail, &a);
    note_tail(st, &old_x, fx, tail, &b);
  }
  nw_stmt *order[] = {a.outer, b.outer, a.inner, b.inner};
  if (!nw_reorder_loops(st, 4, order)) return false;
  for (int i = 0; i < 4; i++) nw_step_returns_loop(st, order[i]);
  return true;
}

bool nw_apply_tile(void *step) {
  nw_step *st = step;
  nw_stmt *y = nw_step_loop(st, TILE_Y, NULL), *x = nw_step_loop(st, TILE_X, NULL);
  int64_t fy = nw_step_int(st, TILE_FY, 0), fx = nw_step_int(st, TILE_FX, 0);
  bool apart;
  if (!y || !x || !nw_factor_ok(st, "fy", fy) || !nw_factor_ok(st, "fx", fx)) return false;
  if (y == x) return nw_step_refuse(st, "a tile has two loops", y, "%s is given twice", y->loop.var->name);
  if (!nw_can_split(st, y) || !nw_can_split(st, x)) return false;
  const nw_stmt *way = nw_in_the_way(y, x, &apart);
  if (apart)
    return nw_step_refuse(st, "the second loop of a tile runs inside the first", y, "%s is not inside %s",
                          x->loop.var->name, y->loop.var->name);
  if (way) return refuse_imperfect(st, y, x, way);
  return tile(st, y, x, nw_index(st->p->pool, fy), nw_index(st->p->pool, fx),
              nw_tail_of(nw_step_str(st, TILE_TAIL, "guard")));
}

// ---- fuse

static int fused_dims(const nw_stmt *loop, const nw_expr **out) {
  if (!loop->loop.nfused) return out[0] = loop->loop.extent, 1;
  for (int i = 0; i < loop->loop.nfused; i++) out[i] = loop->loop.fused[i];
  return loop->loop.nfused;
}

static const char *why_apart(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  const char *x = a->loop.var->name, *y = b->loop.var->name;
  if (!nw_tree_has(a, b))
    return nw_arena_printf(st->scratch, "%s is not inside %s; the outer loop is given first", y, x);
  if (a->nkids == 1 && a->kid[0]->kind == NW_LOOP)
    return nw_arena_printf(st->scratch, "%s stands between %s and %s", a->kid[0]->loop.var->name, x, y);
  return nw_arena_printf(st->scratch, "%s is not all that is inside %s", y, x);
}

static bool can_fuse(nw_step *st, const nw_stmt *a, const nw_stmt *b) {
  const char *x = a->loop.var->name, *y = b->loop.var->name;
  if (a->nkids != 1 || a->kid[0] != b)
    return nw_step_refuse(st, why_apart(st, a, b), a, "they are not neighbours in a perfect nest");
  if (depends(b, a)) return nw_step_refuse(st, "fused loops are a box", b, "the bounds of %s depend on %s", y, x);
  if (a->loop.nfused + b->loop.nfused + 2 > NW_MAX_DEPTH)
    return nw_step_refuse(st, "that many dimensions in one loop", a, "too many dimensions");
  return nw_can_split(st, a) && nw_can_split(st, b);
}

static void replace_by_fused(nw_step *st, nw_stmt *a, nw_stmt *b, nw_stmt *f) {
  nw_pool *pool = st->p->pool;
  nw_path path;
  nw_find(st->p, a->id, &path);
  const nw_expr *outer = nw_floordiv(pool, f->loop.var, b->loop.extent),
                *inner = nw_floormod(pool, f->loop.var, b->loop.extent);
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
  nw_step_replaces(st, a->id, "fused into %s", f->loop.var->name);
  nw_step_replaces(st, b->id, "fused into %s", f->loop.var->name);
  nw_step_returns_loop(st, f);
  return true;
}
