// Simplifies expressions under ranges and facts, bottom up. A branch of a select is simplified under the condition of
// the branch. A clause of `and` is simplified under the clauses before it, if evaluating the clause cannot fail.
#include "ir/expr/bound.h"
#include <stdlib.h>

enum { MOST_ROUNDS = 8 }; // of nw_settle

typedef struct simplifier {
  nw_ranges r; // ranges and facts; the array of facts is a copy
  nw_memo *memo; // valid for the current facts
} simplifier;

static const nw_expr *simplify(simplifier *s, const nw_expr *e);

static const nw_expr *simplify_under(simplifier *s, const nw_expr *fact, const nw_expr *e) {
  nw_memo fresh, *outer = s->memo;
  nw_memo_init(&fresh);
  s->memo = &fresh;
  nw_ranges_fact(&s->r, fact);
  e = simplify(s, e);
  nw_ranges_pop_fact(&s->r);
  s->memo = outer;
  nw_memo_free(&fresh);
  return e;
}

static bool le(simplifier *s, const nw_expr *a, const nw_expr *b) { return nw_prove(&s->r, nw_le(s->r.pool, a, b)); }

static bool lt(simplifier *s, const nw_expr *a, const nw_expr *b) { return nw_prove(&s->r, nw_lt(s->r.pool, a, b)); }

// ---------------------------------------------------------------- floor division and modulo

// True if x can be proved to be in 0..c-1.
static bool within(simplifier *s, const nw_expr *x, const nw_expr *c) {
  return le(s, nw_index(s->r.pool, 0), x) && lt(s, x, c);
}

static bool same_quotient(simplifier *s, const nw_expr *x, int64_t c, int64_t *q) {
  int64_t lo, hi;
  if (!nw_const_lower(&s->r, x, &lo) || !nw_const_upper(&s->r, x, &hi)) return false;
  *q = nw_floordiv_i64(lo, c);
  return *q == nw_floordiv_i64(hi, c);
}

static bool small(simplifier *s, const nw_expr *x, int64_t g) {
  int64_t lo, hi;
  return nw_const_lower(&s->r, x, &lo) && lo >= 0 && nw_const_upper(&s->r, x, &hi) && hi < g;
}

// If x = g*y + z, g divides c, and z is in 0..g-1, then x // c is y // (c/g), and x % c is g*(y % (c/g)) + z.
static const nw_expr *divide_by_part(simplifier *s, nw_op op, const nw_sum *x, int64_t c, int64_t g) {
  nw_pool *p = s->r.pool;
  nw_sum y, z;
  nw_sum_init(&y, p, NW_INDEX);
  nw_sum_init(&z, p, NW_INDEX);
  for (int i = 0; i < x->n; i++) {
    bool multiple = x->term[i].coef % g == 0;
    nw_sum_term(multiple ? &y : &z, multiple ? x->term[i].coef / g : x->term[i].coef, x->term[i].atom);
  }
  y.constant = nw_floordiv_i64(x->constant, g);
  z.constant = nw_floormod_i64(x->constant, g);
  const nw_expr *rest = nw_sum_expr(&z), *e = NULL;
  if (small(s, rest, g)) {
    e = nw_make2(p, op, nw_sum_expr(&y), nw_index(p, c / g));
    if (op == NW_OP_FLOORMOD) e = nw_add(p, nw_mul(p, nw_index(p, g), e), rest);
  }
  nw_sum_free(&y);
  nw_sum_free(&z);
  return e;
}

static const nw_expr *divide_by_parts(simplifier *s, nw_op op, const nw_expr *x, int64_t c) {
  nw_sum all;
  nw_sum_init(&all, s->r.pool, NW_INDEX);
  nw_sum_add(&all, 1, x);
  const nw_expr *e = NULL;
  for (int i = 0; i < all.n && !e; i++) {
    int64_t g = nw_gcd(c, all.term[i].coef);
    if (g > 1 && g < c) e = divide_by_part(s, op, &all, c, g);
  }
  nw_sum_free(&all);
  return e;
}

// Writes x as the sum of a known multiple of c and a remaining sum, and divides each of them by c. If the quotient of
// the remaining sum is constant, uses this constant.
static const nw_expr *divide_constant(simplifier *s, nw_op op, const nw_expr *x, int64_t c) {
  nw_pool *p = s->r.pool;
  nw_sum all, multiple, rest;
  nw_sum_init(&all, p, NW_INDEX);
  nw_sum_init(&multiple, p, NW_INDEX);
  nw_sum_init(&rest, p, NW_INDEX);
  nw_sum_add(&all, 1, x);
  nw_split_multiples(&s->r, &all, c, &multiple, &rest);
  const nw_expr *m = nw_sum_expr(&multiple), *r = nw_sum_expr(&rest), *d = nw_index(p, c), *e = NULL;
  int64_t q;
  bool fixed = same_quotient(s, r, c, &q);
  if (op == NW_OP_FLOORMOD)
    e = fixed ? nw_sub(p, r, nw_mul(p, d, nw_index(p, q))) : nw_floormod(p, r, d);
  else
    e = nw_add(p, nw_floordiv(p, m, d), fixed ? nw_index(p, q) : nw_floordiv(p, r, d));
  nw_sum_free(&all);
  nw_sum_free(&multiple);
  nw_sum_free(&rest);
  return e;
}

// A power of two divides the bits of both operands of a ~ b, a & b and a | b. Returns NULL if no operand becomes simpler.
static const nw_expr *divide_bits(simplifier *s, nw_op op, const nw_expr *x, const nw_expr *d) {
  if (x->op != NW_OP_BITXOR && x->op != NW_OP_BITAND && x->op != NW_OP_BITOR) return NULL;
  if (d->i & (d->i - 1) || !nw_is_exact(x->arg[0]) || !nw_is_exact(x->arg[1])) return NULL;
  const nw_expr *a = simplify(s, nw_make2(s->r.pool, op, x->arg[0], d));
  const nw_expr *b = simplify(s, nw_make2(s->r.pool, op, x->arg[1], d));
  return a->op == op && b->op == op ? NULL : nw_make2(s->r.pool, (nw_op)x->op, a, b);
}

static const nw_expr *simplify_division(simplifier *s, const nw_expr *e) {
  const nw_expr *x = e->arg[0], *d = e->arg[1];
  if (d->op == NW_OP_INT && d->i > 0) {
    const nw_expr *bits = divide_bits(s, (nw_op)e->op, x, d);
    if (bits) return NW_BY(division_of_bits, bits);
    const nw_expr *parts = divide_by_parts(s, (nw_op)e->op, x, d->i);
    if (parts) return NW_BY(division_by_parts, parts);
    return NW_BY(division_in_range, divide_constant(s, (nw_op)e->op, x, d->i));
  }
  if (!within(s, x, d)) return e;
  return NW_BY(division_within, e->op == NW_OP_FLOORMOD ? x : nw_index(s->r.pool, 0));
}

// ---------------------------------------------------------------- other ops

static const nw_expr *simplify_extremum(simplifier *s, const nw_expr *e) {
  bool min = e->op == NW_OP_MIN;
  if (le(s, e->arg[0], e->arg[1])) return NW_BY(extremum_in_range, e->arg[min ? 0 : 1]);
  if (le(s, e->arg[1], e->arg[0])) return NW_BY(extremum_in_range, e->arg[min ? 1 : 0]);
  return e;
}

static const nw_expr *truth(simplifier *s, const nw_expr *like, bool yes) {
  return nw_broadcast(s->r.pool, nw_int(s->r.pool, NW_BOOL, yes), like->type.lanes);
}

// Returns the value of a ramp or a broadcast in one lane.
static const nw_expr *lane(simplifier *s, const nw_expr *e, int at) {
  nw_pool *p = s->r.pool;
  if (e->op == NW_OP_BROADCAST) return e->arg[0];
  return nw_add(p, e->arg[0], nw_mul(p, nw_index(p, at), e->arg[1]));
}

static bool is_linear(const nw_expr *e) {
  return e->type.dtype == NW_INDEX && (e->op == NW_OP_RAMP || e->op == NW_OP_BROADCAST);
}

// If a linear comparison holds in the first and in the last lane, it holds in all lanes between them.
static const nw_expr *compare_lanes(simplifier *s, const nw_expr *e) {
  nw_op op = (nw_op)e->op;
  if ((op != NW_OP_LT && op != NW_OP_LE) || !is_linear(e->arg[0]) || !is_linear(e->arg[1])) return e;
  int last = e->type.lanes - 1;
  const nw_expr *first_cond = nw_make2(s->r.pool, op, lane(s, e->arg[0], 0), lane(s, e->arg[1], 0));
  const nw_expr *last_cond = nw_make2(s->r.pool, op, lane(s, e->arg[0], last), lane(s, e->arg[1], last));
  if (nw_prove(&s->r, first_cond) && nw_prove(&s->r, last_cond)) return NW_BY(lanes_in_range, truth(s, e, true));
  if (nw_disprove(&s->r, first_cond) && nw_disprove(&s->r, last_cond)) return NW_BY(lanes_in_range, truth(s, e, false));
  return e;
}

static const nw_expr *simplify_comparison(simplifier *s, const nw_expr *e) {
  if (e->type.lanes > 1) return compare_lanes(s, e);
  if (nw_prove(&s->r, e)) return NW_BY(comparison_in_range, truth(s, e, true));
  return nw_disprove(&s->r, e) ? NW_BY(comparison_in_range, truth(s, e, false)) : e;
}

static const nw_expr *simplify_select(simplifier *s, const nw_expr *e) {
  nw_pool *p = s->r.pool;
  const nw_expr *c = simplify(s, e->arg[0]);
  if (nw_is_const(c, 1)) return simplify(s, e->arg[1]);
  if (nw_is_const(c, 0)) return simplify(s, e->arg[2]);
  if (c->type.lanes > 1)
    return nw_make(p, NW_OP_SELECT, e->type, 3, (const nw_expr *[]){c, simplify(s, e->arg[1]), simplify(s, e->arg[2])});
  const nw_expr *a = simplify_under(s, c, e->arg[1]), *b = simplify_under(s, nw_make1(p, NW_OP_NOT, c), e->arg[2]);
  return NW_BY(select_under, nw_make(p, NW_OP_SELECT, e->type, 3, (const nw_expr *[]){c, a, b}));
}

// False if evaluating e may fail: a load may be out of bounds, or a divisor may be 0.
static bool cannot_fail(void *env, const nw_expr *e) {
  (void)env;
  bool divides = (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && !NW_MUTATED(logic_guards_divisors);
  return e->op != NW_OP_LOAD && !(divides && e->arg[1]->op != NW_OP_INT);
}

// The value of the right side of `and` matters only if the left side is true, so the right side is simplified under the
// left side. In the same way, the right side of `or` is simplified under the negated left side. But the right side is
// evaluated even if its value does not matter. So its simplification must not drop the guard of a load's index or of a
// divisor. A right side with a load or a division is therefore simplified without the left side.
static const nw_expr *simplify_logic(simplifier *s, const nw_expr *e) {
  nw_pool *p = s->r.pool;
  if (e->type.lanes == 1 && nw_prove(&s->r, e)) return NW_BY(logic_under, truth(s, e, true));
  const nw_expr *a = simplify(s, e->arg[0]);
  bool guarded = NW_MUTATED(logic_guards) || nw_visit(e->arg[1], cannot_fail, NULL);
  if (e->type.lanes > 1 || a->op == NW_OP_INT || !guarded) return nw_make2(p, (nw_op)e->op, a, simplify(s, e->arg[1]));
  const nw_expr *known = e->op == NW_OP_AND || NW_MUTATED(logic_or_knows) ? a : nw_make1(p, NW_OP_NOT, a);
  return NW_BY(logic_under, nw_make2(p, (nw_op)e->op, a, simplify_under(s, known, e->arg[1])));
}

static const nw_expr *decide(simplifier *s, const nw_expr *e) {
  bool index = e->n == 2 && nw_is_index(e->arg[0]);
  if (nw_op_has((nw_op)e->op, 'C')) return simplify_comparison(s, e);
  if (!index || !nw_is_index(e) || !nw_is_exact(e->arg[0]) || !nw_is_exact(e->arg[1])) return e;
  if (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) {
    const nw_expr *out = simplify_division(s, e); // its parts may wrap although e does not
    return nw_is_exact(out) ? out : e;
  }
  return e->op == NW_OP_MIN || e->op == NW_OP_MAX ? simplify_extremum(s, e) : e;
}

static const nw_expr *with_args(nw_pool *p, const nw_expr *e, const nw_expr *const *args) {
  if (e->op == NW_OP_LOAD) return nw_load(p, e->type, e->name, e->n, args);
  if (e->op != NW_OP_REDUCE) return nw_make(p, (nw_op)e->op, e->type, e->n, args);
  nw_expr head = {.op = e->op, .type = e->type, .n = e->n, .i = e->i};
  return nw_intern(p, &head, args);
}

// True if e is index arithmetic on two constants whose exact result does not fit in 64 bits. Folding would wrap, and a
// wrapped number must not become part of index arithmetic. Such an e occurs, for example, in a bound that no iteration
// evaluates.
static bool leaves_index(const nw_expr *e, const nw_expr *const *args) {
  if (!nw_is_index(e) || e->n != 2) return false;
  int64_t a, b, r;
  if (!nw_is_int(args[0], &a) || !nw_is_int(args[1], &b)) return false;
  if (e->op == NW_OP_ADD) return __builtin_add_overflow(a, b, &r);
  if (e->op == NW_OP_SUB) return __builtin_sub_overflow(a, b, &r);
  return e->op == NW_OP_MUL && __builtin_mul_overflow(a, b, &r);
}

static const nw_expr *simplify_args(simplifier *s, const nw_expr *e) {
  const nw_expr *few[8], **args = e->n <= 8 ? few : nw_xmalloc(e->n * sizeof *args);
  bool same = true;
  for (int i = 0; i < e->n; i++) {
    args[i] = simplify(s, e->arg[i]);
    same = same && args[i] == e->arg[i];
  }
  if (!same && !(leaves_index(e, args) && !NW_MUTATED(simplified_wraps))) e = with_args(s->r.pool, e, args);
  if (args != few) free(args);
  return e;
}

// Returns the number that a fact gives for e, or NULL. The fact `M % 8 == 3` gives 3 for M % 8.
static const nw_expr *number_of(const nw_expr *fact, const nw_expr *e) {
  if (fact->op == NW_OP_AND) {
    const nw_expr *left = number_of(fact->arg[0], e);
    return left ? left : number_of(fact->arg[1], e);
  }
  bool is = fact->op == NW_OP_EQ && fact->arg[0] == e && fact->arg[1]->op == NW_OP_INT;
  return is ? fact->arg[1] : NULL;
}

// True if the number is small enough to be an index. If a number replaces data, arithmetic that may wrap becomes index
// arithmetic, which must not wrap.
static bool fits_index(const nw_expr *number) { return llabs(number->i / 2) < INT64_C(1) << 46; }

static const nw_expr *known_number(const simplifier *s, const nw_expr *e) {
  const nw_expr *number = NULL;
  for (int i = 0; nw_is_index(e) && i < s->r.nfact && !number; i++) number = number_of(s->r.fact[i], e);
  bool fits = number && (!e->data || fits_index(number) || NW_MUTATED(known_numbers_fit));
  return fits ? NW_BY(known_number, number) : e;
}

static const nw_expr *simplify(simplifier *s, const nw_expr *e) {
  if (e->n == 0) return known_number(s, e);
  const nw_expr *done = *nw_memo_at(s->memo, e);
  if (done) return done;
  const nw_expr *out;
  if (e->op == NW_OP_SELECT)
    out = simplify_select(s, e);
  else if (e->op == NW_OP_AND || e->op == NW_OP_OR)
    out = simplify_logic(s, e);
  else
    out = known_number(s, decide(s, simplify_args(s, e)));
  *nw_memo_at(s->memo, e) = out;
  return out;
}

// Simplifies e for all values of the variables that are in their ranges and satisfy the facts.
const nw_expr *nw_simplify(const nw_ranges *r, const nw_expr *e) {
  if (!e) return NULL;
  simplifier s = {.r = *r};
  nw_memo memo;
  nw_memo_init(&memo);
  s.memo = &memo;
  s.r.fact = NULL;
  s.r.nfact = s.r.capfact = 0;
  for (int i = 0; i < r->nfact; i++) nw_ranges_fact(&s.r, r->fact[i]);
  e = simplify(&s, nw_import(r->pool, e));
  free(s.r.fact);
  nw_memo_free(&memo);
  return e;
}

const nw_expr *nw_settle(const nw_ranges *r, const nw_expr *e) {
  const nw_expr *before = NULL;
  for (int i = 0; i < MOST_ROUNDS && e != before; i++) {
    before = e;
    e = nw_simplify(r, e);
  }
  return e;
}
