// Returns the logs of runs of a kernel: what each thread did, and when.
#include "bind.h"
#include <limits.h>

#define MAX_ARGS 64

static void push_spans(lua_State *L, const nw_log *l) {
  int64_t n = nw_log_spans(l);
  lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
  for (int64_t i = 0; i < n; i++) {
    const nw_span *s = nw_log_span(l, i);
    lua_createtable(L, 0, 8);
    nwl_set_integer(L, "loop", s->loop + 1);
    nwl_set_integer(L, "region", s->region + 1);
    nwl_set_integer(L, "thread", s->thread);
    nwl_set_integer(L, "first", s->from);
    nwl_set_integer(L, "last", s->to - 1);
    nwl_set_number(L, "from", s->begin);
    nwl_set_number(L, "to", s->end);
    nwl_set_number(L, "cpu", s->cpu);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_regions(lua_State *L, const nw_log *l) {
  int64_t n = nw_log_regions(l);
  lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
  for (int64_t i = 0; i < n; i++) {
    const nw_region *r = nw_log_region(l, i);
    lua_createtable(L, 0, 3);
    nwl_set_integer(L, "loop", r->loop + 1);
    nwl_set_number(L, "from", r->begin);
    nwl_set_number(L, "to", r->end);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_log(lua_State *L, const nw_log *l) {
  lua_createtable(L, 0, 6);
  nwl_set_number(L, "seconds", nw_log_seconds(l));
  nwl_set_integer(L, "threads", nw_log_threads(l));
  nwl_set_integer(L, "lost", nw_log_lost(l));
  push_spans(L, l);
  lua_setfield(L, -2, "spans");
  push_regions(L, l);
  lua_setfield(L, -2, "regions");
  lua_createtable(L, nw_log_loops(l), 0);
  for (int i = 0; i < nw_log_loops(l); i++) {
    if (nw_log_loop(l, i))
      lua_pushstring(L, nw_log_loop(l, i));
    else
      lua_pushfstring(L, "loop %d", i + 1);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "loops");
}

static int f_logs(lua_State *L) {
  nw_kernel *k = nwl_check(L, 1, &nwl_kernel_class, "kernel");
  nw_array *args[MAX_ARGS];
  int n = nwl_list_length(L, 2, MAX_ARGS, "arguments");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 2, i + 1);
    args[i] = nwl_array_to_write(L, lua_gettop(L), "argument");
  }
  int reps = nwl_count_or(L, 3, "reps", 1, 10000, 1);
  nw_logs logs;
  nw_clear(nwl_ctx(L));
  if (!nw_kernel_logs(k, n, args, reps, &logs)) return nwl_raise(L);
  lua_createtable(L, logs.n, 2);
  for (int i = 0; i < logs.n; i++) {
    push_log(L, logs.log[i]);
    lua_rawseti(L, -2, i + 1);
  }
  nwl_set_integer(L, "retaken", logs.retaken);
  nwl_set_flag(L, "disturbed", logs.disturbed);
  nw_logs_free(&logs);
  return 1;
}

const nwl_row nwl_log_rows[] = {
    {"kernel_logs", f_logs, "(k: nw.kernel, arguments: nw.array[], reps: integer): table[]",
     "Runs a kernel `reps` times and reports what its threads did. A run that other work disturbed is made again, as "
     "by "
     "kernel_time: `retaken` is the number of these runs, and `disturbed` is true if most runs stayed disturbed. "
     "Fields "
     "of a run: `seconds` of wall-clock time; `threads`, the number of threads; `loops`, the names of the loops; "
     "`regions`, `spans` and `lost`. A region is an execution of a parallel loop. Its fields are `loop`, and the times "
     "`from` and `to`. A span is a part of a region that one thread ran without interruption. Its fields are `loop`, "
     "`region`, `thread`, the iterations `first` and `last`, the times `from` and `to`, and the CPU time `cpu`. `lost` "
     "is the number of spans and regions that did not fit into the log."},
    {NULL, NULL, NULL, NULL},
};
