// Computes cache misses, reuse distances and the use of cache sets for the accesses of a schedule.
#include "bind.h"
#include <limits.h>

static nw_sched *schedule_arg(lua_State *L) { return nwl_check(L, 1, &nwl_schedule_class, "schedule"); }

// program_sizes(s): returns the names of the symbolic sizes.
static int f_sizes(lua_State *L) {
  const nw_program *p = nw_sched_program(schedule_arg(L));
  int n = nw_program_sizes(p);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, nw_program_size(p, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// element_bytes(s, version?): returns the bytes of an element, by tensor and buffer.
static int f_element_bytes(lua_State *L) {
  const nw_sched *s = schedule_arg(L);
  const nw_program *p = nw_sched_version(s, nwl_count_or(L, 2, "version", 0, INT_MAX, nw_sched_current(s)));
  if (!p) nwl_fail(L, NW_ERANGE, NULL, "version: there is no such version");
  lua_newtable(L);
  for (int i = 0; i < nw_program_buffers(p); i++) {
    lua_pushinteger(L, nw_dtype_bytes(nw_program_buffer_dtype(p, i)));
    lua_setfield(L, -2, nw_program_buffer(p, i));
  }
  return 1;
}

static int count_or(lua_State *L, int at, const char *name, int lo, int hi, int otherwise) {
  lua_getfield(L, at, name);
  int v = nwl_count_or(L, lua_gettop(L), name, lo, hi, otherwise);
  lua_pop(L, 1);
  return v;
}

void nwl_read_sizes(lua_State *L, int list, const nw_program *p, int64_t *sizes) {
  int n = nwl_list_length(L, list, NWL_MAX_DIMS, "sizes");
  if (n != nw_program_sizes(p))
    nwl_fail(L, NW_EINVAL, NULL, "sizes: expected %d values, got %d", nw_program_sizes(p), n);
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i + 1);
    sizes[i] = nwl_integer(L, lua_gettop(L), nw_program_size(p, i));
  }
}

void nwl_read_walk(lua_State *L, nwl_walk *w) {
  const nw_sched *s = schedule_arg(L);
  nwl_table(L, 2, "walk");
  w->program = nw_sched_version(s, count_or(L, 2, "version", 0, INT_MAX, nw_sched_current(s)));
  if (!w->program) nwl_fail(L, NW_ERANGE, NULL, "version: there is no such version");
  lua_getfield(L, 2, "sizes");
  nwl_read_sizes(L, lua_gettop(L), w->program, w->size);
  lua_pop(L, 1);
  w->walk.sizes = w->size;
  w->walk.threads = count_or(L, 2, "threads", 0, 1024, 0);
  w->walk.thread = count_or(L, 2, "thread", 0, 1023, 0);
  nw_clear(nwl_ctx(L));
}

void nwl_set_count(lua_State *L, const char *name, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, name);
}

// ---- caches

static int64_t field(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  int64_t v = nwl_integer(L, -1, name);
  lua_pop(L, 1);
  return v;
}

static int small_field(lua_State *L, int at, const char *name) {
  int64_t v = field(L, at, name);
  if (v < 0 || v > 1 << 30) nwl_fail(L, NW_ERANGE, NULL, "%s: %lld is not in 0..%d", name, (long long)v, 1 << 30);
  return (int)v;
}

bool nwl_flag_in(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  bool v = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return v;
}

nw_sim_opts nwl_read_caches(lua_State *L, int at) {
  nwl_table(L, at, "options");
  nw_sim_opts o = {.line = small_field(L, at, "line"),
                   .misses = nwl_flag_in(L, at, "misses"),
                   .conflicts = nwl_flag_in(L, at, "conflicts")};
  lua_getfield(L, at, "levels");
  int list = lua_gettop(L);
  o.nlevels = nwl_list_length(L, list, NW_MAX_LEVELS, "levels");
  for (int i = 0; i < o.nlevels; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i + 1);
    int level = lua_gettop(L);
    nwl_table(L, level, "level");
    o.level[i] = (nw_sim_level){field(L, level, "bytes"), small_field(L, level, "ways")};
  }
  lua_settop(L, list - 1);
  return o;
}

// ---- misses

void nwl_push_missed(lua_State *L, const nw_missed *m) {
  lua_createtable(L, 0, 12);
  nwl_set_count(L, "level", m->level + 1);
  lua_pushstring(L, m->tensor);
  lua_setfield(L, -2, "tensor");
  lua_pushstring(L, m->loop);
  lua_setfield(L, -2, "loop");
  lua_pushboolean(L, m->write);
  lua_setfield(L, -2, "write");
  nwl_set_count(L, "asked", m->count.asked);
  nwl_set_count(L, "hits", m->count.outcome[NW_HIT]);
  nwl_set_count(L, "cold", m->count.outcome[NW_COLD]);
  nwl_set_count(L, "capacity", m->count.outcome[NW_CAPACITY]);
  nwl_set_count(L, "conflict", m->count.outcome[NW_CONFLICT]);
  nwl_set_count(L, "written_back", m->count.written_back);
}

void nwl_push_misses(lua_State *L, nw_misses *m) {
  lua_createtable(L, nw_misses_count(m), 0);
  for (int i = 0; i < nw_misses_count(m); i++) {
    nwl_push_missed(L, nw_misses_at(m, i));
    lua_rawseti(L, -2, i + 1);
  }
  nw_misses_free(m);
}

static int f_misses(lua_State *L) {
  nwl_walk w;
  nwl_read_walk(L, &w);
  nw_sim_opts o = nwl_read_caches(L, 3);
  nw_misses *m = nw_misses_of(nwl_ctx(L), w.program, &w.walk, &o);
  if (!m) return nwl_raise(L);
  nwl_push_misses(L, m);
  return 1;
}

// ---- reuse

// Pushes the bins that are not empty, each as {from, to, count}.
static void push_bins(lua_State *L, const nw_reuse *r, int tensor) {
  lua_newtable(L);
  for (int bin = 0; bin < nw_reuse_bins(r); bin++) {
    int64_t n = nw_reuse_count(r, tensor, bin);
    if (!n) continue;
    lua_createtable(L, 0, 3);
    nwl_set_count(L, "from", nw_reuse_from(r, bin));
    nwl_set_count(L, "to", nw_reuse_from(r, bin + 1));
    nwl_set_count(L, "count", n);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
}

static int f_reuse(lua_State *L) {
  nwl_walk w;
  nwl_read_walk(L, &w);
  int line = nwl_count_or(L, 3, "line", 1, 1 << 20, 64);
  nw_reuse *r = nw_reuse_of(nwl_ctx(L), w.program, &w.walk, line);
  if (!r) return nwl_raise(L);
  lua_newtable(L);
  for (int i = 0; i < nw_reuse_tensors(r); i++) {
    lua_createtable(L, 0, 3);
    lua_pushstring(L, nw_reuse_tensor(r, i));
    lua_setfield(L, -2, "tensor");
    nwl_set_count(L, "first", nw_reuse_first(r, i));
    push_bins(L, r, i);
    lua_setfield(L, -2, "bins");
    lua_rawseti(L, -2, i + 1);
  }
  nw_reuse_free(r);
  return 1;
}

// ---- sets

typedef int count_of(const nw_filling *f, int column, int set);

// Pushes a list of columns. A column is a list with one count for each set.
static void push_filling(lua_State *L, const nw_filling *f, count_of *of) {
  lua_createtable(L, nw_filling_columns(f), 0);
  for (int column = 0; column < nw_filling_columns(f); column++) {
    lua_createtable(L, nw_filling_sets(f), 0);
    for (int set = 0; set < nw_filling_sets(f); set++) {
      lua_pushinteger(L, of(f, column, set));
      lua_rawseti(L, -2, set + 1);
    }
    lua_rawseti(L, -2, column + 1);
  }
}

static int f_filling(lua_State *L) {
  nwl_walk w;
  nwl_read_walk(L, &w);
  nw_sim_opts o = nwl_read_caches(L, 3);
  int level = nwl_count_or(L, 4, "level", 1, o.nlevels, 1), columns = nwl_count_or(L, 5, "columns", 1, 10000, 400);
  nw_filling *f = nw_filling_of(nwl_ctx(L), w.program, &w.walk, &o, level - 1, columns);
  if (!f) return nwl_raise(L);
  lua_createtable(L, 0, 3);
  nwl_set_count(L, "time", nw_filling_time(f));
  push_filling(L, f, nw_filling_held);
  lua_setfield(L, -2, "held");
  push_filling(L, f, nw_filling_asked);
  lua_setfield(L, -2, "asked");
  nw_filling_free(f);
  return 1;
}

// ---- sweeps

static void push_moved(lua_State *L, nw_moved m) {
  lua_createtable(L, 0, 4);
  lua_pushstring(L, m.loop);
  lua_setfield(L, -2, "loop");
  if (m.extent >= 0) nwl_set_count(L, "extent", m.extent);
  nwl_set_count(L, "bytes", m.bytes);
  lua_pushboolean(L, m.parallel);
  lua_setfield(L, -2, "parallel");
}

static int f_sweeps(lua_State *L) {
  nwl_walk w;
  nwl_read_walk(L, &w);
  nw_sweeps *s = nw_sweeps_of(nwl_ctx(L), w.program, &w.walk);
  if (!s) return nwl_raise(L);
  lua_newtable(L);
  for (int i = 0; i < nw_sweeps_count(s); i++) {
    lua_createtable(L, nw_sweep_loops(s, i), 2);
    lua_pushstring(L, nw_sweep_tensor(s, i));
    lua_setfield(L, -2, "tensor");
    lua_pushboolean(L, nw_sweep_writes(s, i));
    lua_setfield(L, -2, "write");
    for (int k = 0; k < nw_sweep_loops(s, i); k++) {
      push_moved(L, nw_sweep_loop(s, i, k));
      lua_rawseti(L, -2, k + 1);
    }
    lua_rawseti(L, -2, i + 1);
  }
  nw_sweeps_free(s);
  return 1;
}

const nwl_row nwl_memory_rows[] = {
    {"program_sizes", f_sizes, "(s: nw.schedule): string[]", "Returns the names of the symbolic sizes."},
    {"element_bytes", f_element_bytes, "(s: nw.schedule, version?: integer): table",
     "Returns the bytes of an element, by tensor and buffer."},
    {"misses", f_misses, "(s: nw.schedule, walk: table, options: table): table[]",
     "Returns the hits and misses at every cache level for each load and store."},
    {"reuse", f_reuse, "(s: nw.schedule, walk: table, line: integer): table[]",
     "Returns for each tensor the number of first accesses of lines, and a histogram of reuse distances in lines."},
    {"filling", f_filling, "(s: nw.schedule, walk: table, caches: table, level: integer, columns: integer): table",
     "Divides the run into `columns` equal intervals. For each interval and each set, returns two numbers: the lines "
     "that the set holds at the end of the interval, and the distinct lines requested from the set during the "
     "interval."},
    {"sweeps", f_sweeps, "(s: nw.schedule, walk: table): table[]",
     "Returns the loads and stores at affine addresses. Each has an entry for each enclosing loop, with the stride in "
     "bytes, and with the extent if the extent is constant."},
    {NULL, NULL, NULL, NULL},
};
