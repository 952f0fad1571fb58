// Returns the lowered program as data.
#include "bind.h"
#include <math.h>

// Sets a field to an opaque value, which Lua code only compares with others.
static void set_same(lua_State *L, const char *name, const void *value) {
  lua_pushlightuserdata(L, (void *)value);
  lua_setfield(L, -2, name);
}

// ---- launches

static bool add_launch(void *env, const nw_launch_row *row) {
  lua_State *L = env;
  static const char *const sides[] = {"blocks", "threads"};
  lua_createtable(L, 0, 5);
  nwl_set_text(L, "kernel", row->kernel);
  nwl_set_count(L, "shared", row->shared);
  for (int k = 0; k < 2; k++) {
    lua_createtable(L, 3, 0);
    for (int d = 0; d < 3; d++) lua_pushinteger(L, row->extent[3 * k + d]), lua_rawseti(L, -2, d + 1);
    lua_setfield(L, -2, sides[k]);
  }
  lua_createtable(L, row->n, 0);
  for (int i = 0; i < row->n; i++) {
    if (row->argument[i].buffer)
      lua_pushstring(L, row->argument[i].buffer);
    else
      lua_pushinteger(L, row->argument[i].value);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "arguments");
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  return true;
}

static bool add_workspace(void *env, const nw_workspace_row *row) {
  lua_State *L = env;
  lua_createtable(L, 0, 3);
  nwl_set_text(L, "name", row->name);
  nwl_set_text(L, "dtype", nw_dtype_name(row->dtype));
  nwl_set_count(L, "elements", row->elements);
  lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  return true;
}

static void push_bodies(lua_State *L, const nw_lowered *v) {
  lua_createtable(L, nw_lowered_bodies(v), 0);
  for (int i = 0; i < nw_lowered_bodies(v); i++) {
    nw_body_row b = nw_lowered_body_at(v, i);
    lua_createtable(L, 0, 12);
    nwl_set_text(L, "kind", b.name ? "loop" : i ? "guard" : "whole");
    nwl_set_text(L, "name", b.name);
    nwl_set_text(L, "mark", b.mark);
    nwl_set_count(L, "id", b.id);
    nwl_set_count(L, "depth", b.depth);
    nwl_set_count(L, "conditions", b.conditions);
    if (b.extent >= 0) nwl_set_count(L, "extent", b.extent);
    if (b.up >= 0) nwl_set_count(L, "up", b.up + 1);
    lua_rawseti(L, -2, i + 1);
  }
}

// Pushes a table that maps the number of a loop to the stride of the access in this loop. Strides of 0 are left out.
static void push_strides(lua_State *L, const nw_lowered *v, int access, int body) {
  lua_newtable(L);
  for (; body >= 0; body = nw_lowered_body_at(v, body).up) {
    int64_t stride = nw_lowered_stride(v, access, body);
    if (!stride) continue;
    lua_pushinteger(L, stride);
    lua_rawseti(L, -2, body + 1);
  }
}

static void push_access(lua_State *L, const nw_lowered *v, int i, int body) {
  nw_access_row a = nw_lowered_access_at(v, i);
  lua_createtable(L, 0, 9);
  nwl_set_text(L, "buffer", a.buffer);
  set_same(L, "index", a.index);
  set_same(L, "spread", a.spread);
  nwl_set_count(L, "offset", a.offset);
  nwl_set_count(L, "lanes", a.lanes);
  nwl_set_flag(L, "write", a.write);
  nwl_set_flag(L, "masked", a.masked);
  lua_pushnumber(L, a.steady ? (double)a.step : HUGE_VAL);
  lua_setfield(L, -2, "step");
  push_strides(L, v, i, body);
  lua_setfield(L, -2, "strides");
}

static void push_statement(lua_State *L, const nw_lowered *v, int i) {
  nw_statement_row s = nw_lowered_statement_at(v, i);
  lua_createtable(L, 0, 12);
  nwl_set_count(L, "id", s.id);
  nwl_set_count(L, "body", s.body + 1);
  nwl_set_count(L, "operations", s.operations);
  nwl_set_count(L, "selects", s.selects);
  nwl_set_count(L, "conditions", s.conditions);
  nwl_set_flag(L, "copies", s.copies);
  nwl_set_flag(L, "fills", s.fills);
  nwl_set_flag(L, "updates", s.updates);
  nwl_set_flag(L, "stream", s.stream);
  lua_createtable(L, s.n - 1, 0);
  for (int k = 0; k < s.n - 1; k++) {
    push_access(L, v, s.first + k, s.body);
    lua_rawseti(L, -2, k + 1);
  }
  lua_setfield(L, -2, "loads");
  push_access(L, v, s.first + s.n - 1, s.body);
  lua_setfield(L, -2, "store");
}

static void push_statements(lua_State *L, const nw_lowered *v) {
  lua_createtable(L, nw_lowered_statements(v), 0);
  for (int i = 0; i < nw_lowered_statements(v); i++) {
    push_statement(L, v, i);
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_buffers(lua_State *L, const nw_lowered *v) {
  lua_newtable(L);
  for (int i = 0; i < nw_lowered_buffers(v); i++) {
    nw_stored_row b = nw_lowered_buffer_at(v, i);
    lua_createtable(L, 0, 5);
    nwl_set_text(L, "scope", b.scope);
    nwl_set_text(L, "dtype", nw_dtype_name(b.dtype));
    nwl_set_count(L, "bytes", nw_dtype_bytes(b.dtype));
    nwl_set_flag(L, "temporary", b.temporary);
    if (b.elements >= 0) nwl_set_count(L, "elements", b.elements);
    lua_setfield(L, -2, b.name);
  }
}

static int f_lowered(lua_State *L) {
  bool priced = !lua_isnoneornil(L, 2);
  nwl_walk w = {.program = nw_sched_program(nwl_check(L, 1, &nwl_schedule_class, "schedule"))};
  nw_clear(nwl_ctx(L));
  if (priced) nwl_read_walk(L, &w);
  nw_lowered *v = nw_lowered_of(nwl_ctx(L), w.program, priced ? w.size : NULL);
  if (!v) return nwl_raise(L);
  lua_createtable(L, 0, 3);
  push_bodies(L, v);
  lua_setfield(L, -2, "bodies");
  push_statements(L, v);
  lua_setfield(L, -2, "statements");
  push_buffers(L, v);
  lua_setfield(L, -2, "buffers");
  nw_lowered_free(v);
  return 1;
}

static int f_launches(lua_State *L) {
  nwl_walk w = {.program = nw_sched_program(nwl_check(L, 1, &nwl_schedule_class, "schedule"))};
  nw_clear(nwl_ctx(L));
  nwl_read_walk(L, &w);
  lua_createtable(L, 0, 2);
  lua_newtable(L);
  if (!nw_each_launch(nwl_ctx(L), w.program, w.size, add_launch, L)) return nwl_raise(L);
  lua_setfield(L, -2, "launches");
  lua_newtable(L);
  if (!nw_each_workspace(nwl_ctx(L), w.program, w.size, add_workspace, L)) return nwl_raise(L);
  lua_setfield(L, -2, "workspaces");
  nwl_set_flag(L, "fixed_bits", nw_grid_has_fixed_bits(w.program));
  return 1;
}

const nwl_row nwl_lowered_rows[] = {
    {"launches", f_launches, "(s: nw.schedule, walk: {sizes: table}): table",
     "Returns what a GPU runs for these sizes. The result has two tables. An entry of `launches` has kernel, blocks "
     "and "
     "threads in x, y and z, the bytes of shared memory to ask for, and the arguments: names of arrays, and numbers. "
     "An "
     "entry of `workspaces` has name, dtype and elements. fixed_bits: true if every GPU computes the interpreter's "
     "bits."},
    {"lowered", f_lowered, "(s: nw.schedule, walk?: table): table",
     "Returns the lowered program, for these sizes if they are given. The result has three tables. An entry of "
     "`bodies` (a loop or a guard) has kind, name, mark, id, up, depth, extent and conditions. An entry of "
     "`statements` has body, store, loads, operations, selects, conditions, copies, fills, updates and stream. An "
     "entry of `buffers` (by name) has scope, dtype, bytes, temporary and elements. A store or a load has buffer, "
     "index, spread, offset, lanes, step, masked, and strides by loop number."},
    {NULL, NULL, NULL, NULL},
};
