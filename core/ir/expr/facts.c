// Converts facts to the form that the search for bounds uses, and finds the ranges of the variables in an expression.
#include "ir/expr/bound.h"
#include <stdlib.h>

typedef struct place {
  const nw_ranges *r;
  int max;
} place;

int nw_var_place(const nw_ranges *r, const char *name) {
  for (int i = r->n - 1; i >= 0; i--)
    if (r->at[i].var == name) return i;
  return -1;
}

static bool note_place(void *env, const nw_expr *e) {
  place *p = env;
  int at = e->op == NW_OP_VAR ? nw_var_place(p->r, e->name) : -1;
  if (at > p->max) p->max = at;
  return true;
}

int nw_range_place(const nw_ranges *r, const nw_expr *e) {
  place p = {r, -1};
  nw_visit(e, note_place, &p);
  return p.max;
}

// Returns the greatest known divisor of a term, from its coefficient and the facts.
int64_t nw_known_divisor(const nw_ranges *r, const nw_term *t) {
  int64_t k = t->coef == INT64_MIN ? 1 : t->coef;
  for (int i = 0; i < r->nfact; i++) {
    const nw_expr *f = r->fact[i];
    if (f->op != NW_OP_EQ || !nw_is_const(f->arg[1], 0) || f->arg[0]->op != NW_OP_FLOORMOD) continue;
    const nw_expr *m = f->arg[0];
    int64_t times;
    if (m->arg[0] == t->atom && m->arg[1]->op == NW_OP_INT && !__builtin_mul_overflow(t->coef, m->arg[1]->i, &times) &&
        times != INT64_MIN && llabs(times) > llabs(k))
      k = times;
  }
  return k;
}

// Tightens a fact (sum of multiples of g) + c >= 0 by rounding c down to a multiple of g.
static void tighten(const nw_ranges *r, nw_sum *s) {
  int64_t g = 0, low;
  for (int i = 0; i < s->n; i++) g = nw_gcd(g, nw_known_divisor(r, &s->term[i]));
  if (g > 1 && !__builtin_sub_overflow(s->constant, nw_floormod_i64(s->constant, g), &low)) s->constant = low;
}

// Adds the fact more - less - gap >= 0. Does nothing if a number would overflow.
static void add_fact(nw_facts *f, const nw_expr *less, const nw_expr *more, int64_t gap) {
  nw_sum *s = &f->fact[f->n];
  nw_sum_init(s, f->r->pool, NW_INDEX);
  if (nw_sum_expand(s, 1, more) && nw_sum_expand(s, -1, less) && nw_sum_add_constant(s, -gap)) {
    nw_sum_drop_zeros(s);
    tighten(f->r, s);
    f->n++;
  } else {
    nw_sum_free(s);
  }
}

static int count_clauses(const nw_expr *cond) {
  return cond->op == NW_OP_AND ? count_clauses(cond->arg[0]) + count_clauses(cond->arg[1]) : 1;
}

static void read_fact(nw_facts *f, const nw_expr *cond) {
  if (cond->op == NW_OP_AND) {
    read_fact(f, cond->arg[0]);
    read_fact(f, cond->arg[1]);
    return;
  }
  if (cond->n != 2 || !nw_is_index(cond->arg[0]) || !nw_is_exact(cond->arg[0]) || !nw_is_exact(cond->arg[1])) return;
  const nw_expr *a = cond->arg[0], *b = cond->arg[1];
  if (cond->op == NW_OP_LT) add_fact(f, a, b, 1);
  if (cond->op == NW_OP_LE || cond->op == NW_OP_EQ) add_fact(f, a, b, 0);
  if (cond->op == NW_OP_EQ) add_fact(f, b, a, 0);
}

// An nw_sum may point to terms that are stored inside it, so the array of sums must not move. Therefore the size of the
// array is computed before it is filled.
void nw_facts_read(nw_facts *f, const nw_ranges *r) {
  int room = 0;
  *f = (nw_facts){.r = r};
  for (int i = 0; i < r->nfact; i++) room += 2 * count_clauses(r->fact[i]);
  if (!room) return;
  f->fact = nw_xmalloc((size_t)room * sizeof *f->fact);
  for (int i = 0; i < r->nfact; i++) read_fact(f, r->fact[i]);
}

void nw_facts_free(nw_facts *f) {
  for (int i = 0; i < f->n; i++) nw_sum_free(&f->fact[i]);
  free(f->fact);
}
