// Brings integer sums and products to canonical form. In wrapping arithmetic on b bits, they are polynomials over the
// integers modulo 2^b. So collecting and reordering terms does not change the value, for any integer dtype.
#include "ir/expr/fold.h"
#include <stdlib.h>

static int64_t mul64(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

// A coefficient of an unsigned dtype is made signed, so that x + 255 in u8 is x - 1.
static int64_t signed_wrap(nw_dtype t, int64_t v) {
  switch (nw_dtype_bytes(t)) {
  case 1: return (int8_t)v;
  case 2: return (int16_t)v;
  case 4: return (int32_t)v;
  default: return v;
  }
}

void nw_sum_init(nw_sum *s, nw_pool *p, nw_dtype t) {
  s->pool = p;
  s->dtype = t;
  s->n = 0;
  s->cap = NW_COUNT(s->room);
  s->term = s->room;
  s->constant = 0;
  s->wraps = false;
}

void nw_sum_free(nw_sum *s) {
  if (s->term != s->room) free(s->term);
}

static void sum_grow(nw_sum *s) {
  if (s->n < s->cap) return;
  nw_term *was = s->term == s->room ? NULL : s->term;
  s->cap *= 2;
  s->term = nw_xrealloc(was, (size_t)s->cap * sizeof *s->term);
  if (!was) memcpy(s->term, s->room, sizeof s->room);
}

// add_in and mul_in compute a + b and a*b with wrapping arithmetic. They set s->wraps if the result does not fit in 64
// bits or cannot be negated.
static int64_t add_in(nw_sum *s, int64_t a, int64_t b) {
  int64_t r;
  s->wraps |= __builtin_add_overflow(a, b, &r) || r == INT64_MIN;
  return signed_wrap(s->dtype, r);
}

static int64_t mul_in(nw_sum *s, int64_t a, int64_t b) {
  int64_t r;
  s->wraps |= __builtin_mul_overflow(a, b, &r) || r == INT64_MIN;
  return r;
}

static nw_term *find_term(nw_sum *s, const nw_expr *atom) {
  for (int i = 0; i < s->n; i++)
    if (s->term[i].atom == atom) return &s->term[i];
  return NULL;
}

void nw_sum_term(nw_sum *s, int64_t coef, const nw_expr *atom) {
  nw_term *t = find_term(s, atom);
  if (t) {
    t->coef = add_in(s, t->coef, coef);
    return;
  }
  sum_grow(s);
  s->term[s->n++] = (nw_term){signed_wrap(s->dtype, coef), atom};
}

void nw_sum_add(nw_sum *s, int64_t coef, const nw_expr *e) {
  switch (e->op) {
  case NW_OP_INT: s->constant = add_in(s, s->constant, mul_in(s, coef, e->i)); return;
  case NW_OP_ADD:
  case NW_OP_SUB:
    nw_sum_add(s, coef, e->arg[0]);
    nw_sum_add(s, e->op == NW_OP_ADD ? coef : mul_in(s, coef, -1), e->arg[1]);
    return;
  case NW_OP_NEG: nw_sum_add(s, mul_in(s, coef, -1), e->arg[0]); return;
  case NW_OP_MUL:
    if (e->arg[0]->op != NW_OP_INT) break;
    nw_sum_add(s, mul_in(s, coef, e->arg[0]->i), e->arg[1]);
    return;
  }
  nw_sum_term(s, coef, e);
}

// ---------------------------------------------------------------- order

static int rank(const nw_expr *e) {
  return e->op == NW_OP_VAR ? 0 : e->op == NW_OP_LOAD ? 1 : nw_is_constant(e) ? 1000 : 2 + e->op;
}

#define ORDER(a, b)                                                                                                    \
  if ((a) != (b)) return (a) < (b) ? -1 : 1

int nw_compare(const nw_expr *a, const nw_expr *b) {
  if (a == b) return 0;
  ORDER(rank(a), rank(b));
  if (a->op == NW_OP_VAR || a->op == NW_OP_LOAD) {
    int by_name = strcmp(a->name, b->name);
    if (by_name) return by_name;
  } else {
    ORDER(a->i, b->i);
  }
  ORDER(a->type.dtype, b->type.dtype);
  ORDER(a->type.lanes, b->type.lanes);
  ORDER(a->n, b->n);
  for (int i = 0; i < a->n; i++) {
    int c = nw_compare(a->arg[i], b->arg[i]);
    if (c) return c;
  }
  return 0;
}

#define MAX_FACTORS 32

// Returns the number of factors, but at most `most`. The limit is needed because subexpressions are shared: a variable
// that is squared n times has 2^n factors, but only n + 1 nodes.
static int degree_upto(const nw_expr *e, int most) {
  if (e->op != NW_OP_MUL || most <= 1) return 1;
  int left = degree_upto(e->arg[0], most);
  return left >= most ? most : left + degree_upto(e->arg[1], most - left);
}

static int degree(const nw_expr *e) { return degree_upto(e, MAX_FACTORS + 1); }

static uint64_t magnitude(int64_t c) { return c < 0 ? 0 - (uint64_t)c : (uint64_t)c; }

static int compare_terms(const nw_term *a, const nw_term *b) {
  ORDER(magnitude(b->coef), magnitude(a->coef));
  ORDER(degree(b->atom), degree(a->atom));
  return nw_compare(a->atom, b->atom);
}

static void sort_terms(nw_sum *s) {
  for (int i = 1; i < s->n; i++) {
    nw_term t = s->term[i];
    int k = i;
    for (; k > 0 && compare_terms(&t, &s->term[k - 1]) < 0; k--) s->term[k] = s->term[k - 1];
    s->term[k] = t;
  }
}

// ---------------------------------------------------------------- from a sum to an expression

void nw_sum_drop_zeros(nw_sum *s) {
  int n = 0;
  for (int i = 0; i < s->n; i++)
    if (s->term[i].coef) s->term[n++] = s->term[i];
  s->n = n;
}

// The term `rem` is k*(x % c). Returns the term k*c*(x // c) of s, or NULL if s has no such term. The sum of both terms
// is k*x. c may be symbolic.
static nw_term *quotient_term(nw_sum *s, const nw_term *rem) {
  const nw_expr *x = rem->atom->arg[0], *c = rem->atom->arg[1];
  for (int i = 0; i < s->n; i++) {
    nw_term *t = &s->term[i];
    const nw_expr *a = t->atom;
    if (c->op == NW_OP_INT) {
      if (a->op == NW_OP_FLOORDIV && a->arg[0] == x && a->arg[1] == c &&
          t->coef == signed_wrap(s->dtype, mul64(rem->coef, c->i)))
        return t;
    } else if (a->op == NW_OP_MUL && t->coef == rem->coef) {
      const nw_expr *q = nw_raw(s->pool, NW_OP_FLOORDIV, x->type, 2, (const nw_expr *[]){x, c});
      if (a == nw_product(s->pool, c, q)) return t;
    }
  }
  return NULL;
}

// Replaces c*(x // c) + x % c by x.
static void join_divisions(nw_sum *s) {
  for (int i = 0; i < s->n; i++) {
    nw_term rem = s->term[i];
    if (rem.atom->op != NW_OP_FLOORMOD) continue;
    nw_term *q = quotient_term(s, &rem);
    if (!q) continue;
    q->coef = s->term[i].coef = 0;
    nw_sum_add(s, rem.coef, NW_BY(joined_division, rem.atom->arg[0]));
    nw_sum_drop_zeros(s);
    i = -1;
  }
}

static const nw_expr *binary(nw_sum *s, nw_op op, const nw_expr *a, const nw_expr *b) {
  return nw_raw(s->pool, op, nw_scalar(s->dtype), 2, (const nw_expr *[]){a, b});
}

static const nw_expr *scaled(nw_sum *s, int64_t coef, const nw_expr *atom) {
  if (coef == 1) return atom;
  if (coef == -1) return nw_raw(s->pool, NW_OP_NEG, atom->type, 1, &atom);
  return binary(s, NW_OP_MUL, nw_int(s->pool, s->dtype, coef), atom);
}

// True if a term with this coefficient is written after a minus sign. False for the least integer, since its negation
// does not fit in 64 bits.
static bool subtracted(int64_t coef) { return coef < 0 && coef != INT64_MIN; }

static const nw_expr *append(nw_sum *s, const nw_expr *acc, int64_t coef, const nw_expr *atom) {
  if (subtracted(coef)) return binary(s, NW_OP_SUB, acc, scaled(s, nw_negate(coef), atom));
  return binary(s, NW_OP_ADD, acc, scaled(s, coef, atom));
}

// Returns the index of the term that is written first, or -1 if the constant is written first. The text should not
// start with a minus sign. So the first positive term is chosen. If no term is positive, the constant is chosen if it
// is positive. Otherwise the first term is chosen.
static int leader(const nw_sum *s) {
  for (int i = 0; i < s->n; i++)
    if (s->term[i].coef > 0) return i;
  return s->constant > 0 ? -1 : 0;
}

// Terms are sorted by the absolute value of their coefficients (larger first), then by degree (higher first), then by
// nw_compare. The constant is last. After that, the term that is written first (leader_of) is moved to the start.
const nw_expr *nw_sum_expr(nw_sum *s) {
  nw_sum_drop_zeros(s);
  join_divisions(s);
  if (s->n == 0) return nw_int(s->pool, s->dtype, s->constant);
  sort_terms(s);
  int first = leader(s);
  const nw_expr *e =
      first < 0 ? nw_int(s->pool, s->dtype, s->constant) : scaled(s, s->term[first].coef, s->term[first].atom);
  for (int i = 0; i < s->n; i++)
    if (i != first) e = append(s, e, s->term[i].coef, s->term[i].atom);
  if (first < 0 || s->constant == 0) return e;
  bool minus = subtracted(s->constant);
  return binary(s, minus ? NW_OP_SUB : NW_OP_ADD, e, nw_int(s->pool, s->dtype, minus ? -s->constant : s->constant));
}

// ---------------------------------------------------------------- products

// Divides a sum by the greatest common divisor of its coefficients and its constant, and multiplies *coef by this
// divisor. The divisor gets the sign of the first term, so that the first term is positive afterwards. As a result,
// (2*i + 2)*j and 2*(i + 1)*j become the same product.
static const nw_expr *primitive_part(const nw_expr *e, int64_t *coef) {
  nw_sum s;
  nw_sum_init(&s, e->pool, (nw_dtype)e->type.dtype);
  nw_sum_add(&s, 1, e);
  nw_sum_drop_zeros(&s);
  sort_terms(&s);
  int64_t g = nw_gcd(s.constant, 0);
  for (int i = 0; i < s.n; i++) g = nw_gcd(g, s.term[i].coef);
  if (s.n && s.term[0].coef < 0) g = nw_negate(g);
  if (s.n && g != 1 && g != 0) {
    *coef = mul64(*coef, g);
    for (int i = 0; i < s.n; i++) s.term[i].coef = g == -1 ? nw_negate(s.term[i].coef) : s.term[i].coef / g;
    s.constant = g == -1 ? nw_negate(s.constant) : s.constant / g;
    e = nw_sum_expr(&s);
  }
  nw_sum_free(&s);
  return e;
}

// Multiplies *coef by the constant factors of e, and appends the other factors to `out`. A product with too many
// factors is appended as a single factor.
static void factor(const nw_expr *e, int64_t *coef, int *n, const nw_expr **out) {
  if (e->op == NW_OP_INT) {
    *coef = mul64(*coef, e->i);
  } else if (e->op == NW_OP_NEG) {
    *coef = nw_negate(*coef);
    factor(e->arg[0], coef, n, out);
  } else if (e->op == NW_OP_MUL && *n + degree(e) <= MAX_FACTORS) {
    factor(e->arg[0], coef, n, out);
    factor(e->arg[1], coef, n, out);
  } else {
    out[(*n)++] = e->op == NW_OP_ADD || e->op == NW_OP_SUB ? primitive_part(e, coef) : e;
  }
}

static void sort_factors(int n, const nw_expr **f) {
  for (int i = 1; i < n; i++) {
    const nw_expr *t = f[i];
    int k = i;
    for (; k > 0 && nw_compare(t, f[k - 1]) < 0; k--) f[k] = f[k - 1];
    f[k] = t;
  }
}

static const nw_expr *times(nw_pool *p, nw_dtype t, int64_t coef, const nw_expr *e) {
  nw_sum s;
  nw_sum_init(&s, p, t);
  nw_sum_add(&s, coef, e);
  const nw_expr *r = s.wraps && nw_is_index(e) ? scaled(&s, coef, e) : nw_sum_expr(&s);
  nw_sum_free(&s);
  return r;
}

// If one operand is a constant, multiplies every term of the other operand by it. Otherwise sorts the factors, and does
// not multiply them out.
const nw_expr *nw_product(nw_pool *p, const nw_expr *a, const nw_expr *b) {
  nw_dtype t = (nw_dtype)a->type.dtype;
  if (a->op == NW_OP_INT) return times(p, t, a->i, b);
  if (b->op == NW_OP_INT) return times(p, t, b->i, a);
  int64_t coef = 1;
  int n = 0;
  const nw_expr *f[MAX_FACTORS + 2];
  factor(a, &coef, &n, f);
  factor(b, &coef, &n, f);
  sort_factors(n, f);
  const nw_expr *e = f[0];
  for (int i = 1; i < n; i++) e = nw_raw(p, NW_OP_MUL, nw_scalar(t), 2, (const nw_expr *[]){e, f[i]});
  return coef == 1 ? e : times(p, t, coef, e);
}
