// Takes steps: reads the arguments of a primitive, and applies the primitive. Also lists the primitives as data.
//
// Lists are stored in userdata on the stack, so their memory is freed after the call, even if the call raises an error.
#include "bind.h"
#include <stdint.h>
#include <string.h>

static void *scratch(lua_State *L, size_t bytes) {
  return memset(lua_newuserdatauv(L, bytes ? bytes : 1, 0), 0, bytes);
}

static void read_arg(lua_State *L, int at, nw_arg_kind kind, const nw_param *p, nw_arg *out);

static void read_loop(lua_State *L, int at, const char *name, nw_arg *out) {
  if (lua_type(L, at) == LUA_TSTRING) {
    out->name = nwl_string(L, at, name);
    return;
  }
  if (!luaL_testudata(L, at, nwl_loop_class.metatable)) {
    nw_axis *axis = nwl_test(L, at, &nwl_axis_class);
    const char *hint = axis ? lua_pushfstring(L, "give its loop by name: \"%s\"", nw_axis_name(axis))
                            : "give a loop as a handle or by name";
    nwl_fail(L, NW_EINVAL, hint, "%s: expected a loop, got %s", name, nwl_typename(L, at));
  }
  out->i = (int)(intptr_t)nwl_check(L, at, &nwl_loop_class, "loop");
  nw_sched *theirs = nwl_loop_sched(L, at);
  if (theirs == nwl_check(L, 1, &nwl_schedule_class, "self")) return;
  const char *loop = nw_sched_loop_name(theirs, (int)out->i);
  nw_clear(nwl_ctx(L));
  nwl_fail(L, NW_EINVAL, "use a loop of this schedule, or a name", "%s: loop %s belongs to another schedule", name,
           loop ? loop : "(gone)");
}

void nwl_read_stage(lua_State *L, int at, const char *name, nw_arg *out) {
  nw_tensor *t = nwl_test(L, at, &nwl_tensor_class);
  if (t) {
    nwl_push_text(L, nw_sched_name_of(nwl_check(L, 1, &nwl_schedule_class, "self"), t)); // stays until the call ends
    out->name = lua_tostring(L, -1);
  } else if (lua_type(L, at) == LUA_TSTRING) {
    out->name = nwl_string(L, at, name);
  } else {
    nwl_fail(L, NW_EINVAL, NULL, "%s: expected a stage or a tensor, got %s", name, nwl_typename(L, at));
  }
}

// Reads a list. The table in the caller's frame keeps its items alive.
static void read_list(lua_State *L, int at, const nw_param *p, nw_arg *out) {
  nwl_table(L, at, p->name);
  out->n = nwl_list_length(L, at, NW_MAX_RESULTS, p->name);
  nw_arg *item = scratch(L, (size_t)out->n * sizeof *item);
  for (int i = 0; i < out->n; i++) {
    lua_rawgeti(L, at, i + 1);
    read_arg(L, lua_gettop(L), p->item, p, &item[i]);
  }
  out->item = item;
}

static void read_exprs(lua_State *L, int at, const nw_param *p, nw_arg *out) {
  const nw_expr **e = scratch(L, NWL_MAX_DIMS * sizeof *e);
  out->n = nwl_expr_list(L, at, NWL_MAX_DIMS, e, p->name);
  out->expr = e;
}

// Reads an expression that is given as a text or as an object. The caller's frame keeps the object alive.
static void read_written(lua_State *L, int at, const nw_param *p, nw_arg *out) {
  if (lua_type(L, at) == LUA_TSTRING) {
    out->name = nwl_string(L, at, p->name);
    return;
  }
  nwl_not_lua_boolean(L, at, p->name);
  const nw_expr **e = scratch(L, sizeof *e);
  *e = nwl_index_expr(L, at, p->name);
  out->expr = e;
  out->n = 1;
}

// Reads a loop or a stage, which may be given by its name.
static void read_stmt(lua_State *L, int at, const char *name, nw_arg *out) {
  if (luaL_testudata(L, at, nwl_loop_class.metatable))
    read_loop(L, at, name, out);
  else
    nwl_read_stage(L, at, name, out);
}

static void read_arg(lua_State *L, int at, nw_arg_kind kind, const nw_param *p, nw_arg *out) {
  luaL_checkstack(L, 16, NULL);
  out->kind = kind;
  switch (kind) {
  case NW_ARG_NONE: break;
  case NW_ARG_LOOP: read_loop(L, at, p->name, out); break;
  case NW_ARG_STAGE: nwl_read_stage(L, at, p->name, out); break;
  case NW_ARG_INT: out->i = nwl_integer(L, at, p->name); break;
  case NW_ARG_STR:
  case NW_ARG_INTRINSIC: out->name = nwl_string(L, at, p->name); break;
  case NW_ARG_LIST: read_list(L, at, p, out); break;
  case NW_ARG_EXPRS: read_exprs(L, at, p, out); break;
  case NW_ARG_EXPR:
  case NW_ARG_COND: read_written(L, at, p, out); break;
  case NW_ARG_STMT: read_stmt(L, at, p->name, out); break;
  case NW_ARG_NUMBER: out->f = nwl_number_or(L, at, p->name, 0); break;
  case NW_ARG_SIZE:
    if (lua_type(L, at) == LUA_TUSERDATA || lua_type(L, at) == LUA_TSTRING) {
      out->kind = NW_ARG_EXPR;
      read_written(L, at, p, out);
    } else {
      out->kind = NW_ARG_INT;
      out->i = nwl_integer(L, at, p->name);
    }
    break;
  case NW_ARG_VALUE:
    if (lua_type(L, at) == LUA_TSTRING)
      out->name = nwl_string(L, at, p->name);
    else
      out->i = nwl_integer(L, at, p->name);
    break;
  }
}

static int push_results(lua_State *L, const nw_results *r) {
  luaL_checkstack(L, r->n + 8, NULL);
  for (int i = 0; i < r->n; i++) {
    if (r->stage[i]) {
      lua_pushstring(L, r->stage[i]);
    } else {
      nwl_push_loop(L, 1, r->loop[i]);
    }
  }
  return r->n;
}

// Reads (self, primitive, {arguments by position}) and returns the primitive. An omitted argument is nil.
static const nw_primitive *read_step(lua_State *L, nw_arg *args) {
  const char *name = nwl_string(L, 2, "primitive");
  nwl_table(L, 3, "arguments");
  const nw_primitive *p = nw_primitive_find(name);
  if (!p) nwl_fail(L, NW_EINVAL, NULL, "there is no primitive named '%s'", name);
  for (int i = 0; i < NW_MAX_PARAMS && p->param[i].name; i++) {
    lua_rawgeti(L, 3, i + 1);
    if (!lua_isnil(L, -1)) read_arg(L, lua_gettop(L), p->param[i].kind, &p->param[i], &args[i]);
  }
  nw_clear(nwl_ctx(L));
  return p;
}

int nwl_apply(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "self");
  nw_arg args[NW_MAX_PARAMS] = {{0}};
  const nw_primitive *p = read_step(L, args);
  nw_results out = {0};
  if (!nw_sched_apply(s, p, args, &out)) return nwl_raise_step(L, s);
  return push_results(L, &out);
}

// ---- steps that are only tried

int nwl_try(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "self");
  nw_arg args[NW_MAX_PARAMS] = {{0}};
  const nw_primitive *p = read_step(L, args);
  char *why;
  nw_program *made = nw_sched_try(s, p, args, &why);
  bool legal = made;
  nw_program_release(made);
  lua_pushboolean(L, legal);
  if (legal) return 1;
  nwl_push_text(L, why);
  if (nw_error(nwl_ctx(L))) return nwl_raise(L); // an interrupt
  return 2;
}

static void push_arg(lua_State *L, const nw_arg *a) {
  luaL_checkstack(L, 8, NULL);
  if (a->kind == NW_ARG_LIST || a->kind == NW_ARG_EXPRS) {
    lua_createtable(L, a->n, 0);
    for (int i = 0; i < a->n; i++) {
      a->kind == NW_ARG_LIST ? push_arg(L, &a->item[i]) : nwl_push_expr(L, a->expr[i]);
      lua_rawseti(L, -2, i + 1);
    }
  } else if (a->kind == NW_ARG_EXPR || a->kind == NW_ARG_COND) {
    nwl_push_expr(L, a->expr[0]);
  } else if (a->kind == NW_ARG_NUMBER) {
    lua_pushnumber(L, a->f);
  } else if (a->name) {
    lua_pushstring(L, a->name);
  } else if (a->kind == NW_ARG_NONE) {
    lua_pushnil(L);
  } else {
    lua_pushinteger(L, a->i);
  }
}

static void release_random(void *p) { nw_random_step_free(p); }
static const nwl_class random_class = {"random_step", "nestwright.random_step", NULL, NULL, NULL, NULL};

int nwl_random_step(lua_State *L) {
  nw_sched *s = nwl_check(L, 1, &nwl_schedule_class, "self");
  uint64_t seed = (uint64_t)nwl_integer(L, 2, "seed");
  nwl_box *b = nwl_new(L, &random_class, release_random);
  const nw_random_step *r = nwl_hold(b, nw_sched_random_step(s, seed)); // frees r if Lua raises an error below
  if (!r) return nwl_raise(L);
  if (!r->primitive) return lua_pushnil(L), 1;
  lua_createtable(L, 0, 5);
  lua_pushstring(L, r->primitive->name);
  lua_setfield(L, -2, "primitive");
  lua_createtable(L, NW_MAX_PARAMS, 0);
  for (int i = 0; i < NW_MAX_PARAMS && r->primitive->param[i].name; i++) {
    push_arg(L, &r->args[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "arguments");
  lua_pushstring(L, r->text);
  lua_setfield(L, -2, "text");
  lua_pushinteger(L, r->draws);
  lua_setfield(L, -2, "draws");
  lua_pushinteger(L, r->refused);
  lua_setfield(L, -2, "refused");
  return 1;
}

// ---- the table of primitives

static const char *const arg_kinds[] = {"none", "loop", "stage", "int",  "str",   "list",      "exprs",
                                        "expr", "cond", "stmt",  "size", "value", "intrinsic", "number"};

static void push_param(lua_State *L, const nw_param *p) {
  lua_createtable(L, 0, 8);
  lua_pushstring(L, p->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, arg_kinds[p->kind]);
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, arg_kinds[p->item]);
  lua_setfield(L, -2, "item");
  lua_pushboolean(L, p->optional);
  lua_setfield(L, -2, "optional");
  lua_pushboolean(L, p->option);
  lua_setfield(L, -2, "option");
  lua_pushstring(L, p->choices);
  lua_setfield(L, -2, "choices");
  lua_pushboolean(L, p->open);
  lua_setfield(L, -2, "open");
  lua_pushstring(L, p->doc);
  lua_setfield(L, -2, "doc");
}

static void push_primitive(lua_State *L, const nw_primitive *p) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, p->name);
  lua_setfield(L, -2, "name");
  lua_pushstring(L, p->doc);
  lua_setfield(L, -2, "doc");
  lua_pushstring(L, p->example);
  lua_setfield(L, -2, "example");
  lua_pushstring(L, p->returns);
  lua_setfield(L, -2, "returns");
  lua_newtable(L);
  for (int i = 0; i < NW_MAX_PARAMS && p->param[i].name; i++) {
    push_param(L, &p->param[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "params");
}

int nwl_primitives(lua_State *L) {
  int n = nw_primitive_count();
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    push_primitive(L, nw_primitive_at(i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}
