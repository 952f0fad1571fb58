// Solves the indices of an access for variables of its block.
//
// An equation says that an expression has a known value. The expression is a sum of digits, each times a weight. A digit
// is (x // q) % m, where x is a variable or another expression. If the weights show that different digits make
// different sums, the value of each digit is a quotient of a remainder of the sum. When all digits of x are known, so is
// x. If x is a variable, it is solved; otherwise "x has this value" is a new equation.
//
// Weights, divisors and extents may be products of sizes that are at least 1. A number without factors is the constant.
#include "ir/program/inverse.h"
#include "ir/expr/factors.h"

enum { MOST = 32 }; // digits, and terms of a sum

typedef struct digit {
  const nw_expr *of; // the variable or the expression
  nw_factors divisor, extent; // the digit is (of // divisor) % extent
  bool limited; // false if no extent is known
  bool top; // true if no higher digit of `of` exists
  const nw_expr *value; // once it is known
  bool whole; // the digit is all of `of`, which is not a sum of digits
} digit;

typedef struct solver {
  nw_pool *pool;
  const nw_stmt *block;
  nw_ranges ranges; // of the block's variables
  digit known[MOST];
  int n;
  const nw_expr **out;
} solver;

typedef struct term {
  nw_factors weight;
  bool negative;
  digit digit;
} term;

typedef struct sum {
  term term[MOST];
  int n;
  const nw_expr *constant; // a number, or an expression of sizes
} sum;

static const nw_factors one = {.number = 1};

static bool is_number(const nw_factors *x, int64_t value) { return !x->n && x->number == value; }

// True if e is at least 1, so that it can be a factor.
static bool positive(const solver *x, const nw_expr *e, nw_factors *out) {
  int64_t least;
  *out = one;
  return nw_const_lower(&x->ranges, e, &least) && least >= 1 && nw_multiply(out, e);
}

// ---- sums of digits

static const nw_block_var *variable_of(const solver *x, const nw_expr *e, int *k) {
  for (*k = 0; *k < x->block->block.nvars; ++*k)
    if (x->block->block.var[*k].var == e) return &x->block->block.var[*k];
  return NULL;
}

// Writes e as a digit. Returns false if this is not possible. `part`: e is a part of a digit, so it may be any expression.
// Otherwise it must be a variable or a digit of something smaller than e, so that the solver ends.
static bool digit_of(const solver *x, const nw_expr *e, bool part, digit *d) {
  int64_t least, most;
  int k;
  nw_factors by, parts;
  bool divides = e->op == NW_OP_FLOORDIV, remains = e->op == NW_OP_FLOORMOD;
  if ((divides || remains) && positive(x, e->arg[1], &by)) {
    if (!digit_of(x, e->arg[0], true, d)) return false;
    bool exact = d->limited && nw_divide_factors(&d->extent, &by, &parts);
    if (d->limited && !exact && (!d->top || d->extent.n || by.n)) return false;
    if (divides && !nw_multiply_all(&d->divisor, &by)) return false;
    if (divides)
      return d->extent = exact ? parts : (nw_factors){.number = (d->extent.number - 1) / by.number + 1}, true;
    if (d->limited && !exact && by.number >= d->extent.number) return true;
    return d->extent = by, d->limited = true, d->top = d->top && exact && is_number(&parts, 1), true;
  }
  *d = (digit){.of = e, .divisor = one, .extent = one, .top = true};
  const nw_block_var *v = variable_of(x, e, &k);
  if (!part && !v) return false;
  if (nw_uses_load(e, NULL) || !nw_const_lower(&x->ranges, e, &least) || least != 0) return false;
  if (nw_const_upper(&x->ranges, e, &most) && most < INT64_MAX)
    d->extent.number = most + 1, d->limited = true;
  else if (v)
    d->limited = positive(x, v->extent, &d->extent);
  return true;
}

static bool is_constant(const solver *x, const nw_expr *e) {
  for (int k = 0; k < x->block->block.nvars; k++)
    if (nw_uses_var(e, x->block->block.var[k].var->name)) return false;
  return !nw_uses_load(e, NULL);
}

// Adds weight*e to the sum. Returns false if e does not have the form of a sum of digits.
static bool add_terms(const solver *x, const nw_expr *e, const nw_factors *weight, bool negative, sum *s) {
  int64_t v;
  if (is_constant(x, e)) {
    const nw_expr *c = nw_mul(x->pool, nw_factors_expr(x->pool, weight), e);
    s->constant = (negative ? nw_sub : nw_add)(x->pool, s->constant, c);
    return true;
  }
  if (e->op == NW_OP_ADD)
    return add_terms(x, e->arg[0], weight, negative, s) && add_terms(x, e->arg[1], weight, negative, s);
  if (e->op == NW_OP_SUB)
    return add_terms(x, e->arg[0], weight, negative, s) && add_terms(x, e->arg[1], weight, !negative, s);
  for (int side = 0; e->op == NW_OP_MUL && side < 2; side++) {
    nw_factors own, product = *weight;
    const nw_expr *by = e->arg[side];
    bool below = nw_is_int(by, &v) && v < 0 && v > INT64_MIN;
    if (positive(x, below ? nw_index(x->pool, -v) : by, &own) && is_constant(x, by))
      return nw_multiply_all(&product, &own) && add_terms(x, e->arg[1 - side], &product, negative != below, s);
  }
  if (s->n == MOST) return false;
  s->term[s->n].weight = *weight;
  s->term[s->n].negative = negative;
  return digit_of(x, e, false, &s->term[s->n++].digit);
}

// True if the product a is surely less than the product b.
static bool less(const nw_factors *a, const nw_factors *b) {
  nw_factors ratio = *a;
  ratio.number = 1;
  return a->number < b->number && nw_divide_factors(b, &ratio, &ratio);
}

// True if the product a is surely at most the product b.
static bool at_most(const nw_factors *a, const nw_factors *b) {
  nw_factors ratio;
  return nw_same_factors(a, b) || less(a, b) || nw_divide_factors(b, a, &ratio);
}

// Sorts the terms by weight, the largest first. Returns true if different digits always make different sums: each weight
// is at least `bound`, and the sum of all smaller terms is less than `bound`.
static bool sort(sum *s) {
  for (int i = 1; i < s->n; i++)
    for (int j = i; j > 0 && !at_most(&s->term[j].weight, &s->term[j - 1].weight); j--) {
      term t = s->term[j];
      s->term[j] = s->term[j - 1];
      s->term[j - 1] = t;
    }
  nw_factors bound = one;
  for (int i = s->n - 1; i >= 0; i--) {
    const digit *d = &s->term[i].digit;
    const nw_factors *weight = &s->term[i].weight;
    int64_t product;
    if (is_number(&d->extent, 1) && d->limited) continue;
    if (!at_most(&bound, weight)) return false;
    if (!d->limited) return i == 0 && !s->term[i].negative;
    if (!bound.n && !weight->n && !d->extent.n) {
      if (__builtin_mul_overflow(weight->number, d->extent.number - 1, &product)) return false;
      if (__builtin_add_overflow(bound.number, product, &bound.number)) return false;
      continue;
    }
    bound = *weight;
    if (!nw_multiply_all(&bound, &d->extent)) return false;
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

static const nw_expr *last_of(nw_pool *pool, const digit *d) {
  return nw_sub(pool, nw_factors_expr(pool, &d->extent), nw_index(pool, 1));
}

// Solves e == value for the digits of e. A digit with a negative weight is counted from its end: w*d is w*(m-1) plus
// -w*(m-1-d). If e is not a sum of digits, it is kept as a whole.
static bool solve(solver *x, const nw_expr *e, const nw_expr *value) {
  nw_pool *pool = x->pool;
  sum s = {.n = 0, .constant = nw_index(pool, 0)};
  if (!add_terms(x, e, &one, false, &s) || !sort(&s))
    return keep(x, &(digit){.of = e, .divisor = one, .extent = one, .top = true, .whole = true}, value);
  const nw_expr *rest = nw_sub(pool, value, s.constant);
  for (int i = 0; i < s.n; i++)
    if (s.term[i].negative)
      rest =
          nw_add(pool, rest, nw_mul(pool, nw_factors_expr(pool, &s.term[i].weight), last_of(pool, &s.term[i].digit)));
  for (int i = 0; i < s.n; i++) {
    const digit *d = &s.term[i].digit;
    const nw_expr *weight = nw_factors_expr(pool, &s.term[i].weight), *v = nw_floordiv(pool, rest, weight);
    if (s.term[i].negative) v = nw_sub(pool, last_of(pool, d), v);
    if (!keep(x, d, d->limited && is_number(&d->extent, 1) ? nw_index(pool, 0) : v)) return false;
    rest = nw_floormod(pool, rest, weight);
  }
  return true;
}

// Returns the value of an expression whose digits are all known, or NULL. Removes the digits.
static const nw_expr *compose(solver *x, const nw_expr *of) {
  const nw_expr *all = NULL;
  nw_factors next = one;
  bool used[MOST] = {false}, complete = false;
  for (bool more = true; more && !complete;) {
    more = false;
    for (int i = 0; i < x->n && !complete; i++) {
      const digit *d = &x->known[i];
      if (used[i] || d->of != of || !nw_same_factors(&d->divisor, &next)) continue;
      const nw_expr *part = nw_mul(x->pool, d->value, nw_factors_expr(x->pool, &next));
      all = all ? nw_add(x->pool, all, part) : part;
      used[i] = more = true;
      complete = d->top;
      if (!complete && !nw_multiply_all(&next, &d->extent)) return NULL;
    }
  }
  if (!complete) return NULL;
  int n = 0;
  for (int i = 0; i < x->n; i++)
    if (!used[i]) x->known[n++] = x->known[i];
  x->n = n;
  return all;
}

// True if all known digits of `low` are digits of low % m.
static bool is_below(const solver *x, const nw_expr *low, const nw_factors *m) {
  for (int i = 0; i < x->n; i++) {
    const digit *d = &x->known[i];
    nw_factors end = d->divisor, rest;
    if (d->of != low) continue;
    if (!d->limited || !nw_multiply_all(&end, &d->extent) || !nw_divide_factors(m, &end, &rest)) return false;
  }
  return true;
}

// Returns the expression y = r*m + low if high == r + low // m; otherwise NULL.
static const nw_expr *lifted(const solver *x, const nw_expr *high, const nw_expr *low, const nw_factors *m) {
  nw_pool *pool = x->pool;
  const nw_expr *by = nw_factors_expr(pool, m), *quotient = nw_simplify(&x->ranges, nw_floordiv(pool, low, by));
  const nw_expr *r = nw_sub(pool, high, quotient);
  if (nw_replace(pool, r, quotient, nw_index(pool, 0)) != r) return NULL;
  return nw_simplify(&x->ranges, nw_add(pool, nw_mul(pool, r, by), low));
}

// Replaces the digits of low, and those of high or only digit `at`, by digits of y.
static bool put_lifted(solver *x, const nw_expr *high, int at, const nw_expr *low, const nw_factors *m,
                       const nw_expr *y) {
  for (int i = 0; i < x->n; i++) {
    digit *d = &x->known[i];
    bool above = at < 0 ? d->of == high : i == at;
    if (!above && d->of != low) continue;
    if (at >= 0 && above) d->divisor = one;
    if (above && !nw_multiply_all(&d->divisor, m)) return false;
    d->of = y;
    d->whole = false;
    d->top = d->top && above;
  }
  return true;
}

// The simplifier takes quotients apart (docs/values.md): (9*i + j) // 6 becomes i + (3*i + j) // 6. If high == r + low // m, the digits of
// high are digits of y = r*m + low from m on, and the digits of low % m are the digits of y below m. Finds such a pair,
// and replaces its digits by those of y. `high` is an expression with known digits, or such an expression without its
// lowest digits.
static bool lift(solver *x) {
  for (int i = 0; i < x->n; i++) {
    const nw_expr *low = x->known[i].of;
    nw_factors m = x->known[i].divisor;
    if (x->known[i].top || !nw_multiply_all(&m, &x->known[i].extent) || !is_below(x, low, &m)) continue;
    for (int j = 0; j < x->n; j++) {
      const digit *d = &x->known[j];
      if (d->of == low) continue;
      const nw_expr *y = lifted(x, d->of, low, &m);
      if (y) return put_lifted(x, d->of, -1, low, &m, y);
      if (is_number(&d->divisor, 1)) continue;
      y = lifted(x, nw_simplify(&x->ranges, nw_floordiv(x->pool, d->of, nw_factors_expr(x->pool, &d->divisor))), low,
                 &m);
      if (y) return put_lifted(x, d->of, j, low, &m, y);
    }
  }
  return false;
}

// Finds an expression whose digits are all known. If it is a variable, stores its value; otherwise solves the equation
// that it has this value. If there is none, finds another expression whose digits are known. Returns false if that is not
// possible either.
static bool advance(solver *x) {
  for (int i = 0; i < x->n; i++) {
    if (x->known[i].whole) continue;
    const nw_expr *of = x->known[i].of, *value = compose(x, of);
    int k;
    if (!value) continue;
    if (!variable_of(x, of, &k)) return solve(x, of, value);
    if (x->out[k]) return false;
    x->out[k] = value;
    return true;
  }
  return lift(x);
}

// A variable that begins at another number than 0 is counted from there, so that it can be a digit.
static const nw_expr *from_zero(const solver *x, const nw_expr *e) {
  for (int k = 0; k < x->block->block.nvars; k++) {
    const nw_block_var *v = &x->block->block.var[k];
    if (nw_is_const(v->extent, 1))
      e = nw_subst(x->pool, e, v->var->name, v->lo);
    else if (!nw_is_const(v->lo, 0))
      e = nw_subst(x->pool, e, v->var->name, nw_add(x->pool, v->var, v->lo));
  }
  return e;
}

// ---- the solution

static bool is_found(const solver *x, bool reduce) {
  for (int k = 0; k < x->block->block.nvars; k++)
    if (!x->out[k] && (reduce || x->block->block.var[k].kind != NW_REDUCE)) return false;
  return true;
}

bool nw_inverse(const nw_program *p, const nw_stmt *block, bool reduce, int n, const nw_expr *const *index,
                const nw_expr *const *at, const nw_expr **out) {
  solver x = {.pool = p->pool, .block = block, .out = out};
  bool good = true;
  nw_ranges_of(&x.ranges, p, NULL);
  for (int k = 0; k < block->block.nvars; k++) {
    const nw_block_var *v = &block->block.var[k];
    nw_ranges_push(&x.ranges, v->var->name, nw_index(p->pool, 0), nw_sub(p->pool, v->extent, nw_index(p->pool, 1)));
    out[k] = nw_is_const(v->extent, 1) ? nw_index(p->pool, 0) : NULL;
    good = good && is_constant(&x, v->lo);
  }
  for (int d = 0; d < n && good; d++) good = solve(&x, nw_simplify(&x.ranges, from_zero(&x, index[d])), at[d]);
  for (int i = 0; good && x.n; i++) good = i < MOST && advance(&x);
  good = good && is_found(&x, reduce);
  for (int k = 0; k < block->block.nvars && good; k++)
    if (out[k]) out[k] = nw_add(p->pool, out[k], block->block.var[k].lo);
  nw_ranges_free(&x.ranges);
  return good;
}

const nw_expr *nw_inverse_holds(const nw_program *p, const nw_stmt *block, int n, const nw_expr *const *index,
                                const nw_expr *const *at, const nw_expr *const *v) {
  const nw_expr *all = NULL;
  const char *name[NW_MAX_DEPTH];
  for (int k = 0; k < block->block.nvars; k++) name[k] = block->block.var[k].var->name;
  for (int d = 0; d < n; d++) {
    const nw_expr *same = nw_eq(p->pool, nw_subst_n(p->pool, index[d], block->block.nvars, name, v), at[d]);
    if (!nw_is_const(same, 1)) all = nw_and(p->pool, all, same);
  }
  return all;
}
