// How alternatives are offered. Private to sched/.
#pragma once
#include "sched/sched.h"

static inline nw_arg loop_arg(const nw_stmt *loop) {
  return (nw_arg){.kind = NW_ARG_LOOP, .name = loop->loop.var->name};
}
static inline nw_arg stage_arg(const char *name) { return (nw_arg){.kind = NW_ARG_STAGE, .name = name}; }
static inline nw_arg str_arg(const char *s) { return (nw_arg){.kind = NW_ARG_STR, .name = s}; }
static inline nw_arg int_arg(int64_t i) { return (nw_arg){.kind = NW_ARG_INT, .i = i}; }

static inline void offer1(nw_step *st, const char *primitive, nw_arg a) { nw_step_suggest(st, primitive, &a, 1); }

static inline void offer2(nw_step *st, const char *primitive, nw_arg a, nw_arg b) {
  nw_arg args[] = {a, b};
  nw_step_suggest(st, primitive, args, 2);
}

static inline bool small(const nw_stmt *loop, int64_t most) {
  int64_t n;
  return nw_is_int(loop->loop.extent, &n) && n <= most;
}

// What can nearly always be done to a loop.
static inline void offer_split(nw_step *st, const nw_stmt *loop) {
  if (loop->loop.mark == NW_SERIAL) offer2(st, "split", loop_arg(loop), int_arg(small(loop, 16) ? 4 : 16));
}
