// Replaces the occurrences of one side of an equality by the other side. A commutative operation matches with its
// operands in either order.
#include "ir/expr/equality.h"
#include "ir/expr/fold.h"

const char *nw_pattern_name(nw_pool *p, const char *name) {
  nw_str s = {0};
  nw_str_fmt(&s, "?%s", name);
  const char *own = nw_pool_name(p, s.s);
  nw_str_free(&s);
  return own;
}

static bool is_variable(const nw_expr *e) { return e->op == NW_OP_VAR && e->name[0] == '?'; }

// ---- matching

enum { MAX_VARIABLES = 16, MAX_FLIPS = 8 };

typedef struct match {
  int n;
  const nw_expr *var[MAX_VARIABLES], *by[MAX_VARIABLES];
  // `flips` has a bit for each of the first commutative operations; the bit says whether its operands are swapped
  unsigned flips;
  int nflips;
} match;

static bool bind(match *m, const nw_expr *var, const nw_expr *e) {
  for (int i = 0; i < m->n; i++)
    if (m->var[i] == var) return m->by[i] == e;
  if (m->n == MAX_VARIABLES) return false;
  m->var[m->n] = var;
  m->by[m->n++] = e;
  return true;
}

static bool same_type(const nw_expr *a, const nw_expr *b) {
  return a->type.dtype == b->type.dtype && a->type.lanes == b->type.lanes;
}

static bool matches(match *m, const nw_expr *p, const nw_expr *e) {
  if (p == e) return true;
  if (!same_type(p, e)) return false;
  if (is_variable(p)) return bind(m, p, e);
  if (p->op != e->op || p->n != e->n || nw_op_has((nw_op)p->op, 'L')) return false;
  if (p->op == NW_OP_LOAD && strcmp(p->name, e->name)) return false;
  bool flip = false;
  if (nw_op_has((nw_op)p->op, 'K')) flip = m->nflips < MAX_FLIPS && m->flips >> m->nflips & 1, m->nflips++;
  for (int i = 0; i < p->n; i++)
    if (!matches(m, p->arg[i], e->arg[flip ? p->n - 1 - i : i])) return false;
  return true;
}

static bool find(match *m, const nw_expr *p, const nw_expr *e) {
  for (unsigned flips = 0, ways = 1; flips < ways; flips++) {
    m->n = m->nflips = 0;
    m->flips = flips;
    if (matches(m, p, e)) return true;
    unsigned met = 1u << (m->nflips < MAX_FLIPS ? m->nflips : MAX_FLIPS);
    if (met > ways) ways = met;
  }
  return false;
}

// ---- replacing

typedef struct apply {
  nw_pool *pool;
  const nw_equality *q;
  nw_occurrence_fn see;
  void *env;
} apply;

static const nw_expr *bound_to(void *env, const nw_expr *v) {
  const match *m = env;
  for (int i = 0; i < m->n; i++)
    if (m->var[i] == v) return m->by[i];
  return NULL;
}

static const nw_expr *replaced(const apply *x, const nw_expr *cond, const nw_expr *e);

static const nw_expr *with_replaced(const apply *x, const nw_expr *cond, const nw_expr *e) {
  const nw_expr *arg[3];
  bool same = true;
  if (e->n < 1 || e->n > 3 || e->op == NW_OP_LOAD) return e;
  for (int i = 0; i < e->n; i++) {
    const nw_expr *holds = cond;
    if (e->op == NW_OP_SELECT && i)
      holds = nw_and(x->pool, cond, i == 1 ? e->arg[0] : nw_make1(x->pool, NW_OP_NOT, e->arg[0]));
    arg[i] = replaced(x, holds, e->arg[i]);
    same &= arg[i] == e->arg[i];
  }
  return same ? e : nw_make(x->pool, (nw_op)e->op, e->type, e->n, arg);
}

// Index arithmetic never matches, since its sums and products are already in a canonical form that proofs rely on.
static const nw_expr *replaced(const apply *x, const nw_expr *cond, const nw_expr *e) {
  match m;
  if ((nw_is_index(e) && !e->data) || !find(&m, x->q->from, e)) return with_replaced(x, cond, e);
  const nw_expr *by = nw_rewrite(x->pool, x->q->to, bound_to, NULL, &m);
  if (x->see) x->see(x->env, &(nw_occurrence){cond, e, by});
  return by;
}

const nw_expr *nw_equality_apply(nw_pool *p, const nw_equality *q, const nw_expr *e, nw_occurrence_fn see, void *env) {
  return replaced(&(apply){p, q, see, env}, nw_true(p), e);
}

// ---- the right side

typedef struct unknown {
  const nw_expr *from;
  const char *name;
} unknown;

static bool differs(void *env, const nw_expr *e) { return e != env; }

static bool see_variable(void *env, const nw_expr *e) {
  unknown *u = env;
  if (is_variable(e) && nw_visit(u->from, differs, (void *)e)) u->name = e->name + 1;
  return !u->name;
}

const char *nw_equality_unknown(const nw_equality *q) {
  unknown u = {q->from, NULL};
  nw_visit(q->to, see_variable, &u);
  return u.name;
}

// ---- polynomials

enum { MAX_TERMS = 64, MAX_STEPS = 4096 };

typedef struct expansion {
  nw_sum sum;
  int steps; // a product of many sums has too many terms; the expansion then stops
} expansion;

static int64_t times(int64_t a, int64_t b) { return (int64_t)((uint64_t)a * (uint64_t)b); }

// Returns the first sum among the factors of a product, and multiplies the other factors into *rest. *rest is NULL
// before the first of them.
static const nw_expr *sum_factor(nw_pool *p, const nw_expr *e, const nw_expr **rest) {
  const nw_expr *found = NULL;
  if (e->op == NW_OP_ADD || e->op == NW_OP_SUB) return e;
  if (e->op == NW_OP_MUL) {
    found = sum_factor(p, e->arg[0], rest);
    if (!found) {
      *rest = NULL;
      found = sum_factor(p, e->arg[1], rest);
      if (found) *rest = *rest ? nw_product(p, *rest, e->arg[0]) : e->arg[0];
      return found;
    }
    *rest = *rest ? nw_product(p, *rest, e->arg[1]) : e->arg[1];
  }
  return found;
}

static void expand(expansion *x, int64_t coef, const nw_expr *e) {
  if (x->sum.n > MAX_TERMS || ++x->steps > MAX_STEPS) return;
  const nw_expr *rest = NULL, *sum;
  switch (e->op) {
  case NW_OP_ADD:
  case NW_OP_SUB:
    expand(x, coef, e->arg[0]);
    expand(x, e->op == NW_OP_ADD ? coef : times(coef, -1), e->arg[1]);
    return;
  case NW_OP_NEG: expand(x, times(coef, -1), e->arg[0]); return;
  case NW_OP_MUL:
    if (e->arg[0]->op == NW_OP_INT) return expand(x, times(coef, e->arg[0]->i), e->arg[1]);
    sum = sum_factor(x->sum.pool, e, &rest);
    if (!sum) break;
    expand(x, coef, nw_product(x->sum.pool, sum->arg[0], rest));
    expand(x, sum->op == NW_OP_ADD ? coef : times(coef, -1), nw_product(x->sum.pool, sum->arg[1], rest));
    return;
  }
  nw_sum_add(&x->sum, coef, e);
}

const nw_expr *nw_polynomial(const nw_expr *e) {
  expansion x = {.steps = 0};
  if (!nw_dtype_is_int((nw_dtype)e->type.dtype) || e->type.lanes != 1) return e;
  nw_sum_init(&x.sum, e->pool, (nw_dtype)e->type.dtype);
  expand(&x, 1, e);
  const nw_expr *made = x.sum.n > MAX_TERMS || x.steps > MAX_STEPS ? e : nw_sum_expr(&x.sum);
  nw_sum_free(&x.sum);
  return made;
}
