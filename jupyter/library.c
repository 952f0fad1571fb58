// Connects Lua and the kernel. Lua code calls the kernel through the module nestwright.front, which is defined here.
// The kernel calls the Lua module nestwright.notebook.notebook.
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

static nwj *kernel; // one per process

// ---- nestwright.front

// publish(type, content, metadata?) publishes a message. `content` and `metadata` are JSON texts. `type` has only
// letters and underscores.
static int f_publish(lua_State *L) {
  const char *type = luaL_checkstring(L, 1), *content = luaL_checkstring(L, 2), *metadata = luaL_optstring(L, 3, "{}");
  if (type[strspn(type, "abcdefghijklmnopqrstuvwxyz_")]) return luaL_error(L, "there is no message type '%s'", type);
  json_t *c = json_loads(content, 0, NULL), *m = json_loads(metadata, 0, NULL);
  if (json_is_object(c) && json_is_object(m)) {
    nwj_cell_publish(kernel, type, m, c);
    return 0;
  }
  json_decref(c);
  json_decref(m);
  return luaL_error(L, "a published message must be a JSON object");
}

// ask(prompt, password?) returns a line from the user, or nil and the reason why there is none.
static int f_ask(lua_State *L) {
  const char *problem = NULL;
  char *text = nwj_ask(kernel, luaL_optstring(L, 1, ""), lua_toboolean(L, 2), &problem);
  if (!text) return lua_pushnil(L), lua_pushstring(L, problem), 2;
  lua_pushstring(L, text);
  free(text);
  return 1;
}

static int open_front(lua_State *L) {
  static const luaL_Reg functions[] = {{"publish", f_publish}, {"ask", f_ask}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}

void nwj_library(nwj *k) {
  lua_State *L = nwh_lua(k->host);
  kernel = k;
  luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
  lua_pushcfunction(L, open_front);
  lua_setfield(L, -2, "nestwright.front");
  lua_pop(L, 1);
}

// ---- nestwright.notebook.notebook

// Pushes the function `name`. If the library cannot be loaded, pushes nothing and returns false.
static bool push_function(nwj *k, const char *name) {
  if (nwh_push_function(k->host, "nestwright.notebook.notebook", name)) return true;
  lua_pop(nwh_lua(k->host), 1);
  return false;
}

static json_t *taken(lua_State *L) {
  size_t n = 0;
  const char *s = lua_tolstring(L, -1, &n);
  json_t *v = s ? json_loadb(s, n, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL) : NULL;
  lua_pop(L, 1);
  return v;
}

// Calls a function and returns its answer, or NULL on failure. Prints the error as text, because it is not the outcome
// of a cell.
static json_t *called(nwj *k, int nargs) {
  nwh_status status = nwh_call(k->host, nargs, 1);
  if (status == NWH_OK) return taken(nwh_lua(k->host));
  char *text = nwh_error_text(k->host, true);
  if (text && *text) fprintf(stderr, "%s\n", text);
  free(text);
  return NULL;
}

static void push_json(lua_State *L, json_t *v) {
  char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
  lua_pushstring(L, text);
  free(text);
  json_decref(v);
}

json_t *nwj_call(nwj *k, const char *name, json_t *argument) {
  lua_State *L = nwh_lua(k->host);
  if (!push_function(k, name)) return json_decref(argument), NULL;
  push_json(L, argument);
  return called(k, 1);
}

json_t *nwj_call_on_top(nwj *k, const char *name, json_t *argument) {
  lua_State *L = nwh_lua(k->host);
  if (!push_function(k, name)) return lua_pop(L, 1), json_decref(argument), NULL;
  push_json(L, argument);
  lua_pushvalue(L, -3);
  lua_remove(L, -4);
  return called(k, 2);
}

nwh_status nwj_show(nwj *k, int n, int *shown) {
  lua_State *L = nwh_lua(k->host);
  *shown = LUA_REFNIL;
  if (n == 0) return NWH_OK;
  if (!nwh_push_function(k->host, "nestwright.notebook.notebook", "shown")) return NWH_ERROR;
  lua_insert(L, -(n + 1));
  nwh_status status = nwh_call(k->host, n, 1);
  if (status == NWH_OK) *shown = luaL_ref(L, LUA_REGISTRYINDEX);
  return status;
}

json_t *nwj_bundle(nwj *k, int shown) {
  lua_State *L = nwh_lua(k->host);
  if (shown == LUA_REFNIL || !push_function(k, "encoded")) return NULL;
  lua_rawgeti(L, LUA_REGISTRYINDEX, shown);
  luaL_unref(L, LUA_REGISTRYINDEX, shown);
  return called(k, 1);
}
