// Converts integer expressions and conditions to affine forms, split into cases.
#include "access/affine/cases.h"
#include "ir/expr/fold.h" // nw_wrap

static const nw_form zero = {0};

static bool no(nw_affine_scope *s, const char *why) { return nw_fail(s->ctx, NW_ELIMIT, NULL, "%s", why); }

static const nw_form *value_of(const nw_affine_scope *s, const char *name) {
  for (int i = s->name.n - 1; i >= 0; i--)
    if (!strcmp(s->name.at[i], name)) return s->value.at[i];
  return NULL;
}

// ---- expressions

static bool add_case(nw_affine_scope *s, nw_cases *to, nw_conds when, nw_form value) {
  for (int i = 0; i < to->n; i++)
    if (!to->at[i].when.n && nw_form_same(&to->at[i].value, &value)) return true;
  if (to->n == NW_MOST_CASES) return no(s, "an expression has too many cases");
  nw_case *at = NW_NEW_N(s->arena, nw_case, to->n + 1);
  for (int i = 0; i < to->n; i++) at[i] = to->at[i];
  at[to->n++] = (nw_case){when, value};
  to->at = at;
  return true;
}

static bool one_case(nw_affine_scope *s, nw_cases *out, nw_form value) {
  *out = (nw_cases){0};
  return add_case(s, out, (nw_conds){0}, value);
}

static bool is_number(const nw_form *f) { return !f->n && !f->step; }

static bool multiply(nw_affine_scope *s, const nw_form *x, const nw_form *y, nw_form *out) {
  if (!is_number(x) && !is_number(y)) return no(s, "loop variables are multiplied");
  *out = nw_form_scaled(s->arena, is_number(x) ? y : x, is_number(x) ? x->rest : y->rest);
  return true;
}

static bool modulo(nw_affine_scope *s, const nw_form *x, int64_t by, nw_form *out) {
  nw_form q;
  if (!nw_form_divide(s, x, by, &q)) return false;
  *out = nw_form_sum(s->arena, x, -by, &q, 0);
  return true;
}

static bool ramp(nw_affine_scope *s, const nw_form *base, const nw_form *stride, nw_form *out) {
  if (!is_number(stride) || base->step) return no(s, "lanes are not at equal distances");
  *out = *base;
  if (s->lane < 0)
    out->step = stride->rest;
  else
    out->rest += s->lane * stride->rest;
  return true;
}

// Adds the two cases of a minimum or maximum: x <= y and x > y.
static bool choose(nw_affine_scope *s, nw_op op, const nw_conds *when, const nw_form *x, const nw_form *y,
                   nw_cases *out) {
  nw_conds less = *when, more = *when;
  nw_form d = nw_form_sum(s->arena, y, -1, x, 0), e = nw_form_sum(s->arena, x, -1, y, -1);
  bool least = op == NW_OP_MIN;
  return (!nw_conds_add(s, &less, &d) || add_case(s, out, less, least ? *x : *y)) &&
         (!nw_conds_add(s, &more, &e) || add_case(s, out, more, least ? *y : *x));
}

static bool binary_case(nw_affine_scope *s, const nw_expr *e, const nw_conds *when, const nw_form *x, const nw_form *y,
                        nw_cases *out) {
  nw_form f;
  switch (e->op) {
  case NW_OP_ADD: f = nw_form_sum(s->arena, x, 1, y, 0); break;
  case NW_OP_SUB: f = nw_form_sum(s->arena, x, -1, y, 0); break;
  case NW_OP_MIN:
  case NW_OP_MAX: return choose(s, e->op, when, x, y, out);
  case NW_OP_MUL:
    if (!multiply(s, x, y, &f)) return false;
    break;
  case NW_OP_RAMP:
    if (!ramp(s, x, y, &f)) return false;
    break;
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD:
    if (!is_number(y) || y->rest <= 0) return no(s, "a divisor is not a positive constant");
    if (!(e->op == NW_OP_FLOORDIV ? nw_form_divide : modulo)(s, x, y->rest, &f)) return false;
    break;
  default: return no(s, "an expression is not affine");
  }
  return add_case(s, out, *when, f);
}

static bool binary(nw_affine_scope *s, const nw_expr *e, nw_cases *out) {
  nw_cases x, y;
  if (!nw_cases_of(s, e->arg[0], &x) || !nw_cases_of(s, e->arg[1], &y)) return false;
  for (int i = 0; i < x.n; i++)
    for (int k = 0; k < y.n; k++) {
      nw_conds when;
      if (!nw_conds_join(s, &x.at[i].when, &y.at[k].when, &when)) continue;
      if (!binary_case(s, e, &when, &x.at[i].value, &y.at[k].value, out)) return false;
    }
  return true;
}

// Adds each combination of a case of u and a case of e. The condition of a combination is the conjunction of the two
// conditions.
static bool add_where(nw_affine_scope *s, const nw_union *u, const nw_cases *e, nw_cases *out) {
  for (int i = 0; i < u->n; i++)
    for (int k = 0; k < e->n; k++) {
      nw_conds when;
      if (!nw_conds_join(s, &u->at[i], &e->at[k].when, &when)) continue;
      if (!add_case(s, out, when, e->at[k].value)) return false;
    }
  return true;
}

static bool select_cases(nw_affine_scope *s, const nw_expr *cond, const nw_cases *yes, const nw_cases *other,
                         nw_cases *out) {
  nw_union u, v;
  return nw_union_of(s, cond, true, &u) && nw_union_of(s, cond, false, &v) && add_where(s, &u, yes, out) &&
         add_where(s, &v, other, out);
}

static bool truth(nw_affine_scope *s, const nw_expr *e, nw_cases *out) {
  nw_cases yes, other;
  one_case(s, &yes, (nw_form){.rest = 1});
  one_case(s, &other, zero);
  return select_cases(s, e, &yes, &other, out);
}

static bool negated(nw_affine_scope *s, const nw_expr *e, nw_cases *out) {
  nw_cases x;
  if (!nw_cases_of(s, e->arg[0], &x)) return false;
  for (int i = 0; i < x.n; i++) {
    nw_form minus = nw_form_scaled(s->arena, &x.at[i].value, -1);
    bool ok = e->op == NW_OP_ABS ? choose(s, NW_OP_MAX, &x.at[i].when, &minus, &x.at[i].value, out)
                                 : add_case(s, out, x.at[i].when, minus);
    if (!ok) return false;
  }
  return true;
}

static bool select_values(nw_affine_scope *s, const nw_expr *e, nw_cases *out) {
  nw_cases yes, other;
  return nw_cases_of(s, e->arg[1], &yes) && nw_cases_of(s, e->arg[2], &other) &&
         select_cases(s, e->arg[0], &yes, &other, out);
}

static bool make_cases(nw_affine_scope *s, const nw_expr *e, nw_cases *out) {
  switch (e->op) {
  case NW_OP_INT: return one_case(s, out, (nw_form){.rest = e->i});
  case NW_OP_VAR: {
    const nw_form *f = value_of(s, e->name);
    return f ? one_case(s, out, *f) : no(s, "a name is not known");
  }
  case NW_OP_NEG:
  case NW_OP_ABS: return negated(s, e, out);
  case NW_OP_SELECT: return select_values(s, e, out);
  case NW_OP_BROADCAST: return nw_cases_of(s, e->arg[0], out);
  case NW_OP_CAST: return e->arg[0]->type.dtype == NW_BOOL ? truth(s, e->arg[0], out) : nw_cases_of(s, e->arg[0], out);
  default: return e->n == 2 ? binary(s, e, out) : no(s, "an expression is not affine");
  }
}

// True if no value can be too large, and no value can wrap around in the type t. Otherwise leaves a diagnostic.
static bool fits(nw_affine_scope *s, nw_dtype t, const nw_cases *x) {
  for (int i = 0; i < x->n; i++) {
    int64_t lo, hi;
    if (!nw_form_range(s, &x->at[i].value, &lo, &hi)) return no(s, "numbers are too large");
    bool below = t == NW_U64 && lo < 0;
    if (below || (t != NW_INDEX && (nw_wrap(t, lo) != lo || nw_wrap(t, hi) != hi)))
      return no(s, "a number may wrap around");
  }
  return true;
}

bool nw_cases_of(nw_affine_scope *s, const nw_expr *e, nw_cases *out) {
  *out = (nw_cases){0};
  nw_dtype t = e->type.dtype;
  if (t == NW_BOOL) return truth(s, e, out);
  if (e->op == NW_OP_LOAD) return no(s, "an index is read from an array");
  if (nw_dtype_is_float(t)) return no(s, "an expression uses more than loop variables");
  return make_cases(s, e, out) && fits(s, t, out);
}

// ---- conditions of expressions

static bool add_conds(nw_affine_scope *s, nw_union *to, const nw_conds *when, int n, const nw_form *f) {
  nw_conds c = *when;
  for (int i = 0; i < n; i++)
    if (!nw_conds_add(s, &c, &f[i])) return true;
  if (to->n == NW_MOST_CASES) return no(s, "a condition has too many cases");
  nw_union_add(s, to, c);
  return true;
}

// Adds the cases of a comparison: x < y, x <= y, x == y or x != y.
static bool compare_case(nw_affine_scope *s, nw_op op, const nw_conds *when, const nw_form *x, const nw_form *y,
                         nw_union *out) {
  nw_form up = nw_form_sum(s->arena, y, -1, x, 0), down = nw_form_sum(s->arena, x, -1, y, 0);
  nw_form above = nw_form_sum(s->arena, &up, 1, &zero, -1), below = nw_form_sum(s->arena, &down, 1, &zero, -1);
  switch (op) {
  case NW_OP_LT: return add_conds(s, out, when, 1, &above);
  case NW_OP_LE: return add_conds(s, out, when, 1, &up);
  case NW_OP_EQ: return add_conds(s, out, when, 2, (nw_form[]){up, down});
  default: return add_conds(s, out, when, 1, &above) && add_conds(s, out, when, 1, &below);
  }
}

static bool compare(nw_affine_scope *s, const nw_expr *e, bool holds, nw_union *out) {
  nw_cases x, y;
  if (!nw_cases_of(s, e->arg[0], &x) || !nw_cases_of(s, e->arg[1], &y)) return false;
  nw_op op = e->op;
  bool turned = !holds && (op == NW_OP_LT || op == NW_OP_LE); // the negation of x < y is y <= x
  if (!holds) op = op == NW_OP_LT ? NW_OP_LE : op == NW_OP_LE ? NW_OP_LT : op == NW_OP_EQ ? NW_OP_NE : NW_OP_EQ;
  for (int i = 0; i < x.n; i++)
    for (int k = 0; k < y.n; k++) {
      nw_conds when;
      const nw_form *a = &x.at[i].value, *b = &y.at[k].value;
      if (!nw_conds_join(s, &x.at[i].when, &y.at[k].when, &when)) continue;
      if (!compare_case(s, op, &when, turned ? b : a, turned ? a : b, out)) return false;
    }
  return true;
}

static bool unite(nw_affine_scope *s, nw_union *to, const nw_union *more) {
  for (int i = 0; i < more->n; i++) nw_union_add(s, to, more->at[i]);
  return to->n <= NW_MOST_CASES || no(s, "a condition has too many cases");
}

// Adds the cases of an `and` or an `or`, or of its negation if `holds` is false. An `and` has one case, in which both
// operands hold. Its negation has two cases. Either the first operand does not hold, or the first operand holds and the
// second does not hold.
static bool both_or_not(nw_affine_scope *s, const nw_expr *e, bool holds, nw_union *out) {
  bool all = (e->op == NW_OP_AND) == holds;
  nw_union x, y, joined;
  if (!nw_union_of(s, e->arg[0], holds, &x) || !nw_union_of(s, e->arg[1], holds, &y)) return false;
  if (all) return nw_union_join(s, &x, &y, out);
  nw_union other;
  return nw_union_of(s, e->arg[0], !holds, &other) && nw_union_join(s, &other, &y, &joined) && unite(s, out, &x) &&
         unite(s, out, &joined);
}

static bool select_union(nw_affine_scope *s, const nw_expr *e, bool holds, nw_union *out) {
  for (int i = 0; i < 2; i++) {
    nw_union when, is, joined;
    if (!nw_union_of(s, e->arg[0], i == 0, &when) || !nw_union_of(s, e->arg[1 + i], holds, &is) ||
        !nw_union_join(s, &when, &is, &joined) || !unite(s, out, &joined))
      return false;
  }
  return true;
}

static bool is_not_zero(nw_affine_scope *s, const nw_expr *e, bool holds, nw_union *out) {
  nw_cases x;
  if (!nw_cases_of(s, e, &x)) return false;
  for (int i = 0; i < x.n; i++)
    if (!compare_case(s, holds ? NW_OP_NE : NW_OP_EQ, &x.at[i].when, &x.at[i].value, &zero, out)) return false;
  return true;
}

static void always(nw_affine_scope *s, nw_union *u) {
  *u = (nw_union){0};
  nw_union_add(s, u, (nw_conds){0});
}

bool nw_union_of(nw_affine_scope *s, const nw_expr *e, bool holds, nw_union *out) {
  *out = (nw_union){0};
  switch (e->op) {
  case NW_OP_INT:
    if ((e->i != 0) == holds) always(s, out);
    return true;
  case NW_OP_LT:
  case NW_OP_LE:
  case NW_OP_EQ:
  case NW_OP_NE: return compare(s, e, holds, out);
  case NW_OP_AND:
  case NW_OP_OR: return both_or_not(s, e, holds, out);
  case NW_OP_NOT: return nw_union_of(s, e->arg[0], !holds, out);
  case NW_OP_BROADCAST: return nw_union_of(s, e->arg[0], holds, out);
  case NW_OP_SELECT: return select_union(s, e, holds, out);
  case NW_OP_CAST: return is_not_zero(s, e->arg[0], holds, out);
  default: return no(s, "a condition uses more than loop variables");
  }
}
