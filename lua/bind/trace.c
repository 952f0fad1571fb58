// Makes lists of the accesses of a schedule. They are computed from its program or recorded by the interpreter.
#include "bind.h"
#include <limits.h>

const char *const nwl_outcomes[NW_OUTCOMES] = {"hit", "cold", "capacity", "conflict"};

static nw_trace *trace_arg(lua_State *L, int arg) { return nwl_check(L, arg, &nwl_trace_class, "trace"); }
static void release_trace(void *p) { nw_trace_free(p); }

static int push_trace(lua_State *L, nwl_box *b, nw_trace *t) {
  nwl_hold(b, t);
  return t ? 1 : nwl_raise(L);
}

nwl_box *nwl_new_trace(lua_State *L) { return nwl_new(L, &nwl_trace_class, release_trace); }

static int f_walk(lua_State *L) {
  nwl_walk w;
  nwl_read_walk(L, &w);
  int64_t most = nwl_integer(L, 3, "most");
  nw_sim_opts o = {0};
  bool caches = !lua_isnoneornil(L, 4);
  if (caches) o = nwl_read_caches(L, 4);
  nwl_box *b = nwl_new_trace(L);
  return push_trace(L, b, nw_trace_walk(nwl_ctx(L), w.program, &w.walk, most, caches ? &o : NULL));
}

static int f_run(lua_State *L) {
  const nw_program *p = nw_sched_program(nwl_check(L, 1, &nwl_schedule_class, "schedule"));
  nw_array *args[NWL_MAX_DIMS * 2];
  int n = nwl_list_length(L, 2, NWL_MAX_DIMS * 2, "arguments");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 2, i + 1);
    args[i] = nwl_array_to_write(L, lua_gettop(L), "argument");
  }
  int64_t most = nwl_integer(L, 3, "most");
  nwl_box *b = nwl_new_trace(L);
  nw_clear(nwl_ctx(L));
  return push_trace(L, b, nw_trace_run(nwl_ctx(L), p, n, args, most));
}

static int trace_at(lua_State *L) {
  nw_trace *t = trace_arg(L, 1);
  lua_Integer i = nwl_integer(L, 2, "n");
  if (i < 1 || i > nw_trace_count(t)) return 0;
  const nw_touched *x = nw_trace_at(t, i - 1);
  lua_createtable(L, 0, 5);
  lua_pushstring(L, x->tensor);
  lua_setfield(L, -2, "tensor");
  lua_pushinteger(L, x->index);
  lua_setfield(L, -2, "index");
  lua_pushinteger(L, x->lanes);
  lua_setfield(L, -2, "lanes");
  lua_pushboolean(L, x->write);
  lua_setfield(L, -2, "write");
  lua_pushinteger(L, (lua_Integer)x->address);
  lua_setfield(L, -2, "address");
  lua_createtable(L, NW_MAX_LEVELS, 0);
  for (int k = 0; k < NW_MAX_LEVELS; k++) {
    lua_pushstring(L, nwl_outcomes[x->outcome[k]]);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "outcome");
  return 1;
}

void nwl_push_iteration(lua_State *L, const nw_iteration *x) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, x->loop);
  lua_setfield(L, -2, "loop");
  nwl_set_count(L, "depth", x->depth);
  nwl_set_count(L, "index", x->index);
  nwl_set_count(L, "from", x->from);
  nwl_set_count(L, "to", x->to);
}

static int trace_iterations(lua_State *L) {
  nw_trace *t = trace_arg(L, 1);
  int64_t n = nw_trace_iterations(t);
  lua_createtable(L, n < INT_MAX ? (int)n : 0, 0);
  for (int64_t i = 0; i < n; i++) {
    nwl_push_iteration(L, nw_trace_iteration(t, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int trace_differs(lua_State *L) {
  int64_t at = nw_trace_differs(trace_arg(L, 1), trace_arg(L, 2));
  if (at < 0) return 0;
  lua_pushinteger(L, at + 1);
  return 1;
}

static int trace_length(lua_State *L) {
  lua_pushinteger(L, nw_trace_count(trace_arg(L, 1)));
  return 1;
}

static int trace_text(lua_State *L) {
  lua_pushfstring(L, "%I accesses", (LUAI_UACINT)nw_trace_count(trace_arg(L, 1)));
  return 1;
}

static const nwl_row trace_methods[] = {
    {"at", trace_at, "(self: nw.accesses, n: integer): table?",
     "Returns the n-th access, counted from 1: tensor, index (linear, of its first element), lanes (the number of "
     "adjacent elements), write, address, outcome. outcome is a list with 'hit', 'cold', 'capacity' or 'conflict' for "
     "each cache level. It always has four entries; only those of simulated levels have a meaning. If the access "
     "touches several cache lines, the worst outcome counts."},
    {"iterations", trace_iterations, "(self: nw.accesses): table[]",
     "Returns the iterations of the loops, in the order in which they end. Each has `loop`, `depth` (the number of "
     "enclosing loops), `index` (counted from 0), `from` (the number of accesses before the iteration begins) and `to` "
     "(the number of accesses when it ends)."},
    {"differs", trace_differs, "(self: nw.accesses, other: nw.accesses): integer?",
     "Returns the position of the first access in which two lists differ, counted from 1; nil if the lists are equal."},
    {NULL, NULL, NULL, NULL},
};
static const luaL_Reg trace_meta[] = {{"__len", trace_length}, {"__tostring", trace_text}, {NULL, NULL}};
const nwl_class nwl_trace_class = {"accesses", "nestwright.accesses", "memory", trace_methods, NULL, trace_meta};

const nwl_row nwl_trace_rows[] = {
    {"accesses_walked", f_walk, "(s: nw.schedule, walk: table, most: integer, caches?: table): nw.accesses",
     "Returns the accesses of the lowered schedule, computed without running it."},
    {"accesses_run", f_run, "(s: nw.schedule, arguments: nw.array[], most: integer): nw.accesses",
     "Returns the accesses of the lowered schedule, recorded by the interpreter."},
    {NULL, NULL, NULL, NULL},
};
