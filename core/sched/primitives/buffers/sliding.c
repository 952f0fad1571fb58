// store_at: keeps the storage of a stage over the iterations of the loops between its allocation and its computation.
// Elements that an earlier iteration computed are then not computed again.
//
// The rows of a variable slide along the innermost loop on which they depend. Iteration y uses the rows lo(y)..hi(y). If
// lo and hi never decrease, earlier iterations have computed the rows up to hi(y-1), so iteration y computes only the
// rows hi(y-1)+1..hi(y). The first iteration also uses earlier rows, which the loop does not compute. A copy of the nest
// before the loop computes these rows. If lo and hi never increase, the rows slide downwards in the same way.
#include "sched/count.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tree.h"

typedef enum slides {
  NEVER, // lo and hi may increase and decrease
  APART, // two iterations never use the same row
  SOMETIMES, // two iterations may use the same row
  ALWAYS, // an iteration uses a row of the iteration before it
} slides;

typedef struct slide {
  nw_step *st;
  nw_path path; // the path from the root to the stage's block
  int top; // index on the path of the outermost loop of the stage's own nest
  const nw_stmt *over; // the loop along which the rows slide
  int at; // index of `over` on the path
  nw_block_var *var; // the variable whose range moves with `over`
  nw_stmt *loop; // the stage's own loop along `var`
  const nw_expr *lo, *hi; // range of `var` in one iteration
  bool down; // true if the rows slide downwards
  slides kind;
  int before; // index on the path of the loop before which the first rows are computed
  const nw_expr *first, *next; // begin and end (exclusive) of the first rows
} slide;

static nw_stmt *block_of(const slide *x) { return x->path.at[x->path.n - 1]; }

// ---- the moving dimension

static int own_loops(const slide *x, const char **name) {
  int n = 0;
  for (int i = x->top; i < x->path.n - 1; i++) name[n++] = x->path.at[i]->loop.var->name;
  return n;
}

static const nw_expr *end_of_range(const slide *x, const nw_block_var *v, bool least) {
  const char *own[NW_MAX_DEPTH];
  int n = own_loops(x, own);
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &x->path);
  const nw_expr *e = least ? nw_lower_over(&r, v->bind, n, own) : nw_upper_over(&r, v->bind, n, own);
  if (e) e = nw_simplify(&r, e);
  nw_ranges_free(&r);
  return e;
}

// Returns the index on the path of the innermost loop that determines the range of the variable. Only loops from index
// `from` are examined. Returns -1 if there is none.
static int moves_along(const slide *x, const nw_block_var *v, int from) {
  if (v->kind == NW_REDUCE) return -1;
  const nw_expr *lo = end_of_range(x, v, true), *hi = end_of_range(x, v, false);
  for (int i = x->top - 1; i >= from; i--) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind != NW_LOOP) continue;
    if ((lo && nw_uses_var(lo, s->loop.var->name)) || (hi && nw_uses_var(hi, s->loop.var->name))) return i;
  }
  return -1;
}

// Returns the stage's loop over only this variable, or NULL if that loop was split or marked.
static nw_stmt *loop_along(const slide *x, const nw_block_var *v) {
  nw_stmt *found = NULL;
  for (int i = x->top; i < x->path.n - 1; i++) {
    nw_stmt *s = x->path.at[i];
    int64_t coef;
    const nw_expr *rest;
    if (!nw_uses_var(v->bind, s->loop.var->name)) continue;
    if (found || s->loop.mark != NW_SERIAL || s->loop.nfused || !nw_is_const(s->loop.begin, 0)) return NULL;
    if (!nw_affine(x->st->p->pool, v->bind, 1, (const char *[]){s->loop.var->name}, &coef, &rest) || coef != 1)
      return NULL;
    found = s;
  }
  return found;
}

// ---- ranges of rows

static const nw_expr *plus(const slide *x, const nw_expr *e, int64_t n) {
  return nw_add(x->st->p->pool, e, nw_index(x->st->p->pool, n));
}

static const nw_expr *in_iteration(const slide *x, const nw_expr *e, const nw_stmt *loop, const nw_expr *value) {
  return nw_subst(x->st->p->pool, e, loop->loop.var->name, value);
}

static const nw_expr *iteration_before(const slide *x, const nw_expr *e, const nw_stmt *loop) {
  return in_iteration(x, e, loop, plus(x, loop->loop.var, -1));
}

static bool proven(const slide *x, int depth, const nw_expr *cond) {
  nw_path path = x->path;
  path.n = depth;
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &path);
  bool sure = nw_prove(&r, cond);
  nw_ranges_free(&r);
  return sure;
}

// True if the form of e shows that e never decreases (up) or never increases (down) when the variable increases.
static bool is_monotonic(const nw_expr *e, const char *var, bool down) {
  int64_t by;
  if (!nw_uses_var(e, var)) return true;
  switch (e->op) {
  case NW_OP_VAR: return !down;
  case NW_OP_ADD:
  case NW_OP_MIN:
  case NW_OP_MAX: return is_monotonic(e->arg[0], var, down) && is_monotonic(e->arg[1], var, down);
  case NW_OP_SUB: return is_monotonic(e->arg[0], var, down) && is_monotonic(e->arg[1], var, !down);
  case NW_OP_MUL:
    for (int side = 0; side < 2; side++)
      if (nw_is_int(e->arg[side], &by)) return is_monotonic(e->arg[1 - side], var, by < 0 ? !down : down);
    return false;
  case NW_OP_FLOORDIV: return nw_is_int(e->arg[1], &by) && by > 0 && is_monotonic(e->arg[0], var, down);
  default: return false;
  }
}

static bool moves_only(const slide *x, bool down) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *end[] = {x->lo, x->hi};
  for (int i = 0; i < 2; i++) {
    const nw_expr *last = iteration_before(x, end[i], x->over);
    if (!is_monotonic(end[i], x->over->loop.var->name, down) &&
        !proven(x, x->top, down ? nw_le(pool, end[i], last) : nw_le(pool, last, end[i])))
      return false;
  }
  return true;
}

static slides kind_of(slide *x) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *lo = iteration_before(x, x->lo, x->over), *hi = iteration_before(x, x->hi, x->over);
  x->down = !moves_only(x, false);
  if (x->down && !moves_only(x, true)) return NEVER;
  if (proven(x, x->top, x->down ? nw_le(pool, lo, x->hi) : nw_le(pool, x->lo, hi))) return ALWAYS;
  return proven(x, x->top, x->down ? nw_lt(pool, x->hi, lo) : nw_lt(pool, hi, x->lo)) ? APART : SOMETIMES;
}

// Returns the row at which the rows of an iteration end in the direction in which they slide. Rows that slide upwards
// end before this row. Rows that slide downwards end with this row.
static const nw_expr *edge(const slide *x) { return x->down ? x->lo : plus(x, x->hi, 1); }

// Finds where the first rows are computed. If each iteration of an outer loop continues where the previous iteration
// ended, the first rows are computed before the outer loop.
static void find_first(slide *x, int keep) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *last = in_iteration(x, edge(x), x->over, nw_loop_last(pool, x->over));
  const nw_expr *next = in_iteration(x, iteration_before(x, edge(x), x->over), x->over, x->over->loop.begin);
  const nw_expr *end = in_iteration(x, x->down ? plus(x, x->hi, 1) : x->lo, x->over, x->over->loop.begin);
  x->before = x->at;
  for (int i = x->at - 1; i > keep && x->path.at[i]->kind == NW_LOOP; i--) {
    const nw_stmt *loop = x->path.at[i];
    if (!proven(x, i + 1, nw_eq(pool, next, iteration_before(x, last, loop)))) break;
    x->before = i;
    end = in_iteration(x, end, loop, loop->loop.begin);
    next = in_iteration(x, next, loop, loop->loop.begin);
    last = in_iteration(x, last, loop, nw_loop_last(pool, loop));
  }
  x->first = x->down ? next : end;
  x->next = x->down ? end : next;
}

// Makes the stage's own loop run over `rows` rows, shifted by `shift`. If `rows` is not constant, the loop has as many
// iterations as the maximum of `rows`, and a guard skips the rows beyond the end.
static void set_rows(const slide *x, nw_stmt *nest, nw_stmt *loop, const nw_expr *shift, const nw_expr *rows,
                     int depth) {
  nw_pool *pool = x->st->p->pool;
  nw_path path = x->path;
  path.n = depth;
  nw_ranges r;
  nw_ranges_of(&r, x->st->p, &path);
  int64_t most;
  rows = nw_simplify(&r, rows);
  const nw_expr *var = loop->loop.var, *fixed = rows;
  if (!nw_is_int(rows, &most) && nw_const_upper(&r, rows, &most)) fixed = nw_index(pool, most > 0 ? most : 0);
  loop->loop.extent = fixed;
  loop->step = x->st->p->step;
  nw_stmt *block = nw_blocks_below(x->st->scratch, nest).at[0];
  nw_stmt_subst(x->st->p, nest, var->name, nw_add(pool, var, nw_simplify(&r, shift)));
  if (fixed != rows) nw_block_guard(x->st->p, block, nw_lt(pool, var, rows));
  block->step = x->st->p->step;
  nw_ranges_free(&r);
}

// ---- the two nests

// Makes a copy of the loops between `over` and the nest, with the copy of the nest inside.
static nw_stmt *with_loops(const slide *x, nw_stmt *nest, const char *name) {
  for (int i = x->top - 1; i > x->at; i--) {
    const nw_stmt *loop = x->path.at[i];
    if (loop->kind != NW_LOOP) continue;
    const char *want = nw_arena_printf(x->st->scratch, "%s/%s", name, loop->loop.var->name);
    nw_stmt *copy = nw_new_loop(x->st->p, nw_unique_loop_name(x->st->p, want), loop->loop.begin, loop->loop.extent);
    nw_stmt_subst(x->st->p, nest, loop->loop.var->name, copy->loop.var);
    nw_kids_insert(x->st->p, copy, 0, nest);
    nest = copy;
  }
  return nest;
}

// Makes a copy of the nest. The copy runs before the loop, and computes the first rows. The variables of the loops that
// are not around the copy are replaced by their first values. The replacement begins with the innermost loop, because
// the first value of a loop may depend on outer loops. *own: the stage's own nest in the copy.
static nw_stmt *first_rows(const slide *x, nw_stmt **own) {
  const nw_stmt *top = x->path.at[x->top];
  const char *name = nw_arena_printf(x->st->scratch, "%s.pre", top->loop.var->name);
  nw_stmt *nest = nw_copy_stmt_as(x->st->p, top, name), *loop = nest;
  const nw_expr *lo = x->lo;
  for (int i = x->top; x->path.at[i] != x->loop; i++) loop = loop->kid[0];
  *own = nest;
  nw_stmt *all = with_loops(x, nest, name);
  for (int i = x->at; i >= x->before; i--) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind != NW_LOOP) continue;
    nw_stmt_subst(x->st->p, all, s->loop.var->name, s->loop.begin);
    lo = in_iteration(x, lo, s, s->loop.begin);
  }
  set_rows(x, nest, loop, nw_sub(x->st->p->pool, x->first, lo), nw_sub(x->st->p->pool, x->next, x->first), x->before);
  nw_guard_domain(x->st, nw_blocks_below(x->st->scratch, nest).at[0]);
  return all;
}

// Makes each iteration compute only the rows that the previous iterations have not computed.
static void new_rows(const slide *x) {
  nw_pool *pool = x->st->p->pool;
  const nw_expr *first = x->lo, *end = plus(x, x->hi, 1), *last = iteration_before(x, edge(x), x->over);
  if (x->down)
    end = x->kind == ALWAYS ? last : nw_min(pool, end, last);
  else
    first = x->kind == ALWAYS ? last : nw_max(pool, first, last);
  set_rows(x, x->path.at[x->top], x->loop, nw_sub(pool, first, x->lo), nw_sub(pool, end, first), x->top);
}

// Returns a block inside `over` whose results the nest of the first rows reads, where they are not stored. Returns NULL
// if there is none.
static nw_stmt *missing_input(nw_step *st, const nw_stmt *first, const nw_stmt *over) {
  nw_blocks readers = nw_blocks_below(st->scratch, first), b = nw_blocks_below(st->scratch, over);
  nw_path path;
  for (int i = 0; i < readers.n; i++) {
    nw_find(st->p, readers.at[i]->id, &path);
    for (int k = 0; k < b.n; k++) {
      const char *buffer = b.at[k]->block.target[0].buffer;
      if (nw_block_reads(readers.at[i], buffer) && !nw_is_allocated(&path, st->p, buffer)) return b.at[k];
    }
  }
  return NULL;
}

// Computes the inputs of the first rows before them. Returns false if this is not possible.
static bool feed_first(nw_step *st, nw_stmt *first, const nw_stmt *over) {
  nw_stmt *b;
  while ((b = missing_input(st, first, over))) {
    nw_lifted copy = nw_lift_copy(st, b, nw_arena_printf(st->scratch, "%s.pre", b->block.name));
    if (!nw_place(st, &copy, first)) return false;
  }
  return true;
}

// ---- all loops

typedef enum outcome { SLID, STAYED, REFUSED } outcome;

// Finds the variable that slides along the loop at index x->at. If `says` is true, makes a refusal if the rows cannot
// slide.
static outcome find_moving(slide *x, int from, bool says) {
  const char *name = block_of(x)->block.name;
  x->over = x->path.at[x->at];
  x->var = NULL;
  const char *over = x->over->loop.var->name;
  for (int i = 0; i < block_of(x)->block.nvars; i++) {
    nw_block_var *v = &block_of(x)->block.var[i];
    if (moves_along(x, v, from) != x->at) continue;
    if (x->var) {
      if (says)
        nw_step_refuse(x->st, "the new elements of an iteration would not form a box", x->over,
                       "%s and %s both move along %s", x->var->var->name, v->var->name, over);
      return REFUSED;
    }
    x->var = v;
  }
  if (!x->var) return STAYED;
  x->loop = loop_along(x, x->var);
  if (!x->loop) {
    if (says)
      nw_step_refuse(x->st,
                     "store_at must shorten that loop: use store_at before splitting or marking it, and before "
                     "computing another stage in it",
                     x->over, "the loop of %s along %s was split or marked, or another stage is computed in it", name,
                     x->var->var->name);
    return REFUSED;
  }
  x->lo = end_of_range(x, x->var, true);
  x->hi = end_of_range(x, x->var, false);
  if (!x->lo || !x->hi) {
    if (says)
      nw_step_refuse(x->st, "the new elements of an iteration are not known", x->over,
                     "the part of %s that an iteration computes has no known first or last element", name);
    return REFUSED;
  }
  x->kind = kind_of(x);
  return x->kind == SOMETIMES || x->kind == ALWAYS ? SLID : STAYED;
}

typedef struct tally {
  int slid, stayed; // numbers of loops along which rows slide, and along which they do not
  const nw_stmt *unknown; // a loop along which rows are not proven to move in one direction, or NULL
  slide failed; // a loop along which rows move and cannot slide; failed.st is NULL if there is none
} tally;

// Makes the rows of a nest slide along the loops from index `from` of its path, the outermost first. The nest of the
// first rows is made from the nest as it is then, so it slides along the loops inside it too. Returns false if a nest of
// first rows cannot be placed.
static bool slide_nest(nw_step *st, const nw_stmt *nest, int keep, int from, tally *t) {
  slide x = {.st = st};
  nw_path outer;
  nw_find(st->p, nest->id, &outer);
  int top = outer.n - 1;
  for (int i = from; i < top; i++) {
    const nw_stmt *block = nw_blocks_below(st->scratch, nest).at[0];
    nw_find(st->p, block->id, &x.path);
    x.top = top;
    x.at = i;
    if (x.path.at[i]->kind != NW_LOOP) continue;
    outcome found = find_moving(&x, keep + 1, false);
    if (found == REFUSED && !t->failed.st) t->failed = x;
    if (found == STAYED && x.var) t->stayed++;
    if (found == STAYED && x.var && x.kind == NEVER) t->unknown = x.over;
    if (found != SLID) continue;
    find_first(&x, keep);
    nw_stmt *own, *first = NULL;
    if (!proven(&x, x.before, nw_le(st->p->pool, x.next, x.first))) first = first_rows(&x, &own);
    new_rows(&x);
    if (first) nw_kids_insert(st->p, x.path.at[x.before - 1], x.path.pos[x.before], first);
    nw_step_note(st, "%s slides along %s: an iteration computes only new elements%s%s%s", block->block.name,
                 x.over->loop.var->name, first ? "; " : "",
                 first ? nw_blocks_below(st->scratch, own).at[0]->block.name : "",
                 first ? " computes the other elements of the first iteration" : "");
    if (first && !feed_first(st, first, x.path.at[x.before])) return false;
    t->slid++;
    if (first && !slide_nest(st, own, keep, x.before, t)) return false;
  }
  return true;
}

// ---- the step

static int loop_above(const nw_path *path, int from) {
  while (from > 0 && path->at[from]->kind != NW_LOOP) from--;
  return from;
}

static bool can_hold(slide *x, const nw_stmt *keep, int at, int home) {
  const char *name = block_of(x)->block.name;
  x->at = loop_above(&x->path, x->top - 1);
  if (at < 0)
    return nw_step_refuse(x->st, "first use compute_at to move it into that loop", keep,
                          "it is not computed inside that loop");
  if (loop_above(&x->path, home) <= at)
    return nw_step_refuse(x->st, "store_at can only move storage outward", keep,
                          "%s is already stored there or further out", name);
  x->over = x->path.at[x->at];
  return true;
}

bool nw_apply_store_at(void *step) {
  nw_step *st = step;
  slide x = {.st = st};
  nw_path outside = {.n = 1, .at = {st->p->root}};
  nw_stmt *block = nw_step_block(st, 0, &x.path), *loop = NULL;
  if (!block || (nw_step_given(st, 1) && !(loop = nw_step_loop(st, 1, &outside))) || !nw_can_move(st, block))
    return false;
  nw_stmt *keep = loop ? loop : st->p->root;
  x.top = nw_path_exclusive(&x.path);
  int at = nw_path_index(&x.path, keep);
  if (!can_hold(&x, loop, at, nw_path_storage(&x.path, block->block.target[0].buffer))) return false;
  nw_box box = nw_box_read(st, block, keep, &outside);
  const char *name = block->block.name, *over = x.over->loop.var->name;
  tally t = {0};
  if (!slide_nest(st, x.path.at[x.top], at, at + 1, &t)) return false;
  if (!t.slid && t.failed.st) return find_moving(&t.failed, at + 1, true) == SLID;
  if (!t.slid && !t.stayed)
    return nw_step_refuse(st, "compute the stage outside that loop", x.over,
                          "every iteration of %s computes the same part of %s", over, name);
  if (!t.slid && t.unknown)
    nw_step_note(st, "only the storage of %s moves: its elements are not proven to move in one direction along %s",
                 name, t.unknown->loop.var->name);
  else if (!t.slid)
    nw_step_note(st, "iterations of %s share no elements of %s: only its storage moves", over, name);
  for (int i = 0; i < block->block.ntargets; i++) nw_splice_alloc(st->p, block->block.target[i].buffer);
  nw_store_around(st, keep, block, loop ? &box : NULL);
  nw_note_recompute(st, block);
  return true;
}
