// reverse_compute_at: moves a stage into a loop of a stage that it reads. Each iteration then computes the elements
// whose inputs are complete.
//
// For its element v, the stage reads the rows a*v + c of a producer, for one or several constants c. Let C be the
// greatest of these constants, and let an iteration compute rows lo..hi of the producer. Then element v is ready in the
// iteration with lo <= a*v + C <= hi.
#include "ir/program/inverse.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/primitives/units/unit.h"
#include "sched/site.h"
#include "sched/tree.h"

enum { REVERSE_STAGE, REVERSE_LOOP, REVERSE_INDEX };

typedef struct reverse {
  nw_step *st;
  nw_stmt *block, *loop;
  nw_path at; // path of the loop
  const nw_expr **lo, **hi; // for each variable of the block: the first and the last ready element; NULL: all
  const nw_expr *pair; // the read that see_pair handled, or NULL
  const nw_expr **made_lo, **made_hi; // for each dimension of this read: the part that an iteration computes; NULL: all
  const nw_block_var *var; // the current variable
  int v; // index of the current variable
} reverse;

// ---- the elements that an iteration computes

static const nw_block_target *target_of(const nw_stmt *block, const char *buffer) {
  int t = 0;
  while (strcmp(block->block.target[t].buffer, buffer)) t++;
  return &block->block.target[t];
}

// Finds the part of dimension d that the blocks below the loop write in one iteration. Returns false if this part is
// not known.
static bool made(nw_step *st, const nw_path *at, const char *buffer, int d, const nw_expr **lo, const nw_expr **hi) {
  nw_blocks b = nw_blocks_below(st->scratch, at->at[at->n - 1]);
  *lo = *hi = NULL;
  for (int i = 0; i < b.n; i++) {
    nw_path path;
    nw_ranges r;
    const char *over[NW_MAX_DEPTH];
    int n = 0;
    if (!nw_block_writes(b.at[i], buffer)) continue;
    if (*lo) return false;
    nw_find(st->p, b.at[i]->id, &path);
    for (int k = at->n; k < path.n; k++)
      if (path.at[k]->kind == NW_LOOP) over[n++] = path.at[k]->loop.var->name;
    nw_ranges_of(&r, st->p, &path);
    const nw_expr *e = nw_simplify(&r, nw_block_bound(st->p, b.at[i], target_of(b.at[i], buffer)->index[d]));
    *lo = nw_lower_over(&r, e, n, over);
    *hi = nw_upper_over(&r, e, n, over);
    nw_ranges_free(&r);
    if (!*lo || !*hi) return false;
  }
  return *lo != NULL;
}

static bool moves_in(const nw_path *at, const nw_expr *e) {
  for (int i = 0; i < at->n; i++)
    if (at->at[i]->kind == NW_LOOP && nw_uses_var(e, at->at[i]->loop.var->name)) return true;
  return false;
}

bool nw_made_at(nw_step *st, const nw_path *at, const char *buffer, int d, const nw_expr **lo, const nw_expr **hi) {
  return made(st, at, buffer, d, lo, hi) && (moves_in(at, *lo) || moves_in(at, *hi));
}

static bool moves(const reverse *x, const nw_expr *e) { return moves_in(&x->at, e); }

// ---- when an instance is ready

// For e = a*var + rest, finds `a` and the maximum of `rest` over the block's other variables. Returns false if e does
// not have this form.
static bool reach(const reverse *x, const nw_expr *e, int64_t *a, const nw_expr **most) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *rest;
  const char *others[NW_MAX_DEPTH];
  nw_ranges r;
  if (!nw_affine(pool, e, 1, (const char *[]){x->var->var->name}, a, &rest) || *a < 1) return false;
  nw_ranges_of(&r, x->st->p, NULL);
  int n = 0;
  for (int i = 0; i < x->block->block.nvars; i++) {
    const nw_block_var *v = &x->block->block.var[i];
    if (v == x->var) continue;
    others[n++] = v->var->name;
    nw_ranges_push(&r, v->var->name, v->lo, nw_sub(pool, nw_add(pool, v->lo, v->extent), nw_index(pool, 1)));
  }
  *most = nw_upper_over(&r, rest, n, others);
  nw_ranges_free(&r);
  return *most && !nw_uses_any(*most, n, others);
}

// Returns a if a is proven to be at most b, otherwise b.
static const nw_expr *earlier(const reverse *x, const nw_expr *a, const nw_expr *b) {
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &x->at);
  bool first = nw_prove(&r, nw_le(x->st->p->pool, a, b));
  nw_ranges_free(&r);
  return first ? a : b;
}

// Handles one read. If the block has several reads, an element is ready when all elements that it reads are ready.
static void see_index(reverse *x, const nw_expr *index, const nw_expr *lo, const nw_expr *hi) {
  nw_pool *pool = x->st->p->pool;
  int64_t a;
  const nw_expr *most;
  if (!reach(x, index, &a, &most)) return;
  const nw_expr *by = nw_index(pool, a);
  const nw_expr *last = nw_floordiv(pool, nw_sub(pool, hi, most), by);
  if (x->hi[x->v] && earlier(x, x->hi[x->v], last) == x->hi[x->v]) return;
  x->lo[x->v] = nw_ceildiv(pool, nw_sub(pool, lo, most), by);
  x->hi[x->v] = last;
}

static bool see_load(void *env, const nw_expr *e) {
  reverse *x = env;
  const nw_expr *lo, *hi;
  for (int d = 0; e->op == NW_OP_LOAD && d < e->n; d++)
    if (nw_uses_var(e->arg[d], x->var->var->name) && nw_made_at(x->st, &x->at, e->name, d, &lo, &hi))
      see_index(x, e->arg[d], lo, hi);
  return true;
}

// True if an index uses several of the block's variables, or one in another form than a*v + c with a > 0.
static bool is_mixed(const reverse *x, const nw_expr *load) {
  const nw_stmt *b = x->block;
  for (int d = 0; d < load->n; d++) {
    const char *used = NULL;
    int64_t a;
    const nw_expr *rest;
    for (int v = 0; v < b->block.nvars; v++) {
      if (!nw_uses_var(load->arg[d], b->block.var[v].var->name)) continue;
      if (used) return true;
      used = b->block.var[v].var->name;
    }
    if (used && (!nw_affine(x->st->p->pool, load->arg[d], 1, &used, &a, &rest) || a < 1)) return true;
  }
  return false;
}

// Handles a read in which every instance of the stage reads a different element, for example P(p // 32, p % 32). The
// bounds of the variables follow from their values, in which the indices run over the part that an iteration computes.
static bool see_pair(void *env, const nw_expr *e) {
  reverse *x = env;
  nw_pool *pool = x->st->p->pool;
  const nw_stmt *block = x->block;
  if (e->op != NW_OP_LOAD || x->pair || !is_mixed(x, e)) return !x->pair;
  const nw_buffer *from = nw_find_buffer(x->st->p, e->name);
  const nw_expr **at = NW_NEW_N(x->st->scratch, const nw_expr *, e->n + 1);
  bool any = false;
  const nw_expr **out = NW_NEW_N(x->st->scratch, const nw_expr *, block->block.nvars + 1);
  const char **dim = NW_NEW_N(x->st->scratch, const char *, e->n + 1);
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &x->at);
  for (int d = 0; d < e->n; d++) {
    const nw_expr *lo, *hi;
    dim[d] = nw_dim_name(pool, d);
    at[d] = nw_var(pool, dim[d]);
    if (nw_made_at(x->st, &x->at, e->name, d, &lo, &hi)) {
      x->made_lo[d] = lo, x->made_hi[d] = hi;
      any = true;
    } else {
      lo = nw_index(pool, 0), hi = nw_sub(pool, from->shape[d], nw_index(pool, 1));
      x->made_lo[d] = x->made_hi[d] = NULL;
    }
    nw_ranges_push(&r, dim[d], lo, hi);
  }
  if (any && nw_inverse(x->st->p, block, true, e->n, e->arg, at, out)) {
    x->pair = e;
    for (int k = 0; k < block->block.nvars; k++) {
      const nw_expr *v = nw_simplify(&r, out[k]), *lo = nw_lower_over(&r, v, e->n, dim),
                    *hi = nw_upper_over(&r, v, e->n, dim);
      bool known = lo && hi && !nw_uses_any(lo, e->n, dim) && !nw_uses_any(hi, e->n, dim);
      if (known && (moves(x, lo) || moves(x, hi))) x->lo[k] = lo, x->hi[k] = hi;
    }
  }
  nw_ranges_free(&r);
  return true;
}

static void find_rows(reverse *x) {
  x->made_lo = NW_NEW_N(x->st->scratch, const nw_expr *, NW_MAX_DEPTH);
  x->made_hi = NW_NEW_N(x->st->scratch, const nw_expr *, NW_MAX_DEPTH);
  for (int t = 0; t < x->block->block.ntargets; t++) nw_visit(x->block->block.target[t].value, see_pair, x);
  if (x->pair) return;
  for (x->v = 0; x->v < x->block->block.nvars; x->v++) {
    x->var = &x->block->block.var[x->v];
    for (int t = 0; t < x->block->block.ntargets; t++) nw_visit(x->block->block.target[t].value, see_load, x);
  }
}

// ---- the nest

// Returns the range of the new loop over variable v. If the number of ready elements varies, the loop has as many
// iterations as the maximum of this number, and a guard skips the instances that are not ready.
static nw_rows rows_of(const reverse *x, int v) {
  nw_pool *pool = x->st->p->pool;
  nw_rows rows = {NULL, NULL};
  nw_ranges r;
  int64_t most;
  if (!x->hi[v]) return rows;
  nw_ranges_of(&r, x->st->p, &x->at);
  rows.lo = nw_simplify(&r, x->lo[v]);
  rows.extent = nw_simplify(&r, nw_add(pool, nw_sub(pool, x->hi[v], rows.lo), nw_index(pool, 1)));
  if (!nw_is_int(rows.extent, &most) && nw_const_upper(&r, rows.extent, &most))
    rows.extent = nw_index(pool, most > 0 ? most : 0);
  nw_ranges_free(&r);
  return rows;
}

static nw_stmt *nest_of(const reverse *x, nw_lifted *stage) {
  nw_rows *rows = NW_NEW_N(x->st->scratch, nw_rows, x->block->block.nvars + 1);
  for (int v = 0; v < x->block->block.nvars; v++) rows[v] = rows_of(x, v);
  nw_stmt *nest = nw_fresh_nest(x->st, stage, rows);
  for (int v = 0; v < x->block->block.nvars; v++)
    if (x->hi[v]) nw_block_guard(x->st->p, x->block, nw_le(x->st->p->pool, x->block->block.var[v].bind, x->hi[v]));
  for (int d = 0; x->pair && d < x->pair->n; d++) {
    if (!x->made_lo[d]) continue;
    const nw_expr *at = nw_block_bound(x->st->p, x->block, x->pair->arg[d]);
    nw_block_guard(x->st->p, x->block, nw_le(x->st->p->pool, x->made_lo[d], at));
    nw_block_guard(x->st->p, x->block, nw_le(x->st->p->pool, at, x->made_hi[d]));
  }
  nw_guard_domain(x->st, x->block);
  return nest;
}

// ---- the step

// True if an allocation inside the loop contains the stage. The step would then move the stage out of this allocation.
static bool is_kept_inside(const nw_path *own, const nw_stmt *loop) {
  int at = nw_path_index(own, loop);
  for (int i = at + 1; at >= 0 && i < own->n; i++)
    if (own->at[i]->kind == NW_ALLOC) return true;
  return false;
}

static bool can_follow(reverse *x, const nw_path *own) {
  const char *name = x->block->block.name, *where = x->loop->loop.var->name;
  if (!nw_one_nest(x->st, x->block)) return false;
  if (nw_path_index(own, x->loop) >= nw_path_exclusive(own))
    return nw_step_refuse(x->st, "a stage can move only into a loop of a stage that it reads", x->loop,
                          "that is a loop of %s itself", name);
  if (is_kept_inside(own, x->loop))
    return nw_step_refuse(x->st, "the stage cannot move out of that loop, in which its input is allocated", x->loop,
                          "it is already computed there");
  if (!nw_feeds(x->loop, x->block))
    return nw_step_refuse(x->st, "an iteration would complete none of its inputs", x->loop,
                          "no iteration of %s computes an input of %s", where, name);
  return true;
}

bool nw_apply_reverse_compute_at(void *step) {
  nw_step *st = step;
  reverse x = {.st = st};
  nw_path own;
  int at;
  nw_stmt *unit = nw_find_unit(st->p, st->resolved[REVERSE_STAGE].name);
  if (unit) {
    x.loop = nw_step_loop(st, REVERSE_LOOP, NULL);
    return x.loop && nw_move_unit(st, unit, x.loop, REVERSE_INDEX, true);
  }
  x.block = nw_step_block(st, REVERSE_STAGE, &own);
  x.loop = x.block ? nw_step_loop(st, REVERSE_LOOP, &x.at) : NULL;
  if (!x.loop || !can_follow(&x, &own)) return false;
  nw_lifted stage = {0};
  nw_kept kept = nw_take_storage(st, x.block);
  nw_find(st->p, x.block->id, &own);
  nw_lift(st, &own, &stage);
  nw_find(st->p, x.loop->id, &x.at);
  x.lo = NW_NEW_N(st->scratch, const nw_expr *, x.block->block.nvars + 1);
  x.hi = NW_NEW_N(st->scratch, const nw_expr *, x.block->block.nvars + 1);
  find_rows(&x);
  if (!nw_spot_given(st, REVERSE_INDEX, x.loop, x.block, nw_spot_first(x.loop, x.block), &at)) return false;
  nw_spot spot = nw_spot_at(x.loop, at);
  nw_kids_insert(st->p, spot.in, spot.pos, nest_of(&x, &stage));
  nw_put_storage(st, x.block, &kept);
  return true;
}
