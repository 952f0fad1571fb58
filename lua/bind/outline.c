// Returns programs as data: their nests as rows, their signatures, and the values of expressions for given sizes.
#include "bind.h"
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static nw_sched *schedule_arg(lua_State *L) { return nwl_check(L, 1, &nwl_schedule_class, "schedule"); }

// ---- sizes by name

typedef struct sizes {
  int n;
  const char *name[NWL_MAX_DIMS];
  int64_t value[NWL_MAX_DIMS];
} sizes;

// Reads the sizes from a table, and ignores entries that are not named integers. The names belong to the table, which
// stays on the stack.
static void read_sizes(lua_State *L, int arg, sizes *to) {
  to->n = 0;
  if (lua_isnoneornil(L, arg)) return;
  nwl_table(L, arg, "sizes");
  for (lua_pushnil(L); lua_next(L, arg); lua_pop(L, 1)) {
    int is_number = 0;
    lua_Integer v = lua_tointegerx(L, -1, &is_number);
    if (lua_type(L, -2) != LUA_TSTRING || !is_number || to->n == NWL_MAX_DIMS) continue;
    to->name[to->n] = lua_tostring(L, -2);
    to->value[to->n++] = v;
  }
}

// size_value(text, sizes): returns an integer, or a boolean for a condition, or nil if the value is unknown.
static int f_size_value(lua_State *L) {
  const char *text = nwl_string(L, 1, "text");
  sizes s;
  int64_t v;
  bool is_condition;
  read_sizes(L, 2, &s);
  nw_clear(nwl_ctx(L));
  if (!nw_size_value(nwl_ctx(L), text, s.n, s.name, s.value, &v, &is_condition)) return 0;
  if (is_condition)
    lua_pushboolean(L, v != 0);
  else
    lua_pushinteger(L, v);
  return 1;
}

// operation_count(s, version, sizes)
static int f_operation_count(lua_State *L) {
  const nw_sched *s = schedule_arg(L);
  sizes x;
  read_sizes(L, 3, &x);
  double n = nw_sched_operations(s, nwl_count_or(L, 2, "version", 0, INT_MAX, 0), x.n, x.name, x.value);
  if (n < 0) return 0;
  lua_pushnumber(L, n);
  return 1;
}

// ---- signatures

typedef struct dims { // functions that return a number of each dimension, or a text if it has no value yet
  bool (*at)(const nw_program *p, int i, int dim, int n, const char *const *names, const int64_t *values, int64_t *out);
  char *(*text)(const nw_program *p, int i, int dim);
} dims;

// Sets a field of the table on top: a list with an entry for each dimension of parameter i.
static void set_dims(lua_State *L, const char *field, const nw_program *p, int i, const dims *of, const sizes *s) {
  lua_newtable(L);
  for (int d = 0; d < nw_program_rank(p, i); d++) {
    int64_t v;
    if (of->at(p, i, d, s->n, s->name, s->value, &v))
      lua_pushinteger(L, v);
    else
      nwl_push_text(L, of->text(p, i, d));
    lua_rawseti(L, -2, d + 1);
  }
  lua_setfield(L, -2, field);
}

void nwl_push_signature(lua_State *L, const nw_program *p, int arg) {
  static const dims extents = {nw_program_extent_at, nw_program_extent},
                    strides = {nw_program_stride_at, nw_program_stride};
  sizes s;
  read_sizes(L, arg, &s);
  lua_createtable(L, 0, 2);
  for (int output = 0; output < 2; output++) {
    lua_newtable(L);
    for (int i = 0, n = 0; i < nw_program_parameters(p); i++) {
      if (nw_program_is_output(p, i) != output) continue;
      lua_createtable(L, 0, 4);
      nwl_set_text(L, "name", nw_program_buffer(p, i));
      nwl_set_text(L, "dtype", nw_dtype_name(nw_program_buffer_dtype(p, i)));
      set_dims(L, "dims", p, i, &extents, &s);
      if (nw_program_has_strides(p, i)) set_dims(L, "strides", p, i, &strides, &s);
      lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, output ? "outputs" : "inputs");
  }
}

// pack(s, name, array, packs, sizes)
static int f_pack(lua_State *L) {
  nw_sched *s = schedule_arg(L);
  nw_arg arg = {0};
  lua_settop(L, 5);
  nwl_read_stage(L, 2, lua_toboolean(L, 4) ? "pack: tensor" : "unpack: tensor", &arg);
  nw_array *a = nwl_array(L, 3, "data");
  sizes x;
  read_sizes(L, 5, &x);
  nw_clear(nwl_ctx(L));
  nw_array *to = nw_pack(nwl_ctx(L), nw_sched_program(s), arg.name, a, lua_toboolean(L, 4), x.n, x.name, x.value);
  if (!to) return nwl_raise(L);
  if (to != a) return nwl_push_array(L, to), 1;
  nw_array_release(to);
  return lua_pushvalue(L, 3), 1;
}

// ---- nests

static void push_row(lua_State *L, const nw_outline_row *r) {
  lua_createtable(L, 0, 12);
  nwl_set_text(L, "kind", r->kind);
  nwl_set_text(L, "name", r->name);
  nwl_set_text(L, "mark", r->mark);
  nwl_set_text(L, "axis", r->axis);
  nwl_set_count(L, "id", r->id);
  nwl_set_count(L, "depth", r->depth);
  if (r->extent >= 0) nwl_set_count(L, "extent", r->extent);
  nwl_set_text(L, "text", r->text);
  lua_pushboolean(L, r->unsafe);
  lua_setfield(L, -2, "unsafe");
  lua_pushboolean(L, r->tested);
  lua_setfield(L, -2, "tested");
  lua_pushboolean(L, r->stream);
  lua_setfield(L, -2, "stream");
  lua_pushboolean(L, r->async);
  lua_setfield(L, -2, "async");
}

// rank(s, name): the number of dimensions of a tensor; nil if there is no such tensor.
static int f_rank(lua_State *L) {
  const nw_program *p = nw_sched_program(schedule_arg(L));
  const char *name = nwl_string(L, 2, "name");
  for (int i = 0; i < nw_program_buffers(p); i++)
    if (!strcmp(nw_program_buffer(p, i), name)) return lua_pushinteger(L, nw_program_rank(p, i)), 1;
  return 0;
}

static int f_outline(lua_State *L) {
  nw_outline_row *row;
  int n = nw_program_outline(nw_sched_program(schedule_arg(L)), &row);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_row(L, &row[i]);
    lua_rawseti(L, -2, i + 1);
  }
  nw_outline_free(n, row);
  return 1;
}

static void push_access(lua_State *L, const nw_stage_facts *f, const nw_access_facts *a) {
  lua_createtable(L, 0, 3);
  nwl_set_text(L, "tensor", a->tensor);
  nwl_set_text(L, "dtype", nw_dtype_name(a->dtype));
  lua_createtable(L, a->ndim, 0);
  for (int d = 0; d < a->ndim; d++) {
    lua_createtable(L, f->naxes, 0);
    for (int v = 0; v < f->naxes && a->affine[d]; v++) {
      lua_pushinteger(L, a->coef[d * f->naxes + v]);
      lua_rawseti(L, -2, v + 1);
    }
    lua_rawseti(L, -2, d + 1);
  }
  lua_setfield(L, -2, "index");
}

// stage_facts(s, stage)
static int f_stage_facts(lua_State *L) {
  nw_stage_facts f;
  if (!nw_program_stage(nw_sched_program(schedule_arg(L)), nwl_string(L, 2, "stage"), &f)) return 0;
  lua_createtable(L, 0, 5);
  lua_createtable(L, f.naxes, 0);
  for (int v = 0; v < f.naxes; v++) {
    lua_createtable(L, 0, 3);
    nwl_set_text(L, "name", f.axis[v].name);
    if (f.axis[v].extent >= 0) nwl_set_integer(L, "extent", f.axis[v].extent);
    nwl_set_flag(L, "reduced", f.axis[v].reduced);
    lua_rawseti(L, -2, v + 1);
  }
  lua_setfield(L, -2, "axes");
  lua_createtable(L, f.naccesses - 1, 0);
  for (int i = 0; i < f.naccesses; i++) {
    push_access(L, &f, &f.access[i]);
    if (i)
      lua_rawseti(L, -2, i);
    else
      lua_setfield(L, -3, "result");
  }
  lua_setfield(L, -2, "reads");
  nwl_set_flag(L, "reduction", f.reduction);
  nwl_set_flag(L, "product", f.product);
  nwl_set_flag(L, "copy", f.copy);
  nw_stage_facts_free(&f);
  return 1;
}

static int f_tested(lua_State *L) {
  int n = nw_program_tested(nw_sched_program(schedule_arg(L)));
  if (n) lua_pushinteger(L, n);
  return n ? 1 : 0;
}

static int f_is_unsafe(lua_State *L) {
  lua_pushboolean(L, nw_program_unsafe(nw_sched_program(schedule_arg(L))));
  return 1;
}

static int f_program_name(lua_State *L) {
  lua_pushstring(L, nw_program_name(nw_sched_program(schedule_arg(L))));
  return 1;
}

static void push_ids(lua_State *L, int n, const int *id) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, id[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

// Returns the folded text of the lowered program, and for each of its lines the id of the statement, or 0.
static int f_folded(lua_State *L) {
  const char *pass = nwl_string_or(L, 2, "pass", NULL);
  int n = 0, *id = NULL;
  char *text = nw_lower_folded(nwl_ctx(L), nw_sched_program(schedule_arg(L)), pass, &id, &n);
  if (!text) return nwl_raise(L);
  nwl_push_text(L, text);
  push_ids(L, n, id);
  free(id);
  return 2;
}

// Returns, for each line of the lowered program, the id of its statement; 0 if the line has no statement.
static int f_line_ids(lua_State *L) {
  int n = 0, *id = nw_lower_line_ids(nwl_ctx(L), nw_sched_program(schedule_arg(L)), &n);
  if (!id) return nwl_raise(L);
  push_ids(L, n, id);
  free(id);
  return 1;
}

// own_loops(s, stage, kind?)
static int f_own_loops(lua_State *L) {
  static const char *const kinds[] = {"own", "axis", "reduce", NULL};
  enum { MOST = 512 };
  nw_sched *s = schedule_arg(L);
  const char *stage = nwl_string(L, 2, "stage");
  int kind = nwl_choice(L, 3, "kind", kinds, 0), ids[MOST];
  nw_clear(nwl_ctx(L));
  int n = kind ? nw_sched_axis_loops(s, stage, kind == 2, MOST, ids) : nw_sched_own_loops(s, stage, MOST, ids);
  if (n == 0 && nw_error(nwl_ctx(L))) return nwl_raise(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    nwl_push_loop(L, 1, ids[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int f_version_count(lua_State *L) {
  lua_pushinteger(L, nw_sched_versions(schedule_arg(L)));
  return 1;
}

enum { MOST_STAGES = 512 };

static int push_names(lua_State *L, int n, const char *const *names) {
  if (n == 0 && nw_error(nwl_ctx(L))) return nwl_raise(L);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, names[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

// neighbours(s, stage, which)
static int f_neighbours(lua_State *L) {
  static const char *const kinds[] = {"readers", "sources", NULL};
  nw_sched *s = schedule_arg(L);
  const char *names[MOST_STAGES], *stage = nwl_string(L, 2, "stage");
  bool sources = nwl_choice(L, 3, "which", kinds, 0) == 1;
  nw_clear(nwl_ctx(L));
  return push_names(L, nw_sched_neighbours(s, stage, sources, MOST_STAGES, names), names);
}

const nwl_row nwl_outline_rows[] = {
    {"neighbours", f_neighbours, "(s: nw.schedule, stage: string, which: 'readers'|'sources'): string[]",
     "Returns the names of the stages that read a stage, or of the stages that it reads."},
    {"version_count", f_version_count, "(s: nw.schedule): integer",
     "Returns the number of versions, including version 0, the naive program."},
    {"own_loops", f_own_loops, "(s: nw.schedule, stage: string, kind?: 'own'|'axis'|'reduce'): nw.loop[]",
     "Returns the loops of a stage's own nest. For 'axis' and 'reduce', returns the loops that the stage had when it "
     "was "
     "made; steps may have replaced them."},
    {"rank", f_rank, "(s: nw.schedule, name: string): integer?",
     "The number of dimensions of a tensor of the program."},
    {"outline", f_outline, "(s: nw.schedule): table[]",
     "Returns the rows of the scheduled nest, outer statements first. A row has kind (loop, stage, guard, storage, "
     "prefetch or call), name, id, depth, unsafe, tested, and text for display. The row of a loop also has mark. It "
     "has extent "
     "if the extent is constant and the loop begins at 0. The row of a stage also has stream, and axis: its last axis "
     "that is not a reduction axis."},
    {"stage_facts", f_stage_facts, "(s: nw.schedule, stage: string): table?",
     "Returns what the block of a stage computes: axes (name, extent if it is constant, reduced), result and reads "
     "(tensor, dtype, index), reduction, product (a sum of products of two elements) and copy. The index has for each "
     "dimension a list of the coefficients of the axes, which is empty if the index is not affine. Returns nil if "
     "there "
     "is no such stage."},
    {"lowered_line_ids", f_line_ids, "(s: nw.schedule): integer[]",
     "Returns, for each line of the lowered program, the id of its statement; 0 if the line has no statement."},
    {"lowered_folded", f_folded, "(s: nw.schedule, pass?: string): string, integer[]",
     "Returns the lowered program as text in which statements that unrolled loops repeated are folded, and for each "
     "line "
     "the id of its statement, or 0."},
    {"program_name", f_program_name, "(s: nw.schedule): string", "Returns the name of the program."},
    {"tested", f_tested, "(s: nw.schedule): integer?",
     "If a rewrite or a reducer of this version was tested, but not proved: the least number of values on which one "
     "was tested."},
    {"is_unsafe", f_is_unsafe, "(s: nw.schedule): boolean",
     "True if a step of this version was not proven legal (s:unsafe)."},
    {"operation_count", f_operation_count, "(s: nw.schedule, version: integer, sizes: table): number?",
     "Returns the number of operations of one run of a version at these sizes; nil if this depends on data."},
    {"pack", f_pack,
     "(s: nw.schedule, tensor: nw.tensor|string, data: nw.array, packs: boolean, sizes?: table): nw.array",
     "Converts data from the shape of the computation to the shape of an argument of the kernel, or back."},
    {"size_value", f_size_value, "(text: string, sizes: table): integer|boolean|nil",
     "Returns the value of an extent or a condition for given sizes. The text has the syntax of expressions in the "
     "arguments of steps, for example 'M // 16 + 1'."},
    {NULL, NULL, NULL, NULL},
};
