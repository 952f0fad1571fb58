// unroll, vectorize, parallel and bind: mark how a loop runs. The judge (poly/poly.h) checks that values do not change.
// This file checks the other requirements of marks.
#include "ir/program/cross.h"
#include "sched/primitives.h"
#include "sched/rounding.h"
#include "sched/shape.h"
#include "sched/tree.h"

static bool set_mark(nw_step *st, nw_stmt *loop, nw_loop_kind mark) {
  loop->loop.mark = mark;
  loop->step = st->p->step;
  return true;
}

static bool unmarked(nw_step *st, const nw_stmt *loop) {
  if (loop->loop.mark == NW_SERIAL) return true;
  return nw_step_refuse(st, "a loop can have only one mark", loop, "it is already marked %s",
                        nw_loop_kind_name(loop->loop.mark));
}

// Checks that no loop around or inside this loop has the mark `other`. `why` is the reason for the refusal.
static bool not_with(nw_step *st, const nw_stmt *loop, const nw_path *path, nw_loop_kind other, const char *why) {
  const nw_stmt *outside = nw_path_marked(path, other), *inside = nw_tree_marked(loop, other);
  const nw_stmt *with = outside ? outside : inside;
  if (other == NW_VECTORIZED && !not_with(st, loop, path, NW_VECTOR_REDUCE, why)) return false;
  if (!with) return true;
  return nw_step_refuse(st, why, with, "it %s %s, which is marked %s", outside ? "is inside" : "holds",
                        with->loop.var->name, nw_loop_kind_name(other));
}

static bool constant(nw_step *st, const nw_stmt *loop, int64_t *extent) {
  if (nw_is_int(loop->loop.extent, extent)) return true;
  return nw_step_refuse(st, "its number of iterations is known only when the kernel is called", loop,
                        "its extent is not constant");
}

// ---- unroll

enum {
  UNROLL_LIMIT = 4096,
  UNROLL_MANY = 256, // with more copies, compiling takes noticeably long
};

static double copies_on(const nw_path *path, const nw_stmt *loop) {
  double n = 1;
  int64_t extent;
  for (int i = 0; i < path->n; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind == NW_LOOP && (s == loop || s->loop.mark == NW_UNROLLED) && nw_is_int(s->loop.extent, &extent))
      n *= (double)extent;
  }
  return n;
}

static bool refuse_code(nw_step *st, const nw_stmt *loop, const nw_stmt *block, double copies) {
  nw_refusal r = {.kind = NW_REFUSE_CAPACITY, .primitive = "unroll", .loops = {loop->loop.var->name}};
  r.why = nw_arena_printf(st->scratch, "this would make %.0f copies of %s; the limit is %d", copies, block->block.name,
                          UNROLL_LIMIT);
  nw_refuse(st->ctx, &r);
  return false;
}

static bool unroll_whole(nw_step *st, nw_stmt *loop) {
  int64_t extent;
  if (!constant(st, loop, &extent)) return false;
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  double all = 0;
  for (int i = 0; i < b.n; i++) {
    nw_path path;
    nw_find(st->p, b.at[i]->id, &path);
    double copies = copies_on(&path, loop);
    if (copies > UNROLL_LIMIT) return refuse_code(st, loop, b.at[i], copies);
    all += copies;
  }
  if (all > UNROLL_MANY)
    nw_step_note(st, "s:build will make %.0f copies of statements in unrolled loops, which may take seconds to compile",
                 all);
  return set_mark(st, loop, NW_UNROLLED);
}

enum { UNROLL_LOOP, UNROLL_FACTOR, UNROLL_TAIL };

bool nw_apply_unroll(void *step) {
  nw_step *st = step;
  nw_pieces x;
  nw_stmt *loop = nw_step_loop(st, UNROLL_LOOP, NULL);
  if (!loop || !unmarked(st, loop)) return false;
  if (!nw_step_given(st, UNROLL_FACTOR) && nw_step_given(st, UNROLL_TAIL)) {
    nw_fail(st->ctx, NW_EINVAL, "s:unroll(\"i\", 4, {tail = \"cut\"})", "unroll: tail needs a factor");
    return false;
  }
  if (!nw_step_given(st, UNROLL_FACTOR)) return unroll_whole(st, loop);
  int64_t factor = nw_step_int(st, UNROLL_FACTOR, 0);
  if (!nw_factor_ok(st, "factor", factor)) return false;
  const nw_expr *by = nw_index(st->p->pool, factor);
  return nw_split_step(st, loop, 1, &by, NULL, nw_tail_of(nw_step_str(st, UNROLL_TAIL, "guard")), &x) &&
         (!x.n || unroll_whole(st, x.loop[1]));
}

// ---- unmark

bool nw_apply_unmark(void *step) {
  nw_step *st = step;
  nw_stmt *loop = nw_step_loop(st, 0, NULL);
  if (!loop) return false;
  if (loop->loop.mark == NW_SERIAL) return nw_step_refuse(st, "it already runs sequentially", loop, "it has no mark");
  return set_mark(st, loop, NW_SERIAL);
}

// ---- vectorize

static bool lanes_fit(nw_step *st, const nw_stmt *loop, int64_t extent) {
  int64_t most = st->p->target->limit.lanes;
  if (extent <= most) return true;
  const char *why = nw_arena_printf(st->scratch, "a vector has at most %lld lanes", (long long)most);
  return nw_step_refuse(st, why, loop, "it runs %lld times", (long long)extent);
}

static void note_mask(nw_step *st, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  for (int i = 0; i < b.n; i++)
    if (b.at[i]->block.where && nw_uses_var(b.at[i]->block.where, loop->loop.var->name))
      nw_step_note(st, "the guard becomes a vector mask");
}

// Checks that a reduction runs along the loop. Adds a note about rounding.
static bool lanes_reduce(nw_step *st, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  bool any = false, rounds = false;
  for (int i = 0; i < b.n; i++) {
    if (b.at[i]->block.combiner == NW_PLAIN || !nw_binds_reduce(b.at[i], loop->loop.var->name)) continue;
    any = true;
    rounds |= nw_rounds(st->p, b.at[i]);
  }
  if (rounds) nw_step_rounds(st, "rounding may change: each lane adds up its own floats");
  return any || nw_step_refuse(st, "the option reduce needs a reduction along the loop", loop,
                               "no reduction runs along %s", loop->loop.var->name);
}

bool nw_vectorize_loop(nw_step *st, nw_stmt *loop, nw_loop_kind mark) {
  nw_path path;
  int64_t extent;
  nw_find(st->p, loop->id, &path);
  if (!unmarked(st, loop)) return false;
  if (!not_with(st, loop, &path, NW_VECTORIZED, "a vector lane cannot run vectors")) return false;
  if (nw_tree_marked(loop, NW_PARALLEL) &&
      !not_with(st, loop, &path, NW_PARALLEL, "a vector lane cannot start threads"))
    return false;
  if (!constant(st, loop, &extent) || !lanes_fit(st, loop, extent)) return false;
  if (mark == NW_VECTOR_REDUCE && !lanes_reduce(st, loop)) return false;
  note_mask(st, loop);
  return set_mark(st, loop, mark);
}

enum { VECTORIZE_LOOP, VECTORIZE_REDUCE };

bool nw_apply_vectorize(void *step) {
  nw_stmt *loop = nw_step_loop(step, VECTORIZE_LOOP, NULL);
  return loop &&
         nw_vectorize_loop(step, loop, nw_step_given(step, VECTORIZE_REDUCE) ? NW_VECTOR_REDUCE : NW_VECTORIZED);
}

// ---- parallel

// OPERATIONS_NS is the assumed number of operations that one core executes in a nanosecond. USUAL_US is the assumed
// number of microseconds for starting threads. For loops of fewer than ASK_BELOW operations, the time for starting
// threads is measured.
enum { OPERATIONS_NS = 4, USUAL_US = 5, ASK_BELOW = 1000000 };

// Adds a note if there is too little work for threads. The note uses the measured time to start threads on this
// machine. If there is no measurement, the note says that the time is assumed. If there is much work, nothing is
// measured.
static void note_work(nw_step *st, const nw_stmt *loop, const nw_path *path) {
  double work = nw_work_below(loop);
  if (work < 0 || work >= ASK_BELOW) return;
  bool here = nw_target_here(st->p->target);
  double measured = here && st->ctx->spawn_seconds ? 1e6 * st->ctx->spawn_seconds() : 0;
  if (measured < 0) {
    nw_step_note(st, "this machine has one core: the threads share it");
    return;
  }
  double us = measured > 0 ? measured : USUAL_US;
  if (work >= us * 1e3 * OPERATIONS_NS) return;
  nw_stmt *around[NW_MAX_DEPTH];
  int n = nw_path_loops(path, around) - 1;
  nw_step_note(st, "little work: about %.0f operations, or %.2f us, compared with %.1f us for starting threads %s%s",
               work, work / (1e3 * OPERATIONS_NS), us, measured > 0 ? "(measured)" : "(assumed, not measured here)",
               n > 0 ? ", in each iteration of the enclosing loops" : "");
}

bool nw_apply_parallel(void *step) {
  nw_step *st = step;
  nw_path path;
  nw_stmt *loop = nw_step_loop(st, 0, &path);
  if (!loop || !unmarked(st, loop)) return false;
  if (!not_with(st, loop, &path, NW_PARALLEL, "threads cannot start threads")) return false;
  if (nw_path_marked(&path, NW_VECTORIZED) &&
      !not_with(st, loop, &path, NW_VECTORIZED, "a vector lane cannot start threads"))
    return false;
  note_work(st, loop, &path);
  return set_mark(st, loop, NW_PARALLEL);
}

// ---- bind

static nw_loop_kind tag_of(const char *name) {
  int k = NW_BLOCK_X;
  while (k < NW_VTHREAD && strcmp(nw_loop_kind_name((nw_loop_kind)k), name)) k++;
  return (nw_loop_kind)k;
}

static void note_crossing(nw_step *st, const nw_stmt *loop) {
  nw_blocks b = nw_blocks_below(st->scratch, loop);
  for (int i = 0; i < b.n; i++)
    if (nw_crosses(b.at[i], loop))
      nw_step_note(st, "each thread of %s has a partial result of %s; the threads combine them in pairs",
                   loop->loop.var->name, b.at[i]->block.name);
}

// Marks the loop. The judge later checks whether the loop can be combined with the other bound loops of its launch.
bool nw_apply_bind(void *step) {
  nw_step *st = step;
  nw_stmt *loop = nw_step_loop(st, 0, NULL);
  if (!loop || !unmarked(st, loop)) return false;
  set_mark(st, loop, tag_of(nw_step_str(st, 1, "")));
  note_crossing(st, loop);
  return true;
}
