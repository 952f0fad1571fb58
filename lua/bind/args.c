// Reads arguments. Every error names the argument. If the argument has a wrong type, the error also names the expected
// type and the given type.
#include "bind.h"
#include "ir/expr/fold.h"
#include <string.h>

const char *nwl_typename(lua_State *L, int arg) {
  arg = lua_absindex(L, arg);
  static const char *const plain[] = {"nothing",  "nil",     "a boolean",  "a pointer",  "a number",
                                      "a string", "a table", "a function", "a userdata", "a coroutine"};
  if (luaL_getmetafield(L, arg, "__name") == LUA_TSTRING) {
    const char *name = lua_tostring(L, -1);
    if (strncmp(name, "nestwright.", 11) == 0) {
      bool vowel = strchr("aeiou", name[11]) != NULL;
      return lua_pushfstring(L, "%s %s", vowel ? "an" : "a", name + 11);
    }
  }
  return plain[lua_type(L, arg) + 1];
}

static int expected(lua_State *L, int arg, const char *name, const char *what) {
  return nwl_fail(L, NW_EINVAL, NULL, "%s: expected %s, got %s", name, what, nwl_typename(L, arg));
}

void *nwl_check(lua_State *L, int arg, const nwl_class *c, const char *name) {
  arg = lua_absindex(L, arg); // stays valid while a message is built on the stack
  nwl_box *b = luaL_testudata(L, arg, c->metatable);
  if (!b) {
    bool vowel = strchr("aeiou", c->name[0]) != NULL;
    expected(L, arg, name, lua_pushfstring(L, "%s %s", vowel ? "an" : "a", c->name));
  } else if (!b->p) {
    nwl_fail(L, NW_ESTALE, NULL, "%s: this %s has been closed", name, c->name);
  }
  return b->p;
}

void nwl_is_string(lua_State *L, int arg, const char *name) {
  if (lua_type(L, arg) != LUA_TSTRING) expected(L, arg, name, "a string");
}

// Returns the argument as a C string. A C string ends at the first NUL, so a text that contains a NUL is an error.
const char *nwl_string(lua_State *L, int arg, const char *name) {
  nwl_is_string(L, arg, name);
  size_t n;
  const char *s = lua_tolstring(L, arg, &n);
  if (strlen(s) != n)
    nwl_fail(L, NW_EINVAL, NULL, "%s: byte %d is NUL, which a text may not contain", name, (int)strlen(s) + 1);
  return s;
}

const char *nwl_string_or(lua_State *L, int arg, const char *name, const char *fallback) {
  return lua_isnoneornil(L, arg) ? fallback : nwl_string(L, arg, name);
}

int nwl_choice(lua_State *L, int arg, const char *name, const char *const *words, int fallback) {
  const char *word = nwl_string_or(L, arg, name, fallback < 0 ? NULL : words[fallback]);
  int i = 0;
  while (words[i] && (!word || strcmp(word, words[i]) != 0)) i++;
  if (!words[i]) nwl_fail(L, NW_EINVAL, NULL, "%s: there is no '%s'", name, word ? word : "nothing");
  return i;
}

void nwl_function(lua_State *L, int arg, const char *name) {
  if (lua_type(L, arg) != LUA_TFUNCTION) expected(L, arg, name, "a function");
}

lua_Integer nwl_integer(lua_State *L, int arg, const char *name) {
  int whole = 0;
  lua_Integer v = lua_type(L, arg) == LUA_TNUMBER ? lua_tointegerx(L, arg, &whole) : 0;
  if (!whole) {
    if (lua_type(L, arg) == LUA_TNUMBER)
      nwl_fail(L, NW_EINVAL, NULL, "%s: expected a whole number, got %f", name, lua_tonumber(L, arg));
    expected(L, arg, name, "a whole number");
  }
  return v;
}

lua_Integer nwl_integer_or(lua_State *L, int arg, const char *name, lua_Integer fallback) {
  return lua_isnoneornil(L, arg) ? fallback : nwl_integer(L, arg, name);
}

int nwl_count_or(lua_State *L, int arg, const char *name, int least, int most, int fallback) {
  lua_Integer v = nwl_integer_or(L, arg, name, fallback);
  if ((v < least || v > most) && !lua_isnoneornil(L, arg))
    nwl_fail(L, NW_ERANGE, NULL, "%s: %lld is not in %d..%d", name, (long long)v, least, most);
  return (int)v;
}

double nwl_number_or(lua_State *L, int arg, const char *name, double fallback) {
  if (lua_isnoneornil(L, arg)) return fallback;
  if (lua_type(L, arg) != LUA_TNUMBER) expected(L, arg, name, "a number");
  return lua_tonumber(L, arg);
}

// Converts the name of a dtype in other libraries to the name in this library: f32 for "float32", u8 for "uint8", f64
// for "double". Returns NULL if the name is unknown. The result may be a string on the stack of L.
const char *nwl_dtype_elsewhere(lua_State *L, const char *s) {
  static const char *const names[][2] = {{"float", "f"}, {"uint", "u"}, {"int", "i"}, {"bfloat", "bf"}};
  if (!strcmp(s, "float") || !strcmp(s, "double")) return *s == 'f' ? "f32" : "f64";
  for (int i = 0; i < 4; i++) {
    size_t n = strlen(names[i][0]);
    nw_dtype t;
    if (strncmp(s, names[i][0], n)) continue;
    const char *ours = lua_pushfstring(L, "%s%s", names[i][1], s + n);
    if (nw_dtype_parse(ours, &t)) return ours;
  }
  return NULL;
}

nw_dtype nwl_dtype(lua_State *L, int arg, const char *name) {
  const char *s = nwl_string(L, arg, name);
  nw_dtype t;
  if (nw_dtype_parse(s, &t)) return t;
  const char *names[NW_DTYPE_COUNT];
  luaL_Buffer all;
  luaL_buffinit(L, &all);
  for (int i = 0; i < NW_DTYPE_COUNT; i++) {
    names[i] = nw_dtype_name((nw_dtype)i);
    lua_pushfstring(L, i ? " %s" : "%s", names[i]);
    luaL_addvalue(&all);
  }
  luaL_pushresult(&all);
  const char *all_names = lua_tostring(L, -1);
  const char *elsewhere = nwl_dtype_elsewhere(L, s),
             *near = elsewhere ? elsewhere : nw_nearest(s, NW_DTYPE_COUNT, names);
  const char *hint = near ? lua_pushfstring(L, "did you mean '%s'?", near) : lua_pushfstring(L, "one of %s", all_names);
  nwl_fail(L, NW_EINVAL, hint, "%s: there is no dtype '%s'", name, s);
  return NW_F32;
}

void nwl_fits(lua_State *L, nw_dtype t, int64_t v, const char *name, const char * or) {
  if (nw_fits(t, v)) return;
  int bits = 8 * nw_dtype_bytes(t);
  bool is_signed = nw_dtype_is_signed(t);
  const char *hint = t == NW_BOOL ? lua_pushfstring(L, "bool can hold 0, 1, true and false%s", or)
                                  : lua_pushfstring(L, "%s can hold %I to %I%s", nw_dtype_name(t),
                                                    is_signed ? -(LUAI_UACINT)(1LL << (bits - 1)) : (LUAI_UACINT)0,
                                                    (LUAI_UACINT)((1LL << (is_signed ? bits - 1 : bits)) - 1), or);
  nwl_fail(L, NW_ERANGE, hint, "%s: %lld does not fit into %s", name, (long long)v, nw_dtype_name(t));
}

void nwl_table(lua_State *L, int arg, const char *name) {
  if (lua_type(L, arg) != LUA_TTABLE) expected(L, arg, name, "a table");
}

int nwl_list_length(lua_State *L, int arg, int max, const char *name) {
  nwl_table(L, arg, name);
  lua_Unsigned n = lua_rawlen(L, arg);
  if (n > (lua_Unsigned)max)
    nwl_fail(L, NW_ELIMIT, NULL, "%s: at most %d entries, got %llu", name, max, (unsigned long long)n);
  return (int)n;
}

int nwl_shape(lua_State *L, int arg, int64_t *shape) {
  if (lua_type(L, arg) == LUA_TNUMBER) {
    shape[0] = nwl_integer(L, arg, "shape");
    return 1;
  }
  int n = nwl_list_length(L, arg, NWL_MAX_DIMS, "shape");
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, arg, i + 1);
    shape[i] = nwl_integer(L, -1, "shape");
    lua_pop(L, 1);
  }
  return n;
}
