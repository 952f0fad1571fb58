// Converts the bounds of loops to affine forms.
#include "access/affine/affine_make.h"

// Removes each quotient q = floor(of / by) with the coefficient 1 or -1 from a bound. Let g be the other terms of the
// bound. An upper bound that contains q is rewritten as
//
//   floor((q + g) / div) = floor((of + by*g) / (by*div))
//
// A lower bound that contains -q is rewritten by the same rule with ceil, since -q = ceil(-of / by). If a lower bound
// contains q, or an upper bound contains -q, one of these equations is applied first:
//
//   q = ceil((of - by + 1) / by)        -q = floor((by - 1 - of) / by)
static nw_affine_bound without_quotient(nw_affine_scope *s, nw_affine_bound b, bool begin) {
  for (int i = s->quotient.n - 1; i >= 0; i--) {
    const nw_quotient *q = s->quotient.at[i];
    static const nw_form zero = {0};
    int64_t coef = nw_form_coef(&b.form, q->slot);
    if ((coef != 1 && coef != -1) || b.div > INT64_MAX / 4096 / q->by) continue;
    nw_form slot = nw_form_slot(s->arena, q->slot), g = nw_form_sum(s->arena, &b.form, -coef, &slot, 0);
    g = nw_form_sum(s->arena, &zero, q->by, &g, 0);
    int64_t rest = begin ? (coef > 0 ? 1 - q->by : 0) : (coef > 0 ? 0 : q->by - 1);
    b = (nw_affine_bound){nw_form_sum(s->arena, &g, coef, &q->of, rest), b.div * q->by};
  }
  nw_form_keep(s, &b.form);
  return b;
}

bool nw_bounds_add(nw_affine_scope *s, nw_bounds *to, nw_affine_bound b, bool begin) {
  if (to->n == NW_MOST_BOUNDS) return false;
  to->at[to->n++] = without_quotient(s, b, begin);
  return true;
}

bool nw_one_form(nw_affine_scope *s, const nw_expr *e, nw_form *out) {
  nw_cases x;
  bool one = nw_cases_of(s, e, &x) && x.n == 1 && !x.at[0].when.n;
  nw_clear(s->ctx);
  if (one) *out = x.at[0].value;
  return one;
}

bool nw_bounds_of(nw_affine_scope *s, const nw_expr *e, const nw_form *plus, bool begin, nw_bounds *out) {
  nw_form f;
  if (nw_one_form(s, e, &f)) {
    return nw_bounds_add(s, out, (nw_affine_bound){nw_form_sum(s->arena, &f, 1, plus, 0), 1}, begin);
  }
  if (e->op == (begin ? NW_OP_MAX : NW_OP_MIN))
    return nw_bounds_of(s, e->arg[0], plus, begin, out) && nw_bounds_of(s, e->arg[1], plus, begin, out);
  if (e->op == NW_OP_ADD || e->op == NW_OP_SUB) {
    int side = nw_one_form(s, e->arg[1], &f) ? 0 : 1;
    if (side == 1 && (e->op == NW_OP_SUB || !nw_one_form(s, e->arg[0], &f))) return false;
    f = nw_form_sum(s->arena, plus, e->op == NW_OP_SUB ? -1 : 1, &f, 0);
    return nw_bounds_of(s, e->arg[side], &f, begin, out);
  }
  return false;
}

void nw_bounds_range(const nw_affine_scope *s, const nw_bounds *begin, const nw_bounds *end, int64_t *lo, int64_t *hi) {
  int64_t from, to;
  *lo = INT64_MIN, *hi = INT64_MAX;
  for (int i = 0; i < begin->n; i++) {
    if (!nw_form_range(s, &begin->at[i].form, &from, &to)) continue;
    from = -nw_floordiv_i64(-from, begin->at[i].div);
    if (from > *lo) *lo = from;
  }
  for (int i = 0; i < end->n; i++) {
    if (!nw_form_range(s, &end->at[i].form, &from, &to)) continue;
    to = nw_floordiv_i64(to, end->at[i].div);
    if (to < *hi) *hi = to;
  }
}

nw_affine_bound *nw_bounds_keep(nw_affine_scope *s, const nw_bounds *b) {
  nw_affine_bound *at = NW_NEW_N(s->arena, nw_affine_bound, b->n + 1);
  for (int i = 0; i < b->n; i++) {
    at[i] = b->at[i];
    nw_form_keep(s, &at[i].form);
  }
  return at;
}
