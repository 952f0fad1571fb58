// The accesses of a schedule, and what caches make of them.
#include "bind.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static nw_sched *schedule_arg(lua_State *L) { return nwl_check(L, 1, &nwl_schedule_class, "schedule"); }

// program_sizes(s): names.
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

// element_bytes(s, version?): by tensor.
static int f_element_bytes(lua_State *L) {
  const nw_sched *s = schedule_arg(L);
  const nw_program *p = nw_sched_version(s, nwl_count_or(L, 2, "version", 0, INT_MAX, nw_sched_current(s)));
  if (!p) nwl_fail(L, NW_ERANGE, NULL, "there is no such version");
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

static void read_sizes(lua_State *L, int arg, nwl_walk *w) {
  lua_getfield(L, arg, "sizes");
  int list = lua_gettop(L), n = nwl_list_length(L, list, NWL_MAX_DIMS, "sizes");
  if (n != nw_program_sizes(w->program))
    nwl_fail(L, NW_EINVAL, NULL, "sizes: expected %d, got %d", nw_program_sizes(w->program), n);
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i + 1);
    w->size[i] = nwl_integer(L, -1, nw_program_size(w->program, i));
  }
  lua_settop(L, list - 1);
}

void nwl_read_walk(lua_State *L, nwl_walk *w) {
  const nw_sched *s = schedule_arg(L);
  nwl_table(L, 2, "walk");
  w->program = nw_sched_version(s, count_or(L, 2, "version", 0, INT_MAX, nw_sched_current(s)));
  if (!w->program) nwl_fail(L, NW_ERANGE, NULL, "there is no such version");
  read_sizes(L, 2, w);
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

bool nwl_flag_in(lua_State *L, int at, const char *name) {
  lua_getfield(L, at, name);
  bool v = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return v;
}

nw_sim_opts nwl_read_caches(lua_State *L, int at) {
  nwl_table(L, at, "options");
  nw_sim_opts o = {.line = (int)field(L, at, "line"),
                   .misses = nwl_flag_in(L, at, "misses"),
                   .conflicts = nwl_flag_in(L, at, "conflicts")};
  lua_getfield(L, at, "levels");
  int list = lua_gettop(L);
  o.nlevels = nwl_list_length(L, list, NW_MAX_LEVELS, "levels");
  for (int i = 0; i < o.nlevels; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, list, i + 1);
    int level = lua_gettop(L);
    nwl_table(L, level, "level");
    o.level[i] = (nw_sim_level){field(L, level, "bytes"), (int)field(L, level, "ways")};
  }
  lua_settop(L, list - 1);
  return o;
}

// ---- traces

static const char *const outcomes[NW_OUTCOMES] = {"hit", "cold", "capacity", "conflict"};

static nw_trace *trace_arg(lua_State *L, int arg) { return nwl_check(L, arg, &nwl_trace_class, "trace"); }
static void release_trace(void *p) { nw_trace_free(p); }

static int push_trace(lua_State *L, nwl_box *b, nw_trace *t) {
  b->p = t;
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
  const nw_program *p = nw_sched_program(schedule_arg(L));
  nw_array *args[NWL_MAX_DIMS * 2];
  int n = nwl_list_length(L, 2, NWL_MAX_DIMS * 2, "arguments");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 2, i + 1);
    args[i] = nwl_check(L, lua_gettop(L), &nwl_array_class, "argument");
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
    lua_pushstring(L, outcomes[x->outcome[k]]);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "outcome");
  return 1;
}

static void push_iteration(lua_State *L, const nw_iteration *x) {
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
    push_iteration(L, nw_trace_iteration(t, i));
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
     "The n-th access, from 1: tensor, index (linear, of its first element), lanes (elements side by side), write, "
     "address; outcome, by level of the caches simulated: 'hit', 'cold', 'capacity' or 'conflict', the worst of its "
     "lines."},
    {"iterations", trace_iterations, "(self: nw.accesses): table[]",
     "The iterations of its loops, in the order in which they end: loop, depth (loops around), index from 0, and from "
     "and to: the "
     "accesses made before it begins, and when it ends."},
    {"differs", trace_differs, "(self: nw.accesses, other: nw.accesses): integer?",
     "The number of the first access in which two lists differ, or nil."},
    {NULL, NULL, NULL, NULL},
};
static const luaL_Reg trace_meta[] = {{"__len", trace_length}, {"__tostring", trace_text}, {NULL, NULL}};
const nwl_class nwl_trace_class = {"accesses", "nestwright.accesses", trace_methods, NULL, trace_meta};

// ---- rasters

static void push_lane(lua_State *L, const nw_lane *lane, int width, int height) {
  lua_createtable(L, 0, 9);
  lua_pushstring(L, lane->tensor);
  lua_setfield(L, -2, "tensor");
  nwl_set_count(L, "from", lane->from);
  nwl_set_count(L, "to", lane->to);
  nwl_set_count(L, "accesses", lane->accesses);
  for (int i = 0; i < NW_OUTCOMES; i++) nwl_set_count(L, outcomes[i], lane->outcome[i]);
  lua_createtable(L, height, 0);
  for (int row = 0; row < height; row++) {
    lua_pushlstring(L, (const char *)lane->pixel + (size_t)row * (size_t)width, (size_t)width);
    lua_rawseti(L, -2, row + 1);
  }
  lua_setfield(L, -2, "rows");
}

static void push_raster(lua_State *L, const nw_raster *r, int width, int height) {
  lua_createtable(L, 0, 4);
  nwl_set_count(L, "time", nw_raster_time(r));
  lua_newtable(L);
  for (int i = 0; i < nw_raster_lanes(r); i++) {
    push_lane(L, nw_raster_lane(r, i), width, height);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "lanes");
  lua_createtable(L, width, 0);
  for (int i = 0; i < width; i++) {
    lua_pushinteger(L, nw_raster_touched(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "touched");
  lua_newtable(L);
  for (int64_t i = 0; i < nw_raster_iterations(r); i++) {
    push_iteration(L, nw_raster_iteration(r, i));
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "iterations");
}

static int f_raster(lua_State *L) {
  static const char *const ys[] = {"index", "address", "line", "set", NULL};
  nwl_walk w;
  nwl_read_walk(L, &w);
  nw_sim_opts o = nwl_read_caches(L, 3);
  int level = nwl_count_or(L, 4, "level", 0, o.nlevels, 1), y = luaL_checkoption(L, 5, "index", ys);
  int width = nwl_count_or(L, 6, "width", 1, 10000, 800), height = nwl_count_or(L, 7, "height", 1, 10000, 120);
  nw_raster *r = nw_raster_of(nwl_ctx(L), w.program, &w.walk, &o, level - 1, (nw_raster_y)y, width, height);
  if (!r) return nwl_raise(L);
  push_raster(L, r, width, height);
  nw_raster_free(r);
  return 1;
}

// pixels(rows, width, height): rows of the raster on so many pixels or fewer, as lines of numbers, each with a blank behind.
static int f_pixels(lua_State *L) {
  int rows = nwl_list_length(L, 1, 10000, "rows");
  lua_rawgeti(L, 1, 1);
  size_t width = rows ? lua_rawlen(L, -1) : 0;
  int to_width = nwl_count_or(L, 2, "width", 1, 10000, 100), to_height = nwl_count_or(L, 3, "height", 1, 10000, 100);
  if (!width || to_width > (int)width || to_height > rows) nwl_fail(L, NW_EINVAL, NULL, "pixels: not fewer pixels");
  uint8_t *from = lua_newuserdatauv(L, width * (size_t)rows, 0);
  uint8_t *to = lua_newuserdatauv(L, (size_t)to_width * (size_t)to_height, 0);
  for (int y = 0; y < rows; y++, lua_pop(L, 1)) {
    size_t n;
    lua_rawgeti(L, 1, y + 1);
    const char *row = luaL_checklstring(L, -1, &n);
    memcpy(from + (size_t)y * width, row, n < width ? n : width);
  }
  nw_raster_shrink(from, (int)width, rows, to_width, to_height, to);
  lua_createtable(L, to_height, 0);
  char *line = lua_newuserdatauv(L, 2 * (size_t)to_width, 0);
  for (int y = 0; y < to_height; y++) {
    for (int x = 0; x < to_width; x++) line[2 * x] = (char)('0' + to[y * to_width + x]), line[2 * x + 1] = ' ';
    lua_pushlstring(L, line, 2 * (size_t)to_width);
    lua_rawseti(L, -3, y + 1);
  }
  lua_pop(L, 1);
  return 1;
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

// Bins that hold something: {from, to, count}.
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

// A list of columns, each a list of counts by set.
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

const nwl_row nwl_cost_rows[] = {
    {"program_sizes", f_sizes, "(s: nw.schedule): string[]", "Names of the symbolic sizes."},
    {"element_bytes", f_element_bytes, "(s: nw.schedule, version?: integer): table",
     "Bytes of an element, by tensor and buffer."},
    {"accesses_walked", f_walk, "(s: nw.schedule, walk: table, most: integer, caches?: table): nw.accesses",
     "What the lowered schedule touches, found without running it."},
    {"accesses_run", f_run, "(s: nw.schedule, arguments: nw.array[], most: integer): nw.accesses",
     "The same, from the interpreter."},
    {"raster", f_raster,
     "(s: nw.schedule, walk: table, caches: table, level: integer, y: string, width: integer, height: integer): "
     "table",
     "All accesses as pixels, a byte each: the worst of what falls on it. Level 0: in which level it was found."},
    {"pixels", f_pixels, "(rows: string[], width: integer, height: integer): string[]",
     "A raster's rows on fewer pixels, the worst of each, as lines of digits."},
    {"misses", f_misses, "(s: nw.schedule, walk: table, options: table): table[]",
     "Every level's hits and misses by load and store."},
    {"reuse", f_reuse, "(s: nw.schedule, walk: table, line: integer): table[]",
     "By tensor: lines never asked for before, and bins of distances in lines."},
    {"filling", f_filling, "(s: nw.schedule, walk: table, caches: table, level: integer, columns: integer): table",
     "Lines held by each set at the end of each part of the time, and different lines asked of it."},
    {"sweeps", f_sweeps, "(s: nw.schedule, walk: table): table[]",
     "Loads and stores at affine addresses, with what each loop around adds in bytes; no extent where it varies."},
    {NULL, NULL, NULL, NULL},
};
