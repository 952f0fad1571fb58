// Writes expressions as text. When the text is parsed, it gives the same expression. Constants of i64 and f32 are
// written as plain numbers, and constants of bool as true or false. Other constants are written as in f64(0.5), i32(3)
// or f32(inf). They cannot be confused with casts, since casts of constants are folded.
#include "ir/program/program.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct printer {
  nw_str *out;
  bool full; // print names with their serials
} printer;

static void print_at(printer *p, const nw_expr *e, int prec);

static void print_name(printer *p, const char *name) {
  const char *at = p->full ? NULL : strchr(name, '@');
  nw_str_addn(p->out, name, at ? (size_t)(at - name) : strlen(name));
}

// Writes as many digits as are necessary to read the same value back.
static void digits(char *buf, size_t size, double v, bool single) {
  for (int n = 1; n <= 17; n++) {
    snprintf(buf, size, "%.*g", n, v);
    if (single ? strtof(buf, NULL) == (float)v : strtod(buf, NULL) == v) return;
  }
}

static void print_float(printer *p, const nw_expr *e) {
  char buf[40];
  if (e->f != e->f)
    snprintf(buf, sizeof buf, "nan");
  else if (isinf(e->f))
    snprintf(buf, sizeof buf, e->f < 0 ? "-inf" : "inf");
  else
    digits(buf, sizeof buf, e->f, e->type.dtype != NW_F64);
  bool plain = e->type.dtype == NW_F32 && isfinite(e->f);
  const char *point = isfinite(e->f) && !strpbrk(buf, ".e") ? ".0" : "";
  if (plain)
    nw_str_fmt(p->out, "%s%s", buf, point);
  else
    nw_str_fmt(p->out, "%s(%s%s)", nw_dtype_name((nw_dtype)e->type.dtype), buf, point);
}

static void print_int(printer *p, const nw_expr *e) {
  if (e->type.dtype == NW_BOOL)
    nw_str_add(p->out, e->i ? "true" : "false");
  else if (e->type.dtype == NW_INDEX)
    nw_str_fmt(p->out, "%lld", (long long)e->i);
  else if (e->type.dtype == NW_U64)
    nw_str_fmt(p->out, "u64(%llu)", (unsigned long long)e->i);
  else
    nw_str_fmt(p->out, "%s(%lld)", nw_dtype_name((nw_dtype)e->type.dtype), (long long)e->i);
}

static void print_list(printer *p, const char *open, int n, const nw_expr *const *e, const char *close) {
  nw_str_add(p->out, open);
  for (int i = 0; i < n; i++) {
    if (i) nw_str_add(p->out, ", ");
    print_at(p, e[i], 0);
  }
  nw_str_add(p->out, close);
}

// The mask of a lowered load is written after a semicolon.
static void print_load(printer *p, const nw_expr *e) {
  bool masked = e->n == 2 && e->arg[1]->type.dtype == NW_BOOL;
  print_name(p, e->name);
  print_list(p, "[", masked ? 1 : e->n, e->arg, masked ? "; " : "]");
  if (masked) print_list(p, "", 1, e->arg + 1, "]");
}

static void print_call(printer *p, const nw_expr *e) {
  switch (e->op) {
  case NW_OP_CAST: nw_str_add(p->out, nw_dtype_name((nw_dtype)e->type.dtype)); break;
  case NW_OP_REDUCE: nw_str_add(p->out, nw_combiner_name(nw_pool_ctx(e->pool), (nw_combiner)e->i)); break;
  default: nw_str_add(p->out, nw_op_name((nw_op)e->op));
  }
  print_list(p, "(", e->n, e->arg, "");
  if (e->op == NW_OP_RAMP || e->op == NW_OP_BROADCAST) nw_str_fmt(p->out, ", %d", e->type.lanes);
  if (e->op == NW_OP_REINTERPRET) nw_str_fmt(p->out, ", %s", nw_dtype_name((nw_dtype)e->type.dtype));
  nw_str_add(p->out, ")");
}

static bool is_division(const nw_expr *e) {
  return e->op == NW_OP_DIV || e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD;
}

static bool is_of_bits(const nw_expr *e) { return nw_op_has((nw_op)e->op, 'I'); }

// True if the operand must be in parentheses because people might misread the text without them: languages disagree on
// how strongly the operations on bits bind. Only a chain of one commutative operation is written without parentheses.
static bool is_unclear(const nw_expr *e, const nw_expr *arg) {
  bool chain = arg == e->arg[0] && arg->op == e->op && nw_op_has((nw_op)e->op, 'K');
  return (is_of_bits(e) || is_of_bits(arg)) && !chain;
}

// Returns the binding strength that the left operand needs to be printed without parentheses. Where people might
// misread the text, this is more than the grammar requires, as in (i // 4)*8.
static int left_strength(const nw_expr *e, int prec) {
  if (is_unclear(e, e->arg[0])) return nw_op_prec(NW_OP_BITNOT);
  return nw_op_has((nw_op)e->op, 'C') || is_division(e->arg[0]) ? prec + 1 : prec;
}

// A product of integers does not depend on the grouping of its factors. So a product on the right needs no parentheses:
// 32*(i*j) is printed as 32*i*j.
static int right_strength(const nw_expr *e, int prec) {
  bool product = e->op == NW_OP_MUL && e->arg[1]->op == NW_OP_MUL;
  if (is_unclear(e, e->arg[1])) return nw_op_prec(NW_OP_BITNOT);
  return product && nw_dtype_is_int((nw_dtype)e->type.dtype) ? prec : prec + 1;
}

// Only `*` is written without blanks. With blanks, `a / b` and `i // 4` cannot be mistaken for a name with a slash.
static void print_infix(printer *p, const nw_expr *e) {
  int prec = nw_op_prec((nw_op)e->op);
  print_at(p, e->arg[0], left_strength(e, prec));
  nw_str_fmt(p->out, e->op == NW_OP_MUL ? "%s" : " %s ", nw_op_infix((nw_op)e->op));
  print_at(p, e->arg[1], right_strength(e, prec));
}

static void print_prefix(printer *p, const nw_expr *e) {
  nw_str_add(p->out, e->op == NW_OP_NOT ? "not " : nw_op_infix((nw_op)e->op));
  print_at(p, e->arg[0], nw_op_prec((nw_op)e->op));
}

static int strength(const nw_expr *e) {
  int prec = nw_op_prec((nw_op)e->op);
  return prec ? prec : 1000;
}

static void print_node(printer *p, const nw_expr *e) {
  switch (e->op) {
  case NW_OP_INT: print_int(p, e); return;
  case NW_OP_FLOAT: print_float(p, e); return;
  case NW_OP_VAR: print_name(p, e->name); return;
  case NW_OP_LOAD: print_load(p, e); return;
  }
  if (!nw_op_infix((nw_op)e->op))
    print_call(p, e);
  else if (e->n == 1)
    print_prefix(p, e);
  else
    print_infix(p, e);
}

// Prints e, in parentheses if its binding strength is less than `prec`.
static void print_at(printer *p, const nw_expr *e, int prec) {
  bool paren = strength(e) < prec;
  if (paren) nw_str_add(p->out, "(");
  print_node(p, e);
  if (paren) nw_str_add(p->out, ")");
}

void nw_expr_print(nw_str *out, const nw_expr *e) {
  printer p = {out, true};
  print_at(&p, e, 0);
}

// Returns the text for users. Names are printed without their serials, so A@12 is printed as A.
char *nw_expr_show(const nw_expr *e) {
  nw_str out = {0};
  printer p = {&out, false};
  print_at(&p, e, 0);
  return nw_str_take(&out);
}
