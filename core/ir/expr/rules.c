// Applies the rules of rules.def. The rows are parsed once into patterns, which are trees in an array. For a new node,
// the rules for its op are tried.
//
// The kind of a rule is compared with the dtype of the innermost operands. For "not x < y", for example, it is compared
// with the dtype of x, not with the dtype of x < y.
#include "ir/expr/fold.h"
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>

typedef enum pattern_kind { ANY, CONSTANT, INTEGER, REAL, TRUTH, NODE } pattern_kind;

typedef struct pattern {
  uint8_t kind, op; // `op` is used only by NODE
  int8_t slot; // ANY, CONSTANT: index of the letter (X, Y, ...)
  int64_t i; // INTEGER, TRUTH, REAL: the value; the value of a REAL is a whole number, too
  const struct pattern *arg[3];
} pattern;

typedef struct rule {
  const char *kind;
  const pattern *from, *to, *where; // `where` may be NULL
  int next; // the next rule for this op, or -1
} rule;

enum { X, Y, Z, W, C, D, SLOTS };

static const struct {
  const char *kind, *from, *to, *where;
} rows[] = {
#define NW_RULE(kind, from, to, where) {kind, from, to, where},
#include "ir/expr/rules.def"
#undef NW_RULE
};

static rule rules[NW_COUNT(rows)];
static int first_rule[NW_OP_COUNT];
static pattern nodes[NW_COUNT(rows) * 16];
static int nnodes;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// ---------------------------------------------------------------- reading the rows

static pattern *new_pattern(pattern_kind kind) {
  NW_MUST(nnodes < NW_COUNT(nodes));
  pattern *p = &nodes[nnodes++];
  p->kind = (uint8_t)kind;
  return p;
}

static void skip_blanks(const char **s) {
  while (**s == ' ') ++*s;
}

static bool take(const char **s, const char *word) {
  skip_blanks(s);
  size_t n = strlen(word);
  if (strncmp(*s, word, n) != 0 || (isalpha((unsigned char)*word) && isalnum((unsigned char)(*s)[n]))) return false;
  *s += n;
  return true;
}

static pattern *parse(const char **s, int prec);

static pattern *parse_number(const char **s) {
  char *end;
  int64_t i = strtoll(*s, &end, 10);
  bool real = *end == '.';
  if (real) end += 2;
  *s = end;
  pattern *p = new_pattern(real ? REAL : INTEGER);
  p->i = i;
  return p;
}

static pattern *parse_call(const char **s) {
  nw_op op = NW_OP_COUNT;
  size_t n = strcspn(*s, "(");
  char name[16] = {0};
  NW_MUST(n < sizeof name);
  memcpy(name, *s, n);
  bool known = nw_op_parse(name, &op);
  NW_MUST(known);
  (void)known;
  *s += n + 1;
  pattern *p = new_pattern(NODE);
  p->op = (uint8_t)op;
  for (int i = 0; i < nw_op_arity(op); i++) {
    p->arg[i] = parse(s, 0);
    take(s, i + 1 < nw_op_arity(op) ? "," : ")");
  }
  return p;
}

static pattern *parse_unary(const char **s, nw_op op) {
  pattern *p = new_pattern(NODE);
  p->op = (uint8_t)op;
  p->arg[0] = parse(s, nw_op_prec(op));
  return p;
}

static pattern *parse_letter(const char **s) {
  static const char letters[] = "xyzwcd";
  pattern *p = new_pattern(strchr("cd", **s) ? CONSTANT : ANY);
  p->slot = (int8_t)(strchr(letters, **s) - letters);
  ++*s;
  return p;
}

static pattern *parse_operand(const char **s) {
  skip_blanks(s);
  if (isdigit((unsigned char)**s) || (**s == '-' && isdigit((unsigned char)(*s)[1]))) return parse_number(s);
  if (take(s, "(")) {
    pattern *p = parse(s, 0);
    take(s, ")");
    return p;
  }
  if (take(s, "-")) return parse_unary(s, NW_OP_NEG);
  if (take(s, "~")) return parse_unary(s, NW_OP_BITNOT);
  if (take(s, "not")) return parse_unary(s, NW_OP_NOT);
  bool yes = take(s, "true");
  if (yes || take(s, "false")) {
    pattern *p = new_pattern(TRUTH);
    p->i = yes;
    return p;
  }
  return isalpha((unsigned char)(*s)[1]) ? parse_call(s) : parse_letter(s);
}

static bool take_infix(const char **s, int prec, nw_op *op) {
  static const nw_op infix[] = {NW_OP_FLOORDIV, NW_OP_SHL,   NW_OP_SHR,    NW_OP_LE,  NW_OP_EQ,       NW_OP_NE,
                                NW_OP_ADD,      NW_OP_SUB,   NW_OP_MUL,    NW_OP_DIV, NW_OP_FLOORMOD, NW_OP_LT,
                                NW_OP_BITAND,   NW_OP_BITOR, NW_OP_BITXOR, NW_OP_AND, NW_OP_OR};
  for (int i = 0; i < NW_COUNT(infix); i++) {
    if (nw_op_prec(infix[i]) <= prec || !take(s, nw_op_infix(infix[i]))) continue;
    *op = infix[i];
    return true;
  }
  return false;
}

static pattern *parse(const char **s, int prec) {
  pattern *left = parse_operand(s);
  for (nw_op op; take_infix(s, prec, &op);) {
    pattern *p = new_pattern(NODE);
    p->op = (uint8_t)op;
    p->arg[0] = left;
    p->arg[1] = parse(s, nw_op_prec(op));
    left = p;
  }
  return left;
}

static const pattern *parse_all(const char *s) {
  if (!*s) return NULL;
  const pattern *p = parse(&s, 0);
  NW_MUST(*s == 0);
  return p;
}

static void read_rules(void) {
  for (int op = 0; op < NW_OP_COUNT; op++) first_rule[op] = -1;
  for (int i = NW_COUNT(rows) - 1; i >= 0; i--) {
    const pattern *from = parse_all(rows[i].from);
    rules[i] = (rule){rows[i].kind, from, parse_all(rows[i].to), parse_all(rows[i].where), first_rule[from->op]};
    first_rule[from->op] = i;
  }
}

// ---------------------------------------------------------------- matching

typedef struct match {
  nw_pool *pool;
  const nw_expr *slot[SLOTS];
} match;

static const nw_expr *through_broadcast(const nw_expr *e) { return e->op == NW_OP_BROADCAST ? e->arg[0] : e; }

static bool match_args(match *m, const pattern *p, int n, const nw_expr *const *args);

static bool match_constant(const pattern *p, const nw_expr *e) {
  e = through_broadcast(e);
  if (p->kind == REAL) {
    double v = (double)p->i;
    return e->op == NW_OP_FLOAT && memcmp(&e->f, &v, sizeof v) == 0;
  }
  return e->op == NW_OP_INT && (e->type.dtype == NW_BOOL) == (p->kind == TRUTH) &&
         e->i == nw_wrap((nw_dtype)e->type.dtype, p->i);
}

static bool match_one(match *m, const pattern *p, const nw_expr *e) {
  switch (p->kind) {
  case CONSTANT:
    if (e->op != NW_OP_INT) return false;
    break;
  case ANY: break;
  case NODE: return e->op == p->op && match_args(m, p, e->n, e->arg);
  default: return match_constant(p, e);
  }
  if (!m->slot[p->slot]) m->slot[p->slot] = e;
  return m->slot[p->slot] == e;
}

static bool match_args(match *m, const pattern *p, int n, const nw_expr *const *args) {
  for (int i = 0; i < n; i++)
    if (!match_one(m, p->arg[i], args[i])) return false;
  return true;
}

// Returns the operand whose dtype is compared with the rule's kind: y for a select, and x for any other op.
static const nw_expr *witness(const match *m, nw_op op) {
  return op == NW_OP_SELECT && m->slot[Y] ? m->slot[Y] : m->slot[X];
}

static bool is_kind(const char *kind, const nw_expr *x) {
  nw_dtype t = (nw_dtype)x->type.dtype;
  switch (*kind) {
  case 'i': return nw_dtype_is_int(t);
  case 'n': return t == NW_INDEX && nw_is_exact(x);
  case 's': return nw_dtype_is_int(t) && (nw_dtype_is_signed(t) || NW_MUTATED(rules_of_unsigned));
  case 'b': return t == NW_BOOL;
  case 'f': return nw_dtype_is_float(t);
  default: return true;
  }
}

// Builds the expression of a pattern. Its numbers get the dtype and the lanes of t.
static const nw_expr *instantiate(const match *m, const pattern *p, nw_type t) {
  const nw_expr *a[3];
  int n = 0;
  switch (p->kind) {
  case ANY:
  case CONSTANT: return m->slot[p->slot];
  case INTEGER: return nw_broadcast(m->pool, nw_int(m->pool, (nw_dtype)t.dtype, p->i), t.lanes);
  case REAL: return nw_broadcast(m->pool, nw_float(m->pool, (nw_dtype)t.dtype, (double)p->i), t.lanes);
  case TRUTH: return nw_broadcast(m->pool, nw_int(m->pool, NW_BOOL, p->i), t.lanes);
  }
  for (; n < nw_op_arity(p->op); n++) a[n] = instantiate(m, p->arg[n], t);
  if (p->op == NW_OP_SELECT) return nw_make(m->pool, NW_OP_SELECT, a[1]->type, 3, a);
  return n == 1 ? nw_make1(m->pool, p->op, a[0]) : nw_make2(m->pool, p->op, a[0], a[1]);
}

static bool condition_holds(const match *m, const pattern *where, nw_type t) {
  return !where || nw_is_const(instantiate(m, where, t), 1);
}

// A select of vectors may have a single condition for all lanes. If a rule replaces the select by this condition, the
// condition is broadcast to a vector.
static const nw_expr *replacement(const match *m, const rule *r, nw_type of, nw_type t) {
  const nw_expr *e = instantiate(m, r->to, of);
  return e->type.lanes == t.lanes || NW_MUTATED(condition_of_lanes) ? e : nw_broadcast(m->pool, e, t.lanes);
}

const nw_expr *nw_apply_rules(nw_pool *p, nw_op op, nw_type t, int n, const nw_expr *const *args) {
  pthread_once(&once, read_rules);
  for (int i = first_rule[op]; i >= 0; i = rules[i].next) {
    const rule *r = &rules[i];
    match m = {.pool = p};
    if (!match_args(&m, r->from, n, args)) continue;
    const nw_expr *x = witness(&m, op);
    nw_type of = x ? (nw_type){x->type.dtype, t.lanes} : t;
    if (x && !is_kind(r->kind, x)) continue;
    if (condition_holds(&m, r->where, (nw_type){of.dtype, 1})) return replacement(&m, r, of, t);
  }
  return NULL;
}
