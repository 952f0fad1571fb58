// Makes loop nests from text or from the accesses of a schedule, and counts their misses and operations.
#include "bind.h"
#include <limits.h>

enum { MOST_VALUES = 64 };

static nw_loopnest *nest_arg(lua_State *L, int arg) { return nwl_check(L, arg, &nwl_loopnest_class, "nest"); }
static void release_nest(void *p) { nw_loopnest_free(p); }

static int push_nest(lua_State *L, nwl_box *b, nw_loopnest *n) {
  nwl_hold(b, n);
  return n ? 1 : nwl_raise(L);
}

// nest_parse(text, names, values, set?)
static int f_parse(lua_State *L) {
  const char *text = nwl_string(L, 1, "text"), *name[MOST_VALUES];
  int64_t value[MOST_VALUES];
  int n = nwl_list_length(L, 2, MOST_VALUES, "names");
  for (int i = 0; i < n; i++, lua_pop(L, 2)) {
    lua_rawgeti(L, 2, i + 1);
    name[i] = nwl_string(L, -1, "name");
    lua_rawgeti(L, 3, i + 1);
    value[i] = nwl_integer(L, -1, name[i]);
  }
  const char *set = lua_isnoneornil(L, 4) ? NULL : nwl_string(L, 4, "sizes");
  nwl_box *b = nwl_new(L, &nwl_loopnest_class, release_nest);
  nw_clear(nwl_ctx(L));
  return push_nest(L, b, nw_loopnest_parse(nwl_ctx(L), text, set, n, name, value));
}

// nest_of(schedule, sizes, version?)
static int f_of(lua_State *L) {
  const nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "schedule");
  const nw_program *p = nw_sched_version(s, nwl_count_or(L, 3, "version", 0, INT_MAX, nw_sched_current(s)));
  if (!p) nwl_fail(L, NW_ERANGE, NULL, "version: there is no such version");
  int64_t size[NWL_MAX_DIMS];
  nwl_read_sizes(L, 2, p, size);
  nwl_box *b = nwl_new(L, &nwl_loopnest_class, release_nest);
  nw_clear(nwl_ctx(L));
  return push_nest(L, b, nw_loopnest_of(nwl_ctx(L), p, size));
}

static int f_text(lua_State *L) {
  nwl_push_text(L, nw_loopnest_print(nest_arg(L, 1)));
  return 1;
}

static int f_params(lua_State *L) {
  const nw_loopnest *n = nest_arg(L, 1);
  lua_newtable(L);
  for (int i = 0; i < nw_loopnest_params(n); i++) {
    int64_t value;
    const char *name = nw_loopnest_param(n, i, &value);
    nwl_set_count(L, name, value);
  }
  return 1;
}

static int f_arrays(lua_State *L) {
  const nw_loopnest *n = nest_arg(L, 1);
  lua_createtable(L, nw_loopnest_arrays(n), 0);
  for (int i = 0; i < nw_loopnest_arrays(n); i++) {
    uint64_t address;
    int64_t bytes;
    int element;
    lua_createtable(L, 0, 4);
    lua_pushstring(L, nw_loopnest_array(n, i, &address, &bytes, &element));
    lua_setfield(L, -2, "name");
    nwl_set_count(L, "address", (int64_t)address);
    nwl_set_count(L, "bytes", bytes);
    nwl_set_count(L, "element", element);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int64_t field_or(lua_State *L, int at, const char *name, int64_t otherwise) {
  lua_getfield(L, at, name);
  int64_t v = nwl_integer_or(L, -1, name, otherwise);
  lua_pop(L, 1);
  return v;
}

static void push_how(lua_State *L, const nw_counted *how, int nlevels) {
  lua_createtable(L, 0, 4);
  nwl_set_count(L, "accesses", how->accesses);
  nwl_set_count(L, "touched", how->touched);
  lua_createtable(L, nlevels, 0);
  lua_createtable(L, nlevels, 0);
  for (int i = 0; i < nlevels; i++) {
    lua_pushboolean(L, how->exact[i]);
    lua_rawseti(L, -3, i + 1);
    lua_pushnumber(L, how->error[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -3, "error");
  lua_setfield(L, -2, "exact");
}

// nest_misses(n, caches, {simulate, exact, budget, thread, threads}): returns the records of misses, and how they were
// counted.
static int f_misses(lua_State *L) {
  nw_loopnest *n = nest_arg(L, 1);
  nw_count_opts o = {.caches = nwl_read_caches(L, 2)};
  nwl_table(L, 3, "options");
  o.simulate = nwl_flag_in(L, 3, "simulate");
  o.exact = nwl_flag_in(L, 3, "exact");
  o.budget = field_or(L, 3, "budget", 0);
  o.thread = (int)field_or(L, 3, "thread", 0);
  o.threads = (int)field_or(L, 3, "threads", 0);
  nw_counted how;
  nw_clear(nwl_ctx(L));
  nw_misses *m = nw_loopnest_misses(nwl_ctx(L), n, &o, &how);
  if (!m) return nwl_raise(L);
  nwl_push_misses(L, m);
  push_how(L, &how, o.caches.nlevels);
  return 2;
}

static void push_operations(lua_State *L, const nw_nest_work *w) {
  lua_createtable(L, w->n, 0);
  for (int i = 0; i < w->n; i++) {
    lua_createtable(L, 0, 3);
    lua_pushstring(L, w->row[i].name);
    lua_setfield(L, -2, "name");
    nwl_set_count(L, "bits", w->row[i].bits);
    nwl_set_number(L, "count", w->row[i].count);
    lua_rawseti(L, -2, i + 1);
  }
}

static int f_work(lua_State *L) {
  nw_nest_work w;
  nw_clear(nwl_ctx(L));
  if (!nw_loopnest_work(nwl_ctx(L), nest_arg(L, 1), &w)) return nwl_raise(L);
  lua_createtable(L, 0, 6);
  nwl_set_number(L, "calls", w.calls);
  nwl_set_number(L, "statements", w.statements);
  nwl_set_number(L, "read", w.read);
  nwl_set_number(L, "written", w.written);
  push_operations(L, &w);
  lua_setfield(L, -2, "operations");
  lua_pushboolean(L, w.exact);
  lua_setfield(L, -2, "exact");
  return 1;
}

// nest_accesses(n, {thread, threads}, most, caches?)
static int f_accesses(lua_State *L) {
  nw_loopnest *n = nest_arg(L, 1);
  nwl_table(L, 2, "options");
  int thread = (int)field_or(L, 2, "thread", 0), threads = (int)field_or(L, 2, "threads", 0);
  int64_t most = nwl_integer(L, 3, "most");
  nw_sim_opts o = {0};
  bool caches = !lua_isnoneornil(L, 4);
  if (caches) o = nwl_read_caches(L, 4);
  nwl_box *b = nwl_new_trace(L);
  nw_clear(nwl_ctx(L));
  nwl_hold(b, nw_loopnest_trace(nwl_ctx(L), n, thread, threads, most, caches ? &o : NULL));
  return b->p ? 1 : nwl_raise(L);
}

static int nest_same(lua_State *L) {
  char *a = nw_loopnest_print(nest_arg(L, 1)), *b = nw_loopnest_print(nest_arg(L, 2));
  nwl_push_text(L, a);
  nwl_push_text(L, b);
  lua_pushboolean(L, lua_rawequal(L, -1, -2));
  return 1;
}

static const luaL_Reg nest_meta[] = {{"__tostring", f_text}, {"__eq", nest_same}, {NULL, NULL}};
const nwl_class nwl_loopnest_class = {"loopnest", "nestwright.loopnest", "nests", NULL, NULL, nest_meta};

const nwl_row nwl_nest_rows[] = {
    {"nest_parse", f_parse, "(text: string, names: string[], values: integer[], sizes?: string): nw.loopnest",
     "Parses a nest. `values` has a value for each parameter in `names`. The other parameters get their values from "
     "the set of sizes whose name is `sizes`, or else from the text."},
    {"nest_of", f_of, "(s: nw.schedule, sizes: integer[], version?: integer): nw.loopnest",
     "Returns the memory accesses of a lowered schedule as a nest."},
    {"nest_text", f_text, "(n: nw.loopnest): string", "Returns the nest as text."},
    {"nest_params", f_params, "(n: nw.loopnest): table", "Returns the values of the parameters, by name."},
    {"nest_arrays", f_arrays, "(n: nw.loopnest): table[]",
     "Returns the arrays: name, address, bytes, and element (the bytes of an element)."},
    {"nest_misses", f_misses, "(n: nw.loopnest, caches: table, options: table): table[], table",
     "Returns the misses by level, array and reference, and a table that tells how they were counted."},
    {"nest_work", f_work, "(n: nw.loopnest): table",
     "Returns the work of the statements as written: operations (name, bits, count), calls, statements, and the bytes "
     "read and written."},
    {"nest_accesses", f_accesses, "(n: nw.loopnest, options: table, most: integer, caches?: table): nw.accesses",
     "Returns the accesses in order."},
    {NULL, NULL, NULL, NULL},
};
