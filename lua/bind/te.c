// Makes tensor expressions: placeholders, axes, computes, scans and updates.
#include "bind.h"
#include "te/te.h"
#include <stdlib.h>

static int f_size(lua_State *L) {
  const char *name = nwl_string(L, 1, "name");
  lua_Integer lo = nwl_integer_or(L, 2, "min", 1);
  nwl_push_expr(L, nw_size_var(nwl_ctx(L), name, lo));
  return 1;
}

static int f_fact(lua_State *L) {
  const nw_expr *size = nwl_check(L, 1, &nwl_expr_class, "size");
  nwl_not_lua_boolean(L, 2, "fact");
  bool text = lua_type(L, 2) == LUA_TSTRING;
  const nw_expr *fact = text ? nw_size_fact_parse(size, nwl_string(L, 2, "condition")) : nwl_expr(L, 2, "fact");
  if (!nw_size_fact(size, fact)) return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

static int make_input(lua_State *L, nw_tensor *(*make)(nw_ctx *, const char *, nw_dtype, int, const nw_expr *const *)) {
  const nw_expr *shape[NWL_MAX_DIMS];
  int n = nwl_expr_list(L, 1, NWL_MAX_DIMS, shape, "shape");
  nw_dtype t = nwl_dtype(L, 2, "dtype");
  const char *name = nwl_string(L, 3, "name");
  nwl_push_tensor(L, make(nwl_ctx(L), name, t, n, shape));
  return 1;
}
static int f_placeholder(lua_State *L) { return make_input(L, nw_placeholder); }
static int f_scan_state(lua_State *L) { return make_input(L, nw_scan_state); }

// set_strides(tensor, strides): gives the array of a placeholder or an output strides. Returns the tensor.
static int f_set_strides(lua_State *L) {
  nw_tensor *t = nwl_check(L, 1, &nwl_tensor_class, "tensor");
  const nw_expr *stride[NWL_MAX_DIMS];
  int n = nwl_expr_list(L, 2, NWL_MAX_DIMS, stride, "strides");
  nw_clear(nwl_ctx(L));
  if (!nw_tensor_set_strides(t, n, stride)) return nwl_raise(L);
  lua_settop(L, 1);
  return 1;
}

static void release_axis(void *p) { nw_axis_release(p); }

static int f_reduce_axis(lua_State *L) {
  const nw_expr *lo = nwl_index_expr(L, 1, "begin"), *extent = nwl_index_expr(L, 2, "extent");
  const char *name = nwl_string(L, 3, "name");
  nwl_box *b = nwl_new(L, &nwl_axis_class, release_axis);
  nwl_hold(b, nw_reduce_axis(nwl_ctx(L), name, lo, extent));
  return b->p ? 1 : nwl_raise(L);
}

// reduce_axis_between(begin, end, within, name)
static int f_reduce_axis_between(lua_State *L) {
  const nw_expr *begin = nwl_index_expr(L, 1, "begin"), *end = nwl_index_expr(L, 2, "end");
  const nw_expr *within = lua_isnil(L, 3) ? NULL : nwl_index_expr(L, 3, "within");
  const char *name = nwl_string(L, 4, "name");
  nwl_box *b = nwl_new(L, &nwl_axis_class, release_axis);
  nwl_hold(b, nw_reduce_axis_between(nwl_ctx(L), name, begin, end, within));
  return b->p ? 1 : nwl_raise(L);
}

static int f_extent_is_fixed(lua_State *L) {
  lua_pushboolean(L, nw_extent_is_fixed(nwl_index_expr(L, 1, "extent")));
  return 1;
}

static int read_axes(lua_State *L, int arg, nw_axis **axes) {
  int n = nwl_list_length(L, arg, NWL_MAX_DIMS, "axes");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, arg, i + 1);
    axes[i] = nwl_check(L, -1, &nwl_axis_class, "axis");
  }
  return n;
}

static int f_reduction(lua_State *L) {
  const char *kind = nwl_string(L, 1, "kind");
  const nw_expr *term = nwl_expr(L, 2, "term");
  nw_axis *axes[NWL_MAX_DIMS];
  int n = read_axes(L, 3, axes);
  nwl_push_expr(L, nw_reduction(nwl_ctx(L), kind, term, n, axes));
  return 1;
}

// ---- reducers that users define

// Reads a list of at most NWL_MAX_DIMS expressions. A number gets the dtype of like[i], or `or` if `like` is NULL.
static int read_typed(lua_State *L, int arg, const char *name, const nw_expr *const *like, int or,
                      const nw_expr **out) {
  int n = nwl_list_length(L, arg, NWL_MAX_DIMS, name);
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, arg, i + 1);
    const char *which = lua_pushfstring(L, "%s %d", name, i + 1);
    lua_insert(L, -2); // the name stays on the stack, below the value
    out[i] = nwl_expr_like(L, lua_gettop(L), like ? nw_expr_type(like[i]).dtype : or, which);
  }
  return n;
}

// Finds the dtype of the first term that is not a number. Returns -1 if all terms are numbers.
static int dtype_of_terms(lua_State *L, int arg) {
  int n = nwl_list_length(L, arg, NWL_MAX_DIMS, "terms"), t = -1;
  for (int i = 0; i < n && t < 0; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, arg, i + 1);
    if (lua_type(L, -1) != LUA_TNUMBER && !lua_isboolean(L, -1))
      t = nw_expr_type(nwl_expr(L, lua_gettop(L), "term")).dtype;
  }
  return t;
}

static void push_states(lua_State *L, bool second, int n, const nw_expr *const *term) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    nwl_push_expr(L, nw_reducer_component(nwl_ctx(L), second, i, (nw_dtype)nw_expr_type(term[i]).dtype));
    lua_rawseti(L, -2, i + 1);
  }
}

// reducer_states(terms): returns the terms as expressions, the two states that combine gets, and the dtypes.
static int f_reducer_states(lua_State *L) {
  const nw_expr *term[NWL_MAX_DIMS];
  int n = read_typed(L, 1, "term", NULL, dtype_of_terms(L, 1), term);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    nwl_push_expr(L, term[i]);
    lua_rawseti(L, -2, i + 1);
  }
  push_states(L, false, n, term);
  push_states(L, true, n, term);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, nw_dtype_name((nw_dtype)nw_expr_type(term[i]).dtype));
    lua_rawseti(L, -2, i + 1);
  }
  return 4;
}

// own_reduction(name, parts, init, combine, terms, axes)
static int f_own_reduction(lua_State *L) {
  const nw_expr *term[NWL_MAX_DIMS], *init[NWL_MAX_DIMS], *combine[NWL_MAX_DIMS];
  const char *part[NWL_MAX_DIMS];
  nw_axis *axes[NWL_MAX_DIMS];
  nw_own_reducer own = {.name = nwl_string(L, 1, "name"), .part = part, .init = init, .combine = combine};
  own.n = read_typed(L, 5, "term", NULL, -1, term);
  if (nwl_list_length(L, 2, NWL_MAX_DIMS, "names") != own.n || nwl_list_length(L, 3, NWL_MAX_DIMS, "init") != own.n ||
      nwl_list_length(L, 4, NWL_MAX_DIMS, "combine") != own.n)
    return nwl_fail(L, NW_EINVAL, NULL, "reducer %s: %d terms, %d inits, %d names, and combine returned %d values",
                    own.name, own.n, (int)lua_rawlen(L, 3), (int)lua_rawlen(L, 2), (int)lua_rawlen(L, 4));
  for (int i = 0; i < own.n; i++) {
    lua_rawgeti(L, 2, i + 1);
    part[i] = nwl_string(L, -1, "the name of a component");
  }
  read_typed(L, 3, "init", term, -1, init);
  read_typed(L, 4, "component", term, -1, combine);
  int n = read_axes(L, 6, axes);
  nwl_push_expr(L, nw_own_reduction(nwl_ctx(L), &own, term, n, axes));
  return 1;
}

// ---- compute

// The Lua library calls f_compute_begin, then the user's function, and then f_compute_end. If the user's function
// raises an error, the garbage collector frees the unfinished build.

static void drop_build(void *p) { nw_build_drop(p); }
const nwl_class nwl_build_class = {"build", "nestwright.build", NULL, NULL, NULL, NULL};

// Reads the names of n axes from the list at arg, and leaves them on the stack.
static void axis_names(lua_State *L, int arg, int n, const char **names) {
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, arg, i + 1);
    names[i] = nwl_string(L, -1, "axis name");
  }
}

static void push_axes(lua_State *L, const nw_build *b, int from, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    nwl_push_expr(L, nw_build_axis(b, from + i));
    lua_rawseti(L, -2, i + 1);
  }
}

static int f_compute_begin(lua_State *L) {
  const nw_expr *extent[NWL_MAX_DIMS];
  const char *names[NWL_MAX_DIMS];
  const char *name = nwl_string(L, 1, "name");
  int n = nwl_expr_list(L, 3, NWL_MAX_DIMS, extent, "shape");
  axis_names(L, 2, n, names);
  nwl_box *b = nwl_new(L, &nwl_build_class, drop_build);
  nwl_hold(b, nw_compute_begin(nwl_ctx(L), name, n, names, extent));
  if (!b->p) return nwl_raise(L);
  push_axes(L, b->p, 0, n);
  return 2;
}

static int f_compute_drop(lua_State *L) {
  nwl_box *b = luaL_testudata(L, 1, nwl_build_class.metatable);
  void *p = b ? b->p : NULL;
  if (b) b->p = NULL;
  if (p) nw_build_drop(p);
  return 0;
}

// Ends a compute. The unfinished build is freed even if an error is raised.
static int f_compute_end(lua_State *L) {
  const nw_expr *body[NWL_MAX_DIMS];
  nw_tensor *out[NWL_MAX_DIMS] = {0};
  nwl_check(L, 1, &nwl_build_class, "build");
  int n = nwl_list_length(L, 2, NWL_MAX_DIMS, "bodies");
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, 2, i + 1);
    body[i] = nwl_expr(L, lua_gettop(L), "body");
  }
  nwl_box *b = lua_touserdata(L, 1);
  nw_build *build = b->p;
  b->p = NULL;
  int made = nw_compute_end(build, n, body, out);
  if (made == 0) return nwl_raise(L);
  for (int i = 0; i < made; i++) nwl_push_tensor(L, out[i]);
  return made;
}

static int tensors(lua_State *L, int arg, nw_tensor **out, const char *name) {
  int n = nwl_list_length(L, arg, NWL_MAX_DIMS, name);
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, arg, i + 1);
    out[i] = nwl_check(L, -1, &nwl_tensor_class, name);
  }
  return n;
}

// Reads a list of indices; false stands for none. Leaves the indices on the stack.
static int read_bounds(lua_State *L, int arg, const nw_expr **out, const char *name) {
  int n = nwl_list_length(L, arg, NWL_MAX_DIMS, name);
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, arg, i + 1);
    out[i] = lua_isboolean(L, -1) ? NULL : nwl_index_expr(L, lua_gettop(L), name);
  }
  return n;
}

// compute_call(build, intrinsic, output, inputs, outer, parts, axes): a part is {tensor, begins, ends}.
static int f_compute_call(lua_State *L) {
  enum { PARTS = 8 };
  nw_tensor *input[NWL_MAX_DIMS];
  nw_axis *axes[NWL_MAX_DIMS];
  const nw_expr *begin[PARTS][NWL_MAX_DIMS], *end[PARTS][NWL_MAX_DIMS], *body[NWL_MAX_DIMS];
  nw_tensor_part part[PARTS];
  nw_build *b = nwl_check(L, 1, &nwl_build_class, "build");
  const char *name = nwl_string(L, 2, "intrinsic");
  nw_tensor *output = nwl_check(L, 3, &nwl_tensor_class, "output");
  int ninputs = tensors(L, 4, input, "inputs"), outer = (int)nwl_integer_or(L, 5, "outer", 0);
  int n = nwl_list_length(L, 6, PARTS, "parts"), nreduce = read_axes(L, 7, axes);
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 0; i < n; i++) {
    lua_rawgeti(L, 6, i + 1);
    int at = lua_gettop(L);
    lua_rawgeti(L, at, 1);
    part[i].of = nwl_check(L, -1, &nwl_tensor_class, "tensor");
    lua_rawgeti(L, at, 2);
    part[i].n = read_bounds(L, lua_gettop(L), begin[i], "begin of a range");
    lua_rawgeti(L, at, 3);
    read_bounds(L, lua_gettop(L), end[i], "end of a range");
    part[i].begin = begin[i], part[i].end = end[i];
  }
  int made = nw_build_call(b, name, output, ninputs, input, outer, n, part, nreduce, axes, body);
  if (!made) return nwl_raise(L);
  lua_createtable(L, made, 0);
  for (int i = 0; i < made; i++) {
    nwl_push_expr(L, body[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// ---- updates

static int f_update_begin(lua_State *L) {
  const nw_expr *lo[NWL_MAX_DIMS], *extent[NWL_MAX_DIMS];
  const char *names[NWL_MAX_DIMS];
  const char *name = nwl_string(L, 1, "name");
  nw_tensor *of = nwl_check(L, 2, &nwl_tensor_class, "tensor");
  int n = nwl_expr_list(L, 4, NWL_MAX_DIMS, lo, "begins");
  if (nwl_expr_list(L, 5, NWL_MAX_DIMS, extent, "extents") != n)
    return nwl_fail(L, NW_EINVAL, NULL, "the numbers of begins and of extents differ");
  axis_names(L, 3, n, names);
  nwl_box *b = nwl_new(L, &nwl_build_class, drop_build);
  nwl_hold(b, nw_update_begin(nwl_ctx(L), name, of, n, names, lo, extent));
  if (!b->p) return nwl_raise(L);
  push_axes(L, b->p, nw_build_outer_axes(b->p), n);
  nwl_push_tensor(L, nw_tensor_retain(nw_build_stage(b->p)));
  return 3;
}

// Ends an update. The unfinished build is freed even if an error is raised.
static int f_update_end(lua_State *L) {
  const nw_expr *index[NWL_MAX_DIMS];
  nwl_check(L, 1, &nwl_build_class, "build");
  bool some = !lua_isnoneornil(L, 3);
  int n = some ? nwl_expr_list(L, 2, NWL_MAX_DIMS, index, "index") : 0;
  const nw_expr *value = some ? nwl_expr(L, 3, "value") : NULL;
  const nw_expr *when = lua_isnoneornil(L, 4) ? NULL : nwl_expr(L, 4, "condition");
  nwl_box *b = lua_touserdata(L, 1);
  nw_build *build = b->p;
  nw_tensor *out;
  b->p = NULL;
  if (!nw_update_end(build, n, index, value, when, &out)) return nwl_raise(L);
  if (out) nwl_push_tensor(L, out);
  return out ? 1 : 0;
}

static int f_scan(lua_State *L) {
  nw_tensor *init[NWL_MAX_DIMS], *update[NWL_MAX_DIMS], *state[NWL_MAX_DIMS], *out[NWL_MAX_DIMS] = {0};
  const char *name = nwl_string(L, 1, "name");
  int n = tensors(L, 2, init, "init"), m = tensors(L, 3, update, "update"), k = tensors(L, 4, state, "state");
  if (n != m || n != k)
    return nwl_fail(L, NW_EINVAL, NULL, "scan: %d init, %d update and %d state tensors; the numbers must be equal", n,
                    m, k);
  if (!nw_scan(nwl_ctx(L), name, n, init, update, state, out)) return nwl_raise(L);
  luaL_checkstack(L, n + 8, NULL);
  for (int i = 0; i < n; i++) nwl_push_tensor(L, out[i]);
  return n;
}

// signature(x, sizes?): returns the inputs and outputs of x, which is a schedule or a list of outputs.
static int f_signature(lua_State *L) {
  nw_tensor *out[NWL_MAX_DIMS];
  const nw_sched *s = nwl_test(L, 1, &nwl_schedule_class);
  nw_program *made = s ? NULL : nw_te_program(nwl_ctx(L), tensors(L, 1, out, "outputs"), out);
  if (!s && !made) return nwl_raise(L);
  nwl_push_signature(L, s ? nw_sched_program(s) : made, 2);
  if (made) nw_program_release(made);
  return 1;
}

// sizes_from(x, arrays): returns the sizes that follow from the shapes of the arrays, by name.
static int f_sizes_from(lua_State *L) {
  nw_tensor *out[NWL_MAX_DIMS];
  nw_array *array[NWL_MAX_DIMS];
  const nw_sched *s = nwl_test(L, 1, &nwl_schedule_class);
  int n = nwl_list_length(L, 2, NWL_MAX_DIMS, "arrays");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, 2, i + 1);
    array[i] = nwl_check(L, -1, &nwl_array_class, "array");
  }
  nw_program *made = s ? NULL : nw_te_program(nwl_ctx(L), tensors(L, 1, out, "outputs"), out);
  if (!s && !made) return nwl_raise(L);
  const nw_program *p = s ? nw_sched_program(s) : made;
  int64_t size[NWL_MAX_DIMS];
  int nsizes = nw_program_sizes(p) <= NWL_MAX_DIMS ? nw_program_sizes(p) : 0;
  lua_newtable(L);
  if (nsizes) nw_sizes_from(p, n, array, size);
  for (int i = 0; i < nsizes; i++) {
    if (size[i] < 0) continue;
    lua_pushinteger(L, size[i]);
    lua_setfield(L, -2, nw_program_size(p, i));
  }
  if (made) nw_program_release(made);
  return 1;
}

// ---- tensors

static int tensor_call(lua_State *L) {
  nw_tensor *t = nwl_check(L, 1, &nwl_tensor_class, "tensor");
  const nw_expr *index[NWL_MAX_DIMS];
  int n = lua_gettop(L) - 1;
  if (n > NWL_MAX_DIMS) return nwl_fail(L, NW_ELIMIT, NULL, "%s: too many indices", nw_tensor_name(t));
  for (int i = 0; i < n; i++) {
    const char *name = lua_pushfstring(L, "index %d of %s", i + 1, nw_tensor_name(t));
    index[i] = nwl_index_expr(L, i + 2, name);
  }
  nwl_push_expr(L, nw_tensor_read(t, n, index));
  return 1;
}

static int tensor_tostring(lua_State *L) {
  nwl_push_text(L, nw_tensor_show(nwl_check(L, 1, &nwl_tensor_class, "tensor")));
  return 1;
}

// Pushes an extent as a Lua integer if the extent is constant, otherwise as an expression.
static void push_extent(lua_State *L, const nw_expr *e) {
  char *text = nw_expr_show(e), *end = NULL;
  long long v = text ? strtoll(text, &end, 10) : 0;
  bool constant = text && end != text && *end == '\0';
  free(text);
  if (constant) {
    lua_pushinteger(L, v);
  } else {
    nwl_push_expr(L, e);
  }
}

static int tensor_shape(lua_State *L) {
  nw_tensor *t = nwl_check(L, 1, &nwl_tensor_class, "tensor");
  int n = nw_tensor_ndim(t);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_extent(L, nw_tensor_dim(t, i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int tensor_name(lua_State *L) {
  lua_pushstring(L, nw_tensor_name(nwl_check(L, 1, &nwl_tensor_class, "tensor")));
  return 1;
}

static int tensor_dtype(lua_State *L) {
  lua_pushstring(L, nw_dtype_name(nw_tensor_dtype(nwl_check(L, 1, &nwl_tensor_class, "tensor"))));
  return 1;
}

static int tensor_ndim(lua_State *L) {
  lua_pushinteger(L, nw_tensor_ndim(nwl_check(L, 1, &nwl_tensor_class, "tensor")));
  return 1;
}

static int tensor_is_input(lua_State *L) {
  lua_pushboolean(L, nw_tensor_is_placeholder(nwl_check(L, 1, &nwl_tensor_class, "tensor")));
  return 1;
}

static const luaL_Reg tensor_meta[] = {{"__call", tensor_call}, {"__tostring", tensor_tostring}, {NULL, NULL}};
static const nwl_row tensor_methods[] = {
    {"shape", tensor_shape, "(self: nw.tensor): (integer|nw.expr)[]", "Returns the extents of the dimensions."},
    {NULL, NULL, NULL, NULL},
};
static const nwl_row tensor_fields[] = {
    {"name", tensor_name, "string",
     "The name in loop nests. In a schedule, the stage of the tensor has the same name."},
    {"dtype", tensor_dtype, "string", "The type of the elements."},
    {"ndim", tensor_ndim, "integer", "The number of dimensions."},
    {"is_input", tensor_is_input, "boolean", "True for a placeholder."},
    {NULL, NULL, NULL, NULL},
};
const nwl_class nwl_tensor_class = {"tensor",       "nestwright.tensor", "definitions",
                                    tensor_methods, tensor_fields,       tensor_meta};

const nwl_row nwl_te_rows[] = {
    {"size", f_size, "(name: string, min?: integer): nw.expr", "Makes a symbolic size whose value is at least `min`."},
    {"fact", f_fact, "(size: nw.expr, fact: nw.expr|string): nw.expr", "States a fact about a size."},
    {"placeholder", f_placeholder, "(shape: table, dtype: string, name: string): nw.tensor", "Makes an input."},
    {"scan_state", f_scan_state, "(shape: table, dtype: string, name: string): nw.tensor",
     "Makes the state of a scan that is defined later."},
    {"reduce_axis", f_reduce_axis, "(begin: integer|nw.expr, extent: integer|nw.expr, name: string): nw.axis",
     "Makes an axis to reduce over."},
    {"reduction", f_reduction, "(kind: string, term: nw.expr, axes: nw.axis[]): nw.expr",
     "Makes the reduction of a term over axes."},
    {"reduce_axis_between", f_reduce_axis_between,
     "(begin: integer|nw.expr, end: integer|nw.expr, within: integer|nw.expr|nil, name: string): nw.axis",
     "Makes an axis to reduce over, whose range depends on other axes or on data."},
    {"extent_is_fixed", f_extent_is_fixed, "(extent: integer|nw.expr): boolean",
     "True if the extent uses only constants and symbolic sizes."},
    {"reducer_states", f_reducer_states, "(terms: (nw.expr|number)[]): nw.expr[], nw.expr[], nw.expr[], string[]",
     "Returns the terms as expressions, the two states that a reducer combines, and their dtypes."},
    {"own_reduction", f_own_reduction,
     "(name: string, names: string[], init: number[], combine: nw.expr[], terms: nw.expr[], axes: nw.axis[]): nw.expr",
     "Makes the reduction of terms by a reducer that a user defines."},
    {"compute_begin", f_compute_begin, "(name: string, axes: string[], shape: table): userdata, nw.expr[]",
     "Begins a compute. Returns the unfinished compute and its axes."},
    {"compute_end", f_compute_end, "(build: userdata, bodies: nw.expr[]): nw.tensor ...",
     "Ends a compute. Returns its outputs."},
    {"compute_call", f_compute_call,
     "(build: userdata, intrinsic: string, output: nw.tensor, inputs: nw.tensor[], outer: integer, parts: table[], "
     "axes: nw.axis[]): nw.expr[]",
     "Returns the bodies of a compute whose elements are computed by calls of an intrinsic. A part is {tensor, begins, "
     "ends}; the end false stands for a single index."},
    {"compute_drop", f_compute_drop, "(build: userdata)", "Discards a compute."},
    {"update_begin", f_update_begin,
     "(name: string, of: nw.tensor, axes: string[], begins: table, extents: table): userdata, nw.expr[], nw.tensor",
     "Begins an update of a tensor. Returns the unfinished update, its axes, and the stage that it reads."},
    {"update_end", f_update_end, "(build: userdata, index?: table, value?: nw.expr, condition?: nw.expr): nw.tensor?",
     "Ends an update. Returns the tensor after the update; nothing if the update is inside another one. An update "
     "without "
     "a value consists of the updates inside it."},
    {"scan", f_scan, "(name: string, init: nw.tensor[], update: nw.tensor[], state: nw.tensor[]): nw.tensor ...",
     "Makes a recurrence over dimension 0. Returns its outputs."},
    {"sizes_from", f_sizes_from, "(x: nw.schedule|nw.tensor[], arrays: nw.array[]): table",
     "Returns the symbolic sizes that follow from the shapes of the first arguments, by name."},
    {"set_strides", f_set_strides, "(t: nw.tensor, strides: (integer|nw.expr)[]): nw.tensor",
     "Gives the array of a placeholder or an output strides, in elements."},
    {"signature", f_signature, "(x: nw.schedule|nw.tensor[], sizes?: table): {inputs: table[], outputs: table[]}",
     "Returns the inputs and outputs of a computation: name, dtype and dims of each. A dimension is a number if it is "
     "constant or the sizes are given, otherwise an expression of sizes."},
    {NULL, NULL, NULL, NULL},
};
