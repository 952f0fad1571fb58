// Makes expressions: operators, functions of ops.def, casts and literals.
#include "bind.h"
#include "ir/expr/expr.h"
#include "ir/expr/fold.h"
#include "te/te.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

// ---- literals

// A Lua number gets the dtype of the other operands. An integer that does not fit into this dtype is an error. If the
// other operands are integers, a Lua float is f32, and the result of the operation is f32. If all operands are Lua
// numbers, a float is f32, and an integer is i32. But if one of the integers does not fit into i32, all integers are
// i64.

// Makes a literal. `like` is the dtype of the other operands, or -1 if there are none.
static const nw_expr *literal(lua_State *L, int arg, int like, const char *name) {
  nw_pool *p = nwl_pool(L);
  if (lua_isboolean(L, arg)) return nw_int(p, NW_BOOL, lua_toboolean(L, arg));
  bool typed = like >= 0 && like != NW_BOOL;
  if (!lua_isinteger(L, arg)) {
    nw_dtype t = typed && nw_dtype_is_float((nw_dtype)like) ? (nw_dtype)like : NW_F32;
    return nw_float(p, t, lua_tonumber(L, arg));
  }
  lua_Integer v = lua_tointeger(L, arg);
  nw_dtype t = typed ? (nw_dtype)like : nw_fits(NW_I32, v) ? NW_I32 : NW_I64;
  if (nw_dtype_is_float(t)) return nw_float(p, t, (double)v);
  nwl_fits(L, t, v, name, typed ? "; or cast the other operand to a wider type, as in nw.cast(x, \"i32\")" : "");
  return nw_int(p, t, v);
}

// Returns the expression of an expression object or an axis; NULL for any other value.
static const nw_expr *object(lua_State *L, int arg) {
  const nw_expr *e = nwl_test(L, arg, &nwl_expr_class);
  if (e) return e;
  nw_axis *a = nwl_test(L, arg, &nwl_axis_class);
  return a ? nw_axis_var(a) : NULL;
}

static const nw_expr *operand(lua_State *L, int arg, int like, const char *name) {
  const nw_expr *e = object(L, arg);
  if (e) return e;
  if (lua_type(L, arg) == LUA_TNUMBER || lua_isboolean(L, arg)) return literal(L, arg, like, name);
  nw_tensor *t = nwl_test(L, arg, &nwl_tensor_class);
  const char *hint = t ? lua_pushfstring(L, "read an element of it: %s(i, ...)", nw_tensor_name(t)) : NULL;
  nwl_fail(L, NW_ETYPE, hint, "%s: expected an expression or a number, got %s", name, nwl_typename(L, arg));
  return NULL;
}

// Rejects Lua's booleans, because they usually come from a mistake: `i == 2` is Lua's false, and not a condition.
void nwl_not_lua_boolean(lua_State *L, int arg, const char *name) {
  if (lua_isboolean(L, arg))
    nwl_fail(L, NW_ETYPE, "Lua's == and ~= are evaluated immediately: write nw.eq(a, b) or nw.ne(a, b)",
             "%s: expected an expression, got %s", name, lua_toboolean(L, arg) ? "true" : "false");
}

const nw_expr *nwl_expr(lua_State *L, int arg, const char *name) { return operand(L, arg, -1, name); }
const nw_expr *nwl_expr_like(lua_State *L, int arg, int like, const char *name) { return operand(L, arg, like, name); }
const nw_expr *nwl_index_expr(lua_State *L, int arg, const char *name) {
  if (lua_type(L, arg) == LUA_TNUMBER) return nw_int(nwl_pool(L), NW_INDEX, nwl_integer(L, arg, name));
  return operand(L, arg, NW_INDEX, name);
}

// The expressions in `out` are valid as long as the list is on the stack.
int nwl_expr_list(lua_State *L, int arg, int max, const nw_expr **out, const char *name) {
  int n = nwl_list_length(L, arg, max, name);
  for (int i = 0; i < n; i++) {
    char entry[64];
    snprintf(entry, sizeof entry, "%s[%d]", name, i + 1);
    lua_rawgeti(L, arg, i + 1);
    out[i] = nwl_index_expr(L, lua_gettop(L), entry);
    lua_pop(L, 1);
  }
  return n;
}

// Returns i64 if one of the operands, which are all literals, is an integer that does not fit into i32. Otherwise
// returns -1, and each literal has its own dtype.
static int literal_type(lua_State *L, int first, int n) {
  for (int i = first; i < first + n; i++)
    if (lua_isinteger(L, i) && !nw_fits(NW_I32, lua_tointeger(L, i))) return NW_I64;
  return -1;
}

// Returns the dtype of the literals among the operands, which is the dtype to which the other operands are promoted. If
// all operands are literals, returns the result of literal_type.
static int common_type(lua_State *L, int first, int n) {
  int like = -1;
  for (int i = first; i < first + n; i++) {
    const nw_expr *e = object(L, i);
    if (!e) continue;
    nw_dtype t = (nw_dtype)nw_expr_type(e).dtype;
    like = like < 0 ? (int)t : (int)nw_dtype_promote((nw_dtype)like, t);
  }
  return like < 0 ? literal_type(L, first, n) : like;
}

static int apply(lua_State *L, nw_op op, int n) {
  static const char *const places[] = {"first", "second", "third"};
  const char *sign = nw_op_infix(op) ? nw_op_infix(op) : nw_op_name(op);
  const nw_expr *args[3];
  int like = common_type(L, 1, n);
  for (int i = 0; i < n; i++) {
    char name[40];
    snprintf(name, sizeof name, "%s%soperand of %s", n == 1 ? "" : places[i], n == 1 ? "" : " ", sign);
    args[i] = operand(L, 1 + i, like, name);
  }
  nwl_push_expr(L, nw_apply(nwl_pool(L), op, n, args));
  return 1;
}

// ---- metamethods

#define BINARY(name, op)                                                                                               \
  static int name(lua_State *L) { return apply(L, NW_OP_##op, 2); }
BINARY(meta_add, ADD)
BINARY(meta_sub, SUB)
BINARY(meta_mul, MUL)
BINARY(meta_div, DIV)
BINARY(meta_idiv, FLOORDIV)
BINARY(meta_mod, FLOORMOD)
BINARY(meta_pow, POW)
BINARY(meta_band, BITAND)
BINARY(meta_bor, BITOR)
BINARY(meta_bxor, BITXOR)
BINARY(meta_shl, SHL)
BINARY(meta_shr, SHR)
static int meta_unm(lua_State *L) { return apply(L, NW_OP_NEG, 1); }
static int meta_bnot(lua_State *L) { return apply(L, NW_OP_BITNOT, 1); }

static int meta_compare(lua_State *L) {
  return nwl_fail(
      L, NW_ETYPE,
      "write nw.lt(a, b), nw.le(a, b), nw.gt(a, b) or nw.ge(a, b); for == and ~=, nw.eq(a, b) or nw.ne(a, b)",
      "Lua evaluates < and <= immediately; they cannot make an expression");
}

// Compares two expressions over symbolic sizes, for example two extents M + 1. The expressions may come from different
// pools. For other expressions, == is an error, because Lua compares the objects immediately instead of making an
// expression. Lua calls this function only if both operands are userdata.
static int meta_equal(lua_State *L) {
  const nw_expr *a = object(L, 1), *b = object(L, 2);
  nw_pool *p = nwl_pool(L);
  if (!a || !b || !nw_speaks_of_sizes(a) || !nw_speaks_of_sizes(b))
    return nwl_fail(L, NW_ETYPE, "write nw.eq(a, b) or nw.ne(a, b)",
                    "Lua evaluates == and ~= immediately; they cannot make an expression");
  lua_pushboolean(L, nw_import(p, a) == nw_import(p, b));
  return 1;
}

static int meta_concat(lua_State *L) {
  luaL_tolstring(L, 1, NULL);
  luaL_tolstring(L, 2, NULL);
  lua_concat(L, 2);
  return 1;
}

static int expr_tostring(lua_State *L) {
  nwl_push_text(L, nw_expr_show(nwl_check(L, 1, &nwl_expr_class, "expression")));
  return 1;
}

static int expr_dtype(lua_State *L) {
  const nw_expr *e = nwl_check(L, 1, &nwl_expr_class, "expression");
  lua_pushstring(L, nw_dtype_name((nw_dtype)nw_expr_type(e).dtype));
  return 1;
}

static int axis_tostring(lua_State *L) {
  lua_pushfstring(L, "axis %s", nw_axis_name(nwl_check(L, 1, &nwl_axis_class, "axis")));
  return 1;
}

static int axis_name(lua_State *L) {
  lua_pushstring(L, nw_axis_name(nwl_check(L, 1, &nwl_axis_class, "axis")));
  return 1;
}

static int axis_var(lua_State *L) {
  nwl_push_expr(L, nw_axis_var(nwl_check(L, 1, &nwl_axis_class, "axis")));
  return 1;
}

#define ARITHMETIC                                                                                                     \
  {"__add", meta_add}, {"__sub", meta_sub}, {"__mul", meta_mul}, {"__div", meta_div}, {"__idiv", meta_idiv},           \
      {"__mod", meta_mod}, {"__pow", meta_pow}, {"__unm", meta_unm}, {"__lt", meta_compare}, {"__le", meta_compare},   \
      {"__eq", meta_equal}, {"__band", meta_band}, {"__bor", meta_bor}, {"__bxor", meta_bxor}, {"__bnot", meta_bnot},  \
      {"__shl", meta_shl}, {"__shr", meta_shr}, {                                                                      \
    "__concat", meta_concat                                                                                            \
  }

static const luaL_Reg expr_meta[] = {ARITHMETIC, {"__tostring", expr_tostring}, {NULL, NULL}};
static const luaL_Reg axis_meta[] = {ARITHMETIC, {"__tostring", axis_tostring}, {NULL, NULL}};
static const nwl_row expr_fields[] = {
    {"dtype", expr_dtype, "string", "The type of the value, such as 'f32', 'i64' or 'bool'."},
    {NULL, NULL, NULL, NULL},
};
static const nwl_row axis_fields[] = {
    {"name", axis_name, "string", "The name of the axis. Before any step, its loop has the same name."},
    {"var", axis_var, "nw.expr", "The index expression of the axis; arithmetic on the axis uses it."},
    {NULL, NULL, NULL, NULL},
};
const nwl_class nwl_expr_class = {"expr", "nestwright.expr", "expressions", NULL, expr_fields, expr_meta};
const nwl_class nwl_axis_class = {"axis", "nestwright.axis", "definitions", NULL, axis_fields, axis_meta};

// ---- functions

// Applies min, max, all or any to one or more values, from left to right.
static int fold(lua_State *L, nw_op op) {
  int n = lua_gettop(L);
  if (n == 0) return nwl_fail(L, NW_EINVAL, "give its operands, as (a, b)", "it needs at least one value");
  if (n == 1) {
    nwl_push_expr(L, operand(L, 1, -1, "operand"));
    return 1;
  }
  int like = common_type(L, 1, n);
  lua_pushvalue(L, 1);
  for (int i = 2; i <= n; i++) {
    const nw_expr *args[2] = {operand(L, n + 1, like, "operand"), operand(L, i, like, "operand")};
    nwl_push_expr(L, nw_apply(nwl_pool(L), op, 2, args));
    lua_replace(L, n + 1);
  }
  return 1;
}
static int f_SELECT(lua_State *L) {
  nwl_not_lua_boolean(L, 1, "condition");
  const nw_expr *cond = operand(L, 1, -1, "condition");
  int like = common_type(L, 2, 2);
  const nw_expr *a = operand(L, 2, like, "value if true"), *b = operand(L, 3, like, "value if false");
  nwl_push_expr(L, nw_select(nwl_pool(L), cond, a, b));
  return 1;
}

static int f_CAST(lua_State *L) {
  nw_dtype t = nwl_dtype(L, 2, "dtype");
  bool number = lua_isinteger(L, 1) && nw_dtype_is_int(t);
  if (number) nwl_fits(L, t, lua_tointeger(L, 1), "x", "");
  const nw_expr *e = number ? operand(L, 1, t, "x") : operand(L, 1, nw_dtype_is_float(t) ? (int)t : -1, "x");
  nwl_push_expr(L, nw_cast(nwl_pool(L), t, e));
  return 1;
}

static int f_REINTERPRET(lua_State *L) {
  nw_dtype t = nwl_dtype(L, 2, "dtype");
  nwl_push_expr(L, nw_reinterpret(nwl_pool(L), t, operand(L, 1, -1, "x")));
  return 1;
}

static int f_LDEXP(lua_State *L) {
  const nw_expr *x = operand(L, 1, -1, "x"), *n = operand(L, 2, -1, "n");
  nwl_push_expr(L, nw_ldexp(nwl_pool(L), x, n));
  return 1;
}

// Returns the mantissa and the exponent of a float.
static int f_frexp(lua_State *L) {
  const nw_expr *x = operand(L, 1, -1, "x");
  nw_pool *p = nwl_pool(L);
  const nw_expr *mantissa = nw_apply(p, NW_OP_MANTISSA, 1, &x), *exponent = nw_apply(p, NW_OP_EXPONENT, 1, &x);
  nwl_push_expr(L, mantissa);
  nwl_push_expr(L, exponent);
  return 2;
}

// Makes a variable with the given name. Layouts are expressions over such variables with the names "_0", "_1", ...
static int f_variable(lua_State *L) {
  const char *name = nwl_string(L, 1, "name");
  nw_clear(nwl_ctx(L));
  if (!nw_name_given(nwl_ctx(L), "a variable", name)) return nwl_raise(L);
  nwl_push_expr(L, nw_var(nwl_pool(L), name));
  return 1;
}

static int f_expr(lua_State *L) {
  nwl_push_expr(L, nwl_index_expr(L, 1, "value"));
  return 1;
}

// uses(x, axis): true if the value of x depends on the axis.
static int f_uses(lua_State *L) {
  const nw_expr *e = object(L, 1);
  nw_axis *a = nwl_check(L, 2, &nwl_axis_class, "axis");
  const nw_expr *var = nw_import(nwl_pool(L), nw_axis_var(a));
  e = e ? nw_import(nwl_pool(L), e) : NULL;
  lua_pushboolean(L, e && var && var->op == NW_OP_VAR && nw_uses_var(e, var->name));
  return 1;
}

static int f_dtypes(lua_State *L) {
  lua_createtable(L, NW_DTYPE_COUNT, 0);
  for (int i = 0; i < NW_DTYPE_COUNT; i++) {
    lua_pushstring(L, nw_dtype_name((nw_dtype)i));
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int f_dtype_elsewhere(lua_State *L) {
  lua_pushstring(L, nwl_dtype_elsewhere(L, nwl_string(L, 1, "name")));
  return 1;
}

static int f_promote(lua_State *L) {
  nw_dtype a = nwl_dtype(L, 1, "first dtype"), b = nwl_dtype(L, 2, "second dtype");
  lua_pushstring(L, nw_dtype_name(nw_dtype_promote(a, b)));
  return 1;
}

#define NW_FUNCTION_HIDDEN(id, n)
#define NW_FUNCTION_SPECIAL(id, n)
#define NW_FUNCTION_FOLDED(id, n)                                                                                      \
  static int f_##id(lua_State *L) { return fold(L, NW_OP_##id); }
#define NW_FUNCTION_FUNCTION(id, n)                                                                                    \
  static int f_##id(lua_State *L) { return apply(L, NW_OP_##id, n); }
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ulp, llvm_whole, llvm_real, offered, ...)                                                        \
  NW_FUNCTION_##offered(id, arity)
#define NW_DEFINED(id, name, arity, ...) NW_FUNCTION_FUNCTION(id, arity)
#include "ir/ops.def"

#define NW_ROW_HIDDEN(id, spoken, signature, doc)
#define NW_ROW_SPECIAL(id, spoken, signature, doc) {spoken, f_##id, signature, doc},
#define NW_ROW_FOLDED(id, spoken, signature, doc) NW_ROW_SPECIAL(id, spoken, signature, doc)
#define NW_ROW_FUNCTION(id, spoken, signature, doc) NW_ROW_SPECIAL(id, spoken, signature, doc)

// Returns the names of the operations of ops.def, which the Lua library exports.
static int f_operations(lua_State *L) {
  static const char *const names[] = {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ulp, llvm_whole, llvm_real, offered, spoken, signature, doc)                                     \
  spoken,
#define NW_DEFINED(id, name, ...) name,
#include "ir/ops.def"
  };
  lua_newtable(L);
  for (int i = 0; i < NW_COUNT(names); i++) {
    if (!names[i]) continue;
    lua_pushstring(L, names[i]);
    lua_rawseti(L, -2, luaL_len(L, -2) + 1);
  }
  return 1;
}

#define EXPR "nw.expr|nw.axis|number"
const nwl_row nwl_ir_rows[] = {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, c_prec, function,      \
              vector, ulp, llvm_whole, llvm_real, offered, spoken, signature, doc)                                     \
  NW_ROW_##offered(id, spoken, signature, doc)
#define NW_DEFINED(id, name, arity, definition, signature, doc) NW_ROW_FUNCTION(id, name, signature, doc)
#include "ir/ops.def"
    {"frexp", f_frexp, "(x: " EXPR "): nw.expr, nw.expr",
     "Returns the mantissa m and the exponent e of a float, with 0.5 <= |m| < 1 and x = ldexp(m, e)."},
    {"operations", f_operations, "(): string[]", "Returns the names of all operations on expressions."},
    {"variable", f_variable, "(name: string): nw.expr", "Returns the index variable `name`; layouts use _0, _1, ..."},
    {"expr", f_expr, "(value: " EXPR "): nw.expr", "Returns a number or an axis as an index expression."},
    {"uses", f_uses, "(x: nw.expr|nw.axis|number, axis: nw.axis): boolean", "True if x depends on the axis."},
    {"dtypes", f_dtypes, "(): string[]", "Returns the names of all dtypes."},
    {"dtype_elsewhere", f_dtype_elsewhere, "(name: string): string?",
     "Returns the dtype that has this name in other libraries: f32 for float32; nil for other names."},
    {"promote", f_promote, "(a: string, b: string): string",
     "Returns the dtype in which an operation on these two dtypes is computed."},
    {NULL, NULL, NULL, NULL},
};
