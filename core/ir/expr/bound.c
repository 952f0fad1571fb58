// Finds a lower bound of a sum by eliminating its atoms. (An atom is a term that is not itself a sum, such as a
// variable or x // c; see fold.h.) The innermost atom is replaced by a bound that uses only outer variables, until only
// a constant remains. An atom may have several bounds: from a loop, from a fact, or from either side of a max. Each
// bound is tried, and the best result is kept. A goal is a sum divided by a positive denominator. The denominator makes
// it possible to replace x // c by a bound on x/c.
//
// The search may miss bounds, because its number of steps is limited. Its time is not limited, so the same question
// always has the same answer.
#include "ir/expr/bound.h"
#include <stdlib.h>

#define MAX_STEPS 600
#define MAX_DEPTH 40
#define MAX_FACTS 3 // maximal number of facts used on one path of the search

typedef struct goal {
  nw_sum sum;
  int64_t den;
} goal;

typedef struct search {
  const nw_ranges *r;
  int64_t enough;
  int steps, facts_used;
  nw_facts facts;
} search;

static bool lower(search *q, goal *g, int depth, int64_t *out);

// ---------------------------------------------------------------- choice of the next atom

// Picks the innermost atom. If several atoms use the same innermost variable x, x itself is picked last, since the
// bound of an atom such as x // c contains x.
static int pick(const search *q, const nw_sum *s) {
  int best = 0, best_rank = -1000;
  for (int i = 0; i < s->n; i++) {
    int rank = 2 * nw_range_place(q->r, s->term[i].atom) + (s->term[i].atom->op != NW_OP_VAR);
    if (rank <= best_rank) continue;
    best_rank = rank;
    best = i;
  }
  return best;
}

// ---------------------------------------------------------------- replacing one term

// Makes *next = (scale*g' + k*by + c) / (scale*g->den), where g' is the sum of g without its term t. If `by` is NULL,
// k*by is 0. Returns false if a number overflows.
static bool replace(const goal *g, int t, int64_t scale, int64_t k, const nw_expr *by, int64_t c, goal *next) {
  nw_sum_init(&next->sum, g->sum.pool, NW_INDEX);
  if (__builtin_mul_overflow(g->den, scale, &next->den)) return false;
  for (int i = 0; i < g->sum.n; i++) {
    int64_t coef;
    if (i == t) continue;
    if (__builtin_mul_overflow(g->sum.term[i].coef, scale, &coef) ||
        !nw_sum_add_term(&next->sum, coef, g->sum.term[i].atom))
      return false;
  }
  int64_t constant;
  if (__builtin_mul_overflow(g->sum.constant, scale, &constant) || !nw_sum_add_constant(&next->sum, constant))
    return false;
  return (!by || nw_sum_expand(&next->sum, k, by)) && nw_sum_add_constant(&next->sum, c);
}

static bool lower_replaced(search *q, goal *g, int t, int64_t scale, int64_t k, const nw_expr *by, int64_t c, int depth,
                           int64_t *out) {
  goal next;
  bool ok = replace(g, t, scale, k, by, c, &next) && lower(q, &next, depth + 1, out);
  nw_sum_free(&next.sum);
  return ok;
}

// Bounds the goal by replacing its term k*atom with k*by, where k*by <= k*atom.
static bool lower_by(search *q, goal *g, int t, const nw_expr *by, int depth, int64_t *out) {
  return by && lower_replaced(q, g, t, 1, g->sum.term[t].coef, by, 0, depth, out);
}

static bool lower_by_constant(search *q, goal *g, int t, int64_t bound, int depth, int64_t *out) {
  int64_t c;
  return !__builtin_mul_overflow(g->sum.term[t].coef, bound, &c) && lower_replaced(q, g, t, 1, 0, NULL, c, depth, out);
}

// Stores the better of the bounds *v and *best in *best. *v exists if `found` is set, and *best exists if `had` is set.
// Returns false if neither exists. v is a pointer because the caller computes `found` and *v in the same expression.
static bool better(bool found, const int64_t *v, bool had, int64_t *best) {
  if (!found) return had;
  if (!had || *v > *best) *best = *v;
  return true;
}

// ---------------------------------------------------------------- bounds of each kind of atom

// Finds a constant lower bound of e (if `sign` is 1) or of -e (if `sign` is -1), within the limits of the running
// search.
static bool constant_bound(search *q, const nw_expr *e, int sign, int64_t *out) {
  goal g = {.den = 1};
  nw_sum_init(&g.sum, q->r->pool, NW_INDEX);
  int64_t enough = q->enough;
  q->enough = INT64_MAX;
  bool ok = nw_sum_expand(&g.sum, sign, e) && lower(q, &g, MAX_DEPTH / 2, out);
  q->enough = enough;
  nw_sum_free(&g.sum);
  return ok;
}

static bool at_least(search *q, const nw_expr *e, int64_t bound) {
  int64_t v;
  return constant_bound(q, e, 1, &v) && v >= bound;
}

// Rounds a constant bound of a variable to a multiple of the variable's known divisor. Returns a symbolic bound
// unchanged.
static const nw_expr *at_multiple(search *q, const nw_expr *var, const nw_expr *bound, bool up) {
  int64_t m = nw_known_divisor(q->r, &(nw_term){1, var}), v;
  if (m <= 1 || !nw_is_int(bound, &v) || llabs(v / 2) > INT64_MAX / 2 - m) return bound;
  int64_t at = v - nw_floormod_i64(v, m);
  return nw_index(q->r->pool, up && at < v ? at + m : at);
}

static bool lower_var(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  int at = nw_var_place(q->r, v->atom->name);
  if (at < 0) return false;
  const nw_expr *bound = v->coef > 0 ? q->r->at[at].lo : q->r->at[at].hi;
  return bound && lower_by(q, g, t, at_multiple(q, v->atom, bound, v->coef > 0), depth, out);
}

// Bounds k*(x // c) by writing x = m + r, where m is a known multiple of c and r has a constant bound. Then
// c*(x // c) = m + c*(r // c).
static bool quotient_by_multiples(search *q, goal *g, int t, int64_t c, int64_t scale, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  nw_pool *p = q->r->pool;
  nw_sum x, multiple, rest;
  nw_sum_init(&x, p, NW_INDEX);
  nw_sum_init(&multiple, p, NW_INDEX);
  nw_sum_init(&rest, p, NW_INDEX);
  nw_sum_add(&x, 1, v->atom->arg[0]);
  nw_split_multiples(q->r, &x, c, &multiple, &rest);
  int64_t bound, k = v->coef * scale / c, add;
  int sign = v->coef > 0 ? 1 : -1;
  const nw_expr *m = nw_sum_expr(&multiple);
  bool ok = constant_bound(q, nw_sum_expr(&rest), sign, &bound) &&
            !__builtin_mul_overflow(v->coef * scale, nw_floordiv_i64(sign > 0 ? bound : nw_negate(bound), c), &add) &&
            lower_replaced(q, g, t, scale, k, m, add, depth, out);
  nw_sum_free(&x);
  nw_sum_free(&multiple);
  nw_sum_free(&rest);
  return ok;
}

// Bounds the term k*(x // c) of the goal. Uses that x // c is between (x - c + 1)/c and x/c.
static bool lower_quotient(search *q, goal *g, int t, int64_t c, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  int64_t scale = c / nw_gcd(v->coef, c), k, add = 0, other, room;
  if (__builtin_mul_overflow(v->coef, scale, &room)) return false;
  k = room / c;
  if (k > 0 && __builtin_mul_overflow(-k, c - 1, &add)) return false;
  bool found = lower_replaced(q, g, t, scale, k, v->atom->arg[0], add, depth, out);
  if (found && *out >= q->enough) return true;
  return better(quotient_by_multiples(q, g, t, c, scale, depth, &other), &other, found, out);
}

// Bounds the term k*(x % c) of the goal. Uses that x % c is between 0 and c - 1. If x >= 0, x % c is also at most x. If
// 0 <= x < c, x % c is x.
static bool lower_remainder(search *q, goal *g, int t, int64_t c, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  const nw_expr *x = v->atom->arg[0];
  if (nw_divides(q->r, x, c)) return lower_by_constant(q, g, t, 0, depth, out);
  if (v->coef > 0) {
    int64_t least, below, other;
    bool found = lower_by_constant(q, g, t, 0, depth, out);
    bool same = constant_bound(q, x, 1, &least) && constant_bound(q, x, -1, &below) && least >= 0 && below > -c;
    return same ? better(lower_by(q, g, t, x, depth, &other), &other, found, out) : found;
  }
  int64_t other;
  bool found = lower_by_constant(q, g, t, c - 1, depth, out);
  if ((found && *out >= q->enough) || !at_least(q, x, 0)) return found;
  return better(lower_by(q, g, t, x, depth, &other), &other, found, out);
}

// Bounds a goal that contains x // d with a symbolic divisor d >= 1. If x >= 0, the quotient is at least 0. If the goal
// must be proven to be at least 0, a second way is tried: the goal is multiplied by d. Then d*(x // d) is between
// x - d + 1 and x. Since the goal is an integer, goal >= 0 follows from d*goal + d - 1 >= 0.
static bool lower_symbolic_quotient(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term v = g->sum.term[t];
  const nw_expr *x = v.atom->arg[0], *d = v.atom->arg[1];
  nw_pool *p = q->r->pool;
  if (!at_least(q, d, 1)) return false;
  bool found = v.coef > 0 && at_least(q, x, 0) && lower_by_constant(q, g, t, 0, depth, out);
  if (q->enough != 0 || g->den != 1 || (found && *out >= 0)) return found;
  goal next = {.den = 1};
  nw_sum rest, *s = &next.sum;
  nw_sum_init(s, p, NW_INDEX);
  nw_sum_init(&rest, p, NW_INDEX);
  rest.constant = g->sum.constant;
  for (int i = 0; i < g->sum.n; i++)
    if (i != t) nw_sum_term(&rest, g->sum.term[i].coef, g->sum.term[i].atom);
  const nw_expr *slack = nw_sub(p, d, nw_index(p, 1));
  bool ok = nw_sum_expand(s, 1, nw_product(p, nw_sum_expr(&rest), d)) && nw_sum_expand(s, v.coef, x) &&
            nw_sum_expand(s, v.coef > 0 ? 1 - v.coef : 1, slack);
  int64_t v0;
  ok = ok && lower(q, &next, depth + 1, &v0) && v0 >= 0;
  if (ok) *out = 0;
  nw_sum_free(s);
  nw_sum_free(&rest);
  return ok || found;
}

static bool lower_division(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  const nw_expr *d = v->atom->arg[1];
  bool quotient = v->atom->op == NW_OP_FLOORDIV;
  if (d->op == NW_OP_INT && d->i <= 0) return false;
  if (d->op == NW_OP_INT)
    return quotient ? lower_quotient(q, g, t, d->i, depth, out) : lower_remainder(q, g, t, d->i, depth, out);
  if (quotient) return lower_symbolic_quotient(q, g, t, depth, out);
  if (!at_least(q, d, 1)) return false;
  if (v->coef > 0) return lower_by_constant(q, g, t, 0, depth, out);
  return lower_by(q, g, t, nw_sub(q->r->pool, d, nw_index(q->r->pool, 1)), depth, out);
}

// Bounds the term by a and by b. If `either` is set, each of the two results is a bound, and the better result is used.
// Otherwise only the worse result is a bound, so both results must be found.
static bool lower_choice(search *q, goal *g, int t, bool either, const nw_expr *a, const nw_expr *b, int depth,
                         int64_t *out) {
  int64_t va, vb;
  bool fa = lower_by(q, g, t, a, depth, &va);
  if (either && fa && va >= q->enough) return *out = va, true;
  if (!either && !fa) return false;
  bool fb = lower_by(q, g, t, b, depth, &vb);
  if (either) return better(fb, &vb, better(fa, &va, false, out), out);
  *out = va < vb ? va : vb;
  return fb;
}

// Bounds the term with one branch of its select, under the condition of that branch.
static bool lower_branch(search *q, goal *g, int t, const nw_expr *cond, const nw_expr *e, int depth, int64_t *out) {
  nw_ranges r = *q->r;
  search inner = *q;
  r.fact = nw_xmalloc((size_t)(r.nfact + 1) * sizeof *r.fact);
  if (r.nfact) memcpy(r.fact, q->r->fact, (size_t)r.nfact * sizeof *r.fact);
  r.fact[r.nfact++] = cond;
  inner.r = &r;
  nw_facts_read(&inner.facts, &r);
  bool ok = lower_by(&inner, g, t, e, depth, out);
  nw_facts_free(&inner.facts);
  free(r.fact);
  q->steps = inner.steps;
  return ok;
}

static bool lower_select(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_expr *e = g->sum.term[t].atom;
  int64_t a, b;
  if (!lower_branch(q, g, t, e->arg[0], e->arg[1], depth, &a)) return false;
  if (!lower_branch(q, g, t, nw_make1(q->r->pool, NW_OP_NOT, e->arg[0]), e->arg[2], depth, &b)) return false;
  *out = a < b ? a : b;
  return true;
}

static void factors(const nw_expr *e, nw_vec *out) {
  if (e->op != NW_OP_MUL) {
    nw_vec_push(out, (void *)e);
    return;
  }
  factors(e->arg[0], out);
  factors(e->arg[1], out);
}

static int innermost_factor(const search *q, const nw_vec *f) {
  int best = -1, best_place = -1;
  for (int i = 0; i < f->n; i++) {
    const nw_expr *e = f->at[i];
    int at = e->op == NW_OP_VAR ? nw_var_place(q->r, e->name) : -1;
    if (at > best_place) best = i, best_place = at;
  }
  return best;
}

static const nw_expr *product_without(nw_pool *p, const nw_vec *f, int skip) {
  const nw_expr *e = nw_index(p, 1);
  for (int i = 0; i < f->n; i++)
    if (i != skip) e = nw_product(p, e, f->at[i]);
  return e;
}

// Writes the product as x*rest, where x is its innermost variable. If rest >= 0 and b is a bound of x, then b*rest is a
// bound of the product. Also uses that a product without negative factors is at least 0.
static bool lower_product(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term v = g->sum.term[t];
  nw_pool *p = q->r->pool;
  nw_vec f = {0};
  factors(v.atom, &f);
  int i = innermost_factor(q, &f);
  bool found = false;
  if (i >= 0) {
    const nw_range *range = &q->r->at[nw_var_place(q->r, ((const nw_expr *)f.at[i])->name)];
    const nw_expr *rest = product_without(p, &f, i), *bound = v.coef > 0 ? range->lo : range->hi;
    if (bound && at_least(q, rest, 0)) found = lower_by(q, g, t, nw_product(p, bound, rest), depth, out);
  }
  bool positive = v.coef > 0;
  for (int k = 0; k < f.n && positive; k++) positive = at_least(q, f.at[k], 0);
  int64_t other;
  if (positive && !(found && *out >= q->enough))
    found = better(lower_by_constant(q, g, t, 0, depth, &other), &other, found, out);
  nw_vec_free(&f);
  return found;
}

static void dtype_limits(nw_dtype t, int64_t *lo, int64_t *hi) {
  int bits = 8 * nw_dtype_bytes(t);
  *hi = t == NW_BOOL                                              ? 1
        : nw_dtype_is_signed(t) || NW_MUTATED(unsigned_as_signed) ? ((int64_t)1 << (bits - 1)) - 1
                                                                  : ((int64_t)1 << bits) - 1;
  *lo = nw_dtype_is_signed(t) ? -*hi - 1 : 0;
}

// Bounds the term by the range of its atom that follows from the types of the operands. The atom is an operation on bits,
// or the result of another operation that was cast to an index, as in i64(A[i] & 15).
static bool lower_value(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  int64_t lo, hi;
  if (!nw_value_range(v->atom, &lo, &hi) || (lo == INT64_MIN && hi == INT64_MAX)) return false;
  return lower_by_constant(q, g, t, v->coef > 0 ? lo : hi, depth, out);
}

// Bounds a & b, a | b or a ~ b. If both operands are at least 0, so is the result, and it has no more bits than they have.
static bool lower_bits(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  const nw_expr *const *of = v->atom->arg;
  int64_t a, b, other, all = 0;
  bool found = lower_value(q, g, t, depth, out);
  if ((found && *out >= q->enough) || !at_least(q, of[0], 0) || !at_least(q, of[1], 0)) return found;
  if (v->coef < 0) {
    if (!constant_bound(q, of[0], -1, &a) || !constant_bound(q, of[1], -1, &b)) return found;
    while (all < nw_negate(a) || all < nw_negate(b)) all = 2 * all + 1;
  }
  return better(lower_by_constant(q, g, t, all, depth, &other), &other, found, out);
}

// Bounds an index that was cast from a narrower integer by the range of the narrower dtype.
static bool lower_cast(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  const nw_expr *of = v->atom->arg[0];
  nw_dtype from = (nw_dtype)of->type.dtype;
  int64_t lo, hi;
  if (of->op != NW_OP_LOAD && lower_value(q, g, t, depth, out)) return true;
  if (nw_dtype_is_float(from) || nw_dtype_bytes(from) >= 8) return false;
  dtype_limits(from, &lo, &hi);
  return lower_by_constant(q, g, t, v->coef > 0 ? lo : hi, depth, out);
}

static bool lower_atom(search *q, goal *g, int t, int depth, int64_t *out) {
  const nw_term *v = &g->sum.term[t];
  const nw_expr *e = v->atom;
  switch (e->op) {
  case NW_OP_VAR: return lower_var(q, g, t, depth, out);
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return lower_division(q, g, t, depth, out);
  case NW_OP_MIN: return lower_choice(q, g, t, v->coef < 0, e->arg[0], e->arg[1], depth, out);
  case NW_OP_MAX: return lower_choice(q, g, t, v->coef > 0, e->arg[0], e->arg[1], depth, out);
  case NW_OP_SELECT: return lower_select(q, g, t, depth, out);
  case NW_OP_MUL: return lower_product(q, g, t, depth, out);
  case NW_OP_ABS: return v->coef > 0 && lower_by_constant(q, g, t, 0, depth, out);
  case NW_OP_CAST: return lower_cast(q, g, t, depth, out);
  case NW_OP_BITAND:
  case NW_OP_BITOR:
  case NW_OP_BITXOR: return lower_bits(q, g, t, depth, out);
  case NW_OP_BITNOT:
  case NW_OP_SHL:
  case NW_OP_SHR:
  case NW_OP_POPCOUNT: return lower_value(q, g, t, depth, out);
  default: return false;
  }
}

// ---------------------------------------------------------------- facts

static int64_t coef_of(const nw_sum *s, const nw_expr *atom) {
  for (int i = 0; i < s->n; i++)
    if (s->term[i].atom == atom) return s->term[i].coef;
  return 0;
}

// Bounds a goal with the term k*atom by a fact F >= 0 with the term f*atom, where f and k have the same sign. The atom
// cancels in |f|*goal - |k|*F. Since F >= 0, a lower bound of this difference is also a lower bound of |f|*goal.
static bool lower_by_fact(search *q, goal *g, int t, const nw_sum *fact, int depth, int64_t *out) {
  int64_t k = g->sum.term[t].coef, f = coef_of(fact, g->sum.term[t].atom);
  if (f == 0 || (f > 0) != (k > 0) || k == INT64_MIN || f == INT64_MIN) return false;
  int64_t common = nw_gcd(k, f);
  goal next = {.den = 0};
  nw_sum_init(&next.sum, g->sum.pool, NW_INDEX);
  bool ok = !__builtin_mul_overflow(g->den, llabs(f) / common, &next.den) &&
            nw_sum_add_sum(&next.sum, llabs(f) / common, &g->sum) &&
            nw_sum_add_sum(&next.sum, -(llabs(k) / common), fact);
  q->facts_used++;
  ok = ok && lower(q, &next, depth + 1, out);
  q->facts_used--;
  nw_sum_free(&next.sum);
  return ok;
}

static bool lower_by_facts(search *q, goal *g, int t, int depth, bool found, int64_t *out) {
  for (int i = 0; i < q->facts.n && q->facts_used < MAX_FACTS; i++) {
    int64_t v;
    found = better(lower_by_fact(q, g, t, &q->facts.fact[i], depth, &v), &v, found, out);
    if (found && *out >= q->enough) return true;
  }
  return found;
}

// ---------------------------------------------------------------- the search

static bool lower(search *q, goal *g, int depth, int64_t *out) {
  if (q->steps++ >= MAX_STEPS || depth > MAX_DEPTH) return false;
  nw_sum_drop_zeros(&g->sum);
  if (g->sum.n == 0) {
    *out = nw_floordiv_i64(g->sum.constant, g->den) + (nw_floormod_i64(g->sum.constant, g->den) != 0);
    return true;
  }
  int t = pick(q, &g->sum);
  bool found = lower_atom(q, g, t, depth, out);
  if (found && *out >= q->enough) return true;
  return lower_by_facts(q, g, t, depth, found, out);
}

bool nw_bound_below(const nw_ranges *r, const nw_sum *s, int64_t enough, int64_t *out) {
  search q = {.r = r, .enough = enough};
  goal g = {.den = 1};
  nw_sum_init(&g.sum, s->pool, NW_INDEX);
  nw_facts_read(&q.facts, r);
  bool ok = nw_sum_add_sum(&g.sum, 1, s) && lower(&q, &g, 0, out);
  nw_sum_free(&g.sum);
  nw_facts_free(&q.facts);
  return ok;
}
