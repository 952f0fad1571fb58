// compute_at, compute_root and reverse_compute_at of a unit. The nest in the unit stays as it is. The loops around it,
// which count its executions, get new ranges, so that its stages are computed in whole tiles.
//
// Let an index of the unit be a*o + r, where o numbers its executions along a dimension, and r runs from `least` to
// `most` inside the unit. Then the executions from ceil((lo - most)/a) to floor((hi - least)/a) use the rows lo..hi. If
// several loops number the executions, as after two splits, o is the number that has them as its digits.
#include "sched/primitives/units/unit.h"
#include "sched/primitives/units/rows.h"
#include "ir/program/tags.h"
#include "sched/primitives/place.h"
#include "sched/primitives.h"
#include "sched/site.h"
#include "sched/tidy.h"
#include "sched/tree.h"

// ---- outputs

// Returns the buffers that the unit writes, and that are allocated outside of it.
static nw_vec outputs_of(const nw_step *st, const nw_stmt *unit) {
  nw_vec out = {0};
  nw_blocks b = nw_blocks_below(st->scratch, unit);
  for (int i = 0; i < b.n; i++)
    for (int t = 0; t < b.at[i]->block.ntargets; t++) {
      const char *buffer = b.at[i]->block.target[t].buffer;
      bool known = nw_allocates(unit, buffer);
      for (int k = 0; k < out.n && !known; k++) known = !strcmp(out.at[k], buffer);
      if (!known) nw_vec_push(&out, (void *)buffer);
    }
  return out;
}

// ---- conditions

static bool is_own(const nw_moving *x, const nw_stmt *loop) {
  for (int i = 0; i < x->naround; i++)
    if (x->around[i] == loop) return true;
  return nw_tree_has(x->unit, loop);
}

static const nw_stmt *scan_in(const nw_moving *x) {
  nw_blocks b = nw_blocks_below(x->st->scratch, x->unit);
  for (int i = 0; i < b.n; i++)
    if (nw_is_scan(b.at[i])) return b.at[i];
  return NULL;
}

// Returns a block outside of the unit that writes one of its outputs, or NULL.
static const nw_stmt *other_writer(const nw_moving *x, const char *output) {
  nw_blocks b = nw_blocks_below(x->st->scratch, x->st->p->root);
  for (int i = 0; i < b.n; i++)
    if (nw_block_writes(b.at[i], output) && !nw_tree_has(x->unit, b.at[i])) return b.at[i];
  return NULL;
}

static const nw_stmt *reader_outside(const nw_moving *x) {
  nw_blocks b = nw_blocks_below(x->st->scratch, x->st->p->root);
  for (int i = 0; x->loop && i < b.n; i++)
    if (nw_reads_any(b.at[i], x->unit) && !nw_tree_has(x->unit, b.at[i]) && !nw_tree_has(x->loop, b.at[i]))
      return b.at[i];
  return NULL;
}

static bool outputs_can_move(nw_moving *x) {
  nw_step *st = x->st;
  nw_vec out = outputs_of(st, x->unit);
  bool ok = true;
  for (int i = 0; i < out.n && ok; i++) {
    const nw_stmt *other = other_writer(x, out.at[i]);
    if (other)
      ok = nw_step_refuse(st, "a unit moves only if it computes all of its stages", NULL, "%s writes %s too",
                          other->block.name, (const char *)out.at[i]);
    else if (!x->reverse && nw_find_buffer(st->p, out.at[i])->role != NW_TEMP)
      ok = nw_step_refuse(st,
                          "the caller reads all of an output; use cache_write to compute into a buffer that can move",
                          NULL, "%s is an output", (const char *)out.at[i]);
  }
  nw_vec_free(&out);
  return ok;
}

// True if an allocation inside the new place contains the unit, which would move out of it.
static bool is_kept_inside(const nw_moving *x) {
  int at = nw_path_index(&x->own, x->loop);
  for (int i = at + 1; at >= 0 && i < x->own.n; i++)
    if (x->own.at[i]->kind == NW_ALLOC) return true;
  return false;
}

static bool can_move(nw_moving *x) {
  nw_step *st = x->st;
  const char *name = x->unit->unit.name;
  const nw_stmt *scan = scan_in(x);
  if (scan)
    return nw_step_refuse(st, nw_scan_reason(scan), NULL, "it holds %s",
                          nw_is_definition(scan) ? "an update" : "a scan");
  if (x->loop && is_own(x, x->loop))
    return nw_step_refuse(st, "a unit can move only into a loop of another stage", x->loop, "that is a loop of %s",
                          name);
  bool in_loop = false;
  for (int i = 0; i < x->own.n - 1 - x->naround; i++) in_loop |= x->own.at[i]->kind == NW_LOOP;
  if (!x->loop && !in_loop)
    return nw_step_refuse(st, "the unit is already computed as a whole before its first reader", NULL,
                          "it is already there");
  if (!outputs_can_move(x)) return false;
  const nw_stmt *in = x->loop ? x->loop : st->p->root, *outside = x->reverse ? NULL : reader_outside(x);
  if (outside)
    return nw_step_refuse(st, nw_arena_printf(st->scratch, "%s reads %s too", outside->block.name, name), x->loop,
                          "not all of its readers are inside that loop");
  if (!x->reverse && !nw_reads_any(in, x->unit))
    return nw_step_refuse(st, "a unit can move only to its readers", x->loop, "nothing there reads %s", name);
  if (x->reverse && is_kept_inside(x))
    return nw_step_refuse(st, "the unit cannot move out of that loop, in which its input is allocated", x->loop,
                          "it is already computed there");
  if (x->reverse && !nw_feeds(in, x->unit))
    return nw_step_refuse(st, "an iteration would complete none of its inputs", x->loop,
                          "no iteration of %s computes an input of %s", x->loop->loop.var->name, name);
  return true;
}

// ---- the new loops

// True if e uses a loop that is not around the unit at its new place.
static bool is_left_behind(const nw_moving *x, const nw_expr *e) {
  for (int i = 1; i < x->own.n; i++) {
    const nw_stmt *s = x->own.at[i];
    if (s->kind == NW_LOOP && !is_own(x, s) && nw_path_index(&x->at, s) < 0 && nw_uses_var(e, s->loop.var->name))
      return true;
  }
  return false;
}

// Makes the loop over executions. If the unit leaves a loop on which its rows depend, an earlier move has added a
// multiple of this loop to the rows. Then the executions are numbered from another origin, so that the loop disappears
// from the rows.
static void make_loop(nw_moving *x, int k) {
  nw_step *st = x->st;
  nw_pool *pool = st->p->pool;
  nw_number *n = &x->number[k];
  nw_stmt *old = x->around[n->at[0]];
  const nw_expr *origin = nw_index(pool, 0), *least = n->row->least[k];
  int64_t step = nw_row_step(n->row, n);
  if (step > 0 && is_left_behind(x, least)) origin = nw_floordiv(pool, least, nw_index(pool, step));
  nw_ranges r;
  nw_ranges_of(&r, st->p, &x->at);
  const nw_expr *lo = nw_simplify(&r, nw_add(pool, n->lo, origin)), *hi = nw_simplify(&r, nw_add(pool, n->hi, origin));
  const nw_expr *extent = nw_simplify(&r, nw_add(pool, nw_sub(pool, hi, lo), nw_index(pool, 1)));
  nw_ranges_free(&r);
  const char *name = old->loop.var->name;
  n->loop = nw_new_loop(st->p, n->n == 1 ? name : nw_unique_loop_name(st->p, name), nw_index(pool, 0), extent);
  n->now = nw_sub(pool, nw_add(pool, lo, n->loop->loop.var), origin);
  for (int i = 0; i < n->n; i++) {
    nw_note_mark(st, x->around[n->at[i]]);
    if (n->n > 1) nw_step_replaces(st, x->around[n->at[i]]->id, 1, &n->loop, "replaced");
  }
  if (n->n > 1) return;
  n->loop->id = old->id;
  for (int i = 0; i < old->ntags; i++) nw_tag_set(st->p, n->loop, old->tag[i]);
}

// Returns the value of an old loop, which is a digit of the number, in terms of the new loop. Returns NULL for another
// variable.
static const nw_expr *old_loop(void *env, const nw_expr *var) {
  const nw_moving *x = env;
  nw_pool *pool = x->st->p->pool;
  for (int k = 0; k < x->nnumbers; k++)
    for (int i = 0; i < x->number[k].n; i++) {
      const nw_number *n = &x->number[k];
      const nw_stmt *loop = x->around[n->at[i]];
      if (loop->loop.var != var) continue;
      const nw_expr *q = nw_floordiv(pool, n->now, nw_index(pool, nw_number_weight(n, i)));
      return n->n == 1 ? n->now : i ? nw_floormod(pool, q, loop->loop.extent) : q;
    }
  return NULL;
}

static const nw_expr *in_new_loops(void *env, const nw_expr *e) {
  const nw_moving *x = env;
  return nw_rewrite(x->st->p->pool, e, old_loop, NULL, env);
}

// Returns the condition that an execution exists: its number is in the range of the old loop. If this range depends on
// loops that the unit leaves, the condition is instead that at least one row of the execution exists.
static const nw_expr *exists(nw_moving *x, int k) {
  nw_pool *pool = x->st->p->pool;
  const nw_number *n = &x->number[k];
  const nw_row *r = n->row;
  const nw_expr *begin = in_new_loops(x, x->around[n->at[0]]->loop.begin), *end = in_new_loops(x, nw_number_end(x, n));
  if (!is_left_behind(x, begin) && !is_left_behind(x, end) && !is_left_behind(x, n->now))
    return nw_and(pool, nw_le(pool, begin, n->now), nw_lt(pool, n->now, end));
  const nw_expr *at = nw_mul(pool, nw_index(pool, nw_row_step(r, n)), n->now);
  if (x->reverse) return NULL;
  return nw_and(pool, nw_le(pool, nw_index(pool, 0), nw_add(pool, at, r->most[k])),
                nw_lt(pool, nw_add(pool, at, r->least[k]), r->buffer->shape[r->dim]));
}

// Returns the conjuncts of the condition that are not known to hold at the end of the path, without those that depend
// on loops which the unit leaves.
static const nw_expr *needed(const nw_moving *x, const nw_path *path, const nw_expr *cond) {
  const nw_expr *term[NW_MAX_TERMS], *out = NULL;
  int n = nw_conjuncts(cond, NW_MAX_TERMS, term);
  nw_ranges r;
  nw_ranges_around(&r, x->st->p, path);
  for (int i = 0; i < n; i++) {
    const nw_expr *t = nw_simplify(&r, term[i]);
    if (!nw_prove(&r, t) && !is_left_behind(x, t)) out = nw_and(x->st->p->pool, out, t);
  }
  nw_ranges_free(&r);
  return out;
}

// Puts the condition around the unit, so that its nest stays as it is.
static void guard_unit(nw_moving *x, const nw_expr *cond) {
  nw_path path;
  nw_find(x->st->p, x->unit->id, &path);
  cond = needed(x, &path, cond);
  if (!cond) return;
  nw_stmt *g = nw_new_stmt(x->st->p, NW_GUARD);
  g->guard.cond = cond;
  nw_kids_replace(path.at[path.n - 2], path.pos[path.n - 1], g);
  nw_kids_set(x->st->p, g, 1, &x->unit);
}

// Returns the new loop, if the old loop at position i is the outermost digit of a number. Returns NULL for its other
// digits and for conditions, and the old loop if it keeps its range.
static nw_stmt *loop_for(const nw_moving *x, int i) {
  if (x->around[i]->kind != NW_LOOP) return NULL;
  for (int k = 0; k < x->nnumbers; k++) {
    const nw_number *n = &x->number[k];
    bool first = nw_is_digit(n, i);
    for (int d = 0; d < n->n; d++) first = first && n->at[d] >= i;
    if (nw_is_digit(n, i)) return first ? n->loop : NULL;
  }
  return x->around[i];
}

static bool mark_changed(void *env, nw_stmt *s) {
  const nw_program *p = env;
  if (s->kind != NW_SEQ) s->step = p->step;
  return true;
}

// Makes the new nest, and returns the condition under which its executions exist and are ready.
static nw_stmt *build(nw_moving *x, const nw_expr **cond) {
  nw_program *p = x->st->p;
  *cond = x->ready;
  for (int k = 0; k < x->nnumbers; k++) make_loop(x, k);
  for (int k = 0; k < x->nnumbers; k++) {
    const nw_number *n = &x->number[k];
    *cond = nw_and(p->pool, *cond, exists(x, k));
    if (n->ready) *cond = nw_and(p->pool, *cond, nw_subst(p->pool, n->ready, nw_some_execution(x)->name, n->now));
  }
  nw_stmt *nest = x->unit;
  nw_stmt_map(p, x->unit, in_new_loops, x);
  for (int i = x->naround - 1; i >= 0; i--) {
    nw_stmt *old = x->around[i], *s = loop_for(x, i);
    nw_kids_set(p, old, 0, NULL);
    nw_stmt_map(p, old, in_new_loops, x);
    if (old->kind == NW_GUARD) *cond = nw_and(p->pool, *cond, old->guard.cond);
    if (!s) continue;
    nw_kids_set(p, s, 1, &nest);
    nest = s;
  }
  nw_walk_from(nest, mark_changed, p);
  return nest;
}

typedef struct behind {
  const nw_moving *x;
  bool found;
} behind;

static const nw_expr *see_expr(void *env, const nw_expr *e) {
  behind *b = env;
  b->found |= is_left_behind(b->x, e);
  return e;
}

// Checks that the unit depends only on loops that are around it at its new place.
static bool stands_alone(nw_moving *x, nw_stmt *nest) {
  behind b = {.x = x};
  const nw_stmt *on = NULL;
  nw_stmt_map(x->st->p, nest, see_expr, &b);
  for (int i = 1; i < x->own.n; i++)
    if (x->own.at[i]->kind == NW_LOOP && !is_own(x, x->own.at[i]) && nw_path_index(&x->at, x->own.at[i]) < 0)
      on = x->own.at[i];
  if (!b.found) return true;
  return nw_step_refuse(x->st, "a unit leaves only loops that hold nothing else", on,
                        "%s depends on %s, which also holds other statements", x->unit->unit.name, on->loop.var->name);
}

// ---- the step

static void find_around(nw_moving *x) {
  int top = x->own.n - 1;
  while (top > 1 && (x->own.at[top - 1]->kind == NW_LOOP || x->own.at[top - 1]->kind == NW_GUARD) &&
         x->own.at[top - 1]->nkids == 1)
    top--;
  x->naround = x->own.n - 1 - top;
  for (int i = 0; i < x->naround; i++) x->around[i] = x->own.at[top + i];
}

// Removes the unit, and allocates its outputs again around all uses.
static void lift_unit(nw_moving *x, const nw_vec *outputs) {
  nw_detach(x->st->p, &x->own, x->own.n - 1 - x->naround);
  for (int i = 0; i < outputs->n && !x->reverse; i++) nw_splice_alloc(x->st->p, outputs->at[i]);
  if (x->loop) nw_find(x->st->p, x->loop->id, &x->at);
}

static void store_outputs(nw_moving *x, const nw_vec *outputs) {
  for (int i = 0; i < outputs->n && !x->reverse; i++) {
    const char *name = outputs->at[i];
    nw_box box;
    if (x->loop) box = nw_box_used(x->st, nw_find_buffer(x->st->p, name), x->loop, &x->at);
    nw_store_buffers(x->st, x->loop ? x->loop : x->st->p->root, 1, &name, x->loop ? &box : NULL);
  }
}

static bool put_unit(nw_moving *x, int index, const nw_vec *outputs) {
  nw_step *st = x->st;
  nw_stmt *in = x->loop ? x->loop : st->p->root;
  const nw_expr *cond = NULL;
  int at;
  nw_find_executions(x);
  int fallback = x->reverse ? nw_spot_first(in, x->unit) : nw_spot_last(in, x->unit);
  if (!nw_spot_given(st, index, in, x->unit, fallback, &at)) return false;
  nw_spot spot = nw_spot_at(in, at);
  nw_stmt *nest = build(x, &cond);
  nw_kids_insert(st->p, spot.in, spot.pos, nest);
  nw_tidy(st);
  if (!stands_alone(x, nest)) return false;
  guard_unit(x, cond);
  store_outputs(x, outputs);
  nw_blocks b = nw_blocks_below(st->scratch, x->unit);
  if (b.n && !x->reverse) nw_note_recompute(st, b.at[b.n - 1]);
  return true;
}

bool nw_move_unit(nw_step *st, nw_stmt *unit, nw_stmt *loop, int index, bool reverse) {
  nw_moving x = {.st = st, .unit = unit, .loop = loop, .reverse = reverse, .at = {.n = 1, .at = {st->p->root}}};
  nw_find(st->p, unit->id, &x.own);
  if (loop) nw_find(st->p, loop->id, &x.at);
  find_around(&x);
  bool ok = can_move(&x) && nw_find_rows(&x);
  nw_vec outputs = outputs_of(st, unit);
  if (ok) lift_unit(&x, &outputs);
  ok = ok && put_unit(&x, index, &outputs);
  nw_vec_free(&outputs);
  nw_vec_free(&x.row);
  return ok;
}

bool nw_moves_units(const nw_primitive *row) {
  return row->apply == nw_apply_compute_at || row->apply == nw_apply_compute_root ||
         row->apply == nw_apply_reverse_compute_at;
}
