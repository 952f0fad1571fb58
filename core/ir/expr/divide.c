// Folds floor division, modulo and comparisons of index expressions. The operands are treated as sums. The rules hold
// only for arithmetic that does not overflow. Index arithmetic is assumed not to overflow.
#include "ir/expr/fold.h"

static int64_t terms_gcd(const nw_sum *s, int64_t g) {
  for (int i = 0; i < s->n; i++) g = nw_gcd(g, s->term[i].coef);
  return g;
}

// Divides a sum by g, which divides all coefficients. The quotient of the constant is rounded down.
static void divide_terms(nw_sum *s, int64_t g) {
  for (int i = 0; i < s->n; i++) s->term[i].coef /= g;
  s->constant = nw_floordiv_i64(s->constant, g);
}

// Moves multiples of c from r to q, so that (old r) == c*q + (new r). The constant of the new r is in 0..c-1, and its
// coefficients are between -c and c.
static bool take_multiples(nw_sum *r, nw_sum *q, int64_t c) {
  bool any = false;
  for (int i = 0; i < r->n; i++) {
    nw_term *t = &r->term[i];
    if (t->coef / c == 0) continue;
    nw_sum_term(q, t->coef / c, t->atom);
    t->coef %= c;
    any = true;
  }
  q->constant = nw_floordiv_i64(r->constant, c);
  r->constant = nw_floormod_i64(r->constant, c);
  return any || q->constant;
}

// In a sum modulo c, replaces the term a*(x % m) by a*x if c divides a*m.
static bool open_modulos(nw_sum *r, int64_t c) {
  bool any = false;
  for (int i = 0; i < r->n; i++) {
    nw_term t = r->term[i];
    if (t.coef == 0 || t.atom->op != NW_OP_FLOORMOD) continue;
    const nw_expr *m = t.atom->arg[1];
    if (m->op != NW_OP_INT || m->i == 0 || (__int128)t.coef * m->i % c != 0) continue;
    r->term[i].coef = 0;
    nw_sum_add(r, t.coef, t.atom->arg[0]);
    any = true;
  }
  return any;
}

static const nw_expr *quotient(nw_sum *r, nw_sum *q, int64_t c, int64_t g) {
  divide_terms(r, g);
  nw_pool *p = r->pool;
  const nw_expr *rest = nw_make2(p, NW_OP_FLOORDIV, nw_sum_expr(r), nw_index(p, c / g));
  nw_sum_add(q, 1, rest);
  return nw_sum_expr(q);
}

static const nw_expr *remainder_of(nw_sum *r, int64_t c, int64_t g) {
  nw_pool *p = r->pool;
  int64_t low = nw_floormod_i64(r->constant, g);
  divide_terms(r, g);
  const nw_expr *rest = nw_make2(p, NW_OP_FLOORMOD, nw_sum_expr(r), nw_index(p, c / g));
  return nw_add(p, nw_mul(p, nw_index(p, g), rest), nw_index(p, low));
}

// Replaces (c*x + y) // c by x + y // c, and (c*x + y) % c by y % c. Also removes a common factor of dividend and
// divisor.
static const nw_expr *divide_by_constant(nw_sum *r, nw_sum *q, nw_op op, int64_t c) {
  bool changed = take_multiples(r, q, c);
  if (op == NW_OP_FLOORMOD && open_modulos(r, c)) changed = true;
  int64_t g = terms_gcd(r, c);
  if (!changed && g == 1) return NULL;
  return op == NW_OP_FLOORDIV ? quotient(r, q, c, g) : remainder_of(r, c, g);
}

// Returns the product e without one factor d, or NULL if d is not a factor.
static const nw_expr *without_factor(nw_pool *p, const nw_expr *e, const nw_expr *d) {
  if (e == d) return nw_index(p, 1);
  if (e->op != NW_OP_MUL) return NULL;
  const nw_expr *rest = without_factor(p, e->arg[1], d);
  if (rest) return nw_mul(p, e->arg[0], rest);
  rest = without_factor(p, e->arg[0], d);
  return rest ? nw_mul(p, rest, e->arg[1]) : NULL;
}

// Replaces (d*x + y) // d by x + y // d, and (d*x + y) % d by y % d, for a symbolic d.
static const nw_expr *divide_by_symbol(nw_sum *r, nw_sum *q, nw_op op, const nw_expr *d) {
  nw_pool *p = r->pool;
  bool changed = false;
  for (int i = 0; i < r->n; i++) {
    const nw_expr *rest = without_factor(p, r->term[i].atom, d);
    if (!rest) continue;
    nw_sum_add(q, r->term[i].coef, rest);
    r->term[i].coef = 0;
    changed = true;
  }
  if (!changed) return NULL;
  const nw_expr *left = nw_make2(p, op, nw_sum_expr(r), d);
  if (op == NW_OP_FLOORMOD) return left;
  nw_sum_add(q, 1, left);
  return nw_sum_expr(q);
}

// Limit on a divisor c. The constant of a dividend becomes a number in 0..c - 1, which must be in the range of indices.
#define LARGEST_DIVISOR (INT64_C(1) << 61)

// Although the operands do not wrap, the result may wrap, because it combines their terms differently. For example, let
// y be max(x, 12): y - 15 cannot wrap, but y + 9 can. So the result is checked, too.
const nw_expr *nw_fold_division(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b) {
  if (!nw_is_index(a) || !nw_is_exact(a) || !nw_is_exact(b)) return NULL;
  if (b->op == NW_OP_INT && (b->i <= 0 || b->i > LARGEST_DIVISOR)) return NULL;
  nw_sum r, q;
  nw_sum_init(&r, p, NW_INDEX);
  nw_sum_init(&q, p, NW_INDEX);
  nw_sum_add(&r, 1, a);
  const nw_expr *e = r.wraps              ? NULL
                     : b->op == NW_OP_INT ? NW_BY(division_by_constant, divide_by_constant(&r, &q, op, b->i))
                                          : NW_BY(division_by_symbol, divide_by_symbol(&r, &q, op, b));
  nw_sum_free(&r);
  nw_sum_free(&q);
  return e && (nw_is_exact(e) || NW_MUTATED(divided_parts_wrap)) ? e : NULL;
}

// ---------------------------------------------------------------- comparisons

static const nw_expr *decided(nw_pool *p, nw_op op, int64_t d) {
  bool yes = op == NW_OP_LT ? d < 0 : op == NW_OP_LE ? d <= 0 : op == NW_OP_EQ ? d == 0 : d != 0;
  return nw_int(p, NW_BOOL, yes);
}

static int count_terms(nw_pool *p, const nw_expr *e, bool *constant) {
  nw_sum s;
  nw_sum_init(&s, p, NW_INDEX);
  nw_sum_add(&s, 1, e);
  *constant = s.constant != 0;
  nw_sum_free(&s);
  return s.n;
}

// Returns one part of s as a separate sum: its positive terms, or its negative terms with their signs changed.
static const nw_expr *side(const nw_sum *s, int sign, int64_t constant) {
  nw_sum part;
  nw_sum_init(&part, s->pool, NW_INDEX);
  for (int i = 0; i < s->n; i++)
    if ((s->term[i].coef > 0) == (sign > 0))
      nw_sum_term(&part, sign > 0 ? s->term[i].coef : nw_negate(s->term[i].coef), s->term[i].atom);
  part.constant = constant;
  const nw_expr *e = nw_sum_expr(&part);
  nw_sum_free(&part);
  return e;
}

static bool has_sign(const nw_sum *s, int sign) {
  for (int i = 0; i < s->n; i++)
    if ((s->term[i].coef > 0) == (sign > 0)) return true;
  return false;
}

// Writes the comparison of s with 0 as a comparison with the positive terms on the left and the negative terms on the
// right. The constant is written on the side that has no terms, or else on the side where it is positive.
static const nw_expr *compare_parts(nw_sum *s, nw_op op) {
  int64_t k = s->constant;
  bool left = !has_sign(s, 1) || (has_sign(s, -1) && k > 0);
  const nw_expr *a = side(s, 1, left ? k : 0), *b = side(s, -1, left ? 0 : nw_negate(k));
  bool swap = nw_op_has(op, 'K') && nw_compare(a, b) > 0;
  return nw_raw(s->pool, op, nw_scalar(NW_BOOL), 2, (const nw_expr *[]){swap ? b : a, swap ? a : b});
}

// Divides the comparison of s with 0 by the common factor g of the coefficients. For example,
// g*S + k < 0 becomes S < ceil(-k / g).
static void divide_comparison(nw_sum *s, nw_op op, int64_t g) {
  int64_t k = s->constant;
  divide_terms(s, g);
  s->constant = op == NW_OP_LE ? nw_negate(nw_floordiv_i64(nw_negate(k), g)) : nw_floordiv_i64(k, g);
}

static const nw_expr *compare_sum(nw_sum *s, nw_op op, bool force) {
  int n = 0;
  for (int i = 0; i < s->n; i++)
    if (s->term[i].coef) s->term[n++] = s->term[i];
  s->n = n;
  if (n == 0) return decided(s->pool, op, s->constant);
  int64_t g = terms_gcd(s, 0);
  bool exact = op == NW_OP_EQ || op == NW_OP_NE;
  if (exact && g > 0 && s->constant % g) return nw_int(s->pool, NW_BOOL, op == NW_OP_NE);
  if (g <= 0 || (g == 1 && !force)) return NULL;
  divide_comparison(s, op, g);
  return compare_parts(s, op);
}

// Rewrites a comparison if this cancels terms, combines constants, or removes a common factor. Otherwise returns NULL.
const nw_expr *nw_fold_comparison(nw_pool *p, nw_op op, const nw_expr *a, const nw_expr *b) {
  if (!nw_is_index(a) || !nw_is_exact(a) || !nw_is_exact(b)) return NULL;
  bool ca, cb;
  int before = count_terms(p, a, &ca) + count_terms(p, b, &cb);
  nw_sum s;
  nw_sum_init(&s, p, NW_INDEX);
  nw_sum_add(&s, 1, a);
  nw_sum_add(&s, -1, b);
  int after = 0;
  for (int i = 0; i < s.n; i++) after += s.term[i].coef != 0;
  const nw_expr *e = s.wraps ? NULL : compare_sum(&s, op, after < before || (ca && cb));
  nw_sum_free(&s);
  bool exact = e && (e->op == NW_OP_INT || (nw_is_exact(e->arg[0]) && nw_is_exact(e->arg[1])));
  return exact || NW_MUTATED(compared_parts_wrap) ? e : NULL;
}
