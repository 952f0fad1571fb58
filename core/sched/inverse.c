// Solves the indices of a read for the variables of the block that reads.
//
// An equation says that an expression has a known value. The expression is a sum of digits, each times a weight. A digit
// is (x // q) % m, where x is a variable or another expression. If the weights show that different digits make
// different sums, the value of each digit is a quotient of a remainder of the sum. When all digits of x are known, so is
// x. If x is a variable, it is solved; otherwise "x has this value" is a new equation.
#include "sched/inverse.h"
#include "sched/tree.h"

enum { MOST = 32 }; // digits, and terms of a sum

typedef struct digit {
  const nw_expr *of; // the variable or the expression
  int64_t divisor, extent; // the digit is (of // divisor) % extent; extent 0: no limit is known
  bool top; // true if no higher digit of `of` exists
  const nw_expr *value; // once it is known
} digit;

typedef struct solver {
  nw_step *st;
  nw_pool *pool;
  const nw_stmt *block;
  nw_ranges ranges; // of the block's variables
  digit known[MOST];
  int n;
  const nw_expr **out;
} solver;

typedef struct term {
  int64_t weight;
  digit digit;
} term;

typedef struct sum {
  term term[MOST];
  int n;
  int64_t constant;
} sum;

// ---- sums of digits

static const nw_block_var *variable_of(const solver *x, const nw_expr *e, int *k) {
  for (*k = 0; *k < x->block->block.nvars; ++*k)
    if (x->block->block.var[*k].var == e) return &x->block->block.var[*k];
  return NULL;
}

// Writes e as a digit. Returns false if this is not possible. `part`: e is a part of a digit, so it may be any expression.
// Otherwise it must be a variable or a digit of something smaller than e, so that the solver ends.
static bool digit_of(const solver *x, const nw_expr *e, bool part, digit *d) {
  int64_t by, least, most;
  int k;
  bool divides = e->op == NW_OP_FLOORDIV, remains = e->op == NW_OP_FLOORMOD;
  if ((divides || remains) && nw_is_int(e->arg[1], &by) && by > 0) {
    if (!digit_of(x, e->arg[0], true, d)) return false;
    if (divides && d->divisor > INT64_MAX / by) return false;
    if (divides && d->extent && !d->top && d->extent % by) return false;
    if (divides) return d->divisor *= by, d->extent = (d->extent + by - 1) / by, true;
    if (d->extent && by >= d->extent) return true;
    if (d->extent && !d->top && d->extent % by) return false;
    return d->extent = by, d->top = false, true;
  }
  *d = (digit){.of = e, .divisor = 1, .top = true};
  if (!part && !variable_of(x, e, &k)) return false;
  if (nw_uses_load(e, NULL) || !nw_const_lower(&x->ranges, e, &least) || least != 0) return false;
  if (nw_const_upper(&x->ranges, e, &most)) d->extent = most < INT64_MAX ? most + 1 : 0;
  return true;
}

// Adds weight*e to the sum. Returns false if e does not have the form of a sum of digits.
static bool add_terms(const solver *x, const nw_expr *e, int64_t weight, sum *s) {
  int64_t v, product;
  if (nw_is_int(e, &v))
    return !__builtin_mul_overflow(v, weight, &product) && !__builtin_add_overflow(s->constant, product, &s->constant);
  if (e->op == NW_OP_ADD) return add_terms(x, e->arg[0], weight, s) && add_terms(x, e->arg[1], weight, s);
  if (e->op == NW_OP_SUB)
    return weight > INT64_MIN && add_terms(x, e->arg[0], weight, s) && add_terms(x, e->arg[1], -weight, s);
  if (e->op == NW_OP_MUL && nw_is_int(e->arg[1], &v))
    return !__builtin_mul_overflow(v, weight, &product) && add_terms(x, e->arg[0], product, s);
  if (e->op == NW_OP_MUL && nw_is_int(e->arg[0], &v))
    return !__builtin_mul_overflow(v, weight, &product) && add_terms(x, e->arg[1], product, s);
  if (s->n == MOST || weight == 0) return false;
  s->term[s->n].weight = weight;
  return digit_of(x, e, false, &s->term[s->n++].digit);
}

static int64_t size_of(const term *t) { return t->weight < 0 ? -t->weight : t->weight; }

// Sorts the terms by weight, the largest first. Returns true if different digits always make different sums.
static bool sort(sum *s) {
  int64_t reach = 0, product;
  for (int i = 1; i < s->n; i++)
    for (int j = i; j > 0 && size_of(&s->term[j]) > size_of(&s->term[j - 1]); j--) {
      term t = s->term[j];
      s->term[j] = s->term[j - 1];
      s->term[j - 1] = t;
    }
  for (int i = s->n - 1; i >= 0; i--) {
    const digit *d = &s->term[i].digit;
    if (d->extent != 1 && size_of(&s->term[i]) <= reach) return false;
    if (!d->extent && (i > 0 || s->term[i].weight < 0)) return false;
    if (d->extent && __builtin_mul_overflow(size_of(&s->term[i]), d->extent - 1, &product)) return false;
    if (d->extent && __builtin_add_overflow(reach, product, &reach)) return false;
  }
  return true;
}

// ---- equations

static bool keep(solver *x, const digit *d, const nw_expr *value) {
  if (x->n == MOST) return false;
  x->known[x->n] = *d;
  x->known[x->n++].value = value;
  return true;
}

// Solves e == value for the digits of e. A digit with a negative weight is counted from its end: w*d is w*(m-1) plus
// -w*(m-1-d).
static bool solve(solver *x, const nw_expr *e, const nw_expr *value) {
  nw_pool *pool = x->pool;
  sum s = {.n = 0};
  if (!add_terms(x, e, 1, &s) || !sort(&s)) return false;
  for (int i = 0; i < s.n; i++)
    if (s.term[i].weight < 0) s.constant += s.term[i].weight * (s.term[i].digit.extent - 1);
  const nw_expr *rest = nw_sub(pool, value, nw_index(pool, s.constant));
  for (int i = 0; i < s.n; i++) {
    const digit *d = &s.term[i].digit;
    const nw_expr *weight = nw_index(pool, size_of(&s.term[i])), *v = nw_floordiv(pool, rest, weight);
    if (s.term[i].weight < 0) v = nw_sub(pool, nw_index(pool, d->extent - 1), v);
    if (!keep(x, d, d->extent == 1 ? nw_index(pool, 0) : v)) return false;
    rest = nw_floormod(pool, rest, weight);
  }
  return true;
}

// Returns the value of an expression whose digits are all known, or NULL. Removes the digits.
static const nw_expr *compose(solver *x, const nw_expr *of) {
  const nw_expr *all = NULL;
  int64_t next = 1;
  bool used[MOST] = {false}, complete = false;
  for (bool more = true; more && !complete;) {
    more = false;
    for (int i = 0; i < x->n && !complete; i++) {
      const digit *d = &x->known[i];
      if (used[i] || d->of != of || d->divisor != next) continue;
      const nw_expr *part = nw_mul(x->pool, d->value, nw_index(x->pool, next));
      all = all ? nw_add(x->pool, all, part) : part;
      used[i] = more = true;
      complete = d->top;
      if (!complete && __builtin_mul_overflow(next, d->extent, &next)) return NULL;
    }
  }
  if (!complete) return NULL;
  int n = 0;
  for (int i = 0; i < x->n; i++)
    if (!used[i]) x->known[n++] = x->known[i];
  x->n = n;
  return all;
}

// Finds an expression whose digits are all known. If it is a variable, stores its value; otherwise solves the equation
// that it has this value. Returns false if there is none, and if the equation cannot be solved.
static bool advance(solver *x) {
  for (int i = 0; i < x->n; i++) {
    const nw_expr *of = x->known[i].of, *value = compose(x, of);
    int k;
    if (!value) continue;
    if (!variable_of(x, of, &k)) return solve(x, of, value);
    if (x->out[k]) return false;
    x->out[k] = value;
    return true;
  }
  return false;
}

bool nw_inverse(nw_step *st, const nw_stmt *block, const nw_expr *load, const nw_expr *const *at, const nw_expr **out) {
  solver x = {.st = st, .pool = st->p->pool, .block = block, .out = out};
  bool good = true;
  nw_ranges_of(&x.ranges, st->p, NULL);
  for (int k = 0; k < block->block.nvars; k++) {
    const nw_block_var *v = &block->block.var[k];
    nw_ranges_push(&x.ranges, v->var->name, v->lo,
                   nw_sub(x.pool, nw_add(x.pool, v->lo, v->extent), nw_index(x.pool, 1)));
    out[k] = nw_is_const(v->extent, 1) ? v->lo : NULL;
  }
  for (int d = 0; d < load->n && good; d++) {
    const nw_expr *e = load->arg[d];
    for (int k = 0; k < block->block.nvars; k++)
      if (out[k] && nw_is_const(block->block.var[k].extent, 1))
        e = nw_subst(x.pool, e, block->block.var[k].var->name, out[k]);
    good = solve(&x, nw_simplify(&x.ranges, e), at[d]);
  }
  while (good && x.n) good = advance(&x);
  for (int k = 0; k < block->block.nvars; k++) good = good && out[k];
  nw_ranges_free(&x.ranges);
  return good;
}

const nw_expr *nw_inverse_holds(nw_step *st, const nw_stmt *block, const nw_expr *load, const nw_expr *const *at,
                                const nw_expr *const *v) {
  const nw_expr *all = NULL;
  int n = block->block.nvars;
  const char **name = NW_NEW_N(st->scratch, const char *, n + 1);
  for (int k = 0; k < n; k++) name[k] = block->block.var[k].var->name;
  for (int d = 0; d < load->n; d++) {
    const nw_expr *same = nw_eq(st->p->pool, nw_subst_n(st->p->pool, load->arg[d], n, name, v), at[d]);
    if (!nw_is_const(same, 1)) all = nw_and(st->p->pool, all, same);
  }
  return all;
}
