// Finds the reductions in the lanes of vector loops, and the loops during which the lanes keep their accumulators.
#include "ir/program/lanes.h"
#include "ir/program/lift.h"

bool nw_is_vector_loop(const nw_stmt *s) {
  return s->kind == NW_LOOP && (s->loop.mark == NW_VECTORIZED || s->loop.mark == NW_VECTOR_REDUCE);
}

static bool is_reduce_vector(const nw_stmt *s) { return s->kind == NW_LOOP && s->loop.mark == NW_VECTOR_REDUCE; }

bool nw_reduces_in_lanes(const nw_stmt *s) {
  bool any = is_reduce_vector(s);
  for (int i = 0; i < s->nkids && !any; i++) any = nw_reduces_in_lanes(s->kid[i]);
  return any;
}

static bool reduces(const nw_accumulation *x, int i) {
  const nw_stmt *s = x->path.at[i];
  return s->kind == NW_LOOP && nw_binds_reduce(x->block, s->loop.var->name);
}

bool nw_accumulates_apart(const nw_accumulation *x, int i) {
  return i > x->top && i < x->path.n - 1 && x->path.at[i]->kind == NW_LOOP && !reduces(x, i);
}

bool nw_accumulates_along(const nw_accumulation *x, const nw_expr *e) {
  for (int i = x->top; i < x->path.n - 1; i++)
    if (reduces(x, i) && nw_uses_var(e, x->path.at[i]->loop.var->name)) return true;
  return false;
}

static bool uses_loops(const nw_accumulation *x, const nw_expr *e) {
  for (int i = 0; i < x->path.n - 1; i++)
    if (x->path.at[i]->kind == NW_LOOP && nw_uses_var(e, x->path.at[i]->loop.var->name)) return true;
  return false;
}

// True if a binding uses the loop, and no reduce variable does.
static bool runs_over_elements(const nw_stmt *block, const nw_stmt *loop) {
  bool used = false;
  for (int i = 0; i < block->block.nvars; i++) {
    if (!nw_uses_var(block->block.var[i].bind, loop->loop.var->name)) continue;
    if (block->block.var[i].kind == NW_REDUCE) return false;
    used = true;
  }
  return used;
}

// True if there can be an accumulator for each iteration of the loop. The number of accumulators must not depend on
// other loops.
static bool is_counted(const nw_accumulation *x, const nw_stmt *loop) {
  return runs_over_elements(x->block, loop) && !nw_is_bound_loop(loop) && !uses_loops(x, loop->loop.begin) &&
         !uses_loops(x, loop->loop.extent);
}

static bool writes_of(const nw_stmt *block, const nw_stmt *alloc) {
  return nw_block_writes(block, alloc->alloc.buffer);
}

typedef struct look {
  const nw_stmt *block;
} look;

// True unless s uses the elements in another way than by updates of the same reduction. Only these updates can be made
// in any order.
static bool updates_only(void *env, nw_stmt *s) {
  const nw_stmt *block = ((const look *)env)->block;
  if (s == block || s->kind != NW_BLOCK) return true;
  bool same = !strcmp(s->block.origin, block->block.origin) && s->block.combiner != NW_PLAIN;
  for (int t = 0; t < block->block.ntargets; t++) {
    const char *buffer = block->block.target[t].buffer;
    if (nw_block_reads(s, buffer) || (!same && nw_block_writes(s, buffer))) return false;
  }
  return true;
}

// Moves x->top outwards over the loops of the reduction, as long as nothing inside them needs the elements themselves.
static void widen(nw_accumulation *x) {
  for (int i = x->vector - 1; i > 0; i--) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind == NW_SEQ || s->kind == NW_UNIT) continue;
    if (s->kind == NW_ALLOC && !writes_of(x->block, s)) continue;
    if (s->kind != NW_LOOP) return;
    if (!reduces(x, i)) {
      if (!is_counted(x, s)) return;
      continue;
    }
    if (s->loop.mark >= NW_PARALLEL || s->loop.mark == NW_VECTOR_REDUCE) return;
    if (!NW_MUTATED(lanes_widen) && !nw_walk_from(s, updates_only, &(look){x->block})) return;
    x->top = i;
  }
}

static void refuse(nw_accumulation *x, const char *why, const char *about) {
  if (x->why) return;
  x->why = why;
  x->about = about;
}

// Checks what is between the vector loop and the block.
static void check_inside(nw_accumulation *x) {
  for (int i = x->vector + 1; i < x->path.n - 1; i++) {
    const nw_stmt *s = x->path.at[i];
    if (s->kind == NW_GUARD || s->kind == NW_CALL)
      refuse(x, "%s is updated inside a guard or a call, which %s would skip", x->path.at[x->vector]->loop.var->name);
    if (s->kind == NW_ALLOC && writes_of(x->block, s))
      refuse(x, "%s keeps its elements in %s, which is allocated inside the loop", s->alloc.buffer);
    if (s->kind == NW_LOOP && !reduces(x, i) && !is_counted(x, s))
      refuse(x, "the number of elements of %s varies with the bounds of %s", s->loop.var->name);
  }
}

// Checks that nothing else inside the vector loop uses the elements: the lanes are combined after the loop. If the loop has
// one iteration, no dependence that it carries shows this.
static void check_alone(nw_accumulation *x) {
  const nw_stmt *s = x->path.at[x->vector];
  if (NW_MUTATED(lanes_alone) || nw_walk_from(s, updates_only, &(look){x->block})) return;
  refuse(x, "%s is used inside %s, before the lanes are combined", s->loop.var->name);
}

// True if the init of the block runs before the vector loop, or is not a part of the block. Otherwise the init would
// run in one of the lanes.
static bool starts_outside(const nw_program *p, const nw_stmt *block) {
  return !block->block.has_init || nw_init_lifts(p, block) || !nw_init_starts(p, block);
}

// An element whose updates are all skipped has its init, unless the init was skipped too. So the guard of a combination
// is the guard of the init. If the init is elsewhere, its guard is not known here.
static void check_guard(nw_accumulation *x, const nw_expr *cond) {
  if (cond->op == NW_OP_AND) {
    check_guard(x, cond->arg[0]);
    check_guard(x, cond->arg[1]);
    return;
  }
  if (!nw_accumulates_along(x, cond)) return;
  for (int i = 0; i < x->path.n - 1; i++) {
    const nw_stmt *s = x->path.at[i];
    bool along = i >= x->top && reduces(x, i);
    if (s->kind == NW_LOOP && !along && nw_uses_var(cond, s->loop.var->name))
      refuse(x, "the guard of %s depends on both the reduction and %s", s->loop.var->name);
  }
}

bool nw_accumulation_of(nw_accumulation *x, const nw_program *p, const nw_stmt *block) {
  *x = (nw_accumulation){.block = block, .vector = -1};
  if (block->block.combiner == NW_PLAIN || !nw_find(p, block->id, &x->path)) return false;
  for (int i = 1; i < x->path.n - 1; i++)
    if (is_reduce_vector(x->path.at[i]) && reduces(x, i)) x->vector = i;
  if (x->vector < 0) return false;
  x->top = x->vector;
  widen(x);
  check_inside(x);
  check_alone(x);
  if (block->block.where && !(block->block.has_init && nw_init_starts(p, block))) check_guard(x, block->block.where);
  if (!starts_outside(p, block))
    refuse(x, "the init of %s is not before %s: one of the lanes would run it", x->path.at[x->vector]->loop.var->name);
  return true;
}
