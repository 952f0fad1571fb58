// Measures the time of each loop of a schedule's program.
#include "bind.h"
#include <stdlib.h>

#define MAX_ARGS 64
#define MAX_REPS 100000

static void push_loop(lua_State *L, const nw_loop_time *t) {
  lua_createtable(L, 0, 9);
  lua_pushstring(L, t->loop);
  lua_setfield(L, -2, "loop");
  nwl_set_integer(L, "id", t->id);
  nwl_set_integer(L, "depth", t->depth);
  nwl_set_flag(L, "timed", t->timed);
  nwl_set_flag(L, "parallel", t->parallel);
  nwl_set_number(L, "seconds", t->seconds);
  nwl_set_number(L, "most", t->most);
  nwl_set_number(L, "work", t->work);
  nwl_set_number(L, "busy", t->busy);
  nwl_set_number(L, "times", t->times);
}

static int push_times(lua_State *L) {
  const nw_loop_times *t = lua_touserdata(L, 1);
  lua_createtable(L, 0, 10);
  nwl_set_integer(L, "threads", t->threads);
  nwl_set_integer(L, "reps", t->reps);
  nwl_set_number(L, "seconds", t->seconds);
  nwl_set_number(L, "clocked", t->clocked);
  nwl_set_number(L, "clocks", t->clocks);
  nwl_set_number(L, "least", t->least);
  nwl_set_flag(L, "disturbed", t->disturbed);
  nwl_set_flag(L, "calls", t->calls);
  lua_createtable(L, t->n, 0);
  for (int i = 0; i < t->n; i++) {
    push_loop(L, &t->at[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "loops");
  lua_createtable(L, t->ncounts, 0);
  for (int i = 0; i < t->ncounts; i++) {
    lua_createtable(L, 0, 2);
    lua_pushstring(L, t->count[i].name);
    lua_setfield(L, -2, "event");
    nwl_set_number(L, "count", t->count[i].value);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "counts");
  return 1;
}

// loop_times(schedule, arguments, threads, opt, reps)
static int f_loop_times(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 2, i + 1);
    args[i] = nwl_array_to_write(L, lua_gettop(L), "argument");
  }
  nw_build_opts o = {.threads = nwl_count_or(L, 3, "threads", 0, 1024, 0), .opt = nwl_count_or(L, 4, "opt", 0, 3, 1)};
  int reps = nwl_count_or(L, 5, "reps", 1, MAX_REPS, 0);
  nw_loop_times t;
  nw_clear(nwl_ctx(L));
  if (!nw_measure_loops(nwl_ctx(L), nw_sched_program(s), &o, n, args, reps, &t)) return nwl_raise(L);
  lua_pushcfunction(L, push_times);
  lua_pushlightuserdata(L, &t);
  int status = nwl_pcall(L, 1, 1); // t must be freed even if there is no memory for the result
  free(t.at);
  return status == LUA_OK ? 1 : lua_error(L);
}

const nwl_row nwl_loop_times_rows[] = {
    {"loop_times", f_loop_times,
     "(s: nw.schedule, arguments: nw.array[], threads?: integer, opt?: integer, reps?: integer): table",
     "Measures the time of each loop of the lowered program, in code with clocks around the loops. Fields: `seconds` "
     "(the time of a call without clocks), `clocked` (the time of a call with clocks), `clocks` (the time that the "
     "clocks take), `least` (the shortest execution that is timed), `threads`, `reps`, `disturbed`, `calls` (true "
     "if intrinsics are called), `counts` (an entry with `event` and `count` for each event that the system counts), "
     "and "
     "`loops`. A loop has `loop` (its name), "
     "`id`, `depth`, `timed`, `parallel`, `seconds`, `most`, `work`, `times` and `busy`."},
    {NULL, NULL, NULL, NULL},
};
