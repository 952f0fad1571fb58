// Reads data that is written as a Lua chunk. The chunk runs in a separate Lua state, with only the math library, and
// with limits on instructions and memory. Its result is copied to the session.
#include "bind.h"
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

enum { INSTRUCTIONS = 10000000, MEMORY = 64 << 20, DEEPEST = 32, ENTRIES = 100000 };

typedef struct room {
  size_t used;
} room;

static void *allocate(void *env, void *p, size_t old, size_t size) {
  room *r = env;
  size_t had = p ? old : 0;
  if (size > had && r->used - had + size > MEMORY) return NULL;
  void *q = size ? realloc(p, size) : NULL;
  if (!size) free(p);
  if (q || !size) r->used += size - had;
  return q;
}

static void too_long(lua_State *R, lua_Debug *ar) {
  (void)ar;
  luaL_error(R, "it runs too long: more than %d instructions", INSTRUCTIONS);
}

// Runs in the Lua state of the record. Loads the chunk with math as its only library, and calls it. The chunk must be
// source text.
static int run(lua_State *R) {
  size_t n = (size_t)lua_tointeger(R, 2);
  const char *text = lua_touserdata(R, 1), *name = lua_touserdata(R, 3);
  if (luaL_loadbufferx(R, text, n, name, "t") != LUA_OK) return lua_error(R);
  lua_createtable(R, 0, 1);
  luaL_requiref(R, LUA_MATHLIBNAME, luaopen_math, 0);
  lua_setfield(R, -2, "math");
  lua_setupvalue(R, -2, 1);
  lua_sethook(R, too_long, LUA_MASKCOUNT, INSTRUCTIONS);
  lua_call(R, 0, 1);
  lua_sethook(R, NULL, 0, 0);
  return 1;
}

// ---- copying the result to the session's state

typedef struct copy {
  lua_State *from, *to;
  int entries;
  const char *wrong;
} copy;

static bool refuse(copy *c, const char *wrong) {
  c->wrong = wrong;
  return false;
}

static bool copy_value(copy *c, int depth);

static bool copy_table(copy *c, int depth) {
  if (depth > DEEPEST) return refuse(c, "its tables are nested too deeply");
  lua_newtable(c->to);
  for (lua_pushnil(c->from); lua_next(c->from, -2); lua_pop(c->from, 1)) {
    if (++c->entries > ENTRIES) return refuse(c, "it has too many fields");
    lua_pushvalue(c->from, -2);
    bool good = copy_value(c, DEEPEST + 1); // refuses a table as a key
    lua_pop(c->from, 1);
    if (!good || !copy_value(c, depth + 1)) return false;
    lua_rawset(c->to, -3);
  }
  return true;
}

// Copies the value on top of the stack `from` to the stack `to`.
static bool copy_value(copy *c, int depth) {
  size_t n;
  const char *s;
  switch (lua_type(c->from, -1)) {
  case LUA_TBOOLEAN: lua_pushboolean(c->to, lua_toboolean(c->from, -1)); return true;
  case LUA_TSTRING:
    s = lua_tolstring(c->from, -1, &n);
    lua_pushlstring(c->to, s, n);
    return true;
  case LUA_TNUMBER:
    if (lua_isinteger(c->from, -1))
      lua_pushinteger(c->to, lua_tointeger(c->from, -1));
    else
      lua_pushnumber(c->to, lua_tonumber(c->from, -1));
    return true;
  case LUA_TTABLE:
    luaL_checkstack(c->to, 8, NULL);
    return lua_checkstack(c->from, 8) ? copy_table(c, depth) : refuse(c, "out of memory");
  default: return refuse(c, "it contains a value that is not a number, text, boolean or table");
  }
}

typedef struct record {
  room room;
  lua_State *state;
} record;

static int close_record(lua_State *L) {
  record *r = lua_touserdata(L, 1);
  if (r->state) lua_close(r->state);
  r->state = NULL;
  return 0;
}

// Makes a state. Pushes a userdata that owns the state, so that the state is closed on any error.
static lua_State *new_state(lua_State *L) {
  record *r = lua_newuserdatauv(L, sizeof *r, 0);
  *r = (record){.state = NULL};
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, close_record);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  r->state = lua_newstate(allocate, &r->room);
  if (!r->state) luaL_error(L, "not enough memory");
  return r->state;
}

// run_record(text, name): returns the value, or nil and the reason.
static int f_run_record(lua_State *L) {
  size_t n;
  // A text with NULs is probably compiled code. The loader has a clearer error for that, so NULs are allowed here.
  nwl_is_string(L, 1, "text");
  const char *text = lua_tolstring(L, 1, &n), *name = nwl_string(L, 2, "name");
  lua_settop(L, 2);
  lua_State *R = new_state(L);
  lua_pushcfunction(R, run);
  lua_pushlightuserdata(R, (void *)text);
  lua_pushinteger(R, (lua_Integer)n);
  lua_pushlightuserdata(R, (void *)name);
  copy c = {.from = R, .to = L};
  bool good = lua_pcall(R, 3, 1, 0) == LUA_OK;
  int top = lua_gettop(L);
  if (good && lua_isnil(R, -1)) return lua_pushnil(L), 1;
  if (good && copy_value(&c, 0)) return 1;
  lua_settop(L, top);
  lua_pushnil(L);
  if (good)
    lua_pushstring(L, c.wrong);
  else if (lua_type(R, -1) == LUA_TSTRING)
    lua_pushstring(L, lua_tostring(R, -1));
  else
    lua_pushliteral(L, "it raises an error that is not a text");
  return 2;
}

const nwl_row nwl_record_rows[] = {
    {"run_record", f_run_record, "(text: string, name: string): any, string?",
     "Runs a chunk of Lua that returns data, in a separate state with only the math library and with limits on "
     "instructions and memory. Returns the data, or nil and the reason if the chunk fails or returns anything else."},
    {NULL, NULL, NULL, NULL},
};
