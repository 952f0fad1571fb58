// Makes views and copies of arrays.
#include "bind.h"
#include <string.h>

static nw_array *self(lua_State *L) { return nwl_array(L, 1, "self"); }

// Reads entry `number` of the table at `at`, which may also be given by name. Returns false if there is none.
static bool bound(lua_State *L, int at, int number, const char *name, int64_t *out) {
  lua_rawgeti(L, at, number);
  lua_getfield(L, at, name);
  int top = lua_gettop(L);
  bool listed = !lua_isnil(L, top - 1), named = !lua_isnil(L, top);
  if (listed && named) nwl_fail(L, NW_EINVAL, NULL, "slice: %s is given twice in one range", name);
  const char *what = lua_pushfstring(L, "slice: %s", name);
  if (listed || named) *out = nwl_integer(L, named ? top : top - 1, what);
  lua_settop(L, top - 2);
  return listed || named;
}

static void only_bounds(lua_State *L, int at) {
  for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    bool listed = lua_isinteger(L, -2) && lua_tointeger(L, -2) >= 1 && lua_tointeger(L, -2) <= 3;
    if (!listed && strcmp(key, "from") && strcmp(key, "to") && strcmp(key, "step"))
      nwl_fail(L, NW_EINVAL, "a range is {from, to, step}, or names some of them: {to = 8}, {step = 2}",
               "slice: unknown key '%s' in a range", luaL_tolstring(L, -2, NULL));
  }
}

static nw_portion range(lua_State *L, int at) {
  nw_portion r = {.step = 1};
  if (lua_isnil(L, at)) return r;
  if (lua_type(L, at) == LUA_TNUMBER) {
    r.one = r.has_from = true;
    r.from = nwl_integer(L, at, "slice: index");
    return r;
  }
  if (lua_type(L, at) != LUA_TTABLE)
    nwl_fail(L, NW_EINVAL, "a:slice({2, 8}, 3) takes rows 2 to 7 of column 3; {} takes a whole dimension",
             "slice: expected an index or a range, got %s", nwl_typename(L, at));
  only_bounds(L, at);
  r.has_from = bound(L, at, 1, "from", &r.from);
  r.has_to = bound(L, at, 2, "to", &r.to);
  bound(L, at, 3, "step", &r.step);
  return r;
}

int nwl_array_slice(lua_State *L) {
  nw_array *a = self(L);
  nw_portion part[NWL_MAX_DIMS];
  int n = lua_gettop(L) - 1;
  if (n > NWL_MAX_DIMS) return nwl_fail(L, NW_ELIMIT, NULL, "slice: at most %d parts, got %d", NWL_MAX_DIMS, n);
  luaL_checkstack(L, 8, NULL);
  for (int i = 0; i < n; i++) part[i] = range(L, i + 2);
  nwl_push_array(L, nw_array_slice(a, n, part));
  return 1;
}

int nwl_array_transpose(lua_State *L) {
  nw_array *a = self(L);
  int64_t order[NWL_MAX_DIMS];
  int n = lua_gettop(L) - 1;
  if (n > NWL_MAX_DIMS)
    return nwl_fail(L, NW_ELIMIT, NULL, "transpose: at most %d dimensions, got %d", NWL_MAX_DIMS, n);
  for (int i = 0; i < n; i++) order[i] = nwl_integer(L, i + 2, "transpose: dimension");
  nwl_push_array(L, nw_array_transpose(a, n, n ? order : NULL));
  return 1;
}

int nwl_array_reshape(lua_State *L) {
  nw_array *a = self(L);
  int64_t shape[NWL_MAX_DIMS];
  int n = nwl_shape(L, 2, shape);
  nwl_push_array(L, nw_array_reshape(a, n, shape));
  return 1;
}

int nwl_array_copy(lua_State *L) {
  nwl_push_array(L, nw_array_copy(self(L)));
  return 1;
}

int nwl_array_assign(lua_State *L) {
  nw_array *a = nwl_array_to_write(L, 1, "self"), *from = nwl_array(L, 2, "assign: from");
  nw_clear(nwl_ctx(L));
  if (!nw_array_assign(a, from)) return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

int nwl_array_strides(lua_State *L) {
  nw_array *a = self(L);
  lua_createtable(L, nw_array_ndim(a), 0);
  for (int i = 0; i < nw_array_ndim(a); i++) {
    lua_pushinteger(L, nw_array_strides(a)[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

int nwl_array_contiguous(lua_State *L) {
  lua_pushboolean(L, nw_array_is_dense(self(L)));
  return 1;
}
