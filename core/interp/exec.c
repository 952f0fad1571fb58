// Runs a compiled program.
#include "interp/code.h"
#include <stdlib.h>

static void run_kids(nwi_program *x, nwi_code *c) {
  for (int i = 0; i < c->nkids && !x->run.failed; i++) nwi_execute(x, c->kid[i]);
}

static void init_lone(nwi_program *x, nwi_code *loop);

// True if the caller of the interpreter needs some of these iterations (nw_interp_opts).
static bool wanted(nwi_program *x, const nwi_code *c, int64_t lo, int64_t hi) {
  const nw_interp_opts *o = x->run.opts;
  return !o || !o->enters || o->enters(o->env, c->stmt, lo, hi);
}

static bool backwards(nwi_program *x, const nwi_code *c) {
  const nw_interp_opts *o = x->run.opts;
  return o && o->backwards && o->backwards(o->env, c->stmt);
}

typedef void (*kids_of)(nwi_program *x, nwi_code *c);

static void run_iteration(nwi_program *x, nwi_code *c, int64_t at, kids_of kids) {
  if (c->dim >= 0 && kids == run_kids) nwi_grid_enter(x, c, at - nwi_int(&x->run, c->begin));
  x->run.slot[c->slot] = at;
  nwi_turn(&x->run);
  kids(x, c);
}

// Runs the needed iterations of the range lo..hi. Halves the range until it contains no needed iteration, or has only
// one iteration.
static void run_part(nwi_program *x, nwi_code *c, int64_t lo, int64_t hi, kids_of kids) {
  if (nwi_stop(&x->run) || !wanted(x, c, lo, hi)) return;
  if (lo == hi) return run_iteration(x, c, lo, kids);
  int64_t middle = lo + (hi - lo) / 2;
  bool back = backwards(x, c);
  if (back) run_part(x, c, middle + 1, hi, kids);
  run_part(x, c, lo, middle, kids);
  if (!back) run_part(x, c, middle + 1, hi, kids);
}

static void run_all(nwi_program *x, nwi_code *c, int64_t begin, int64_t extent, kids_of kids) {
  const nw_interp_opts *o = x->run.opts;
  if (extent > 0 && o && (o->enters || o->backwards)) return run_part(x, c, begin, begin + extent - 1, kids);
  for (int64_t i = 0; i < extent && !nwi_stop(&x->run); i++) run_iteration(x, c, begin + i, kids);
}

static void run_loop(nwi_program *x, nwi_code *c) {
  nwi_run *r = &x->run;
  nwi_turn(r);
  int64_t begin = nwi_int(r, c->begin), extent = nwi_int(r, c->extent);
  x->at[x->depth++] = c;
  if (extent <= 0 && c->nlone && wanted(x, c, begin, begin)) {
    r->slot[c->slot] = begin;
    init_lone(x, c);
  }
  run_all(x, c, begin, extent, run_kids);
  if (c->dim >= 0) nwi_grid_leave(x, c);
  x->depth--;
}

static void run_guard(nwi_program *x, nwi_code *c) {
  nwi_turn(&x->run);
  if (nwi_int(&x->run, c->cond)) run_kids(x, c);
}

// Runs the statements in an allocation. Before that, all elements of the buffer become undefined.
static void run_alloc(nwi_program *x, nwi_code *c) {
  nwi_run *r = &x->run;
  nwi_buffer *b = c->buffer;
  int64_t count = 1;
  nwi_turn(r);
  for (int d = 0; d < b->n && !x->exec; d++) {
    b->min[d] = nwi_int(r, c->min[d]);
    b->extent[d] = nwi_int(r, c->size[d]);
    if (b->extent[d] < 0) b->extent[d] = 0;
    if (__builtin_mul_overflow(count, b->extent[d], &count)) return nwi_fail(r, NW_ERANGE, "%s is too large", b->name);
  }
  if (x->exec) count = nwi_int(r, c->size[0]);
  if (!nwi_reserve(x, b, count)) return;
  nwi_grid_alloc(x, b);
  nwi_fold(x, c);
  run_kids(x, c);
  nwi_storage_ends(x, b);
}

static void run_store(nwi_program *x, nwi_code *c) {
  nwi_run *r = &x->run;
  nwi_target *t = c->target;
  nwi_turn(r);
  if (nwi_stop(r)) return;
  if (c->stmt->store.async) return nwi_depart(x, c);
  if (c->stmt->store.atomic) x->grid.atomic = t->buffer;
  const nwi_cell *mask = t->mask ? nwi_get(r, t->mask) : NULL;
  const nwi_cell *index = nwi_get(r, t->index[0]), *value = nwi_get(r, t->value);
  if (!r->failed) nwi_store(x, t, value, mask, t->value->lanes, index);
  x->grid.atomic = NULL;
}

// ---- blocks

static bool first_instance(nwi_program *x, nwi_code *c) {
  for (int i = 0; i < c->nvars; i++)
    if (c->reduce[i] && x->run.slot[c->var_slot[i]] != nwi_int(&x->run, c->lo[i])) return false;
  return true;
}

static bool place_targets(nwi_program *x, nwi_code *c) {
  for (int i = 0; i < c->ntargets; i++) {
    nwi_target *t = &c->target[i];
    t->at = nwi_place(x, t->buffer, t->n, t->index, true);
    if (x->run.failed) return false;
  }
  return true;
}

static void store_targets(nwi_program *x, nwi_code *c, bool init) {
  nwi_run *r = &x->run;
  x->init = init;
  for (int i = 0; i < c->ntargets; i++) nwi_get(r, init ? c->target[i].init : c->target[i].value);
  for (int i = 0; i < c->ntargets && !r->failed; i++) {
    nwi_target *t = &c->target[i];
    nwi_store(x, t, (init ? t->init : t->value)->v, NULL, 1, NULL);
  }
}

// Sets the block's axes from their bindings. Returns false if the block does not run. If `nothing` is true, the block's
// reduction is empty. A size can then be 0, and a binding that divides by this size cannot be computed. A reduce axis
// whose binding divides by a size therefore gets its first value instead.
static bool enter_block(nwi_program *x, nwi_code *c, nwi_node *cond, bool nothing) {
  nwi_run *r = &x->run;
  if (nwi_stop(r)) return false;
  nwi_turn(r);
  if (cond && !nwi_int(r, cond)) return false;
  for (int i = 0; i < c->nvars; i++)
    r->slot[c->var_slot[i]] = nwi_int(r, nothing && c->divides[i] ? c->lo[i] : c->bind[i]);
  nwi_turn(r);
  x->block = c;
  x->init = false;
  return !r->opts || !r->opts->runs || r->opts->runs(r->opts->env, c->stmt);
}

static void run_block(nwi_program *x, nwi_code *c) {
  nwi_run *r = &x->run;
  if (!enter_block(x, c, c->cond, false) || !place_targets(x, c)) return;
  if (c->has_init && first_instance(x, c)) {
    store_targets(x, c, true);
    nwi_turn(r);
  }
  if (!r->failed) store_targets(x, c, false);
}

// ---- inits of empty reductions
//
// The value of an empty reduction is its init. Therefore the lone inits (code.h) of a reduce loop run even if the loop
// has no iterations.

static bool lone_along(const nwi_code *loop, const nwi_code *block) {
  for (int i = 0; i < loop->nlone; i++)
    if (loop->lone[i] == block) return true;
  return false;
}

static void init_inside(nwi_program *x, nwi_code *c);

static void init_loop(nwi_program *x, nwi_code *c) {
  nwi_run *r = &x->run;
  nwi_turn(r);
  int64_t begin = nwi_int(r, c->begin), extent = lone_along(c, x->lone) ? 1 : nwi_int(r, c->extent);
  x->at[x->depth++] = c;
  run_all(x, c, begin, extent, init_inside);
  x->depth--;
}

static void init_block(nwi_program *x, nwi_code *c) {
  if (!enter_block(x, c, c->init_cond, true) || !first_instance(x, c)) return;
  if (place_targets(x, c)) store_targets(x, c, true);
}

// Runs the init of the block x->lone, which is inside c.
static void init_inside(nwi_program *x, nwi_code *c) {
  nwi_code *kid = x->lone;
  while (kid->up != c) kid = kid->up;
  if (kid->kind == NW_LOOP)
    init_loop(x, kid);
  else if (kid->kind == NW_BLOCK)
    init_block(x, kid);
  else
    init_inside(x, kid);
}

static void init_lone(nwi_program *x, nwi_code *loop) {
  for (int i = 0; i < loop->nlone && !x->run.failed; i++) {
    x->lone = loop->lone[i];
    init_inside(x, loop);
  }
}

void nwi_execute(nwi_program *x, nwi_code *c) {
  if (c->launch) nwi_launch(x, true);
  switch (c->kind) {
  case NW_SEQ:
  case NW_UNIT:
  case NW_CALL: run_kids(x, c); break;
  case NW_LOOP: run_loop(x, c); break;
  case NW_BLOCK: run_block(x, c); break;
  case NW_GUARD: run_guard(x, c); break;
  case NW_STORE: run_store(x, c); break;
  case NW_ALLOC: run_alloc(x, c); break;
  case NW_PREFETCH: break;
  case NW_BARRIER: nwi_barrier(x, c->stmt->barrier.warp); break;
  case NW_COMMIT: nwi_commit(x); break;
  case NW_WAIT: nwi_await(x, c->stmt->wait.groups); break;
  }
  if (!c->launch) return;
  nwi_launch_ends(x);
  nwi_launch(x, false);
}
