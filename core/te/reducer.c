// Makes reductions by a reducer that a user has defined, and examines the reducer.
//
// A reduction may be computed in any order and in parts. So a reducer must have four properties, for all states a, b and
// c that contributions can give: combine(combine(a, b), c) is combine(a, combine(b, c)); combine(a, b) is combine(b, a);
// combine(init, a) and combine(a, init) are a. Each property is proved if both sides simplify to the same expression, or
// if the component is a plain sum, product, minimum and so on. (For floats, a sum counts as associative, as the sum of
// the language does.) Otherwise both sides are tested on many values (ir/expr/trial.h). A reducer without these
// properties is refused when it is applied, since the order of a reduction is never fixed; nw.scan keeps an order.
#include "ir/expr/equality.h"
#include "ir/expr/fold.h"
#include "ir/expr/trial.h"
#include "ir/program/reducer.h"
#include "te/internal.h"
#include <stdio.h>
#include <stdlib.h>

enum {
  SINGLE = 5, // contributions of a test, which may combine two of them to the state a, two to b, and one to c
  ENOUGH = 100, // least number of values on which a property must be tested
};

typedef const nw_expr *state[NW_MAX_REDUCED];

typedef struct exam {
  nw_ctx *ctx;
  nw_pool *pool;
  nw_reducer *r;
  const nw_expr *const *term; // the terms to which the reducer is applied
  int nvars;
  nw_trial_var var[SINGLE * NW_MAX_REDUCED]; // the variables of the contributions
  char *shown[SINGLE * NW_MAX_REDUCED];
  state contribution[SINGLE];
} exam;

static void combine(exam *x, const nw_expr *const *a, const nw_expr *const *b, const nw_expr **out) {
  for (int i = 0; i < x->r->n; i++) out[i] = nw_reducer_combined(x->pool, x->r, i, a, b);
}

// ---- proofs

// True if the component is a op b with a neutral init, so that no other component matters to it.
static bool is_built_in(const exam *x, int i, nw_op op, const nw_expr *neutral) {
  const nw_reducer *r = x->r;
  nw_dtype t = r->dtype[i];
  bool logic = op == NW_OP_AND || op == NW_OP_OR;
  if (logic != (t == NW_BOOL)) return false;
  const nw_expr *a = nw_reducer_var(x->pool, false, i, t), *b = nw_reducer_var(x->pool, true, i, t);
  return r->init[i] == neutral &&
         (r->combine[i] == nw_make2(x->pool, op, a, b) || r->combine[i] == nw_make2(x->pool, op, b, a));
}

static bool built_in(const exam *x, int i) {
  static const struct {
    nw_op op;
    nw_combiner like;
  } row[] = {{NW_OP_ADD, NW_SUM}, {NW_OP_MUL, NW_PROD}, {NW_OP_MIN, NW_MIN_OF}, {NW_OP_MAX, NW_MAX_OF}};
  nw_dtype t = x->r->dtype[i];
  for (int k = 0; k < NW_COUNT(row); k++)
    if (is_built_in(x, i, row[k].op, nw_combiner_identity(x->pool, row[k].like, t, 0))) return true;
  return is_built_in(x, i, NW_OP_AND, nw_int(x->pool, NW_BOOL, 1)) ||
         is_built_in(x, i, NW_OP_OR, nw_int(x->pool, NW_BOOL, 0));
}

// True if e computes with i64. Simplification assumes that this arithmetic does not overflow, but a state may wrap.
static bool no_index_arithmetic(void *env, const nw_expr *e) {
  (void)env;
  return e->type.dtype != NW_INDEX || !e->n || nw_op_exactness((nw_op)e->op) == NW_EXACT_SAME;
}

static bool proved_equal(const exam *x, const nw_expr *a, const nw_expr *b) {
  nw_ranges r;
  if (!nw_visit(a, no_index_arithmetic, NULL) || !nw_visit(b, no_index_arithmetic, NULL)) return false;
  nw_ranges_init(&r, x->pool);
  bool same = a == b || nw_polynomial(nw_simplify(&r, a)) == nw_polynomial(nw_simplify(&r, b));
  nw_ranges_free(&r);
  return same;
}

// ---- tests

// Finds the values that a term may have. All axes are at least 0.
static void range_of(exam *x, const nw_expr *term, nw_trial_var *v) {
  nw_ranges r;
  int bits = term->type.dtype == NW_BOOL ? 1 : 8 * nw_dtype_bytes((nw_dtype)term->type.dtype);
  bool sign = nw_dtype_is_signed((nw_dtype)term->type.dtype);
  v->hi = bits == 64 ? INT64_MAX : (INT64_C(1) << (bits - sign)) - 1;
  v->lo = sign ? -v->hi - 1 : 0;
  if (term->type.dtype != NW_INDEX || term->data) return;
  nw_ranges_init(&r, x->pool);
  nw_te_push_axes(&r, term);
  int64_t lo, hi;
  if (nw_const_lower(&r, term, &lo)) v->lo = lo;
  if (nw_const_upper(&r, term, &hi)) v->hi = hi;
  nw_ranges_free(&r);
}

// Makes the variables of the contributions. A term that is a constant is this constant in every contribution. Variables
// of the same component are next to each other in the list, because the tests sometimes give adjacent variables the
// same value.
static void make_contributions(exam *x) {
  for (int i = 0; i < x->r->n; i++)
    for (int k = 0; k < SINGLE; k++) {
      const nw_expr *term = x->term[i];
      x->contribution[k][i] = term;
      if (nw_is_constant(term)) continue;
      nw_trial_var *v = &x->var[x->nvars];
      nw_str name = {0}, shown = {0};
      nw_str_fmt(&name, "?%d", x->nvars);
      nw_str_fmt(&shown, "%c", 'a' + k);
      if (x->r->n > 1) nw_str_fmt(&shown, "[%d]", i + 1);
      v->var = nw_data_var(x->pool, name.s, term->type);
      nw_str_free(&name);
      v->shown = x->shown[x->nvars++] = nw_str_take(&shown);
      range_of(x, term, v);
      x->contribution[k][i] = v->var;
    }
}

static bool differs(const exam *x, const char *what, const char *hint, int i, const nw_trial *t) {
  char component[40] = "";
  if (x->r->n > 1) snprintf(component, sizeof component, "component %d of ", i + 1);
  nw_fail(x->ctx, NW_EINVAL, hint, "reducer %s: %s%s: %s is not %s if %s", x->r->name, component, what, t->at.old,
          t->at.new, t->at.point ? t->at.point : "the terms are constants");
  return false;
}

// Tests one component. `what` states the property, for the error.
static bool test(exam *x, const char *what, const char *hint, int i, const nw_expr *was, const nw_expr *is) {
  nw_trial_var used[SINGLE * NW_MAX_REDUCED];
  int n = 0;
  for (int k = 0; k < x->nvars; k++)
    if (nw_uses_var(was, x->var[k].var->name) || nw_uses_var(is, x->var[k].var->name)) used[n++] = x->var[k];
  nw_trial t = {.pool = x->pool, .cond = nw_true(x->pool), .was = was, .is = is, .n = n, .var = used, .vanish = true};
  if (!x->ctx->trial)
    return nw_fail(x->ctx, NW_ELIMIT, NULL, "reducer %s: this session runs no programs, so it cannot be tested",
                   x->r->name);
  bool ok = x->ctx->trial(x->ctx, &t);
  if (ok && t.differs && !NW_MUTATED(reducer_any)) ok = differs(x, what, hint, i, &t);
  if (ok && t.compared < ENOUGH)
    ok = nw_fail(x->ctx, NW_EINVAL, "write it so that fewer values overflow",
                 "reducer %s: %s could be tested on only %d values; at least %d are needed", x->r->name, what,
                 t.compared, ENOUGH);
  if (ok && (!x->r->tested || t.compared < x->r->tested)) x->r->tested = t.compared;
  nw_trial_free(&t);
  return ok;
}

// Checks that two states are equal. If `proof` is true, the variables in the states may have any values; the function
// tries to prove that the components are equal, and records the proved ones in `done`. Otherwise the components that
// are not proved are tested.
static bool compare(exam *x, bool proof, bool *done, const char *what, const char *hint, const nw_expr *const *was,
                    const nw_expr *const *is) {
  bool ok = true;
  for (int i = 0; i < x->r->n && ok; i++) {
    if (proof)
      done[i] = built_in(x, i) || proved_equal(x, was[i], is[i]);
    else if (!done[i])
      ok = test(x, what, hint, i, was[i], is[i]);
  }
  return ok;
}

#define ANY_ORDER "the order of a reduction is not fixed; nw.scan computes in order"
#define COMBINED "if ab is combine(a, b) and cd is combine(c, d), "

// What is compared: states that have any value, single contributions, or combined contributions.
typedef enum kind { ANY, ONE, COMBINATION } kind;

static bool associative(exam *x, kind k, bool *done, state a, state b, state c) {
  state ab, bc, was, is;
  combine(x, a, b, ab);
  combine(x, b, c, bc);
  combine(x, ab, c, was);
  combine(x, a, bc, is);
  return compare(x, k == ANY, done,
                 k == COMBINATION ? COMBINED "combine(combine(ab, cd), e) must be combine(ab, combine(cd, e))"
                                  : "combine(combine(a, b), c) must be combine(a, combine(b, c))",
                 ANY_ORDER, was, is);
}

static bool commutative(exam *x, kind k, bool *done, state a, state b) {
  state was, is;
  combine(x, a, b, was);
  combine(x, b, a, is);
  return compare(x, k == ANY, done,
                 k == COMBINATION ? COMBINED "combine(ab, cd) must be combine(cd, ab)"
                                  : "combine(a, b) must be combine(b, a)",
                 ANY_ORDER "; of equal values, choose one by a rule, such as the lowest index", was, is);
}

static bool neutral(exam *x, kind k, bool *done, bool left, state a) {
  state is;
  combine(x, left ? x->r->init : a, left ? a : x->r->init, is);
  return compare(x, k == ANY, done,
                 k == COMBINATION ? (left ? "combine(init, combine(a, b)) must be combine(a, b)"
                                          : "combine(combine(a, b), init) must be combine(a, b)")
                 : left           ? "combine(init, a) must be a"
                                  : "combine(a, init) must be a",
                 "init must change nothing, also if it is combined with itself; guard a division with nw.select", is,
                 a);
}

static void any_state(const exam *x, char letter, const nw_expr **out) {
  for (int i = 0; i < x->r->n; i++) {
    char name[16];
    snprintf(name, sizeof name, "?%c%d", letter, i);
    out[i] = nw_data_var(x->pool, name, nw_scalar(x->r->dtype[i]));
  }
}

static bool examine(exam *x) {
  state any[3], *one = x->contribution, two[2], init;
  bool assoc[NW_MAX_REDUCED], comm[NW_MAX_REDUCED], left[NW_MAX_REDUCED], right[NW_MAX_REDUCED];
  for (int i = 0; i < 3; i++) any_state(x, (char)('a' + i), any[i]);
  for (int i = 0; i < x->r->n; i++) init[i] = x->r->init[i];
  associative(x, ANY, assoc, any[0], any[1], any[2]);
  commutative(x, ANY, comm, any[0], any[1]);
  neutral(x, ANY, left, true, any[0]);
  neutral(x, ANY, right, false, any[0]);
  make_contributions(x);
  combine(x, one[0], one[1], two[0]);
  combine(x, one[2], one[3], two[1]);
  return neutral(x, ONE, left, true, init) && neutral(x, ONE, left, true, one[0]) &&
         neutral(x, ONE, right, false, one[0]) && commutative(x, ONE, comm, one[0], one[1]) &&
         associative(x, ONE, assoc, one[0], one[1], one[2]) && neutral(x, COMBINATION, left, true, two[0]) &&
         neutral(x, COMBINATION, right, false, two[0]) && commutative(x, COMBINATION, comm, two[0], two[1]) &&
         associative(x, COMBINATION, assoc, two[0], two[1], one[4]);
}

// ---- checks

static bool only_states(void *env, const nw_expr *e) {
  const nw_reducer *r = env;
  if (e->op == NW_OP_LOAD || e->op == NW_OP_REDUCE) return false;
  if (e->op != NW_OP_VAR) return true;
  for (int i = 0; i < 2 * r->n; i++)
    if (e == nw_reducer_var(e->pool, i >= r->n, i % r->n, r->dtype[i % r->n])) return true;
  return false;
}

static bool has_dtype(nw_ctx *c, const nw_reducer *r, const char *what, int i, const nw_expr *e) {
  if (e->type.dtype == r->dtype[i]) return true;
  return nw_fail(c, NW_ETYPE, "cast it", "reducer %s: %s %d is %s, but term %d is %s", r->name, what, i + 1,
                 nw_dtype_name((nw_dtype)e->type.dtype), i + 1, nw_dtype_name(r->dtype[i]));
}

static bool divides_by_constants(void *env, const nw_expr *e) {
  (void)env;
  bool divides = (e->op == NW_OP_FLOORDIV || e->op == NW_OP_FLOORMOD) && !nw_dtype_is_float((nw_dtype)e->type.dtype);
  return !divides || (e->arg[1]->op == NW_OP_INT && e->arg[1]->i);
}

static bool check_component(nw_ctx *c, const nw_reducer *r, int i) {
  const nw_expr *init = r->init[i], *e = r->combine[i];
  if (!has_dtype(c, r, "init", i, init) || !has_dtype(c, r, "component", i, e)) return false;
  if (!nw_is_constant(init))
    return nw_fail(c, NW_EINVAL, "give a number", "reducer %s: init %d is not a constant", r->name, i + 1);
  if (!nw_visit(e, only_states, (void *)r))
    return nw_fail(c, NW_EINVAL, "put the other values into terms",
                   "reducer %s: combine may use only its two states and constants", r->name);
  if (!nw_visit(e, divides_by_constants, NULL))
    return nw_fail(c, NW_ERANGE, "divide floats, or divide by a constant",
                   "reducer %s: combine divides an integer by a number that can be 0", r->name);
  return true;
}

static bool check_parts(nw_ctx *c, const nw_reducer *r) {
  for (int i = 0; i < r->n; i++) {
    if (!nw_name_given(c, "a component of a reducer", r->part[i])) return false;
    for (int k = 0; k < i; k++)
      if (!strcmp(r->part[i], r->part[k]))
        return nw_fail(c, NW_EINVAL, NULL, "reducer %s: two components are named %s", r->name, r->part[i]);
  }
  return true;
}

const nw_expr *nw_own_reduction(nw_ctx *c, const nw_own_reducer *own, const nw_expr *const *term, int naxes,
                                nw_axis *const *axes) {
  nw_pool *p = nw_lang_pool(c);
  nw_reducer r = {.name = own->name, .n = own->n};
  const nw_expr *terms[NW_MAX_REDUCED];
  if (own->n < 1 || own->n > NW_MAX_REDUCED)
    return nw_fail(c, NW_ELIMIT, NULL, "reducer %s: it has %d terms; there may be 1 to %d", own->name, own->n,
                   NW_MAX_REDUCED);
  if (!nw_name_given(c, "a reducer", own->name)) return NULL;
  for (int i = 0; i < r.n; i++) {
    if (!term[i] || !own->init[i] || !own->combine[i]) return NULL;
    terms[i] = nw_import(p, term[i]);
    r.dtype[i] = (nw_dtype)term[i]->type.dtype;
    r.init[i] = nw_import(p, own->init[i]);
    r.combine[i] = nw_import(p, own->combine[i]);
    r.part[i] = own->part[i];
  }
  for (int i = 0; i < r.n; i++)
    if (!check_component(c, &r, i)) return NULL;
  exam *x = nw_xcalloc(1, sizeof *x);
  *x = (exam){.ctx = c, .pool = p, .r = &r, .term = terms};
  bool ok = check_parts(c, &r) && examine(x);
  for (int i = 0; i < x->nvars; i++) free(x->shown[i]);
  free(x);
  const nw_reducer *known = ok ? nw_reducer_add(c, &r) : NULL;
  return known ? nw_te_reduce(c, known->combiner, r.n, terms, naxes, axes) : NULL;
}
