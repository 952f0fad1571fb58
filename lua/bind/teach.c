// Explains a schedule: returns its log, the steps that made a line, and the legal steps.
#include "bind.h"
#include <stdint.h>
#include <stdlib.h>

static nw_sched *schedule_arg(lua_State *L) { return nwl_check(L, 1, &nwl_schedule_class, "self"); }

static void set_string(lua_State *L, const char *field, const char *value) {
  if (!value) return;
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
}

// Sets a field. A negative value means that the value is unknown; then the field is left out.
static void set_number(lua_State *L, const char *field, double value) {
  if (value < 0) return;
  lua_pushnumber(L, value);
  lua_setfield(L, -2, field);
}

// ---- the log

static void push_entry(lua_State *L, const nw_log_entry *e) {
  lua_newtable(L);
  nwl_set_integer(L, "version", e->version);
  if (e->parent >= 0) nwl_set_integer(L, "parent", e->parent);
  nwl_set_flag(L, "unsafe", e->unsafe);
  if (e->tested) lua_pushinteger(L, e->tested), lua_setfield(L, -2, "tested");
  set_string(L, "step", e->step);
  set_string(L, "branch", e->branch);
  set_string(L, "notes", e->notes);
  nwl_set_integer(L, "added", e->added);
  nwl_set_integer(L, "removed", e->removed);
  nwl_set_integer(L, "changed", e->changed);
  set_number(L, "operations", e->operations);
  set_string(L, "formula", e->formula);
  nwl_set_flag(L, "exact", e->exact);
  lua_createtable(L, 0, 3);
  set_number(L, "input", e->input_bytes);
  set_number(L, "output", e->output_bytes);
  set_number(L, "temp", e->temp_bytes);
  lua_setfield(L, -2, "bytes");
  lua_createtable(L, e->nbuffers, 0);
  for (int i = 0; i < e->nbuffers; i++) {
    lua_pushstring(L, e->buffer[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "buffers");
}

// Returns the log: an entry for every version. Entry 1 is version 0, the naive program.
static int f_log(lua_State *L) {
  nw_sched *s = schedule_arg(L);
  int n = nw_sched_versions(s);
  lua_createtable(L, n, 0);
  for (int v = 0; v < n; v++) {
    nw_log_entry e;
    if (!nw_sched_log(s, v, &e)) continue;
    push_entry(L, &e);
    free(e.formula);
    lua_rawseti(L, -2, v + 1);
  }
  return 1;
}

static int f_why(lua_State *L) {
  nw_sched *s = schedule_arg(L);
  lua_Integer at = nwl_integer(L, 2, "line");
  int line = at > INT32_MAX ? INT32_MAX : at < 0 ? 0 : (int)at;
  nw_clear(nwl_ctx(L));
  nwl_push_text(L, nw_sched_why(s, line, lua_toboolean(L, 3)));
  return 1;
}

// ---- legal steps and locations

static void push_move(lua_State *L, const nw_move *m) {
  lua_newtable(L);
  set_string(L, "primitive", m->primitive);
  set_string(L, "step", m->step);
  set_string(L, "why", m->why);
  lua_pushboolean(L, m->undecided);
  lua_setfield(L, -2, "undecided");
}

static int f_moves(lua_State *L) {
  nw_sched *s = schedule_arg(L);
  int id = lua_type(L, 2) == LUA_TSTRING ? 0 : (int)(intptr_t)nwl_check(L, 2, &nwl_loop_class, "loop");
  if (id && nwl_loop_sched(L, 2) != s)
    return nwl_fail(L, NW_EINVAL, "use a loop of this schedule, or a name",
                    "moves: the loop belongs to another schedule");
  nw_clear(nwl_ctx(L));
  if (!id) id = nw_sched_loop(s, nwl_string(L, 2, "loop"));
  nw_move *moves;
  int n = id ? nw_sched_moves(s, id, &moves) : -1;
  if (n < 0) return nwl_raise(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_move(L, &moves[i]);
    lua_rawseti(L, -2, i + 1);
  }
  nw_moves_free(n, moves);
  return 1;
}

static void push_location(lua_State *L, const nw_location *l) {
  lua_newtable(L);
  set_string(L, "loop", l->loop);
  set_string(L, "why", l->why);
  nwl_set_flag(L, "legal", !l->why);
  nwl_set_flag(L, "current", l->current);
  set_number(L, "recompute", l->recompute);
  set_number(L, "bytes", l->bytes);
  set_string(L, "size", l->size);
}

static int f_locations(lua_State *L) {
  nw_sched *s = schedule_arg(L);
  nw_arg stage = {0};
  nwl_read_stage(L, 2, "stage", &stage);
  nw_location *places;
  nw_clear(nwl_ctx(L));
  int n = nw_sched_locations(s, stage.name, &places);
  if (n < 0) return nwl_raise(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_location(L, &places[i]);
    lua_rawseti(L, -2, i + 1);
  }
  nw_locations_free(n, places);
  return 1;
}

const nwl_row nwl_teach_rows[] = {
    {"schedule_log", f_log, "(s: nw.schedule): table[]",
     "Returns for every version the step that made it, and the cost of its program."},
    {"schedule_why", f_why, "(s: nw.schedule, line: integer, lowered?: boolean): string",
     "Returns a text about the steps that made a line."},
    {"schedule_moves", f_moves, "(s: nw.schedule, loop: nw.loop|string): table[]",
     "Tries every primitive on a loop. Returns the results."},
    {"schedule_locations", f_locations, "(s: nw.schedule, stage: nw.tensor|string): table[]",
     "Tries every loop as the location of a stage. Returns the results."},
    {NULL, NULL, NULL, NULL},
};
