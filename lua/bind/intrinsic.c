// Registers intrinsics.
#include "bind.h"
#include <string.h>

#define MAX_ARGS 32

enum { TIMEOUT = 5, MAX_TIMEOUT = 3600 }; // seconds

// Returns the field as a string, which the table keeps alive; NULL if there is none.
static const char *text_field(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  const char *s = lua_isnil(L, -1) ? NULL : nwl_string(L, -1, name);
  lua_pop(L, 1);
  return s;
}

static bool true_field(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  bool v = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return v;
}

static int read_args(lua_State *L, nw_tensor **arg) {
  lua_getfield(L, 1, "args");
  int at = lua_gettop(L), n = nwl_list_length(L, at, MAX_ARGS, "args");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, at, i + 1);
    arg[i] = nwl_check(L, -1, &nwl_tensor_class, "args");
  }
  return n;
}

// Reads the strides: for each argument a list with one entry for each dimension. An entry is a number, or false if the
// stride is an argument of each call.
static void read_strides(lua_State *L, int n, int64_t stride[][NWL_MAX_DIMS], const int64_t **out) {
  lua_getfield(L, 1, "strides");
  int at = lua_gettop(L);
  nwl_table(L, at, "strides");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, at, i + 1);
    int list = lua_gettop(L), dims = nwl_list_length(L, list, NWL_MAX_DIMS, "strides");
    for (int d = 0; d < dims; d++, lua_pop(L, 1)) {
      lua_rawgeti(L, list, d + 1);
      stride[i][d] = lua_isboolean(L, -1) ? NW_ANY_STRIDE : nwl_integer(L, -1, "strides");
    }
    out[i] = stride[i];
  }
}

static int read_constants(lua_State *L, int64_t *constant) {
  lua_getfield(L, 1, "constants");
  if (lua_isnil(L, -1)) return 0;
  int at = lua_gettop(L), n = nwl_list_length(L, at, NWL_MAX_DIMS, "constants");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, at, i + 1);
    constant[i] = nwl_integer(L, -1, "constants");
  }
  return n;
}

enum { MOST_HELD = 256 }; // elements of a tile that the lanes of a warp hold

// Reads the fragments of an instruction of a warp: for each argument, the numbers of the elements that the lanes hold, or
// false.
static void read_fragments(lua_State *L, int n, int64_t fragment[][MOST_HELD], const int64_t **out) {
  lua_getfield(L, 1, "fragments");
  int at = lua_gettop(L);
  if (lua_isnil(L, at)) return;
  nwl_table(L, at, "fragments");
  for (int i = 0; i < n; i++, lua_pop(L, 1)) {
    lua_rawgeti(L, at, i + 1);
    if (!lua_toboolean(L, -1)) continue;
    int list = lua_gettop(L), held = nwl_list_length(L, list, MOST_HELD, "fragments");
    for (int e = 0; e < MOST_HELD; e++) fragment[i][e] = -1;
    for (int e = 0; e < held; e++, lua_pop(L, 1)) {
      lua_rawgeti(L, list, e + 1);
      fragment[i][e] = nwl_integer(L, -1, "fragments");
    }
    out[i] = fragment[i];
  }
}

static int f_intrinsic(lua_State *L) {
  nw_tensor *arg[MAX_ARGS];
  int64_t fragment[MAX_ARGS][MOST_HELD];
  const int64_t *fragments[MAX_ARGS] = {NULL};
  int64_t stride[MAX_ARGS][NWL_MAX_DIMS] = {{0}}, constant[NWL_MAX_DIMS];
  const int64_t *strides[MAX_ARGS] = {NULL};
  nwl_table(L, 1, "intrinsic");
  nw_intrinsic_spec s = {.name = text_field(L, "name"), .arg = arg, .stride = strides, .constant = constant};
  s.nargs = read_args(L, arg);
  read_strides(L, s.nargs, stride, strides);
  s.nconstants = read_constants(L, constant);
  s.init = !true_field(L, "accumulate");
  s.jump_safe = true_field(L, "jump_safe");
  s.shuffles = true_field(L, "shuffles");
  s.instruction = text_field(L, "instruction");
  s.chip = text_field(L, "chip");
  read_fragments(L, s.nargs, fragment, fragments);
  s.fragment = fragments;
  s.source = text_field(L, "source");
  s.library = text_field(L, "library");
  s.symbol = text_field(L, "symbol");
  s.special = text_field(L, "special");
  lua_getfield(L, 1, "timeout");
  s.timeout = nwl_number_or(L, -1, "timeout", TIMEOUT);
  if (!(s.timeout > 0 && s.timeout <= MAX_TIMEOUT))
    return nwl_fail(L, NW_ERANGE, NULL, "timeout: %g is not a number of seconds above 0 and at most %d", s.timeout,
                    MAX_TIMEOUT);
  nw_clear(nwl_ctx(L));
  const nw_intrinsic *in = nw_intrinsic_register(nwl_ctx(L), &s);
  if (!in) return nwl_raise(L);
  lua_pushstring(L, nw_intrinsic_id(in));
  lua_pushboolean(L, nw_intrinsic_is_jump_safe(in));
  return 2;
}

// Returns a list of {name, doc}.
static int f_instructions(lua_State *L) {
  const char *name, *doc;
  lua_newtable(L);
  for (int i = 0; nw_instruction_row(i, &name, &doc); i++) {
    lua_createtable(L, 0, 2);
    nwl_set_text(L, "name", name);
    nwl_set_text(L, "doc", doc);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// Returns the path of nestwright-xsmm.so; nil if the library was built without libxsmm.
static int f_xsmm(lua_State *L) {
  char path[4096];
  if (!nw_find_library("NESTWRIGHT_XSMM", "nestwright-xsmm.so", path, sizeof path)) return 0;
  lua_pushstring(L, path);
  return 1;
}

const nwl_row nwl_intrinsic_rows[] = {
    {"intrinsic", f_intrinsic, "(spec: table): string, boolean",
     "Registers an intrinsic. Returns its id, and whether it is jump-safe, i.e. can be interrupted at any time."},
    {"instructions", f_instructions, "(): {name: string, doc: string}[]",
     "Returns the instructions that the threads of a warp execute together."},
    {"xsmm_library", f_xsmm, "(): string?",
     "Returns the path of the module with libxsmm's kernels, if it is available."},
    {NULL, NULL, NULL, NULL},
};
