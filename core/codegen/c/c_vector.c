// Writes expressions on vectors. Operations that GNU C has on vectors are written as such. Helpers compute the others,
// where x86 has an instruction, or a function computes them lane by lane.
#include "codegen/c/c_vector.h"
#include <stdio.h>
#include <stdlib.h>

#define SUM nw_op_c_prec(NW_OP_ADD)
#define UNARY nw_op_c_prec(NW_OP_NEG)
#define LESS nw_op_c_prec(NW_OP_LT)

static void paren(nwt *g, int mine, int around) {
  if (mine < around) nw_str_add(&g->out, "(");
}

static void unparen(nwt *g, int mine, int around) {
  if (mine < around) nw_str_add(&g->out, ")");
}

static void add(nwt *g, const char *text) { nw_str_add(&g->out, text); }

static nw_dtype dtype(const nw_expr *e) { return (nw_dtype)e->type.dtype; }

static int bytes_of(const nw_expr *e) { return nw_dtype_bytes(dtype(e)); }

// Writes the start of a conversion that keeps the bits: "(nw_i32x8)".
static void as(nwt *g, nw_dtype t, int lanes) {
  add(g, "(");
  nwv_type(g, &g->out, t, lanes);
  add(g, ")");
}

static bool constant(const nw_expr *e, int64_t *value) {
  return nw_is_int(e->op == NW_OP_BROADCAST ? e->arg[0] : e, value);
}

// ---- vectors made from scalars

static void splat(nwt *g, nw_dtype t, int lanes, const nw_expr *e) {
  nwv_call(g, NWV_SPLAT, t, lanes);
  nwt_expr(g, e);
  add(g, ")");
}

// Writes the numbers 0, stride, 2*stride, ... as a constant.
static void numbers(nwt *g, nw_dtype t, int lanes, int64_t stride) {
  as(g, t, lanes);
  add(g, "{");
  for (int l = 0; l < lanes; l++) nw_str_fmt(&g->out, "%s%lld", l ? ", " : "", (long long)(l * stride));
  add(g, "}");
}

static void ramp(nwt *g, const nw_expr *e, int around) {
  int64_t stride;
  paren(g, SUM, around);
  splat(g, dtype(e), e->type.lanes, e->arg[0]);
  add(g, " + ");
  if (nw_is_int(e->arg[1], &stride)) {
    numbers(g, dtype(e), e->type.lanes, stride);
  } else {
    splat(g, dtype(e), e->type.lanes, e->arg[1]);
    add(g, " * ");
    numbers(g, dtype(e), e->type.lanes, 1);
  }
  unparen(g, SUM, around);
}

// ---- memory

static bool constant_ramp(const nw_expr *index, int64_t *stride) {
  if (index->op == NW_OP_BROADCAST) return *stride = 0, true;
  return index->op == NW_OP_RAMP && nw_is_int(index->arg[1], stride);
}

void nwv_access(nwt *g, nwt_vhelper form, const char *buffer, const nw_expr *index, nw_dtype t, const nw_expr *mask) {
  int64_t stride;
  bool line = constant_ramp(index, &stride);
  const nw_expr *first = line || index->op == NW_OP_RAMP ? index->arg[0] : NULL;
  int step = line && stride == 1 ? 0 : first ? 2 : 4; // from a line to a constant distance, and to any indices
  nwv_call(g, (nwt_vhelper)((int)form + step + (mask != NULL)), t, index->type.lanes);
  nw_str_add(&g->out, nwt_name(g, buffer));
  if (first && !nw_is_const(first, 0)) {
    add(g, " + ");
    nwt_operand(g, NW_OP_ADD, first);
  }
  if (step) add(g, ", ");
  if (line && step)
    nw_str_fmt(&g->out, "%lld", (long long)stride);
  else if (step)
    first ? nwt_expr(g, index->arg[1]) : nwv_expr(g, index, 0);
  if (!mask) return;
  add(g, ", ");
  nwv_mask_expr(g, mask, nw_dtype_bytes(nwv_element(t)), 0);
}

// Compares the numbers in each lane of two constant ramps. The rules of the simplifier decide, which know that data wrap.
static int known_comparison(const nw_expr *e) {
  int64_t stride, holds;
  bool all = true, none = true;
  if (!constant_ramp(e->arg[0], &stride) || !constant_ramp(e->arg[1], &stride)) return -1;
  for (int l = 0; l < e->type.lanes && (all || none); l++) {
    const nw_expr *a = nw_take_lanes(e->arg[0], l, 1), *b = nw_take_lanes(e->arg[1], l, 1);
    bool known = nw_is_int(nw_make2(e->pool, (nw_op)e->op, a, b), &holds);
    all = all && known && holds;
    none = none && known && !holds;
  }
  return all ? 1 : none ? 0 : -1;
}

int nwv_known(const nw_expr *e) {
  int64_t value;
  int a, b;
  switch (e->op) {
  case NW_OP_BROADCAST: return nw_is_int(e->arg[0], &value) ? value != 0 : -1;
  case NW_OP_NOT: a = nwv_known(e->arg[0]); return a < 0 ? -1 : !a;
  case NW_OP_AND:
    a = nwv_known(e->arg[0]);
    b = nwv_known(e->arg[1]);
    return !a || !b ? 0 : a < 0 || b < 0 ? -1 : 1;
  case NW_OP_LT:
  case NW_OP_LE:
  case NW_OP_EQ:
  case NW_OP_NE: return known_comparison(e);
  default: return -1;
  }
}

static void load(nwt *g, const nw_expr *e) {
  int known = e->n > 1 ? nwv_known(e->arg[1]) : 1;
  const nw_expr *mask = known < 0 ? e->arg[1] : NULL;
  if (!known) {
    nwv_call(g, NWV_SPLAT, dtype(e), e->type.lanes);
    add(g, "0)");
    return;
  }
  if (!mask && e->arg[0]->op == NW_OP_BROADCAST) {
    const nw_expr *one = nw_load(e->pool, (nw_type){e->type.dtype, 1}, e->name, 1, &e->arg[0]->arg[0]);
    nwv_call(g, NWV_SPLAT, dtype(e), e->type.lanes);
    nw_str_fmt(&g->out, "%s[", nwt_name(g, one->name));
    nwt_expr(g, one->arg[0]);
    add(g, "])");
    return;
  }
  nwv_access(g, NWV_LOAD, e->name, e->arg[0], dtype(e), mask);
  add(g, ")");
}

// ---- operations without a form of their own: lane by lane

static const nw_expr *scalar_of(nwt *g, const nw_expr *e) {
  const nw_expr *arg[4];
  nw_pool *pool = g->p->pool;
  for (int i = 0; i < e->n; i++) {
    const nw_expr *a = e->arg[i];
    char name[32];
    snprintf(name, sizeof name, "lane.%d.%s", i, nw_dtype_name(dtype(a)));
    bool same = a->op == NW_OP_BROADCAST && a->arg[0]->n == 0 && a->arg[0]->op != NW_OP_VAR;
    arg[i] = same ? a->arg[0] : nw_var_of(pool, nw_pool_name(pool, name), (nw_type){a->type.dtype, 1});
  }
  return nw_make(pool, (nw_op)e->op, (nw_type){e->type.dtype, 1}, e->n, arg);
}

// Masks are passed to these functions with the bytes of a bool.
static void argument_type(nwt *g, nw_str *out, nw_dtype t, int lanes) {
  nwv_type(g, out, t == NW_BOOL ? NW_I8 : t, lanes);
}

// Writes a function that computes `one` in each lane, where `one` uses the arguments of e.
static void lane_function(nwt *g, int number, const nw_expr *e, const nw_expr *one) {
  nw_str before = g->out, *out = &g->vectors->own;
  g->out = (nw_str){0};
  nw_str_add(out, "NW_INLINE ");
  argument_type(g, out, dtype(e), e->type.lanes);
  nw_str_fmt(out, " nw_%s_%d(", nw_op_name((nw_op)e->op), number);
  for (int i = 0; i < e->n; i++) {
    nw_str_add(out, i ? ", " : "");
    argument_type(g, out, dtype(e->arg[i]), e->type.lanes);
    nw_str_fmt(out, " v%d", i);
  }
  nw_str_add(out, ") {\n  ");
  argument_type(g, out, dtype(e), e->type.lanes);
  nw_str_fmt(out, " r = {0};\n  for (int l = 0; l < %d; l++) {\n", e->type.lanes);
  for (int i = 0; i < e->n; i++) {
    char name[32];
    snprintf(name, sizeof name, "lane.%d.%s", i, nw_dtype_name(dtype(e->arg[i])));
    if (!nw_uses_var(one, name)) {
      nw_str_fmt(out, "    (void)v%d;\n", i);
      continue;
    }
    const char *var = nwt_name(g, nw_pool_name(g->p->pool, name));
    nw_str_fmt(out, "    const %s %s = v%d[l]%s;\n", nwt_type(dtype(e->arg[i])), var, i,
               dtype(e->arg[i]) == NW_BOOL ? " != 0" : "");
  }
  g->lane = true;
  nwt_expr(g, one);
  g->lane = false;
  nw_str_fmt(out,
             dtype(e) == NW_BOOL ? "    r[l] = -(%s);\n  }\n  return r;\n}\n" : "    r[l] = %s;\n  }\n  return r;\n}\n",
             g->out.s ? g->out.s : "0");
  nw_str_free(&g->out);
  g->out = before;
}

static int known_function(const nwt *g, const nw_expr *one, int lanes) {
  const nw_vec *k = &g->vectors->known;
  for (int i = 0; i < k->n; i += 2)
    if (k->at[i] == one && (intptr_t)k->at[i + 1] == lanes) return i / 2;
  return -1;
}

typedef void (*function_fn)(nwt *g, int number, const nw_expr *e, const nw_expr *one);

// Writes a call of a function that computes e. `write` writes the function if it does not exist yet.
static void call_own(nwt *g, const nw_expr *e, function_fn write) {
  const nw_expr *one = scalar_of(g, e);
  int number = known_function(g, one, e->type.lanes);
  if (number < 0) {
    number = g->vectors->known.n / 2;
    nw_vec_push(&g->vectors->known, (void *)one);
    nw_vec_push(&g->vectors->known, (void *)(intptr_t)e->type.lanes);
    write(g, number, e, one);
  }
  nw_str_fmt(&g->out, "nw_%s_%d(", nw_op_name((nw_op)e->op), number);
  for (int i = 0; i < e->n; i++) {
    add(g, i ? ", " : "");
    dtype(e->arg[i]) == NW_BOOL ? nwv_mask_expr(g, e->arg[i], 1, 0) : nwv_expr(g, e->arg[i], 0);
  }
  add(g, ")");
}

static void lane_by_lane(nwt *g, const nw_expr *e) { call_own(g, e, lane_function); }

// ---- math functions

static void math_name(nw_str *out, const nw_expr *e) {
  nw_str_fmt(out, "nw_%s_%sx%d(", nw_op_function((nw_op)e->op), nw_dtype_name(dtype(e)), e->type.lanes);
}

// Writes a function that calls libmvec for all lanes at once. With other libraries, it computes one lane after another.
static void math_function(nwt *g, const nw_math_row *row, const nw_expr *e) {
  nw_str *out = &g->vectors->own, v = {0};
  int bytes = row->lanes * bytes_of(e);
  const char *macro = bytes == 16 ? "__SSE4_1__" : bytes == 32 ? "__AVX2__" : "__AVX512DQ__";
  bool two = e->n > 1;
  nwv_type(g, &v, dtype(e), row->lanes);
  nw_str_fmt(out, "NW_INLINE %s ", v.s);
  math_name(out, e);
  nw_str_fmt(out, "%s a%s%s%s) {\n", v.s, two ? ", " : "", two ? v.s : "", two ? " b" : "");
  nw_str_fmt(out, "#if defined(NW_LIBMVEC) && defined(%s)\n  extern %s %s(%s%s%s);\n  return %s(a%s);\n#else\n", macro,
             v.s, row->symbol, v.s, two ? ", " : "", two ? v.s : "", row->symbol, two ? ", b" : "");
  nw_str_fmt(out, "  %s r = {0};\n  for (int l = 0; l < %d; l++) r[l] = %s%s(a[l]%s);\n  return r;\n#endif\n}\n", v.s,
             row->lanes, nw_op_function((nw_op)e->op), dtype(e) == NW_F64 ? "" : "f", two ? ", b[l]" : "");
  nw_str_free(&v);
}

static bool math(nwt *g, const nw_expr *e) {
  const nw_math_row *row = nw_math_find(g->p->target->features, (nw_op)e->op, dtype(e), e->type.lanes);
  if (!row || row->lanes != e->type.lanes) return false;
  nw_vec *known = &g->vectors->known;
  bool written = false;
  for (int i = 0; i < known->n; i += 2) written |= known->at[i] == row;
  if (!written) {
    nw_vec_push(known, (void *)row);
    nw_vec_push(known, NULL);
    math_function(g, row, e);
  }
  math_name(&g->out, e);
  for (int i = 0; i < e->n; i++) {
    add(g, i ? ", " : "");
    nwv_expr(g, e->arg[i], 0);
  }
  add(g, ")");
  return true;
}

// ---- conversions

static bool half(nw_dtype t) { return t == NW_F16 || t == NW_BF16; }

static void convert(nwt *g, const nw_expr *from, nw_dtype to) {
  add(g, "__builtin_convertvector(");
  nwv_expr(g, from, 0);
  add(g, ", ");
  nwv_type(g, &g->out, to, from->type.lanes);
  add(g, ")");
}

static void cast(nwt *g, const nw_expr *e) {
  const nw_expr *a = e->arg[0];
  nw_dtype from = dtype(a), to = dtype(e);
  int lanes = e->type.lanes;
  if (from == NW_BOOL && !half(to)) {
    nw_dtype whole = nwv_mask(bytes_of(e));
    add(g, "__builtin_convertvector(");
    nwv_mask_expr(g, a, bytes_of(e), UNARY);
    add(g, " & ");
    splat(g, whole, lanes, nw_int(g->p->pool, whole, 1));
    add(g, ", ");
    nwv_type(g, &g->out, to, lanes);
    add(g, ")");
  } else if (half(from) || half(to) || (nw_dtype_is_float(from) && !nw_dtype_is_float(to))) {
    lane_by_lane(g, e);
  } else {
    convert(g, a, to);
  }
}

// ---- arithmetic

static void infix(nwt *g, const nw_expr *e, const char *sign, int mine, int around) {
  paren(g, mine, around);
  nwv_expr(g, e->arg[0], mine);
  nw_str_fmt(&g->out, " %s ", sign);
  nwv_expr(g, e->arg[1], mine + 1);
  unparen(g, mine, around);
}

static void helper(nwt *g, nwt_vhelper h, const nw_expr *e) {
  nwv_call(g, h, dtype(e), e->type.lanes);
  for (int i = 0; i < e->n; i++) {
    add(g, i ? ", " : "");
    nwv_expr(g, e->arg[i], 0);
  }
  add(g, ")");
}

// The dtype of unsigned integers with as many bytes; false if the IR has none.
static bool without_sign(nw_dtype t, nw_dtype *out) {
  char name[8];
  snprintf(name, sizeof name, "u%d", 8 * nw_dtype_bytes(t));
  return nw_dtype_parse(name, out);
}

static const char *sign_of(nw_op op) {
  return op == NW_OP_ADD ? "+" : op == NW_OP_SUB ? "-" : op == NW_OP_MUL ? "*" : op == NW_OP_DIV ? "/" : NULL;
}

static const char *bits_of(nw_op op) {
  return op == NW_OP_BITAND ? "&" : op == NW_OP_BITOR ? "|" : op == NW_OP_BITXOR ? "^" : NULL;
}

static void bitwise(nwt *g, const nw_expr *e, int around) {
  paren(g, LESS - 20, around);
  nwv_expr(g, e->arg[0], UNARY);
  nw_str_fmt(&g->out, " %s ", bits_of((nw_op)e->op));
  nwv_expr(g, e->arg[1], UNARY);
  unparen(g, LESS - 20, around);
}

static void reinterpret(nwt *g, const nw_expr *e, int around) {
  paren(g, UNARY, around);
  as(g, dtype(e), e->type.lanes);
  nwv_expr(g, e->arg[0], UNARY);
  unparen(g, UNARY, around);
}

// Signed integers wrap, so they are computed in unsigned vectors.
static void wrapping(nwt *g, const nw_expr *e, int around) {
  nw_dtype t;
  int lanes = e->type.lanes;
  if (!without_sign(dtype(e), &t)) {
    lane_by_lane(g, e);
    return;
  }
  paren(g, UNARY, around);
  as(g, dtype(e), lanes);
  add(g, "(");
  for (int i = 0; i < e->n; i++) {
    if (i) nw_str_fmt(&g->out, " %s ", sign_of((nw_op)e->op));
    as(g, t, lanes);
    nwv_expr(g, e->arg[i], UNARY);
  }
  add(g, ")");
  unparen(g, UNARY, around);
}

static bool power_of_two(const nw_expr *e, int64_t *c) { return constant(e, c) && *c > 0 && (*c & (*c - 1)) == 0; }

// Writes a function that divides by a positive constant. A compiler multiplies instead. C rounds towards 0, so the
// quotient of a negative number may have to be decremented.
static void division_function(nwt *g, int number, const nw_expr *e, const nw_expr *one) {
  nw_str *out = &g->vectors->own, v = {0}, m = {0};
  bool div = e->op == NW_OP_FLOORDIV, sign = nw_dtype_is_signed(dtype(e));
  int64_t c = 1;
  (void)one;
  constant(e->arg[1], &c);
  nwv_type(g, &v, dtype(e), e->type.lanes);
  nwv_type(g, &m, nwv_mask(bytes_of(e)), e->type.lanes);
  nw_str_fmt(out, "NW_INLINE %s nw_%s_%d(%s a, %s b) {\n  (void)b;\n", v.s, nw_op_name((nw_op)e->op), number, v.s, v.s);
  const char *end = nw_dtype_bytes(dtype(e)) == 8 ? "LL" : "";
  if (!sign)
    nw_str_fmt(out, "  return a %s %lld%s;\n}\n", div ? "/" : "%", (long long)c, *end ? "ULL" : "U");
  else
    nw_str_fmt(out, "  %s q = a / %lld%s, r = a - q * %lld%s;\n", v.s, (long long)c, end, (long long)c, end);
  if (sign && div) nw_str_fmt(out, "  return q + (%s)(r < 0);\n}\n", v.s);
  if (sign && !div) nw_str_fmt(out, "  return r + (((%s)(r < 0)) & %lld%s);\n}\n", v.s, (long long)c, end);
  nw_str_free(&v);
  nw_str_free(&m);
}

// A division by a power of two is a shift, whose result is rounded down, and its remainder a mask.
static void divide(nwt *g, const nw_expr *e, int around) {
  int64_t c;
  bool whole = !nw_dtype_is_float(dtype(e)), positive = constant(e->arg[1], &c) && c > 0;
  if (!whole || !power_of_two(e->arg[1], &c)) {
    call_own(g, e, whole && positive ? division_function : lane_function);
    return;
  }
  bool div = e->op == NW_OP_FLOORDIV;
  paren(g, LESS - 20, around);
  nwv_expr(g, e->arg[0], UNARY);
  add(g, div ? " >> " : " & ");
  splat(g, dtype(e), e->type.lanes, nw_int(g->p->pool, dtype(e), div ? __builtin_ctzll((unsigned long long)c) : c - 1));
  unparen(g, LESS - 20, around);
}

static void choose(nwt *g, const nw_expr *e, int around) {
  if (e->arg[0]->type.lanes == 1) {
    int mine = nw_op_c_prec(NW_OP_SELECT);
    paren(g, mine, around);
    nwt_operand(g, NW_OP_SELECT, e->arg[0]);
    add(g, " ? ");
    nwv_expr(g, e->arg[1], mine + 1);
    add(g, " : ");
    nwv_expr(g, e->arg[2], mine);
    unparen(g, mine, around);
    return;
  }
  nwv_call(g, NWV_CHOOSE, dtype(e), e->type.lanes);
  nwv_mask_expr(g, e->arg[0], nw_dtype_bytes(nwv_element(dtype(e))), 0);
  for (int i = 1; i < 3; i++) {
    add(g, ", ");
    nwv_expr(g, e->arg[i], 0);
  }
  add(g, ")");
}

static void negate(nwt *g, const nw_expr *e, int around) {
  if (!nw_dtype_is_float(dtype(e))) {
    lane_by_lane(g, e);
    return;
  }
  paren(g, UNARY, around);
  add(g, "-");
  nwv_expr(g, e->arg[0], UNARY + 1);
  unparen(g, UNARY, around);
}

// Returns the helper that computes an operation on floats; NWV_HELPERS if there is none.
static nwt_vhelper helper_of(nw_op op) {
  switch (op) {
  case NW_OP_FMA: return NWV_FMA;
  case NW_OP_ABS: return NWV_ABS;
  case NW_OP_SQRT: return NWV_SQRT;
  case NW_OP_FLOOR: return NWV_FLOOR;
  case NW_OP_CEIL: return NWV_CEIL;
  case NW_OP_ROUND: return NWV_RINT;
  default: return NWV_HELPERS;
  }
}

static bool own_form(nwt *g, const nw_expr *e, int around) {
  bool index = dtype(e) == NW_INDEX && !e->data; // does not overflow
  bool real = nw_dtype_is_float(dtype(e)), wraps = !real && nw_dtype_is_signed(dtype(e)) && !index;
  nw_op op = (nw_op)e->op;
  switch (op) {
  case NW_OP_BROADCAST: return splat(g, dtype(e), e->type.lanes, e->arg[0]), true;
  case NW_OP_RAMP: return ramp(g, e, around), true;
  case NW_OP_LOAD: return load(g, e), true;
  case NW_OP_CAST: return cast(g, e), true;
  case NW_OP_SELECT: return choose(g, e, around), true;
  case NW_OP_NEG: return negate(g, e, around), true;
  case NW_OP_REINTERPRET: return reinterpret(g, e, around), true;
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return divide(g, e, around), true;
  case NW_OP_MIN:
  case NW_OP_MAX: return helper(g, op == NW_OP_MIN ? NWV_MIN : NWV_MAX, e), true;
  default: break;
  }
  if (bits_of(op) && dtype(e) != NW_BOOL) return bitwise(g, e, around), true;
  if (sign_of(op) && !wraps) return infix(g, e, sign_of(op), nw_op_c_prec(op), around), true;
  if (sign_of(op)) return wrapping(g, e, around), true;
  if (real && helper_of(op) != NWV_HELPERS) return helper(g, helper_of(op), e), true;
  return nw_op_has(op, 'M') && math(g, e);
}

// Reports a vector whose number of lanes is not a power of two.
static bool has_type(nwt *g, const nw_expr *e) {
  if (!(e->type.lanes & (e->type.lanes - 1))) return true;
  return nwt_fail(g, "C has no type for a vector of %d lanes", e->type.lanes), false;
}

// Halves exist only in loads, stores, casts and constants, and in selects between them (lower.h).
void nwv_expr(nwt *g, const nw_expr *e, int around) {
  if (g->failed || !has_type(g, e)) return;
  if (!own_form(g, e, around)) lane_by_lane(g, e);
}

// ---- masks

// Writes the start of the conversion of a mask of elements of `from` bytes. Returns true if its end must be written.
static bool resize(nwt *g, int from, int to) {
  if (from != to) add(g, "__builtin_convertvector(");
  return from != to;
}

static void resized(nwt *g, bool begun, int to, int lanes) {
  if (!begun) return;
  add(g, ", ");
  nwv_type(g, &g->out, nwv_mask(to), lanes);
  add(g, ")");
}

// If the operands of a comparison are indices that are constant ramps, their difference in lane l is
// stride*l - distance. Then the comparison is written with integers of the size of the data: the numbers stride*l are
// small, and a distance that is not small is replaced by the least or the greatest integer.
static bool short_comparison(nwt *g, const nw_expr *e, const char *sign, int bytes, int around) {
  int64_t a, b, most = bytes == 8 ? INT64_MAX : (INT64_C(1) << (8 * bytes - 1)) - 1;
  int lanes = e->arg[0]->type.lanes;
  nw_dtype t = nwv_mask(bytes);
  if (dtype(e->arg[0]) != NW_INDEX || !constant_ramp(e->arg[0], &a) || !constant_ramp(e->arg[1], &b)) return false;
  if (a > 1 << 20 || a < -(1 << 20) || b > 1 << 20 || b < -(1 << 20) || llabs(a - b) * lanes >= most) return false;
  paren(g, UNARY, around);
  as(g, t, lanes);
  add(g, "(");
  numbers(g, t, lanes, a - b);
  nw_str_fmt(&g->out, " %s ", sign);
  nwv_call(g, NWV_SPLAT, t, lanes);
  if (bytes < 8) nwv_call(g, NWV_CLAMP, t, 1);
  nwt_expr(g, nw_sub(g->p->pool, e->arg[1]->arg[0], e->arg[0]->arg[0]));
  add(g, bytes < 8 ? ")))" : "))");
  unparen(g, UNARY, around);
  return true;
}

static void compare(nwt *g, const nw_expr *e, const char *sign, int bytes, int around) {
  int each = nw_dtype_bytes(nwv_element(dtype(e->arg[0]))), mine = nw_op_c_prec((nw_op)e->op);
  if (half(dtype(e->arg[0]))) {
    nwt_fail(g, "a comparison of %s is left in the program", nw_dtype_name(dtype(e->arg[0])));
    return;
  }
  if (short_comparison(g, e, sign, bytes, around)) return;
  bool begun = resize(g, each, bytes);
  paren(g, UNARY, begun ? 0 : around);
  as(g, nwv_mask(each), e->arg[0]->type.lanes);
  add(g, "(");
  for (int i = 0; i < 2; i++) {
    if (i) nw_str_fmt(&g->out, " %s ", sign);
    nwv_expr(g, e->arg[i], mine + 1);
  }
  add(g, ")");
  unparen(g, UNARY, begun ? 0 : around);
  resized(g, begun, bytes, e->type.lanes);
}

static void mask_infix(nwt *g, const nw_expr *e, const char *sign, int bytes) {
  add(g, "(");
  nwv_mask_expr(g, e->arg[0], bytes, UNARY);
  nw_str_fmt(&g->out, " %s ", sign);
  nwv_mask_expr(g, e->arg[1], bytes, UNARY);
  add(g, ")");
}

static void mask_splat(nwt *g, const nw_expr *e, int bytes) {
  int64_t value;
  nwv_call(g, NWV_SPLAT, nwv_mask(bytes), e->type.lanes);
  if (nw_is_int(e->arg[0], &value)) {
    add(g, value ? "-1)" : "0)");
    return;
  }
  nw_str_fmt(&g->out, "(%s)-(", nwt_type(nwv_mask(bytes)));
  nwt_expr(g, e->arg[0]);
  add(g, "))");
}

static void mask_choose(nwt *g, const nw_expr *e, int bytes) {
  bool vector = e->arg[0]->type.lanes > 1;
  if (vector) {
    nwv_call(g, NWV_CHOOSE, nwv_mask(bytes), e->type.lanes);
    nwv_mask_expr(g, e->arg[0], bytes, 0);
  } else {
    add(g, "(");
    nwt_operand(g, NW_OP_SELECT, e->arg[0]);
  }
  for (int i = 1; i < 3; i++) {
    add(g, vector ? ", " : i == 1 ? " ? " : " : ");
    nwv_mask_expr(g, e->arg[i], bytes, UNARY);
  }
  add(g, ")");
}

// Writes a mask that is `make`d with elements of `from` bytes, in elements of `bytes` bytes.
static void mask_of(nwt *g, const nw_expr *e, int bytes, int from, void (*make)(nwt *g, const nw_expr *e)) {
  bool begun = resize(g, from, bytes);
  make(g, e);
  resized(g, begun, bytes, e->type.lanes);
}

static void loaded_mask(nwt *g, const nw_expr *e) {
  as(g, NW_I8, e->type.lanes);
  add(g, "(");
  load(g, e);
  add(g, " != 0)");
}

static void nonzero_mask(nwt *g, const nw_expr *e) {
  as(g, nwv_mask(bytes_of(e->arg[0])), e->type.lanes);
  add(g, "(");
  nwv_expr(g, e->arg[0], UNARY);
  add(g, " != 0)");
}

static void cast_mask(nwt *g, const nw_expr *e, int bytes) {
  if (dtype(e->arg[0]) == NW_BOOL)
    nwv_mask_expr(g, e->arg[0], bytes, UNARY);
  else if (half(dtype(e->arg[0])))
    mask_of(g, e, bytes, 1, lane_by_lane);
  else
    mask_of(g, e, bytes, bytes_of(e->arg[0]), nonzero_mask);
}

void nwv_mask_expr(nwt *g, const nw_expr *e, int bytes, int around) {
  bool bools = e->n > 0 && dtype(e->arg[0]) == NW_BOOL;
  int known = g->failed ? -1 : nwv_known(e);
  if (g->failed) return;
  if (known >= 0) {
    nwv_call(g, NWV_SPLAT, nwv_mask(bytes), e->type.lanes);
    add(g, known ? "-1)" : "0)");
    return;
  }
  if (!has_type(g, e)) return;
  switch (e->op) {
  case NW_OP_BROADCAST: return mask_splat(g, e, bytes);
  case NW_OP_AND: return mask_infix(g, e, "&", bytes);
  case NW_OP_OR: return mask_infix(g, e, "|", bytes);
  case NW_OP_SELECT: return mask_choose(g, e, bytes);
  case NW_OP_CAST: return cast_mask(g, e, bytes);
  case NW_OP_LOAD: return mask_of(g, e, bytes, 1, loaded_mask);
  case NW_OP_NOT: add(g, "~"); return nwv_mask_expr(g, e->arg[0], bytes, UNARY + 1);
  case NW_OP_LT: return compare(g, e, "<", bytes, around);
  case NW_OP_LE: return compare(g, e, "<=", bytes, around);
  case NW_OP_NE: return bools ? mask_infix(g, e, "^", bytes) : compare(g, e, "!=", bytes, around);
  case NW_OP_EQ:
    if (!bools) return compare(g, e, "==", bytes, around);
    add(g, "~");
    return mask_infix(g, e, "^", bytes);
  default: mask_of(g, e, bytes, 1, lane_by_lane);
  }
}
