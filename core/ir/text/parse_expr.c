// Parses expressions by precedence climbing over the rows of ops.def. The expressions are made by constructors that
// fold. Reading a printed expression gives the same expression.
#include "ir/expr/equality.h"
#include "ir/expr/fold.h"
#include "ir/program/reducer.h"
#include "ir/text/parse.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>

enum { PREC_UNARY = 70 };

static const nw_expr *climb(nw_parser *ps, int least);

// ---- applying operations

// Returns e. If e is NULL, turns the diagnostic of its constructor into an error at the position of the operator.
static const nw_expr *blame(nw_parser *ps, const nw_token *at, const nw_expr *e) {
  const nw_diag *d = nw_error(ps->ctx);
  char message[300] = "this expression has a type error";
  if (e || ps->failed) return ps->failed ? NULL : e;
  if (d && d->message) strncat(strcpy(message, ""), d->message, sizeof message - 1);
  nw_clear(ps->ctx);
  return nw_parse_fail(ps, at, "%s", message);
}

static bool same_type(nw_type a, nw_type b) { return a.dtype == b.dtype && a.lanes == b.lanes; }

static bool takes(nw_op op, nw_dtype t) {
  if (nw_op_has(op, 'B')) return t == NW_BOOL;
  if (nw_op_has(op, 'F')) return nw_dtype_is_float(t);
  if (nw_op_has(op, 'I')) return nw_dtype_is_int(t);
  return t != NW_BOOL || nw_op_has(op, 'C');
}

static const nw_expr *make(nw_pool *pool, nw_op op, int n, const nw_expr *const *args) {
  if (n == 1) return nw_make1(pool, op, args[0]);
  if (n == 2) return nw_make2(pool, op, args[0], args[1]);
  return nw_make(pool, op, args[0]->type, n, args);
}

// Operands of the same type need no promotion. In printed programs, operands always have the same type.
static const nw_expr *apply(nw_parser *ps, const nw_token *at, nw_op op, int n, const nw_expr *const *args) {
  bool alike = takes(op, args[0]->type.dtype);
  for (int i = 1; i < n; i++) {
    if (args[i]->type.lanes != args[0]->type.lanes)
      return nw_parse_fail(ps, at, "the operands have %d and %d lanes", args[0]->type.lanes, args[i]->type.lanes);
    alike &= same_type(args[i]->type, args[0]->type);
  }
  if (op == NW_OP_LDEXP) alike = nw_ldexp_takes(args[0], args[1]);
  if (alike && !nw_op_is_defined(op)) return make(ps->pool, op, n, args);
  if (args[0]->type.lanes != 1 || op == NW_OP_FMA)
    return nw_parse_fail(ps, at, "%s does not take these types", nw_op_name(op));
  return blame(ps, at, nw_apply(ps->pool, op, n, args));
}

static const nw_expr *select_of(nw_parser *ps, const nw_token *at, const nw_expr *const *a) {
  bool lanes = (a[0]->type.lanes == 1 || a[0]->type.lanes == a[1]->type.lanes) && a[1]->type.lanes == a[2]->type.lanes;
  if (a[0]->type.dtype != NW_BOOL || !lanes || (a[1]->type.lanes > 1 && !same_type(a[1]->type, a[2]->type)))
    return nw_parse_fail(ps, at, "select takes a bool and two values of one type");
  if (same_type(a[1]->type, a[2]->type)) return nw_make(ps->pool, NW_OP_SELECT, a[1]->type, 3, a);
  return blame(ps, at, nw_select(ps->pool, a[0], a[1], a[2]));
}

static const nw_expr *vector_of(nw_parser *ps, const nw_token *at, nw_op op, int n, const nw_expr *const *a) {
  int64_t lanes;
  bool scalars = a[0]->type.lanes == 1 && (op == NW_OP_BROADCAST || (n == 3 && same_type(a[1]->type, a[0]->type)));
  if (!nw_is_int(a[n - 1], &lanes) || lanes < 2 || lanes > 1024)
    return nw_parse_fail(ps, at, "the last argument of %s must be its number of lanes, 2 to 1024", nw_op_name(op));
  if (!scalars || (op == NW_OP_RAMP && !nw_dtype_is_int(a[0]->type.dtype)))
    return nw_parse_fail(ps, at, "%s takes scalars", nw_op_name(op));
  return op == NW_OP_RAMP ? nw_ramp(ps->pool, a[0], a[1], (int)lanes) : nw_broadcast(ps->pool, a[0], (int)lanes);
}

// ---- literals

static const nw_expr *integer(nw_parser *ps, nw_dtype t, bool minus) {
  errno = 0;
  uint64_t v = strtoull(ps->tok.s, NULL, 10);
  if (errno || (v > (uint64_t)INT64_MAX + minus && (t != NW_U64 || minus)))
    return nw_parse_fail(ps, &ps->tok, "this number does not fit into 64 bits");
  nw_next(ps);
  return nw_int(ps->pool, t, (int64_t)(minus ? 0 - v : v));
}

static const nw_expr *real(nw_parser *ps, nw_dtype t, bool minus) {
  double v = nw_at(ps, "inf") ? INFINITY : nw_at(ps, "nan") ? NAN : strtod(ps->tok.s, NULL);
  nw_next(ps);
  return nw_float(ps->pool, t, minus ? -v : v);
}

static bool at_real(const nw_parser *ps) {
  return ps->tok.kind == NW_TOK_FLOAT || nw_at(ps, "inf") || nw_at(ps, "nan");
}

static bool at_number(const nw_parser *ps) { return ps->tok.kind == NW_TOK_INT || at_real(ps); }

static const nw_expr *number(nw_parser *ps, bool minus) {
  // In a pattern, a number with a fraction is a literal, which takes the dtype of the other operand.
  return at_real(ps) ? real(ps, ps->pattern ? NW_F64 : NW_F32, minus) : integer(ps, NW_INDEX, minus);
}

// True for a number of a given dtype, such as f64(0.1). Its digits are converted directly to that dtype.
static bool at_typed_number(const nw_parser *ps) {
  nw_parser ahead = *ps;
  nw_next(&ahead);
  nw_next(&ahead);
  nw_accept(&ahead, "-");
  if (!at_number(&ahead)) return false;
  nw_next(&ahead);
  return nw_at(&ahead, ")");
}

static const nw_expr *typed_number(nw_parser *ps, nw_dtype t) {
  nw_next(ps);
  nw_next(ps);
  bool minus = nw_accept(ps, "-");
  if (!nw_dtype_is_float(t) && at_real(ps)) return nw_expected(ps, "a whole number for %s", nw_dtype_name(t));
  const nw_expr *e = nw_dtype_is_float(t) ? real(ps, t, minus) : integer(ps, t, minus);
  return e && nw_expect(ps, ")", "after the number") ? e : NULL;
}

// ---- operands

static bool arguments(nw_parser *ps, int most, int *n, const nw_expr **args) {
  nw_next(ps);
  for (*n = 0; !nw_at(ps, ")");) {
    if (*n && !nw_expect(ps, ",", "or ')' in the arguments")) return false;
    if (*n == most) return nw_parse_fail(ps, &ps->tok, "there are too many arguments");
    if (!(args[(*n)++] = climb(ps, 0))) return false;
  }
  nw_next(ps);
  return true;
}

static const nw_expr *cast(nw_parser *ps, nw_dtype t) {
  if (at_typed_number(ps)) return typed_number(ps, t);
  nw_token at = ps->tok;
  const nw_expr *arg;
  int n;
  nw_next(ps);
  if (!arguments(ps, 1, &n, &arg)) return NULL;
  if (n != 1) return nw_parse_fail(ps, &at, "a cast takes one argument");
  return blame(ps, &at, nw_cast(ps->pool, t, arg));
}

// Parses reinterpret(x, u32).
static const nw_expr *reinterpreted(nw_parser *ps) {
  nw_token at = ps->tok;
  char name[16];
  nw_dtype t;
  nw_next(ps);
  nw_next(ps);
  const nw_expr *e = climb(ps, 0);
  if (!e || !nw_expect(ps, ",", "before the dtype")) return NULL;
  if (!nw_token_text(ps, name, sizeof name) || !nw_dtype_parse(name, &t)) return nw_expected(ps, "a dtype");
  nw_next(ps);
  return nw_expect(ps, ")", "after the dtype") ? blame(ps, &at, nw_reinterpret(ps->pool, t, e)) : NULL;
}

static int arguments_of(nw_op op) { return op == NW_OP_RAMP ? 3 : op == NW_OP_BROADCAST ? 2 : nw_op_arity(op); }

static const nw_expr *ceildiv(nw_parser *ps, const nw_token *at) {
  const nw_expr *args[2];
  int n;
  nw_next(ps);
  if (!arguments(ps, 2, &n, args)) return NULL;
  if (n != 2 || args[0]->type.dtype != NW_INDEX || args[1]->type.dtype != NW_INDEX)
    return nw_parse_fail(ps, at, "ceildiv takes two whole numbers");
  return nw_ceildiv(ps->pool, args[0], args[1]);
}

static const nw_expr *call(nw_parser *ps, const char *name) {
  nw_op op;
  nw_token at = ps->tok;
  const nw_expr *args[3];
  int n;
  if (!strcmp(name, "ceildiv")) return ceildiv(ps, &at);
  if (!strcmp(name, nw_op_name(NW_OP_REINTERPRET))) return reinterpreted(ps);
  if (!nw_op_parse(name, &op) || arguments_of(op) < 1 || op == NW_OP_CAST)
    return nw_parse_fail(ps, &at, "there is no function named %s", name);
  nw_next(ps);
  if (!arguments(ps, 3, &n, args)) return NULL;
  if (n != arguments_of(op)) return nw_parse_fail(ps, &at, "%s takes %d arguments, not %d", name, arguments_of(op), n);
  if (op == NW_OP_SELECT) return select_of(ps, &at, args);
  if (op == NW_OP_KNOWN) {
    if (!same_type(args[0]->type, args[1]->type) || !args[1]->data || (args[0]->data && NW_MUTATED(known_reads)))
      return nw_parse_fail(ps, &at, "known takes an index and a load with the same type");
    return nw_make(ps->pool, op, args[0]->type, 2, args);
  }
  if (op == NW_OP_RAMP || op == NW_OP_BROADCAST) return vector_of(ps, &at, op, n, args);
  return apply(ps, &at, op, n, args);
}

static const nw_expr *load_at(nw_parser *ps, const nw_token *at, const nw_buffer *b, int n, const nw_expr **index) {
  int lanes = n ? index[0]->type.lanes : 1;
  for (int i = 1; i < n; i++)
    if (index[i]->type.lanes != lanes)
      return nw_parse_fail(ps, at, "the indices have %d and %d lanes", lanes, index[i]->type.lanes);
  return nw_load(ps->pool, (nw_type){(uint8_t)b->dtype, (uint16_t)lanes}, b->name, n, index);
}

// Reads `i, j]`, or in lowered code `linear]` or `linear; mask]`.
static bool indices(nw_parser *ps, int *n, const nw_expr **index) {
  bool masked = false;
  for (*n = 0; !nw_at(ps, "]") && !masked;) {
    masked = *n == 1 && nw_accept(ps, ";");
    if (*n && !masked && !nw_expect(ps, ",", "or ']' in the indices")) return false;
    if (*n == NW_PARSE_LIST) return nw_parse_limit(ps, &ps->tok, "there are too many indices");
    index[*n] = nw_parse_typed(ps, masked ? NW_BOOL : NW_INDEX, masked ? "mask" : "index");
    if (!index[(*n)++]) return false;
  }
  return nw_expect(ps, "]", "after the mask");
}

static const nw_expr *load(nw_parser *ps) {
  nw_token at = ps->tok;
  const nw_expr *index[NW_PARSE_LIST];
  const char *name = nw_expect_name(ps, "a buffer");
  const nw_buffer *b = name && ps->p ? nw_find_buffer(ps->p, name) : NULL;
  if (!b) return name ? nw_parse_fail(ps, &at, "%s is not a buffer", name) : NULL;
  nw_next(ps);
  int n;
  const nw_type *pattern = ps->pattern, whole = {NW_INDEX, 1};
  if (pattern) ps->pattern = &whole;
  bool ok = indices(ps, &n, index);
  ps->pattern = pattern;
  if (ok && pattern && n != b->ndim) return nw_parse_fail(ps, &at, "%s has %d indices, not %d", name, b->ndim, n);
  return ok ? load_at(ps, &at, b, n, index) : NULL;
}

static bool is_size(const nw_program *p, const char *name) {
  for (int i = 0; i < p->nsizes; i++)
    if (!strcmp(p->size[i].name, name)) return true;
  return false;
}

// Returns the variable of a reducer, such as a0 or b1. If the reducer has no such variable, it is an error.
static const nw_expr *reducer_variable(nw_parser *ps, const nw_token *at, const char *name) {
  const nw_reducer *r = ps->reducer;
  for (int i = 0; i < 2 * r->n; i++) {
    const nw_expr *v = nw_reducer_var(ps->pool, i >= r->n, i % r->n, r->dtype[i % r->n]);
    if (!strcmp(v->name, name)) return v;
  }
  return nw_parse_fail(ps, at, "%s is not a component of the two states, a0, b0 and so on", name);
}

static const nw_expr *variable(nw_parser *ps, const nw_token *at, const char *name) {
  if (ps->reducer) return reducer_variable(ps, at, name);
  if (!ps->pattern || is_size(ps->p, name)) return nw_var(ps->pool, name);
  return nw_var_of(ps->pool, nw_pattern_name(ps->pool, name), *ps->pattern);
}

static const nw_expr *named(nw_parser *ps) {
  nw_dtype t;
  char word[NW_PARSE_NAME + 1];
  if (nw_follows(ps, "[")) return load(ps);
  if (!nw_follows(ps, "(") || ps->tok.n > NW_PARSE_NAME) {
    nw_token at = ps->tok;
    const char *name = nw_expect_name(ps, "a name");
    return name ? variable(ps, &at, name) : NULL;
  }
  memcpy(word, ps->tok.s, (size_t)ps->tok.n);
  word[ps->tok.n] = 0;
  return nw_dtype_parse(word, &t) ? cast(ps, t) : call(ps, word);
}

static const nw_expr *parenthesised(nw_parser *ps) {
  nw_next(ps);
  const nw_expr *e = climb(ps, 0);
  return e && nw_expect(ps, ")", "to close the parenthesis") ? e : NULL;
}

static bool count(nw_parser *ps, const nw_token *at) {
  if (++ps->nodes <= NW_PARSE_NODES) return true;
  return nw_parse_limit(ps, at, "this expression has more than %d operations", NW_PARSE_NODES);
}

static const nw_expr *prefix(nw_parser *ps, nw_op op, int prec) {
  nw_token at = ps->tok;
  nw_next(ps);
  if (op == NW_OP_NEG && at_number(ps) && !nw_follows(ps, "^")) return number(ps, true);
  const nw_expr *e = climb(ps, prec);
  return e ? apply(ps, &at, op, 1, &e) : NULL;
}

// Parses an operand that may be the base of a power.
static const nw_expr *base_of_power(nw_parser *ps) {
  if (at_number(ps)) return number(ps, false);
  if (nw_at(ps, "true") || nw_at(ps, "false")) {
    bool value = nw_at(ps, "true");
    nw_next(ps);
    return nw_int(ps->pool, NW_BOOL, value);
  }
  if (nw_at(ps, "(")) return parenthesised(ps);
  if (ps->tok.kind == NW_TOK_NAME) return named(ps);
  return nw_expected(ps, "an expression");
}

// Parses x ^ y, which is printed as pow(x, y). As in Lua, it binds more strongly than a sign on its left, and x ^ y ^ z
// is x ^ (y ^ z).
static const nw_expr *power(nw_parser *ps) {
  const nw_expr *base = base_of_power(ps);
  nw_token at = ps->tok;
  if (!base || !nw_accept(ps, "^")) return base;
  const nw_expr *args[] = {base, count(ps, &at) ? climb(ps, PREC_UNARY) : NULL};
  return args[1] ? apply(ps, &at, NW_OP_POW, 2, args) : NULL;
}

static const nw_expr *operand(nw_parser *ps) {
  if (nw_at(ps, "-")) return prefix(ps, NW_OP_NEG, PREC_UNARY);
  if (nw_at(ps, "~")) return prefix(ps, NW_OP_BITNOT, PREC_UNARY);
  if (nw_at(ps, "not")) return prefix(ps, NW_OP_NOT, nw_op_prec(NW_OP_NOT));
  return power(ps);
}

// ---- infix

// Finds the operation of the token. The operations > and >= are < and <= with exchanged operands.
static bool infix_at(const nw_parser *ps, nw_op *op, bool *swap) {
  *swap = nw_at(ps, ">") || nw_at(ps, ">=");
  if (*swap) return *op = nw_at(ps, ">") ? NW_OP_LT : NW_OP_LE, true;
  if (ps->tok.kind != NW_TOK_SIGN && ps->tok.kind != NW_TOK_NAME) return false;
  for (int i = 0; i < NW_OP_COUNT; i++) {
    const char *sign = nw_op_arity((nw_op)i) == 2 ? nw_op_infix((nw_op)i) : NULL;
    if (sign && nw_at(ps, sign)) return *op = (nw_op)i, true;
  }
  return false;
}

static bool at_sum(const nw_parser *ps) { return nw_at(ps, "+") || nw_at(ps, "-"); }

static bool is_integer(const nw_expr *e) { return e->type.lanes == 1 && nw_dtype_is_int((nw_dtype)e->type.dtype); }

// Adds the operands one by one, as the constructors do.
static const nw_expr *sum_in_steps(nw_parser *ps, const nw_expr *left) {
  while (left && at_sum(ps) && is_integer(left)) {
    nw_token at = ps->tok;
    nw_next(ps);
    const nw_expr *args[] = {left, count(ps, &at) ? climb(ps, nw_op_prec(NW_OP_ADD) + 1) : NULL};
    left = args[1] ? apply(ps, &at, nw_token_is(&at, "-") ? NW_OP_SUB : NW_OP_ADD, 2, args) : NULL;
  }
  return left;
}

// Reads a sum of integers as a whole. Adding the operands one by one would be slow, since it would make a canonical sum
// of every prefix. The first operand of another type ends the sum, and is added in the usual way. If the sum is an
// index and exceeds 64 bits, it must not be simplified, so it is read again, one operand after the other.
static const nw_expr *sum_from(nw_parser *ps, const nw_expr *left) {
  nw_parser before = *ps;
  nw_sum sum;
  const nw_expr *right = NULL;
  nw_token at = ps->tok;
  nw_sum_init(&sum, ps->pool, (nw_dtype)left->type.dtype);
  nw_sum_add(&sum, 1, left);
  while (at_sum(ps)) {
    at = ps->tok;
    nw_next(ps);
    right = count(ps, &at) ? climb(ps, nw_op_prec(NW_OP_ADD) + 1) : NULL;
    if (!right || !same_type(right->type, left->type)) break;
    nw_sum_add(&sum, nw_token_is(&at, "-") ? -1 : 1, right);
  }
  bool odd = right && !same_type(right->type, left->type);
  if (right && sum.wraps && nw_is_index(left)) {
    int nodes = ps->nodes;
    nw_sum_free(&sum);
    *ps = before;
    ps->nodes = nodes;
    return sum_in_steps(ps, left);
  }
  const nw_expr *args[] = {nw_sum_expr(&sum), right};
  nw_sum_free(&sum);
  if (!right) return NULL;
  return odd ? apply(ps, &at, nw_token_is(&at, "-") ? NW_OP_SUB : NW_OP_ADD, 2, args) : args[0];
}

static const nw_expr *climb_from(nw_parser *ps, const nw_expr *left, int least) {
  nw_op op;
  bool swap;
  while (left && infix_at(ps, &op, &swap) && nw_op_prec(op) >= least) {
    nw_token at = ps->tok;
    if (at_sum(ps) && is_integer(left)) {
      left = sum_from(ps, left);
      continue;
    }
    nw_next(ps);
    const nw_expr *right = count(ps, &at) ? climb(ps, nw_op_prec(op) + 1) : NULL;
    if (!right) return NULL;
    const nw_expr *args[] = {swap ? right : left, swap ? left : right};
    left = apply(ps, &at, op, 2, args);
  }
  return left;
}

static const nw_expr *climb(nw_parser *ps, int least) {
  if (ps->depth == NW_PARSE_DEPTH)
    return nw_parse_limit(ps, &ps->tok, "this expression is nested deeper than %d", NW_PARSE_DEPTH);
  if (!count(ps, &ps->tok)) return NULL;
  ps->depth++;
  const nw_expr *e = climb_from(ps, operand(ps), least);
  ps->depth--;
  return e;
}

const nw_expr *nw_parse_expr(nw_parser *ps) {
  bool outermost = ps->depth == 0;
  if (outermost) ps->nodes = 0;
  return climb(ps, 0);
}

const nw_expr *nw_parse_typed(nw_parser *ps, nw_dtype t, const char *what) {
  nw_token at = ps->tok;
  const nw_expr *e = nw_parse_expr(ps);
  if (e && e->type.dtype != t)
    return nw_parse_fail(ps, &at, "this %s is %s and must be %s", what, nw_dtype_name(e->type.dtype), nw_dtype_name(t));
  return e;
}

bool nw_parse_list(nw_parser *ps, const char *close, nw_dtype t, const char *what, int *n, const nw_expr **out) {
  for (*n = 0; !nw_accept(ps, close);) {
    if (*n && !nw_expect(ps, ",", "in the list")) return false;
    if (*n == NW_PARSE_LIST) return nw_parse_limit(ps, &ps->tok, "this list is longer than %d", NW_PARSE_LIST);
    if (!(out[(*n)++] = nw_parse_typed(ps, t, what))) return false;
  }
  return true;
}

const nw_expr **nw_keep_exprs(nw_parser *ps, int n, const nw_expr *const *e) {
  const nw_expr **to = NW_NEW_N(ps->p->arena, const nw_expr *, n);
  if (n) memcpy(to, e, (size_t)n * sizeof *to);
  return to;
}

// Parses `lo..hi` or `lo..+extent`.
bool nw_parse_range(nw_parser *ps, const nw_expr **lo, const nw_expr **extent) {
  if (!(*lo = nw_parse_typed(ps, NW_INDEX, "bound"))) return false;
  if (!nw_expect(ps, "..", "in a range")) return false;
  bool relative = nw_accept(ps, "+");
  const nw_expr *hi = nw_parse_typed(ps, NW_INDEX, "bound");
  if (!hi) return false;
  *extent = relative ? hi : nw_sub(ps->pool, hi, *lo);
  return true;
}

static const nw_expr *whole_text(nw_parser *ps) {
  const nw_expr *e = nw_parse_expr(ps);
  if (e && ps->tok.kind == NW_TOK_EOL) nw_next(ps);
  if (e && ps->tok.kind != NW_TOK_END) return nw_expected(ps, "the end of the expression");
  return e;
}

// Parses a single expression of variables and numbers, without buffers.
const nw_expr *nw_expr_parse(nw_pool *pool, const char *text) {
  nw_parser ps;
  if (!pool || !text || !nw_parser_open(&ps, nw_pool_ctx(pool), pool, text)) return NULL;
  return whole_text(&ps);
}

const nw_expr *nw_pattern_parse(const nw_program *p, nw_dtype variables, const char *text) {
  nw_parser ps;
  const nw_type type = {(uint8_t)variables, 1};
  if (!p || !text || !nw_parser_open(&ps, p->ctx, p->pool, text)) return NULL;
  ps.p = (nw_program *)p;
  ps.pattern = &type;
  ps.at = ps.tok.s; // reads the first token again, as a part of a pattern
  nw_next(&ps);
  return whole_text(&ps);
}
