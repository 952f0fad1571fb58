// Defines loop objects. A loop object represents a loop of a schedule. Its user value 1 is the schedule. Its pointer is
// not an address, but the id of the loop.
#include "bind.h"
#include <stdint.h>

enum { MOST_FORWARDED = 256 };

void nwl_push_loop(lua_State *L, int sched, int id) {
  sched = lua_absindex(L, sched);
  lua_getiuservalue(L, sched, 1);
  if (lua_rawgeti(L, -1, id) == LUA_TNIL) {
    lua_pop(L, 1);
    nwl_new(L, &nwl_loop_class, NULL)->p = (void *)(intptr_t)id;
    lua_pushvalue(L, sched);
    lua_setiuservalue(L, -2, 1);
    lua_pushvalue(L, -1);
    lua_rawseti(L, -3, id);
  }
  lua_remove(L, -2);
}

static int loop_id(lua_State *L, int arg) { return (int)(intptr_t)nwl_check(L, arg, &nwl_loop_class, "loop"); }

// Pushes and returns the schedule of the loop at arg.
nw_sched *nwl_loop_sched(lua_State *L, int arg) {
  lua_getiuservalue(L, arg, 1);
  return nwl_check(L, -1, &nwl_schedule_class, "schedule");
}

static const char *loop_name_of(lua_State *L, int arg) {
  int id = loop_id(L, arg);
  const char *name = nw_sched_loop_name(nwl_loop_sched(L, arg), id);
  if (!name) nwl_raise(L);
  lua_pop(L, 1);
  return name;
}

static int loop_name(lua_State *L) {
  lua_pushstring(L, loop_name_of(L, 1));
  return 1;
}

static int push_bound(lua_State *L, char *(*bound)(nw_sched *, int)) {
  int id = loop_id(L, 1);
  char *text = bound(nwl_loop_sched(L, 1), id);
  if (!text) return nwl_raise(L);
  nwl_push_text(L, text);
  return 1;
}

static int loop_begin(lua_State *L) { return push_bound(L, nw_sched_loop_begin); }
static int loop_extent(lua_State *L) { return push_bound(L, nw_sched_loop_extent); }

static int loop_schedule(lua_State *L) {
  loop_id(L, 1);
  lua_getiuservalue(L, 1, 1);
  return 1;
}

static int loop_forwarded(lua_State *L) {
  int ids[MOST_FORWARDED], id = loop_id(L, 1);
  const nw_sched *s = nwl_loop_sched(L, 1);
  int sched = lua_gettop(L), n = nw_sched_forward(s, id, MOST_FORWARDED, ids);
  luaL_checkstack(L, 8, NULL);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    nwl_push_loop(L, sched, ids[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int loop_inside(lua_State *L) {
  int id = loop_id(L, 1);
  const char *name = nwl_string(L, 2, "loop: name");
  nw_sched *s = nwl_loop_sched(L, 1);
  int sched = lua_gettop(L);
  nw_clear(nwl_ctx(L));
  id = nw_sched_loop_in(s, id, name);
  if (!id) return nwl_raise(L);
  nwl_push_loop(L, sched, id);
  return 1;
}

static int loop_alive(lua_State *L) {
  int id = loop_id(L, 1);
  lua_pushboolean(L, nw_sched_loop_name(nwl_loop_sched(L, 1), id) != NULL);
  nw_clear(nwl_ctx(L));
  return 1;
}

// Formats the header of the loop. The text of a stale loop is the reason why it is stale.
static int loop_tostring(lua_State *L) {
  int id = loop_id(L, 1);
  nw_sched *s = nwl_loop_sched(L, 1);
  const char *name = nw_sched_loop_name(s, id);
  if (!name) {
    const nw_diag *d = nw_error(nwl_ctx(L));
    lua_pushfstring(L, "stale loop (%s)", d ? d->message : "gone");
    nw_clear(nwl_ctx(L));
    return 1;
  }
  lua_pushstring(L, name);
  name = lua_tostring(L, -1);
  char *header = nw_sched_loop_header(s, id);
  if (header)
    nwl_push_text(L, header);
  else
    lua_pushfstring(L, "for %s", name);
  return 1;
}

static const luaL_Reg loop_meta[] = {{"__tostring", loop_tostring}, {NULL, NULL}};
static const nwl_row loop_fields[] = {
    {"name", loop_name, "string",
     "The name of the loop in the nest. Reading it is an error if a step has replaced the loop."},
    {"begin", loop_begin, "string",
     "The first value of the loop variable, as an expression over sizes and enclosing loops. It can be used in "
     "conditions."},
    {"extent", loop_extent, "string",
     "The number of iterations, as an expression over sizes and enclosing loops, such as \"M // 8\"."},
    {"schedule", loop_schedule, "nw.schedule", "The schedule to which the loop belongs."},
    {"forwarded", loop_forwarded, "nw.loop[]",
     "The loops that now stand for this loop: the loop itself, or the loops that steps have made from it, such as the "
     "two loops of a split."},
    {"alive", loop_alive, "boolean", "False if a step has replaced the loop."},
    {NULL, NULL, NULL, NULL},
};
static const nwl_row loop_methods[] = {
    {"loop", loop_inside, "(self: nw.loop, name: string): nw.loop",
     "Returns the loop with that name inside this loop. In a piece of a cut, the name is the one that the loop had "
     "before: "
     "local piece = {s:cut(\"i\", {8, 16})}, then piece[2]:loop \"k\" is the loop i.2/k."},
    {NULL, NULL, NULL, NULL},
};
const nwl_class nwl_loop_class = {"loop", "nestwright.loop", "schedules", loop_methods, loop_fields, loop_meta};
