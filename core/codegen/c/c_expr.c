// Writes expressions as C. Integers must wrap around on overflow. C does not define the overflow of signed integers, so
// operations on them are computed in unsigned types.
#include "codegen/c/c_dialect.h"
#include "codegen/c/c_vector.h"
#include <math.h>
#include <stdio.h>

// The precedence of operators in C, from ops.def. Some parentheses are written only because compilers warn if they are
// missing, for example around && inside ||.
#define TERNARY nw_op_c_prec(NW_OP_SELECT)
#define OR nw_op_c_prec(NW_OP_OR)
#define AND nw_op_c_prec(NW_OP_AND)
#define EQUAL nw_op_c_prec(NW_OP_EQ)
#define LESS nw_op_c_prec(NW_OP_LT)
#define SUM nw_op_c_prec(NW_OP_ADD)
#define PRODUCT nw_op_c_prec(NW_OP_MUL)
#define UNARY nw_op_c_prec(NW_OP_NEG)
#define PRIMARY nw_op_c_prec(NW_OP_VAR)

static void put(nwt *g, const nw_expr *e, int around);

static void paren(nwt *g, int mine, int around) {
  if (mine < around) nw_str_add(&g->out, "(");
}

static void unparen(nwt *g, int mine, int around) {
  if (mine < around) nw_str_add(&g->out, ")");
}

// ---- leaves

static void integer(nwt *g, const nw_expr *e, int around) {
  long long v = (long long)e->i;
  bool wide = e->type.dtype == NW_U64;
  int mine = v < 0 && !wide ? UNARY : PRIMARY;
  paren(g, mine, around);
  if (wide)
    nw_str_fmt(&g->out, "UINT64_C(%llu)", (unsigned long long)v);
  else if (e->i == INT64_MIN)
    nw_str_add(&g->out, "INT64_MIN");
  else if (e->type.dtype == NW_I32 && e->i == INT32_MIN)
    nw_str_add(&g->out, "INT32_MIN");
  else if (v > INT32_MAX || v < INT32_MIN)
    nw_str_fmt(&g->out, e->type.dtype == NW_U32 ? "%lldu" : "INT64_C(%lld)", v);
  else
    nw_str_fmt(&g->out, e->type.dtype == NW_U32 ? "%lldu" : "%lld", v);
  unparen(g, mine, around);
}

static void real(nwt *g, const nw_expr *e, int around) {
  bool single = e->type.dtype != NW_F64;
  double v = e->f;
  int mine = signbit(v) ? UNARY : PRIMARY;
  if (e->type.dtype == NW_F16 || e->type.dtype == NW_BF16) {
    char name[32];
    nw_str_fmt(&g->out, "%s(", nwt_call(g, NWT_NARROW, (nw_dtype)e->type.dtype, name, sizeof name));
  }
  paren(g, mine, around);
  nw_str text = {0};
  if (isnan(v) || isinf(v))
    nw_str_add(&text, isnan(v) ? "NAN" : v < 0 ? "-INFINITY" : "INFINITY");
  else
    nw_str_fmt(&text, single ? "%.9g" : "%.17g", v);
  bool plain = !isnan(v) && !isinf(v);
  nw_str_add(&g->out, text.s);
  if (plain && !strpbrk(text.s, ".e")) nw_str_add(&g->out, ".0");
  if (plain && single) nw_str_add(&g->out, "f");
  nw_str_free(&text);
  unparen(g, mine, around);
  if (e->type.dtype == NW_F16 || e->type.dtype == NW_BF16) nw_str_add(&g->out, ")");
}

// Writes a load that is executed only under a condition. Otherwise, its value is 0.
static void load_if(nwt *g, const nw_expr *e, int around) {
  paren(g, TERNARY, around);
  put(g, e->arg[1], OR);
  nw_str_fmt(&g->out, " ? %s[", nwt_name(g, e->name));
  put(g, e->arg[0], 0);
  nw_str_add(&g->out, e->type.dtype == NW_BOOL ? "] != 0 : 0" : "] : 0");
  unparen(g, TERNARY, around);
}

static void load(nwt *g, const nw_expr *e, int around) {
  int mine = e->type.dtype == NW_BOOL ? EQUAL : PRIMARY;
  if (e->n != 1 && !g->vectors && !g->dialect) nwt_fail(g, "a masked load of %s cannot be written in C", e->name);
  if (e->n != 1 && !nw_is_const(e->arg[1], 1)) {
    load_if(g, e, around);
    return;
  }
  paren(g, mine, around);
  nw_str_add(&g->out, nwt_name(g, e->name));
  if (!g->dialect || !nwk_in_register(g, e->name)) {
    nw_str_add(&g->out, "[");
    put(g, e->arg[0], 0);
    nw_str_add(&g->out, "]");
  }
  if (mine == EQUAL) nw_str_add(&g->out, " != 0");
  unparen(g, mine, around);
}

static void variable(nwt *g, const nw_expr *e, int around) {
  (void)around;
  nw_str_add(&g->out, nwt_name(g, e->name));
}

// ---- operators

static void infix(nwt *g, const nw_expr *a, const char *op, const nw_expr *b, int mine, int left, int right,
                  int around) {
  paren(g, mine, around);
  put(g, a, left);
  nw_str_fmt(&g->out, " %s ", op);
  put(g, b, right);
  unparen(g, mine, around);
}

static void call_of(nwt *g, const char *name, int n, const nw_expr *const *arg) {
  nw_str_fmt(&g->out, "%s(", name);
  for (int i = 0; i < n; i++) {
    if (i) nw_str_add(&g->out, ", ");
    put(g, arg[i], 0);
  }
  nw_str_add(&g->out, ")");
}

// Returns what follows the name of a function of <math.h> that takes values of the type of e.
static const char *suffix(const nwt *g, const nw_expr *e) {
  return e->type.dtype == NW_F64 || (g->dialect && !g->dialect->typed_functions) ? "" : "f";
}

// Writes a call of a function of <math.h>, for example of exp for f64 and of expf for other types.
static void real_call(nwt *g, const nw_expr *e) {
  char name[32];
  snprintf(name, sizeof name, "%s%s", nw_op_function((nw_op)e->op), suffix(g, e));
  call_of(g, name, e->n, e->arg);
}

static bool is_int(void *env, const nw_expr *e) {
  const nwt *g = env;
  bool wide = e->op == NW_OP_LOAD || e->op == NW_OP_CAST;
  for (int i = 0; e->op == NW_OP_VAR && i < g->p->nsizes; i++) wide |= !strcmp(e->name, g->p->size[i].name);
  for (int i = 0; e->op == NW_OP_VAR && i < g->launch->nvars; i++) wide |= e == g->launch->var[i];
  return !wide;
}

// True if all values in an index are of type int, for which CUDA C and OpenCL C have the functions min and max. Parameters
// of a kernel have 64 bits.
static bool is_short(nwt *g, const nw_expr *e) {
  return g->launch && g->narrow && e->type.dtype == NW_INDEX && nw_visit(e, is_int, g);
}

static void helper(nwt *g, nwt_helper h, const nw_expr *e) {
  char name[32];
  if ((h == NWT_MIN || h == NWT_MAX) && is_short(g, e)) return call_of(g, h == NWT_MIN ? "min" : "max", e->n, e->arg);
  call_of(g, nwt_call(g, h, (nw_dtype)e->type.dtype, name, sizeof name), e->n, e->arg);
}

static bool no_data(void *env, const nw_expr *e) {
  (void)env;
  return e->op != NW_OP_LOAD && e->op != NW_OP_CAST;
}

// True if C's operators give the right result. In C, too, unsigned arithmetic of 32 and 64 bits wraps around. An index that does
// not depend on loaded or converted values cannot overflow, because te/overflow.c checks it when a program is made and
// the generated function first checks the sizes. The arguments of a function for one lane are data.
static bool plain(const nwt *g, const nw_expr *e) {
  if (nw_dtype_is_float((nw_dtype)e->type.dtype) || e->type.dtype == NW_U32 || e->type.dtype == NW_U64) return true;
  return e->type.dtype == NW_INDEX && !g->lane && nw_visit(e, no_data, NULL);
}

static const char *unsigned_of(const nw_expr *e) {
  if (NW_MUTATED(c_signed_wraps)) return nw_dtype_bytes((nw_dtype)e->type.dtype) > 4 ? "int64_t" : "int32_t";
  return nw_dtype_bytes((nw_dtype)e->type.dtype) > 4 ? "uint64_t" : "uint32_t";
}

static void operand(nwt *g, const nw_expr *e, const char *type) {
  nw_str_fmt(&g->out, "(%s)", type);
  put(g, e, UNARY);
}

// Writes, for example, (int32_t)((uint32_t)a + (uint32_t)b).
static void wrapping(nwt *g, const nw_expr *e, const char *op, int around) {
  paren(g, UNARY, around);
  nw_str_fmt(&g->out, "(%s)(", nwt_type((nw_dtype)e->type.dtype));
  if (e->n == 1)
    nw_str_add(&g->out, "0");
  else
    operand(g, e->arg[0], unsigned_of(e));
  nw_str_fmt(&g->out, " %s ", op);
  operand(g, e->arg[e->n - 1], unsigned_of(e));
  nw_str_add(&g->out, ")");
  unparen(g, UNARY, around);
}

// True if e is a negative constant other than INT64_MIN. Sets *value to its absolute value. So a + -3 can be written as
// a - 3.
static bool negated(const nw_expr *e, int64_t *value) {
  return e->op == NW_OP_INT && e->i < 0 && e->i != INT64_MIN && (*value = -e->i, true);
}

static void add(nwt *g, const nw_expr *e, int around) {
  int64_t value;
  if (!plain(g, e)) {
    wrapping(g, e, "+", around);
  } else if (e->type.dtype == NW_INDEX && negated(e->arg[1], &value)) {
    paren(g, SUM, around);
    put(g, e->arg[0], SUM);
    nw_str_fmt(&g->out, " - %lld", (long long)value);
    unparen(g, SUM, around);
  } else {
    infix(g, e->arg[0], "+", e->arg[1], SUM, SUM, nw_dtype_is_float((nw_dtype)e->type.dtype) ? PRODUCT : SUM, around);
  }
}

static void multiply(nwt *g, const nw_expr *e, int around) {
  if (plain(g, e))
    infix(g, e->arg[0], "*", e->arg[1], PRODUCT, PRODUCT, UNARY, around);
  else
    wrapping(g, e, "*", around);
}

static void subtract(nwt *g, const nw_expr *e, int around) {
  if (plain(g, e))
    infix(g, e->arg[0], "-", e->arg[1], SUM, SUM, PRODUCT, around);
  else
    wrapping(g, e, "-", around);
}

static void negate(nwt *g, const nw_expr *e, int around) {
  if (!plain(g, e)) {
    wrapping(g, e, "-", around);
    return;
  }
  paren(g, UNARY, around);
  nw_str_add(&g->out, "-");
  put(g, e->arg[0], PRIMARY);
  unparen(g, UNARY, around);
}

// C computes ~ on narrow integers in int, so the result is converted back.
static void invert(nwt *g, const nw_expr *e, int around) {
  paren(g, UNARY, around);
  nw_str_fmt(&g->out, "(%s)~", nwt_type((nw_dtype)e->type.dtype));
  put(g, e->arg[0], UNARY);
  unparen(g, UNARY, around);
}

// Writes a shift by a constant, for example as (int32_t)((uint32_t)x << 3). Other shifts call a helper, because C does not
// define a shift by a negative count or by at least the width. Compilers for C shift negative numbers to the right as the
// language does.
static void shift(nwt *g, const nw_expr *e, int around) {
  bool left = e->op == NW_OP_SHL;
  int64_t n;
  if (!nw_is_int(e->arg[1], &n) || n < 0 || n >= 8 * nw_dtype_bytes((nw_dtype)e->type.dtype)) {
    helper(g, left ? NWT_SHL : NWT_SHR, e);
    return;
  }
  paren(g, UNARY, around);
  nw_str_fmt(&g->out, "(%s)(", nwt_type((nw_dtype)e->type.dtype));
  if (left)
    operand(g, e->arg[0], unsigned_of(e));
  else
    put(g, e->arg[0], UNARY);
  nw_str_fmt(&g->out, " %s %lld)", left ? "<<" : ">>", (long long)n);
  unparen(g, UNARY, around);
}

static void not(nwt * g, const nw_expr *e, int around) {
  paren(g, UNARY, around);
  nw_str_add(&g->out, "!");
  put(g, e->arg[0], PRIMARY);
  unparen(g, UNARY, around);
}

// True if C's / and %, which round towards zero, give the right result. They do if the type is unsigned, or if an index
// that is known not to be negative is divided by a positive constant.
static bool simple_division(nwt *g, const nw_expr *e) {
  int64_t by;
  if (!nw_dtype_is_signed((nw_dtype)e->type.dtype) || NW_MUTATED(c_division)) return true;
  if (e->type.dtype != NW_INDEX || !nw_is_int(e->arg[1], &by) || by <= 0) return false;
  return nw_prove(&g->ranges, nw_le(g->p->pool, nw_index(g->p->pool, 0), e->arg[0]));
}

static void floor_quotient(nwt *g, const nw_expr *e) {
  nw_str_fmt(&g->out, "floor%s(", suffix(g, e));
  infix(g, e->arg[0], "/", e->arg[1], PRODUCT, PRODUCT, UNARY, 0);
  nw_str_add(&g->out, ")");
}

static void divide(nwt *g, const nw_expr *e, int around) {
  bool div = e->op == NW_OP_FLOORDIV;
  if (!nw_dtype_is_float((nw_dtype)e->type.dtype)) {
    if (simple_division(g, e))
      infix(g, e->arg[0], div ? "/" : "%", e->arg[1], PRODUCT, PRODUCT, UNARY, around);
    else
      helper(g, div ? NWT_FLOORDIV : NWT_FLOORMOD, e);
    return;
  }
  if (div) {
    floor_quotient(g, e);
    return;
  }
  paren(g, SUM, around);
  put(g, e->arg[0], SUM);
  nw_str_add(&g->out, " - ");
  put(g, e->arg[1], UNARY);
  nw_str_add(&g->out, " * ");
  floor_quotient(g, e);
  unparen(g, SUM, around);
}

static void absolute(nwt *g, const nw_expr *e, int around) {
  if (nw_dtype_is_float((nw_dtype)e->type.dtype))
    real_call(g, e);
  else if (nw_dtype_is_signed((nw_dtype)e->type.dtype))
    helper(g, NWT_ABS, e);
  else
    put(g, e->arg[0], NW_MUTATED(c_abs_bare) ? 0 : around);
}

static void choose(nwt *g, const nw_expr *e, int around) {
  if (NW_MUTATED(c_select_bare)) around = 0;
  paren(g, TERNARY, around);
  put(g, e->arg[0], OR);
  nw_str_add(&g->out, " ? ");
  put(g, e->arg[1], OR);
  nw_str_add(&g->out, " : ");
  put(g, e->arg[2], TERNARY);
  unparen(g, TERNARY, around);
}

// ---- conversions

static bool half(nw_dtype t) { return t == NW_F16 || t == NW_BF16; }

// Writes the operand of a conversion. An operand of type f16 or bf16 is widened to f32.
static void source(nwt *g, const nw_expr *e, int around) {
  char name[32];
  if (half((nw_dtype)e->type.dtype))
    call_of(g, nwt_call(g, NWT_WIDEN, (nw_dtype)e->type.dtype, name, sizeof name), 1, &e);
  else
    put(g, e, around);
}

static void by_helper(nwt *g, nwt_helper h, nw_dtype to, const char *before, const nw_expr *e) {
  char name[32];
  nw_str_fmt(&g->out, "%s(%s", nwt_call(g, h, to, name, sizeof name), before);
  source(g, e, *before ? UNARY : 0);
  nw_str_add(&g->out, ")");
}

static void cast(nwt *g, const nw_expr *e, int around) {
  const nw_expr *a = e->arg[0];
  nw_dtype from = half((nw_dtype)a->type.dtype) ? NW_F32 : (nw_dtype)a->type.dtype, to = (nw_dtype)e->type.dtype;
  int mine = to == NW_BOOL ? EQUAL : UNARY;
  if (from == to) {
    source(g, a, around);
  } else if (half(to)) {
    by_helper(g, from == NW_F64 ? NWT_NARROW_F64 : NWT_NARROW, to, nw_dtype_is_float(from) ? "" : "(float)", a);
  } else if (to != NW_BOOL && nw_dtype_is_float(from) && !nw_dtype_is_float(to)) {
    by_helper(g, NWT_TO_INT, to, "", a);
  } else {
    paren(g, mine, around);
    if (to != NW_BOOL) nw_str_fmt(&g->out, "(%s)", nwt_type(to));
    source(g, a, to == NW_BOOL ? LESS : UNARY);
    if (to == NW_BOOL) nw_str_add(&g->out, " != 0");
    unparen(g, mine, around);
  }
}

// ---- bits of floats

static void reinterpret(nwt *g, const nw_expr *e, int around) {
  nw_dtype from = (nw_dtype)e->arg[0]->type.dtype, to = (nw_dtype)e->type.dtype;
  bool real = nw_dtype_is_float(to);
  char name[32];
  const char *unsigned_name[] = {"uint8_t", "uint16_t", "uint32_t", "uint64_t"};
  int bits = __builtin_ctz((unsigned)nw_dtype_bytes(to));
  paren(g, UNARY, around);
  if (real)
    nw_str_fmt(&g->out, "%s((%s)", nwt_call(g, NWT_OF_BITS, to, name, sizeof name), unsigned_name[bits]);
  else
    nw_str_fmt(&g->out, "(%s)%s(", nwt_type(to), nwt_call(g, NWT_BITS_OF, from, name, sizeof name));
  put(g, e->arg[0], real ? UNARY : 0);
  nw_str_add(&g->out, ")");
  unparen(g, UNARY, around);
}

static void exponent(nwt *g, const nw_expr *e, int around) {
  char name[32];
  (void)around;
  call_of(g, nwt_call(g, NWT_EXPONENT, (nw_dtype)e->arg[0]->type.dtype, name, sizeof name), 1, e->arg);
}

// ---- all expressions

#define OWN(function) function(g, e, around)
#define INFIX(sign, left, right) infix(g, e->arg[0], sign, e->arg[1], nw_op_c_prec((nw_op)e->op), left, right, around)
#define CALL real_call(g, e)
#define HELPER(h) helper(g, NWT_##h, e)
#define NONE nwt_fail(g, "%s cannot be written in C", nw_op_name((nw_op)e->op))
static void put(nwt *g, const nw_expr *e, int around) {
  if (e->type.lanes > 1) {
    nwv_expr(g, e, around);
    return;
  }
  switch (e->op) {
#define NW_OP(id, name, arity, types, sign, prec, whole, real, exact, cost_whole, cost_real, c, ...)                   \
  case NW_OP_##id:                                                                                                     \
    c;                                                                                                                 \
    break;
#include "ir/ops.def"
  default: NW_MUST(false);
  }
}

// The C text repeats a shared subexpression at each use. The number of operations in an expression is limited, because
// the text could otherwise become very long.
enum { MOST_NODES = 20000 };

static void put_whole(nwt *g, const nw_expr *e, int around) {
  if (e->size > MOST_NODES)
    nwt_fail(g, "an expression of %u operations is too long to be written in C", (unsigned)e->size);
  else
    put(g, e, around);
}

void nwt_expr(nwt *g, const nw_expr *e) { put_whole(g, e, 0); }

void nwt_operand(nwt *g, nw_op of, const nw_expr *e) {
  put_whole(g, e, NW_MUTATED(c_bound_bare) ? 0 : nw_op_c_prec(of) + 1);
}
