// Computes sums, ranges, conditions and quotients of affine forms. Also implements the scope in which expressions are
// converted to forms.
#include "access/affine/cases.h"

static bool no(nw_affine_scope *s, const char *why) { return nw_fail(s->ctx, NW_ELIMIT, NULL, "%s", why); }

// ---- scopes

void nw_affine_scope_free(nw_affine_scope *s) {
  nw_vec_free(&s->name);
  nw_vec_free(&s->value);
  nw_vec_free(&s->quotient);
}

int nw_affine_scope_slot(nw_affine_scope *s, int64_t lo, int64_t hi) {
  if (s->nslots == s->cap) {
    s->cap = s->cap ? 2 * s->cap : 16;
    int64_t *both = NW_NEW_N(s->arena, int64_t, 2 * s->cap);
    for (int i = 0; i < s->nslots; i++) both[i] = s->lo[i], both[s->cap + i] = s->hi[i];
    s->lo = both, s->hi = both + s->cap;
  }
  s->lo[s->nslots] = lo, s->hi[s->nslots] = hi;
  return s->nslots++;
}

void nw_affine_scope_push(nw_affine_scope *s, const char *name, const nw_form *value) {
  nw_vec_push(&s->name, (void *)name);
  nw_vec_push(&s->value, (void *)value);
}

void nw_affine_scope_pop(nw_affine_scope *s) { s->name.n--, s->value.n--; }

// ---- forms

static const nw_form zero = {0};
static const int64_t FAR = INT64_C(1) << 60;

// Returns a + by*b, or INT64_MAX if the absolute value exceeds FAR.
static int64_t plus(int64_t a, int64_t by, int64_t b) {
  __int128 v = a + (__int128)by * b;
  return v > FAR || v < -FAR ? INT64_MAX : (int64_t)v;
}

static void add_term(nw_form *f, int slot, int64_t by, int64_t coef) {
  int i = 0;
  while (i < f->n && f->slot[i] != slot) i++;
  if (i == f->n) f->slot[f->n] = slot, f->coef[f->n++] = 0;
  f->coef[i] = plus(f->coef[i], by, coef);
  if (f->coef[i] == INT64_MAX) f->coef[i] = 0, f->rest = INT64_MAX;
  if (!f->coef[i]) f->n--, f->slot[i] = f->slot[f->n], f->coef[i] = f->coef[f->n];
}

nw_form nw_form_sum(nw_arena *a, const nw_form *x, int64_t by, const nw_form *y, int64_t rest) {
  nw_form f = {
      .rest = plus(plus(x->rest, by, y->rest), 1, rest), .step = plus(x->step, by, y->step), .cap = x->n + y->n};
  f.slot = NW_NEW_N(a, int, f.cap);
  f.coef = NW_NEW_N(a, int64_t, f.cap);
  for (int i = 0; i < x->n; i++) add_term(&f, x->slot[i], 1, x->coef[i]);
  for (int i = 0; i < y->n && by; i++) add_term(&f, y->slot[i], by, y->coef[i]);
  return f;
}

nw_form nw_form_scaled(nw_arena *a, const nw_form *f, int64_t by) { return nw_form_sum(a, &zero, by, f, 0); }

nw_form nw_form_slot(nw_arena *a, int slot) {
  nw_form f = {.n = 1, .cap = 1, .slot = NW_NEW(a, int), .coef = NW_NEW(a, int64_t)};
  *f.slot = slot, *f.coef = 1;
  return f;
}

nw_form nw_form_in_lane(const nw_form *f, int lane) {
  nw_form g = *f;
  g.rest += lane * g.step;
  g.step = 0;
  return g;
}

bool nw_form_same(const nw_form *x, const nw_form *y) {
  if (x->rest != y->rest || x->step != y->step || x->n != y->n) return false;
  for (int i = 0; i < x->n; i++)
    if (nw_form_coef(y, x->slot[i]) != x->coef[i]) return false;
  return true;
}

static bool widen(int64_t coef, int64_t lo, int64_t hi, int64_t *from, int64_t *to) {
  __int128 a = (__int128)coef * lo, b = (__int128)coef * hi;
  __int128 least = *from + (a < b ? a : b), most = *to + (a < b ? b : a);
  if (least < -FAR || most > FAR) return false;
  *from = (int64_t)least, *to = (int64_t)most;
  return true;
}

bool nw_form_range(const nw_affine_scope *s, const nw_form *f, int64_t *lo, int64_t *hi) {
  *lo = *hi = f->rest;
  if (f->rest < -FAR || f->rest > FAR) return false;
  for (int i = 0; i < f->n; i++)
    if (!widen(f->coef[i], s->lo[f->slot[i]], s->hi[f->slot[i]], lo, hi)) return false;
  return !f->step || widen(f->step, 0, s->lanes - 1, lo, hi);
}

// ---- conditions

bool nw_conds_add(nw_affine_scope *s, nw_conds *c, const nw_form *f) {
  int64_t lo, hi;
  if (nw_form_range(s, f, &lo, &hi)) {
    if (lo >= 0) return true;
    if (hi < 0) return false;
  }
  nw_form not_f = nw_form_sum(s->arena, &zero, -1, f, -1);
  for (int i = 0; i < c->n; i++) {
    if (nw_form_same(&c->at[i], f)) return true;
    if (nw_form_same(&c->at[i], &not_f)) return false;
  }
  nw_form *at = NW_NEW_N(s->arena, nw_form, c->n + 1);
  for (int i = 0; i < c->n; i++) at[i] = c->at[i];
  at[c->n++] = *f;
  c->at = at;
  return true;
}

bool nw_conds_join(nw_affine_scope *s, const nw_conds *x, const nw_conds *y, nw_conds *out) {
  *out = *x;
  for (int i = 0; i < y->n; i++)
    if (!nw_conds_add(s, out, &y->at[i])) return false;
  return true;
}

void nw_union_add(nw_affine_scope *s, nw_union *u, nw_conds c) {
  nw_conds *at = NW_NEW_N(s->arena, nw_conds, u->n + 1);
  for (int i = 0; i < u->n; i++) at[i] = u->at[i];
  at[u->n++] = c;
  u->at = at;
}

bool nw_union_join(nw_affine_scope *s, const nw_union *x, const nw_union *y, nw_union *out) {
  *out = (nw_union){0};
  for (int i = 0; i < x->n; i++)
    for (int k = 0; k < y->n; k++) {
      nw_conds c;
      if (nw_conds_join(s, &x->at[i], &y->at[k], &c)) nw_union_add(s, out, c);
      if (out->n > NW_MOST_CASES) return no(s, "a condition has too many cases");
    }
  return true;
}

// Sets *out to the cases of the negation. In case i, condition i does not hold, and all conditions before it hold.
void nw_union_not(nw_affine_scope *s, const nw_conds *c, nw_union *out) {
  *out = (nw_union){0};
  nw_conds before = {0};
  for (int i = 0; i < c->n; i++) {
    nw_conds here = before;
    nw_form f = nw_form_sum(s->arena, &zero, -1, &c->at[i], -1);
    if (nw_conds_add(s, &here, &f)) nw_union_add(s, out, here);
    if (!nw_conds_add(s, &before, &c->at[i])) return;
  }
}

// ---- quotients

void nw_form_keep(nw_affine_scope *s, const nw_form *f) {
  for (int i = 0; i < s->quotient.n; i++) {
    nw_quotient *q = s->quotient.at[i];
    if (!q->used && nw_form_coef(f, q->slot)) q->used = true, nw_form_keep(s, &q->of);
  }
}

static const nw_quotient *quotient_in(const nw_affine_scope *s, const nw_form *f, int64_t *coef) {
  for (int i = s->quotient.n - 1; i >= 0; i--) {
    const nw_quotient *q = s->quotient.at[i];
    if ((*coef = nw_form_coef(f, q->slot))) return q;
  }
  return NULL;
}

// Let q = floor(of / by), and let g be the other terms of the condition. The condition q + g >= 0 becomes
// of + by*g >= 0, and -q + g >= 0 becomes by*g + by-1 - of >= 0.
nw_form nw_form_plain(nw_affine_scope *s, const nw_form *cond) {
  nw_form f = *cond;
  int64_t coef;
  for (const nw_quotient *q; (q = quotient_in(s, &f, &coef)) && (coef == 1 || coef == -1);) {
    nw_form slot = nw_form_slot(s->arena, q->slot), g = nw_form_sum(s->arena, &f, -coef, &slot, 0);
    g = nw_form_scaled(s->arena, &g, q->by);
    f = nw_form_sum(s->arena, &g, coef, &q->of, coef < 0 ? q->by - 1 : 0);
  }
  nw_form_keep(s, &f);
  return f;
}

static int quotient_slot(nw_affine_scope *s, const nw_form *of, int64_t by, int64_t lo, int64_t hi) {
  for (int i = 0; i < s->quotient.n; i++) {
    const nw_quotient *q = s->quotient.at[i];
    if (q->by == by && nw_form_same(&q->of, of)) return q->slot;
  }
  nw_quotient *q = NW_NEW(s->arena, nw_quotient);
  *q = (nw_quotient){
      .slot = nw_affine_scope_slot(s, nw_floordiv_i64(lo, by), nw_floordiv_i64(hi, by)), .of = *of, .by = by};
  nw_vec_push(&s->quotient, q);
  return q->slot;
}

// Divides the constant, the step and each coefficient of f by `by`. Sets *out to the form of the quotients, and returns
// the form of the remainders, which are in 0..by-1.
static nw_form split_multiples(nw_arena *a, const nw_form *f, int64_t by, nw_form *out) {
  nw_form left = nw_form_sum(a, f, 0, &zero, 0), q = nw_form_sum(a, f, 0, &zero, 0);
  q.rest = nw_floordiv_i64(f->rest, by), left.rest = nw_floormod_i64(f->rest, by);
  q.step = nw_floordiv_i64(f->step, by), left.step = nw_floormod_i64(f->step, by);
  q.n = left.n = 0;
  for (int i = 0; i < f->n; i++) {
    add_term(&q, f->slot[i], 1, nw_floordiv_i64(f->coef[i], by));
    if (nw_floormod_i64(f->coef[i], by)) add_term(&left, f->slot[i], 1, nw_floormod_i64(f->coef[i], by));
  }
  *out = q;
  return left;
}

bool nw_form_divide(nw_affine_scope *s, const nw_form *f, int64_t by, nw_form *out) {
  int64_t lo, hi;
  nw_form left = split_multiples(s->arena, f, by, out);
  if (!nw_form_range(s, &left, &lo, &hi)) return no(s, "a division has numbers that are too large");
  if (nw_floordiv_i64(lo, by) == nw_floordiv_i64(hi, by)) return out->rest += nw_floordiv_i64(lo, by), true;
  if (left.step) return no(s, "a division depends on the lane");
  nw_form q = nw_form_slot(s->arena, quotient_slot(s, &left, by, lo, hi));
  *out = nw_form_sum(s->arena, out, 1, &q, 0);
  return true;
}
