// Declares helpers for suggesting alternatives. Private to sched/.
#pragma once
#include "sched/sched.h"

static inline nw_arg loop_arg(const nw_stmt *loop) {
  return (nw_arg){.kind = NW_ARG_LOOP, .name = loop->loop.var->name};
}
// Refers to a loop by its id. Used for a step that follows another suggested step, which may rename the loop.
static inline nw_arg same_loop(const nw_stmt *loop) { return (nw_arg){.kind = NW_ARG_LOOP, .i = loop->id}; }
static inline nw_arg stage_arg(const char *name) { return (nw_arg){.kind = NW_ARG_STAGE, .name = name}; }
static inline nw_arg str_arg(const char *s) { return (nw_arg){.kind = NW_ARG_STR, .name = s}; }
static inline nw_arg int_arg(int64_t i) { return (nw_arg){.kind = NW_ARG_INT, .i = i}; }

static inline void offer1(nw_step *st, const char *primitive, nw_arg a) { nw_step_suggest(st, primitive, &a, 1); }

static inline void offer2(nw_step *st, const char *primitive, nw_arg a, nw_arg b) {
  nw_arg args[] = {a, b};
  nw_step_suggest(st, primitive, args, 2);
}

static inline nw_arg cut_at(nw_step *st, const nw_expr *at) {
  const nw_expr **e = NW_NEW(st->scratch, const nw_expr *);
  nw_arg *item = NW_NEW(st->scratch, nw_arg);
  *e = at;
  *item = (nw_arg){.kind = NW_ARG_EXPR, .n = 1, .expr = e};
  return (nw_arg){.kind = NW_ARG_LIST, .n = 1, .item = item};
}

static inline nw_arg cond_arg(nw_step *st, const nw_expr *cond) {
  const nw_expr **e = NW_NEW(st->scratch, const nw_expr *);
  *e = cond;
  return (nw_arg){.kind = NW_ARG_COND, .n = 1, .expr = e};
}

static inline bool small(const nw_stmt *loop, int64_t most) {
  int64_t n;
  return nw_is_int(loop->loop.extent, &n) && n <= most;
}

// ---- steps after which the refused step must be legal

static inline void first1(nw_step *st, const char *primitive, nw_arg a) {
  nw_step_suggest(st, primitive, &a, 1)->then = nw_step_again(st);
}

static inline void first2(nw_step *st, const char *primitive, nw_arg a, nw_arg b) {
  nw_arg args[] = {a, b};
  nw_step_suggest(st, primitive, args, 2)->then = nw_step_again(st);
}

static inline void first_unmark(nw_step *st, const nw_stmt *loop) {
  if (loop->loop.mark != NW_SERIAL) first1(st, "unmark", loop_arg(loop));
}

static inline void first_unmarks(nw_step *st, int n, nw_stmt *const *nest) {
  for (int i = 0; i < n; i++) first_unmark(st, nest[i]);
}

// Writes the loops around the block of the stage to `out`, outermost first, and returns their number.
int nw_suggest_nest_of(nw_step *st, const char *stage, nw_stmt **out);
bool nw_suggest_about(const nw_step *st, const nw_stmt *s); // true if an argument refers to s, or to a stage in it

// Suggests steps if the condition of a block depends on enclosing loops.
void nw_suggest_unguarded(nw_step *st, const nw_stmt *block, int n, nw_stmt *const *nest, nw_candidate *then);

// Finds steps after which the refused step is legal, by trying them: an assumption that a size is at least some number,
// and a specialization for this condition. The number is greater than the size in the counterexample. Returns the
// number of steps found, which is at most two.
int nw_ways_by_size(nw_step *st, const nw_conflict *at, const nw_candidate **out);
