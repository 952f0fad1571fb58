// Stores ranges of variables and facts, and proves conditions from them.
#include "ir/expr/bound.h"
#include <stdlib.h>

// Makes an empty set of ranges for expressions of p.
void nw_ranges_init(nw_ranges *r, nw_pool *p) { *r = (nw_ranges){.pool = p}; }

// Adds an innermost variable with lo <= var <= hi.
void nw_ranges_push(nw_ranges *r, const char *var, const nw_expr *lo, const nw_expr *hi) {
  if (r->n == r->cap) {
    r->cap = r->cap ? 2 * r->cap : 16;
    r->at = nw_xrealloc(r->at, (size_t)r->cap * sizeof *r->at);
  }
  r->at[r->n++] = (nw_range){nw_pool_name(r->pool, var), nw_import(r->pool, lo), nw_import(r->pool, hi)};
}

void nw_ranges_pop(nw_ranges *r) {
  if (r->n > 0) r->n--;
}

// Adds a condition that is known to hold.
void nw_ranges_fact(nw_ranges *r, const nw_expr *cond) {
  if (r->nfact == r->capfact) {
    r->capfact = r->capfact ? 2 * r->capfact : 8;
    r->fact = nw_xrealloc(r->fact, (size_t)r->capfact * sizeof *r->fact);
  }
  r->fact[r->nfact++] = cond ? nw_import(r->pool, cond) : nw_true(r->pool);
}

void nw_ranges_pop_fact(nw_ranges *r) {
  if (r->nfact > 0) r->nfact--;
}

void nw_ranges_free(nw_ranges *r) {
  free(r->at);
  free(r->fact);
  *r = (nw_ranges){.pool = r->pool};
}

// ---------------------------------------------------------------- multiples

static bool sum_divides(const nw_ranges *r, const nw_sum *s, int64_t m);

// True if the fact states that x is a multiple of m. The fact, or a clause of the fact, is then x % k == 0, where m
// divides k.
static bool fact_divides(const nw_expr *fact, const nw_expr *x, int64_t m) {
  if (fact->op == NW_OP_AND) return fact_divides(fact->arg[0], x, m) || fact_divides(fact->arg[1], x, m);
  if (fact->op != NW_OP_EQ || !nw_is_const(fact->arg[1], 0)) return false;
  const nw_expr *mod = fact->arg[0];
  return mod->op == NW_OP_FLOORMOD && mod->arg[0] == x && mod->arg[1]->op == NW_OP_INT && mod->arg[1]->i % m == 0;
}

static bool expr_divides(const nw_ranges *r, const nw_expr *e, int64_t m) {
  nw_sum s;
  nw_sum_init(&s, r->pool, NW_INDEX);
  nw_sum_add(&s, 1, e);
  bool yes = !s.wraps && sum_divides(r, &s, m);
  nw_sum_free(&s);
  return yes;
}

static bool atom_divides(const nw_ranges *r, const nw_expr *e, int64_t m) {
  if (m == 1) return true;
  for (int i = 0; i < r->nfact; i++)
    if (fact_divides(r->fact[i], e, m)) return true;
  switch (e->op) {
  case NW_OP_MUL: return expr_divides(r, e->arg[0], m) || expr_divides(r, e->arg[1], m);
  case NW_OP_MIN:
  case NW_OP_MAX: return expr_divides(r, e->arg[0], m) && expr_divides(r, e->arg[1], m);
  case NW_OP_SELECT: return expr_divides(r, e->arg[1], m) && expr_divides(r, e->arg[2], m);
  case NW_OP_FLOORMOD: return expr_divides(r, e->arg[1], m) && expr_divides(r, e->arg[0], m);
  default: return false;
  }
}

static bool term_divides(const nw_ranges *r, const nw_term *t, int64_t m) {
  return t->coef % m == 0 || atom_divides(r, t->atom, m / nw_gcd(t->coef, m));
}

static bool sum_divides(const nw_ranges *r, const nw_sum *s, int64_t m) {
  if (s->constant % m) return false;
  for (int i = 0; i < s->n; i++)
    if (!term_divides(r, &s->term[i], m)) return false;
  return true;
}

// True if e is known to be a multiple of m, from its coefficients and the facts.
bool nw_divides(const nw_ranges *r, const nw_expr *e, int64_t m) {
  if (!e || m <= 0 || !nw_is_index(e) || !nw_is_exact(e)) return false;
  e = nw_import(r->pool, e);
  return atom_divides(r, e, m) || expr_divides(r, e, m);
}

void nw_split_multiples(const nw_ranges *r, const nw_sum *s, int64_t m, nw_sum *multiple, nw_sum *rest) {
  for (int i = 0; i < s->n; i++)
    nw_sum_term(term_divides(r, &s->term[i], m) ? multiple : rest, s->term[i].coef, s->term[i].atom);
  int64_t low = nw_floormod_i64(s->constant, m);
  multiple->constant = (int64_t)((uint64_t)s->constant - (uint64_t)low);
  rest->constant = low;
}

// ---------------------------------------------------------------- constant bounds

static bool bound_of(const nw_ranges *r, const nw_expr *e, int sign, int64_t enough, int64_t *out) {
  if (!e || !nw_is_index(e) || !nw_is_exact(e)) return false;
  nw_sum s;
  nw_sum_init(&s, r->pool, NW_INDEX);
  bool ok = nw_sum_expand(&s, sign, nw_import(r->pool, e)) && nw_bound_below(r, &s, enough, out);
  nw_sum_free(&s);
  return ok;
}

bool nw_const_lower(const nw_ranges *r, const nw_expr *e, int64_t *lo) { return bound_of(r, e, 1, INT64_MAX, lo); }

bool nw_const_upper(const nw_ranges *r, const nw_expr *e, int64_t *hi) {
  int64_t below;
  if (!bound_of(r, e, -1, INT64_MAX, &below) || below == INT64_MIN) return false;
  *hi = -below;
  return true;
}

bool nw_const_range(const nw_ranges *r, const nw_expr *e, int64_t *lo, int64_t *hi) {
  return nw_const_lower(r, e, lo) && nw_const_upper(r, e, hi);
}

// ---------------------------------------------------------------- proofs

// True if b - a >= least can be proved.
static bool prove_distance(const nw_ranges *r, const nw_expr *a, const nw_expr *b, int64_t least) {
  nw_sum s;
  nw_sum_init(&s, r->pool, NW_INDEX);
  s.constant = -least;
  int64_t v;
  bool ok = nw_sum_expand(&s, 1, b) && nw_sum_expand(&s, -1, a) && nw_bound_below(r, &s, 0, &v) && v >= 0;
  nw_sum_free(&s);
  return ok;
}

static bool is_known(const nw_expr *fact, const nw_expr *cond) {
  return fact == cond || (fact->op == NW_OP_AND && (is_known(fact->arg[0], cond) || is_known(fact->arg[1], cond)));
}

static bool is_fact(const nw_ranges *r, const nw_expr *cond) {
  for (int i = 0; i < r->nfact; i++)
    if (is_known(r->fact[i], cond)) return true;
  return false;
}

// A fact such as x % d == 0 proves that x is a multiple of d. A divisor d that is the least integer is excluded, since
// its absolute value does not fit in 64 bits: nw_gcd returns 1 for it, and 1 divides every number.
static bool prove_equal(const nw_ranges *r, const nw_expr *a, const nw_expr *b) {
  int64_t d;
  if (a->op == NW_OP_FLOORMOD && nw_is_int(a->arg[1], &d) && nw_is_const(b, 0) &&
      (d != INT64_MIN || NW_MUTATED(least_divides_all)) && nw_divides(r, a->arg[0], nw_gcd(d, 0)))
    return true;
  return prove_distance(r, a, b, 0) && prove_distance(r, b, a, 0);
}

static bool prove_comparison(const nw_ranges *r, nw_op op, const nw_expr *a, const nw_expr *b) {
  if (!nw_is_index(a) || !nw_is_exact(a) || !nw_is_exact(b)) return false;
  switch (op) {
  case NW_OP_LT: return prove_distance(r, a, b, 1);
  case NW_OP_LE: return prove_distance(r, a, b, 0);
  case NW_OP_EQ: return prove_equal(r, a, b);
  case NW_OP_NE: return prove_distance(r, a, b, 1) || prove_distance(r, b, a, 1);
  default: return false;
  }
}

static bool prove(const nw_ranges *r, const nw_expr *c) {
  if (nw_is_const(c, 1) || is_fact(r, c)) return true;
  switch (c->op) {
  case NW_OP_AND: return prove(r, c->arg[0]) && prove(r, c->arg[1]);
  case NW_OP_OR: return prove(r, c->arg[0]) || prove(r, c->arg[1]);
  case NW_OP_NOT: return nw_disprove(r, c->arg[0]);
  case NW_OP_BROADCAST: return prove(r, c->arg[0]);
  default: return nw_op_has((nw_op)c->op, 'C') && prove_comparison(r, (nw_op)c->op, c->arg[0], c->arg[1]);
  }
}

static bool disprove(const nw_ranges *r, const nw_expr *c) {
  if (nw_is_const(c, 0)) return true;
  switch (c->op) {
  case NW_OP_AND: return disprove(r, c->arg[0]) || disprove(r, c->arg[1]);
  case NW_OP_OR: return disprove(r, c->arg[0]) && disprove(r, c->arg[1]);
  case NW_OP_NOT: return prove(r, c->arg[0]);
  case NW_OP_BROADCAST: return disprove(r, c->arg[0]);
  case NW_OP_LT: return prove_comparison(r, NW_OP_LE, c->arg[1], c->arg[0]);
  case NW_OP_LE: return prove_comparison(r, NW_OP_LT, c->arg[1], c->arg[0]);
  case NW_OP_EQ: return prove_comparison(r, NW_OP_NE, c->arg[0], c->arg[1]);
  case NW_OP_NE: return prove_comparison(r, NW_OP_EQ, c->arg[0], c->arg[1]);
  default: return false;
  }
}

bool nw_prove(const nw_ranges *r, const nw_expr *cond) { return cond && prove(r, nw_import(r->pool, cond)); }

bool nw_disprove(const nw_ranges *r, const nw_expr *cond) { return cond && disprove(r, nw_import(r->pool, cond)); }

// ---- reasons

static const nw_expr *bounds_of(const nw_ranges *r, const nw_expr *cond) {
  const nw_expr *all = NULL;
  for (int i = 0; i < r->n; i++) {
    const nw_range *x = &r->at[i];
    if (!nw_uses_var(cond, x->var)) continue;
    const nw_expr *var = nw_var(r->pool, x->var);
    if (x->lo) all = nw_and(r->pool, all, nw_le(r->pool, x->lo, var));
    if (x->hi) all = nw_and(r->pool, all, nw_le(r->pool, var, x->hi));
  }
  return all;
}

const nw_expr *nw_ruled_out_by(const nw_ranges *r, const nw_expr *cond) {
  nw_ranges some = *r;
  const nw_expr *all = NULL;
  some.nfact = 0;
  if (nw_disprove(&some, cond)) return bounds_of(r, cond);
  some.nfact = 1;
  for (int i = 0; i < r->nfact; i++) {
    some.fact = &r->fact[i];
    if (nw_disprove(&some, cond)) return r->fact[i];
    all = nw_and(r->pool, all, r->fact[i]);
  }
  return all;
}
