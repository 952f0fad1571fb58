// Makes arrays in memory, reads and writes their elements and .npy files, and compares arrays.
#include "bind.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

// Returns an array whose elements are not needed.
static nw_array *header_arg(lua_State *L, int arg, const char *name) {
  return nwl_check(L, arg, &nwl_array_class, name);
}

nw_array *nwl_array(lua_State *L, int arg, const char *name) {
  nw_array *a = nwl_check(L, arg, &nwl_array_class, name);
  if (nw_array_on_gpu(a)) nw_clear(nwl_ctx(L));
  if (!nw_array_fetch(a)) nwl_raise(L);
  return a;
}

nw_array *nwl_array_to_write(lua_State *L, int arg, const char *name) {
  nw_array *a = nwl_array(L, arg, name);
  nw_array_touch(a);
  return a;
}

// Raises an error if the user has interrupted. A loop over elements calls this function with the index i of each
// element. The check is made only once per 65,536 elements.
static void heed_interrupt(lua_State *L, int64_t i) {
  if (!(i & 65535) && nw_stopped(nwl_ctx(L))) nwl_raise(L);
}

static int f_array(lua_State *L) {
  int64_t shape[NWL_MAX_DIMS];
  int n = nwl_shape(L, 1, shape);
  nw_dtype t = nwl_dtype(L, 2, "dtype");
  nwl_push_array(L, nw_array_new(nwl_ctx(L), t, n, shape));
  return 1;
}

// array_strided(shape, dtype, strides)
static int f_array_strided(lua_State *L) {
  int64_t shape[NWL_MAX_DIMS], stride[NWL_MAX_DIMS];
  int n = nwl_shape(L, 1, shape), m = nwl_list_length(L, 3, NWL_MAX_DIMS, "strides");
  nw_dtype t = nwl_dtype(L, 2, "dtype");
  if (m != n) return nwl_fail(L, NW_EINVAL, NULL, "strides: %d strides for %d dimensions", m, n);
  for (int d = 0; d < n; d++, lua_pop(L, 1)) {
    lua_rawgeti(L, 3, d + 1);
    stride[d] = nwl_integer(L, -1, "strides");
    if (shape[d] < 0 || stride[d] < 0)
      return nwl_fail(L, NW_ERANGE, NULL, "shape, strides: dimension %d has a negative number", d);
  }
  nwl_push_array(L, nw_array_strided(nwl_ctx(L), t, n, shape, stride));
  return 1;
}

static void push_element(lua_State *L, const nw_array *a, int64_t flat) {
  nw_dtype t = nw_array_dtype(a);
  if (t == NW_BOOL) {
    lua_pushboolean(L, nw_array_get_int(a, flat) != 0);
  } else if (nw_dtype_is_int(t)) {
    lua_pushinteger(L, nw_array_get_int(a, flat));
  } else {
    lua_pushnumber(L, nw_array_get(a, flat));
  }
}

// Stores a whole number or a boolean in an array of integers or booleans. A fraction, or a number that is out of range,
// is an error.
static void store_int(lua_State *L, int arg, const char *name, nw_array *a, int64_t flat) {
  nw_dtype t = nw_array_dtype(a);
  if (lua_isboolean(L, arg)) {
    nw_array_set_int(a, flat, lua_toboolean(L, arg));
    return;
  }
  int64_t v = nwl_integer(L, arg, name);
  nwl_fits(L, t, v, name, "");
  nw_array_set_int(a, flat, v);
}

static void store(lua_State *L, int arg, const char *name, nw_array *a, int64_t flat) {
  if (!nw_dtype_is_float(nw_array_dtype(a))) {
    store_int(L, arg, name, a, flat);
    return;
  }
  if (lua_type(L, arg) != LUA_TNUMBER)
    nwl_fail(L, NW_ETYPE, NULL, "%s: expected a number, got %s", name, nwl_typename(L, arg));
  nw_array_set(a, flat, lua_tonumber(L, arg));
}

// Returns the position of an element. Its indices, which count from 0, are at the stack slots first, first+1, ...
static int64_t position(lua_State *L, const nw_array *a, int first, int n) {
  const int64_t *shape = nw_array_shape(a);
  int64_t at = 0;
  if (n != nw_array_ndim(a))
    nwl_fail(L, NW_ERANGE, NULL, "%d indices for a tensor with %d dimensions", n, nw_array_ndim(a));
  for (int d = 0; d < n; d++) {
    lua_Integer i = nwl_integer(L, first + d, "index");
    if (i < 0 || i >= shape[d])
      nwl_fail(L, NW_ERANGE, NULL, "index %d is %lld; it must be at least 0 and less than %lld", d + 1, (long long)i,
               (long long)shape[d]);
    at = at * shape[d] + i;
  }
  return at;
}

static int64_t position_in_table(lua_State *L, const nw_array *a, int arg) {
  int n = nwl_list_length(L, arg, NWL_MAX_DIMS, "index"), top = lua_gettop(L);
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 0; i < n; i++) lua_rawgeti(L, arg, i + 1);
  int64_t at = position(L, a, top + 1, n);
  lua_settop(L, top);
  return at;
}

static int array_get(lua_State *L) {
  nw_array *a = nwl_array(L, 1, "self");
  push_element(L, a, position(L, a, 2, lua_gettop(L) - 1));
  return 1;
}

static int array_set(lua_State *L) {
  nw_array *a = nwl_array_to_write(L, 1, "self");
  int n = lua_gettop(L) - 2;
  if (n < 0) return nwl_fail(L, NW_EINVAL, NULL, "set needs the indices and a value");
  store(L, lua_gettop(L), "value", a, position(L, a, 2, n));
  return 0;
}

// Reads t[{i, j}]. class_index (box.c) calls this function for a key that is not the name of a method or a field.
static int array_index(lua_State *L) {
  if (lua_type(L, 2) == LUA_TNUMBER) {
    lua_Integer i = nwl_integer(L, 2, "index");
    return nwl_fail(
        L, NW_EINVAL,
        lua_pushfstring(L, "use t[{%I}] or t:get(%I); indices count from 0", (LUAI_UACINT)i, (LUAI_UACINT)i),
        "elements of a tensor are read with a list of indices");
  }
  if (lua_type(L, 2) != LUA_TTABLE) return 0;
  nw_array *a = nwl_array(L, 1, "tensor");
  push_element(L, a, position_in_table(L, a, 2));
  return 1;
}

static int array_newindex(lua_State *L) {
  nw_array *a = nwl_array_to_write(L, 1, "tensor");
  if (lua_type(L, 2) != LUA_TTABLE)
    return nwl_fail(L, NW_EINVAL, "use t[{i, j}] = value; indices count from 0", "cannot set field %s of a tensor",
                    luaL_tolstring(L, 2, NULL));
  store(L, 3, "value", a, position_in_table(L, a, 2));
  return 0;
}

static int64_t flat_arg(lua_State *L, const nw_array *a, int arg) {
  lua_Integer i = nwl_integer(L, arg, "position");
  if (i < 1 || i > nw_array_count(a))
    nwl_fail(L, NW_ERANGE, NULL, "position %lld is not in 1..%lld", (long long)i, (long long)nw_array_count(a));
  return i - 1;
}

// Raises an error if there are more than n arguments, including self. `takes` is the list of parameters, such as
// "(position)". The Lua library makes this check for all other functions.
static void no_more(lua_State *L, int n, const char *takes) {
  for (int arg = n + 1; arg <= lua_gettop(L); arg++)
    if (!lua_isnil(L, arg))
      nwl_fail(L, NW_EINVAL, NULL, "it takes %s: argument %d, %s, is superfluous", takes, arg - 1,
               nwl_typename(L, arg));
}

static int array_getflat(lua_State *L) {
  nw_array *a = nwl_array(L, 1, "self");
  no_more(L, 2, "(position)");
  push_element(L, a, flat_arg(L, a, 2));
  return 1;
}

static int array_setflat(lua_State *L) {
  nw_array *a = nwl_array_to_write(L, 1, "self");
  no_more(L, 3, "(position, value)");
  store(L, 3, "value", a, flat_arg(L, a, 2));
  return 0;
}

// fill(self, {values in row-major order})
static int array_fill_list(lua_State *L) {
  nw_array *a = nwl_array_to_write(L, 1, "self");
  no_more(L, 2, "(values)");
  nwl_table(L, 2, "values");
  int64_t n = nw_array_count(a);
  if ((int64_t)lua_rawlen(L, 2) != n)
    return nwl_fail(L, NW_EINVAL, NULL, "values: there are %lld values for %lld elements", (long long)lua_rawlen(L, 2),
                    (long long)n);
  for (int64_t i = 0; i < n; i++) {
    heed_interrupt(L, i);
    lua_rawgeti(L, 2, i + 1);
    store(L, lua_gettop(L), "values", a, i);
    lua_pop(L, 1);
  }
  lua_settop(L, 1);
  return 1;
}

static int array_fill(lua_State *L) {
  nw_array *a = nwl_array_to_write(L, 1, "self");
  for (int64_t i = 0, n = nw_array_count(a); i < n; i++) {
    heed_interrupt(L, i);
    store(L, 2, "value", a, i);
  }
  lua_settop(L, 1);
  return 1;
}

// Checks a bound of the interval for random numbers. The bound must be a value of the dtype, so that no number wraps
// around or becomes infinite.
static void check_end(lua_State *L, nw_dtype t, const char *name, double v) {
  double most = t == NW_F16 ? 65504 : t == NW_F64 ? DBL_MAX / 2 : FLT_MAX, least = -most;
  if (t == NW_BOOL) least = 0, most = 1;
  if (nw_dtype_is_int(t)) {
    int bits = 8 * nw_dtype_bytes(t) - nw_dtype_is_signed(t);
    most = ldexp(1, bits) - (bits < 63); // random 64-bit integers are made from doubles
    least = nw_dtype_is_signed(t) ? -ldexp(1, bits) : 0;
  }
  if (!(v >= least && v <= most))
    nwl_fail(L, NW_ERANGE, NULL, "%s: %g is not from %g to %g, the range of random numbers of %s", name, v, least, most,
             nw_dtype_name(t));
}

static int array_random(lua_State *L) {
  nw_array *a = nwl_array_to_write(L, 1, "self");
  uint64_t seed = (uint64_t)nwl_integer_or(L, 2, "seed", 0);
  nw_dtype t = nw_array_dtype(a);
  double lo = nwl_number_or(L, 3, "lo", 0), hi = nwl_number_or(L, 4, "hi", 1);
  check_end(L, t, "lo", lo);
  check_end(L, t, "hi", hi);
  if (!(lo <= hi)) return nwl_fail(L, NW_ERANGE, NULL, "lo: %g is greater than hi, %g", lo, hi);
  if (!nw_dtype_is_float(t) && ceil(lo) > floor(hi))
    return nwl_fail(L, NW_ERANGE, NULL, "lo, hi: there is no whole number from %g to %g", lo, hi);
  if (!nw_array_fill_random(a, seed, lo, hi)) return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

static int array_shape(lua_State *L) {
  nw_array *a = header_arg(L, 1, "self");
  int n = nw_array_ndim(a);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, nw_array_shape(a)[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int array_count(lua_State *L) {
  lua_pushinteger(L, nw_array_count(header_arg(L, 1, "self")));
  return 1;
}

static int array_pointer(lua_State *L) {
  lua_pushlightuserdata(L, nw_array_data(nwl_array_to_write(L, 1, "self")));
  return 1;
}

static int array_save(lua_State *L) {
  nw_array *a = nwl_array(L, 1, "self");
  if (!nw_array_save(nwl_ctx(L), a, nwl_path(L, 2, "save: path"))) return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

static int array_dtype(lua_State *L) {
  lua_pushstring(L, nw_dtype_name(nw_array_dtype(header_arg(L, 1, "tensor"))));
  return 1;
}

static int array_ndim(lua_State *L) {
  lua_pushinteger(L, nw_array_ndim(header_arg(L, 1, "tensor")));
  return 1;
}

static void push_nested(lua_State *L, const nw_array *a, int dim, int64_t *at) {
  int64_t n = nw_array_shape(a)[dim];
  luaL_checkstack(L, 8, NULL);
  lua_createtable(L, (int)(n < 1 << 20 ? n : 1 << 20), 0);
  for (int64_t i = 0; i < n; i++) {
    heed_interrupt(L, *at);
    if (dim + 1 == nw_array_ndim(a)) {
      push_element(L, a, (*at)++);
    } else {
      push_nested(L, a, dim + 1, at);
    }
    lua_rawseti(L, -2, i + 1);
  }
}

static int array_totable(lua_State *L) {
  nw_array *a = nwl_array(L, 1, "self");
  int64_t at = 0;
  if (!nw_memory_for(nwl_ctx(L), "the table of totable", (uint64_t)nw_array_count(a), 16)) return nwl_raise(L);
  if (nw_array_ndim(a) == 0) {
    push_element(L, a, 0);
  } else {
    push_nested(L, a, 0, &at);
  }
  return 1;
}

static int f_load(lua_State *L) {
  nwl_push_array(L, nw_array_load(nwl_ctx(L), nwl_path(L, 1, "load: path")));
  return 1;
}

static bool same_shape(const nw_array *a, const nw_array *b) {
  if (nw_array_ndim(a) != nw_array_ndim(b)) return false;
  for (int i = 0; i < nw_array_ndim(a); i++) {
    if (nw_array_shape(a)[i] != nw_array_shape(b)[i]) return false;
  }
  return true;
}

// Sets *diff to |x - y|, or to 0 for two NaNs or two equal infinities. Returns true if *diff is finite and at most
// atol + rtol * |y|.
static bool close_enough(double x, double y, double rtol, double atol, double *diff) {
  bool nans = isnan(x) && isnan(y);
  *diff = nans || x == y ? 0 : fabs(x - y);
  if (nans || x == y) return true;
  if (isnan(*diff) || isinf(*diff)) return false;
  return *diff <= atol + rtol * fabs(y);
}

// allclose(a, b, rtol, atol) returns three values: whether a and b are close, the largest difference, and the position
// of the first element that is not close (counted from 1; nil if all are close).
static int f_allclose(lua_State *L) {
  nw_array *a = nwl_array(L, 1, "first tensor"), *b = nwl_array(L, 2, "second tensor");
  double rtol = nwl_number_or(L, 3, "rtol", 1e-5), atol = nwl_number_or(L, 4, "atol", 1e-8), worst = 0;
  if (!same_shape(a, b)) return nwl_fail(L, NW_EINVAL, NULL, "allclose: the shapes of a and b differ");
  bool whole = nw_dtype_is_int(nw_array_dtype(a)) && nw_dtype_is_int(nw_array_dtype(b));
  int64_t first = 0;
  for (int64_t i = 0, n = nw_array_count(a); i < n; i++) {
    heed_interrupt(L, i);
    double d;
    bool same = whole && nw_array_get_int(a, i) == nw_array_get_int(b, i);
    bool ok = same || close_enough(nw_array_get(a, i), nw_array_get(b, i), rtol, atol, &d);
    if (same) d = 0;
    if (!(d <= worst)) worst = d;
    if (!ok && first == 0) first = i + 1;
  }
  lua_pushboolean(L, first == 0);
  lua_pushnumber(L, worst);
  if (first) {
    lua_pushinteger(L, first);
  } else {
    lua_pushnil(L);
  }
  return 3;
}

static const luaL_Reg array_meta[] = {{"__lookup", array_index}, {"__newindex", array_newindex}, {NULL, NULL}};
static const nwl_row array_methods[] = {
    {"get", array_get, "(self: nw.array, ...: integer): number|boolean",
     "Returns one element. Indices count from 0. An element of u64 is an integer of Lua with the same 64 bits."},
    {"set", array_set, "(self: nw.array, ...: integer|number|boolean)",
     "Sets one element. The arguments are its indices, which count from 0, and then the value."},
    {"getflat", array_getflat, "(self: nw.array, position: integer): number|boolean",
     "Returns one element by its position in row-major order. Positions count from 1."},
    {"setflat", array_setflat, "(self: nw.array, position: integer, value: number|boolean)",
     "Sets one element by its position in row-major order. Positions count from 1."},
    {"fill", array_fill, "(self: nw.array, value: number|boolean): nw.array", "Sets every element to the value."},
    {"fill_list", array_fill_list, "(self: nw.array, values: number[]): nw.array",
     "Sets all elements from a list in row-major order."},
    {"fill_random", array_random, "(self: nw.array, seed?: integer, lo?: number, hi?: number): nw.array",
     "Fills the tensor with random elements between lo and hi. Integer elements may also equal lo or hi. The same seed "
     "gives the same data."},
    {"slice", nwl_array_slice, "(self: nw.array, ...: integer|table|nil): nw.array",
     "Returns a part of the tensor, without copying: an array that uses the same memory. There is one argument for "
     "each "
     "dimension; the rest is taken whole. An index takes one element and drops the dimension. A range {from, to, step} "
     "takes the elements from `from` on, before `to`; {} or nil takes all. Indices count from 0, or from the end if "
     "they "
     "are negative. A negative step reverses the order. Example: a:slice({2, 8}, {step = 2})"},
    {"transpose", nwl_array_transpose, "(self: nw.array, ...: integer): nw.array",
     "Returns the tensor with its dimensions in another order, without copying. The arguments are the dimensions, "
     "counted from 0; without arguments, the order is reversed. Example: a:transpose(1, 0)"},
    {"reshape", nwl_array_reshape, "(self: nw.array, shape: integer|integer[]): nw.array",
     "Returns the tensor with another shape and the same elements in row-major order, without copying. One extent may "
     "be -1; it follows from the others. If a view has no such order, this is an error, and a:copy():reshape(shape) "
     "makes a copy."},
    {"copy", nwl_array_copy, "(self: nw.array): nw.array",
     "Returns a copy of the tensor. Its elements are in row-major order, without gaps."},
    {"assign", nwl_array_assign, "(self: nw.array, from: nw.array): nw.array",
     "Copies all elements of another tensor of the same shape and dtype. Both may be views of one buffer: the result "
     "is as "
     "if all elements were read first. Example: a:slice(0):assign(a:slice(1))"},
    {"strides", nwl_array_strides, "(self: nw.array): integer[]",
     "Returns the distances between neighbours along each dimension, in elements."},
    {"shape", array_shape, "(self: nw.array): integer[]", "Returns the extents of the dimensions."},
    {"count", array_count, "(self: nw.array): integer", "Returns the number of elements."},
    {"totable", array_totable, "(self: nw.array): table", "Returns all elements as nested Lua tables."},
    {"save", array_save, "(self: nw.array, path: string): nw.array", "Writes the elements to a .npy file."},
    {"pointer", array_pointer, "(self: nw.array): lightuserdata",
     "Returns the address of the first element, for other C libraries. The elements of a view have strides."},
    {NULL, NULL, NULL, NULL},
};
static const nwl_row array_fields[] = {
    {"contiguous", nwl_array_contiguous, "boolean",
     "True if the elements are in row-major order in memory, without gaps. Views made by slice and transpose may have "
     "another order."},
    {"dtype", array_dtype, "string", "The type of the elements."},
    {"ndim", array_ndim, "integer", "The number of dimensions."},
    {NULL, NULL, NULL, NULL},
};
const nwl_class nwl_array_class = {"array", "nestwright.array", "data", array_methods, array_fields, array_meta};

// fences("off" | "after" | "before", align?)
static int f_fences(lua_State *L) {
  static const char *const kinds[] = {"off", "after", "before", NULL};
  nw_fence fence = (nw_fence)nwl_choice(L, 1, "where", kinds, -1);
  int align = nwl_count_or(L, 2, "align", 0, 4096, 0);
  if (align & (align - 1)) nwl_fail(L, NW_EINVAL, NULL, "align: %d is not a power of two", align);
  nw_fences(nwl_ctx(L), fence, (size_t)align);
  return 0;
}

// refuse_memory(n)
static int f_refuse_memory(lua_State *L) {
  lua_pushinteger(L, nw_refuse_memory(nwl_integer_or(L, 1, "n", 0)));
  return 1;
}

static int f_bytes(lua_State *L) {
  nw_array *a = nwl_array(L, 1, "a");
  nwl_push_array(L, nw_array_is_dense(a) ? nw_array_retain(a) : nw_array_copy(a));
  a = nwl_array(L, -1, "a");
  size_t n = (size_t)nw_array_count(a) * (size_t)nw_dtype_bytes(nw_array_dtype(a));
  lua_pushlstring(L, n ? nw_array_data(a) : "", n);
  return 1;
}

const nwl_row nwl_data_rows[] = {
    {"array", f_array, "(shape: integer[], dtype: string): nw.array", "Returns a new array of zeros."},
    {"array_strided", f_array_strided, "(shape: integer[], dtype: string, strides: integer[]): nw.array",
     "Returns a new array of zeros with these strides, in elements."},
    {"array_load", f_load, "(path: string): nw.array", "Returns the array in a .npy file."},
    {"array_allclose", f_allclose, "(a: nw.array, b: nw.array, rtol: number, atol: number): boolean, number, integer?",
     "Returns whether two tensors are close, the largest difference, and the position of the first element that is not "
     "close."},
    {"array_bytes", f_bytes, "(a: nw.array): string", "Returns the elements as bytes, in row-major order."},
    {"fences", f_fences, "(where: string, align?: integer)",
     "For tests: places tensors and temporaries at the edge of an inaccessible page."},
    {"refuse_memory", f_refuse_memory, "(n: integer): integer",
     "For tests: the n-th memory request of the core after this call fails; with n = 0, no request fails. Each "
     "request decreases n by one. Returns the value to which the n of the previous call has decreased."},
    {NULL, NULL, NULL, NULL},
};
