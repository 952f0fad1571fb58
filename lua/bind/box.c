// Makes Lua values for objects of the core, and keeps track of their owners and of the value that represents each
// object. Also makes the session of a Lua state.
#include "bind.h"
#include <stdlib.h>
#include <string.h>

typedef struct session {
  nw_ctx *ctx;
} session;

static const char session_key, known_key;

static int session_close(lua_State *L) {
  session *s = lua_touserdata(L, 1);
  if (s->ctx) nw_close(s->ctx);
  s->ctx = NULL;
  return 0;
}

// Stores the session in a variable of the host program (the REPL or the Jupyter kernel), if there is one. The SIGINT
// handler of the host reads this variable, and the registry holds its address.
static void tell_host(lua_State *L, nw_ctx *c) {
  if (lua_getfield(L, LUA_REGISTRYINDEX, "nestwright.host") == LUA_TLIGHTUSERDATA) {
    nw_ctx *volatile *slot = lua_touserdata(L, -1);
    *slot = c;
  }
  lua_pop(L, 1);
}

// True if this Lua state already has a session, because package.loaded was cleared and the module is required again.
// Then also calls tell_host.
static bool known_session(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key) == LUA_TUSERDATA) {
    tell_host(L, ((session *)lua_touserdata(L, -1))->ctx);
    lua_pop(L, 1);
    return true;
  }
  lua_pop(L, 1);
  return false;
}

void nwl_session_open(lua_State *L) {
  if (known_session(L)) return;
  session *s = lua_newuserdatauv(L, sizeof *s, 0);
  memset(s, 0, sizeof *s);
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, session_close);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  s->ctx = nw_open();
  nw_measure_threads(s->ctx);
  nw_provide_trials(s->ctx);
  nw_backends_provide(s->ctx);
  nw_devices_provide(s->ctx);
  nw_models_provide(s->ctx);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
  tell_host(L, s->ctx);

  lua_newtable(L); // pointer -> the Lua value that represents it
  lua_createtable(L, 0, 1);
  lua_pushliteral(L, "v");
  lua_setfield(L, -2, "__mode");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &known_key);
}

static session *get_session(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
  session *s = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return s;
}

nw_ctx *nwl_ctx(lua_State *L) { return get_session(L)->ctx; }

nw_pool *nwl_pool(lua_State *L) { return nw_lang_pool(nwl_ctx(L)); }

static int box_gc(lua_State *L) {
  nwl_box *b = lua_touserdata(L, 1);
  void *p = b->p;
  b->p = NULL;
  if (p && b->release) b->release(p);
  return 0;
}

nwl_box *nwl_new(lua_State *L, const nwl_class *c, void (*release)(void *)) {
  nwl_box *b = lua_newuserdatauv(L, sizeof *b, 1);
  b->p = NULL;
  b->release = release;
  if (luaL_newmetatable(L, c->metatable) && release) {
    lua_pushcfunction(L, box_gc);
    lua_setfield(L, -2, "__gc");
  }
  lua_setmetatable(L, -2);
  return b;
}

void *nwl_hold(nwl_box *b, void *p) {
  if (p) nw_recovery_keep();
  return b->p = p;
}

void *nwl_test(lua_State *L, int arg, const nwl_class *c) {
  nwl_box *b = luaL_testudata(L, arg, c->metatable);
  return b ? b->p : NULL;
}

bool nwl_push_known(lua_State *L, const void *p) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &known_key);
  lua_rawgetp(L, -1, p);
  lua_remove(L, -2);
  if (!lua_isnil(L, -1)) return true;
  lua_pop(L, 1);
  return false;
}

void nwl_remember(lua_State *L, const void *p) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &known_key);
  lua_pushvalue(L, -2);
  lua_rawsetp(L, -2, p);
  lua_pop(L, 1);
}

static void release_pool(void *p) { nw_pool_release(p); }
static const nwl_class pool_class = {.name = "pool", .metatable = "nestwright.pool"};

static void push_pool(lua_State *L, nw_pool *p) {
  if (nwl_push_known(L, p)) return;
  nwl_new(L, &pool_class, release_pool)->p = nw_pool_retain(p);
  nwl_remember(L, p);
}

// An expression keeps its pool alive. Equal expressions of one pool are the same Lua value.
void nwl_push_expr(lua_State *L, const nw_expr *e) {
  if (!e) {
    nwl_raise(L);
    return;
  }
  if (nwl_push_known(L, e)) return;
  nwl_box *b = nwl_new(L, &nwl_expr_class, NULL);
  push_pool(L, nw_expr_pool(e));
  lua_setiuservalue(L, -2, 1);
  b->p = (void *)e;
  nwl_remember(L, e);
}

static void release_tensor(void *p) { nw_tensor_release(p); }

void nwl_push_tensor(lua_State *L, nw_tensor *t) {
  if (!t) {
    nwl_raise(L);
    return;
  }
  if (nwl_push_known(L, t)) {
    nw_tensor_release(t);
    return;
  }
  nwl_hold(nwl_new(L, &nwl_tensor_class, release_tensor), t);
  nwl_remember(L, t);
}

static void release_array(void *p) { nw_array_release(p); }

// Runs a step of the garbage collector, because the collector counts only the few bytes of the userdata and runs too
// late for large arrays. The size of the step is the size of the array in KiB, but at most 65,536.
static void tell_collector(lua_State *L, const nw_array *a) {
  int64_t kib = nw_array_count(a) * nw_dtype_bytes(nw_array_dtype(a)) / 1024;
  if (kib > 64 && !nw_array_is_view(a)) lua_gc(L, LUA_GCSTEP, (int)(kib > 65536 ? 65536 : kib));
}

void nwl_push_array(lua_State *L, nw_array *a) {
  if (!a) {
    nwl_raise(L);
    return;
  }
  nwl_hold(nwl_new(L, &nwl_array_class, release_array), a);
  tell_collector(L, a);
}

static int push_string(lua_State *L) {
  lua_pushstring(L, lua_touserdata(L, 1));
  return 1;
}

void nwl_push_text(lua_State *L, char *s) {
  if (!s) {
    nwl_raise(L);
    return;
  }
  lua_pushcfunction(L, push_string);
  lua_pushlightuserdata(L, s);
  int status = lua_pcall(L, 1, 1, 0);
  free(s);
  if (status != LUA_OK) lua_error(L);
}

// ---- classes

static void push_rows(lua_State *L, const nwl_row *rows) {
  lua_newtable(L);
  for (; rows && rows->name; rows++) {
    nwl_push_function(L, rows->fn);
    lua_setfield(L, -2, rows->name);
  }
}

static int no_such_field(lua_State *L) {
  const char *class = lua_tostring(L, lua_upvalueindex(3)), *self = nwl_typename(L, 1);
  if (lua_type(L, 2) != LUA_TSTRING) {
    bool tensor = strcmp(class, "tensor") == 0;
    return nwl_fail(L, NW_EINVAL, tensor ? "use parentheses to read elements: A(i, j)" : NULL,
                    "%s cannot be indexed with %s", self, nwl_typename(L, 2));
  }
  const char *words[256];
  int n = 0;
  for (int up = 1; up <= 2; up++) {
    for (lua_pushnil(L); lua_next(L, lua_upvalueindex(up)) && n < 256; lua_pop(L, 1)) words[n++] = lua_tostring(L, -2);
  }
  const char *near = nw_nearest(lua_tostring(L, 2), n, words);
  if (near)
    lua_pushfstring(L, "did you mean '%s'?", near);
  else
    lua_pushfstring(L, "nw.help(x), where x is %s, lists its methods and fields", self);
  return nwl_fail(L, NW_EINVAL, lua_tostring(L, -1), "%s has no field or method '%s'", self, lua_tostring(L, 2));
}

// Looks up a key of an object. The upvalues are the methods, the fields (functions that are called with the object),
// and the name of the class. If the key is neither a method nor a field, calls __lookup of the class, if the class has
// this function.
static int class_index(lua_State *L) {
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(2)) != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_call(L, 1, 1);
    return 1;
  }
  lua_settop(L, 2);
  if (luaL_getmetafield(L, 1, "__lookup") != LUA_TNIL) {
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_call(L, 2, 1);
    if (!lua_isnil(L, -1)) return 1;
  }
  return no_such_field(L);
}

// Methods and fields stay accessible in the metatable, as __methods and __fields: completion reads them, and the
// Lua library adds to them.
void nwl_class_open(lua_State *L, const nwl_class *c) {
  luaL_newmetatable(L, c->metatable);
  lua_pushcfunction(L, box_gc);
  lua_setfield(L, -2, "__gc");
  nwl_set_functions(L, c->meta);
  push_rows(L, c->methods);
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "__methods");
  push_rows(L, c->fields);
  lua_pushvalue(L, -1);
  lua_setfield(L, -4, "__fields");
  lua_pushstring(L, c->name);
  lua_pushcclosure(L, class_index, 3);
  lua_setfield(L, -2, "__index");
}

// ---- fields of results

void nwl_set_number(lua_State *L, const char *field, double value) {
  lua_pushnumber(L, value);
  lua_setfield(L, -2, field);
}

void nwl_set_integer(lua_State *L, const char *field, int64_t value) {
  lua_pushinteger(L, value);
  lua_setfield(L, -2, field);
}

void nwl_set_flag(lua_State *L, const char *field, bool value) {
  lua_pushboolean(L, value);
  lua_setfield(L, -2, field);
}

void nwl_set_text(lua_State *L, const char *field, const char *value) {
  lua_pushstring(L, value);
  lua_setfield(L, -2, field);
}
