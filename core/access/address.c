// Converts index expressions to affine forms or to compiled expressions.
#include "access/address.h"
#include "ir/expr/whole.h"

int nw_name_slot(const nw_names *names, const char *name) {
  for (int i = names->name.n - 1; i >= 0; i--)
    if (!strcmp(names->name.at[i], name)) return (int)(intptr_t)names->slot.at[i];
  return -1;
}

const nw_table *nw_find_table(const nw_names *names, const char *buffer) {
  for (int i = 0; names->table && i < names->table->n; i++) {
    const nw_table *t = names->table->at[i];
    if (!strcmp(t->buffer, buffer)) return t;
  }
  return NULL;
}

// ---- affine forms

static void add_term(nw_arena *a, nw_form *f, int slot, int64_t coef) {
  for (int i = 0; i < f->n; i++) {
    if (f->slot[i] != slot) continue;
    f->coef[i] += coef;
    return;
  }
  if (f->n == f->cap) {
    int cap = f->cap ? 2 * f->cap : 4;
    int *slots = NW_NEW_N(a, int, cap);
    int64_t *coefs = NW_NEW_N(a, int64_t, cap);
    for (int i = 0; i < f->n; i++) slots[i] = f->slot[i], coefs[i] = f->coef[i];
    f->slot = slots, f->coef = coefs, f->cap = cap;
  }
  f->slot[f->n] = slot;
  f->coef[f->n++] = coef;
}

static void add_scaled(nw_arena *a, nw_form *f, const nw_form *g, int64_t by) {
  f->rest += by * g->rest;
  f->step += by * g->step;
  for (int i = 0; i < g->n; i++) add_term(a, f, g->slot[i], by * g->coef[i]);
}

static bool is_number(const nw_form *f) {
  for (int i = 0; i < f->n; i++)
    if (f->coef[i]) return false;
  return f->step == 0;
}

static bool form_of_product(nw_arena *a, const nw_form *x, const nw_form *y, nw_form *out) {
  if (!is_number(x) && !is_number(y)) return false;
  add_scaled(a, out, is_number(x) ? y : x, is_number(x) ? x->rest : y->rest);
  return true;
}

static bool form_of_ramp(nw_arena *a, const nw_form *base, const nw_form *stride, nw_form *out) {
  if (!is_number(stride) || base->step) return false;
  add_scaled(a, out, base, 1);
  out->step += stride->rest;
  return true;
}

// Finds the form of a name. If the values of the sizes are known, a size is a constant, so the product M*i of a size M
// and a loop variable i is affine.
static bool form_of_name(nw_arena *a, const nw_names *names, const char *name, nw_form *out) {
  int slot = nw_name_slot(names, name);
  if (slot < 0) return false;
  if (names->size && slot < names->nsizes)
    out->rest += names->size[slot];
  else
    add_term(a, out, slot, 1);
  return true;
}

bool nw_form_of(nw_arena *a, const nw_names *names, const nw_expr *e, nw_form *out) {
  nw_form arg[2] = {0};
  *out = (nw_form){0};
  if (e->op == NW_OP_INT) return out->rest = e->i, true;
  if (e->op == NW_OP_VAR) return form_of_name(a, names, e->name, out);
  if (e->type.dtype != NW_INDEX || !e->n || e->n > 2) return false;
  for (int i = 0; i < e->n; i++)
    if (!nw_form_of(a, names, e->arg[i], &arg[i])) return false;
  switch (e->op) {
  case NW_OP_ADD: return add_scaled(a, out, &arg[0], 1), add_scaled(a, out, &arg[1], 1), true;
  case NW_OP_SUB: return add_scaled(a, out, &arg[0], 1), add_scaled(a, out, &arg[1], -1), true;
  case NW_OP_NEG: return add_scaled(a, out, &arg[0], -1), true;
  case NW_OP_MUL: return form_of_product(a, &arg[0], &arg[1], out);
  case NW_OP_RAMP: return form_of_ramp(a, &arg[0], &arg[1], out);
  case NW_OP_BROADCAST: return add_scaled(a, out, &arg[0], 1), true;
  default: return false;
  }
}

int64_t nw_form_at(const nw_form *f, const int64_t *slot) {
  int64_t v = f->rest;
  for (int i = 0; i < f->n; i++) v += f->coef[i] * slot[f->slot[i]];
  return v;
}

int64_t nw_form_coef(const nw_form *f, int slot) {
  for (int i = 0; i < f->n; i++)
    if (f->slot[i] == slot) return f->coef[i];
  return 0;
}

// ---- other expressions

struct nw_calc {
  nw_op op;
  nw_dtype dtype;
  int64_t i; // INT
  int slot; // VAR
  const nw_table *table; // LOAD
  nw_form *form; // the affine form, which is evaluated faster; NULL for a single name or number, or if not affine
  int n;
  nw_calc *arg[3];
};

static bool can_calculate(const nw_names *names, const nw_expr *e) {
  __int128 unused;
  bool whole = nw_dtype_is_int((nw_dtype)e->type.dtype) || e->type.dtype == NW_BOOL;
  switch (e->op) {
  case NW_OP_LOAD: return whole && nw_find_table(names, e->name);
  case NW_OP_INT:
  case NW_OP_VAR:
  case NW_OP_SELECT:
  case NW_OP_CAST:
  case NW_OP_RAMP:
  case NW_OP_BROADCAST: return whole;
  default: return whole && nw_whole_value((nw_op)e->op, NW_INDEX, 1, 1, &unused);
  }
}

nw_calc *nw_calc_of(nw_arena *a, const nw_names *names, const nw_expr *e) {
  if (!can_calculate(names, e) || e->n > 3) return NULL;
  nw_calc *c = NW_NEW(a, nw_calc);
  *c = (nw_calc){.op = (nw_op)e->op, .dtype = (nw_dtype)e->type.dtype, .n = e->n};
  if (e->op == NW_OP_INT) c->i = e->i;
  if (e->op == NW_OP_LOAD) c->table = nw_find_table(names, e->name);
  if (e->op == NW_OP_VAR && (c->slot = nw_name_slot(names, e->name)) < 0) return NULL;
  for (int i = 0; i < e->n; i++)
    if (!(c->arg[i] = nw_calc_of(a, names, e->arg[i]))) return NULL;
  nw_form form;
  if (e->n && nw_form_of(a, names, e, &form)) *(c->form = NW_NEW(a, nw_form)) = form;
  return c;
}

// Returns the element of a table. A lane that is off may have any index.
static int64_t element(const nw_table *t, int64_t i) { return i >= 0 && i < t->n ? t->value[i] : 0; }

int64_t nw_calc_at(const nw_calc *c, const int64_t *slot, int lane) {
  if (c->form) return nw_form_at(c->form, slot) + lane * c->form->step;
  switch (c->op) {
  case NW_OP_INT: return c->i;
  case NW_OP_VAR: return slot[c->slot];
  case NW_OP_LOAD: return element(c->table, nw_calc_at(c->arg[0], slot, lane));
  case NW_OP_RAMP: return nw_calc_at(c->arg[0], slot, 0) + lane * nw_calc_at(c->arg[1], slot, 0);
  case NW_OP_SELECT: return nw_calc_at(c->arg[nw_calc_at(c->arg[0], slot, lane) ? 1 : 2], slot, lane);
  case NW_OP_BROADCAST: return nw_calc_at(c->arg[0], slot, 0);
  default: break;
  }
  int64_t a = nw_calc_at(c->arg[0], slot, lane);
  if (c->op == NW_OP_CAST) return nw_wrap(c->dtype, a);
  int64_t v = 0; // the result of a division by 0, which happens only in an inactive lane
  int64_t b = c->n == 2 ? nw_calc_at(c->arg[1], slot, lane) : 0;
  nw_whole_op(c->op, c->arg[0]->dtype, c->dtype, a, b, &v, NULL);
  return v;
}

// ---- bounds

typedef struct span {
  int64_t lo, hi;
} span;

static bool span_of(const nw_calc *c, const int64_t *lo, const int64_t *hi, span *out);

static bool add_spans(span a, span b, span *out) {
  return !__builtin_add_overflow(a.lo, b.lo, &out->lo) && !__builtin_add_overflow(a.hi, b.hi, &out->hi);
}

static bool subtract_spans(span a, span b, span *out) {
  return !__builtin_sub_overflow(a.lo, b.hi, &out->lo) && !__builtin_sub_overflow(a.hi, b.lo, &out->hi);
}

static bool multiply_spans(span a, span b, span *out) {
  int64_t p[4];
  if (__builtin_mul_overflow(a.lo, b.lo, &p[0]) || __builtin_mul_overflow(a.lo, b.hi, &p[1]) ||
      __builtin_mul_overflow(a.hi, b.lo, &p[2]) || __builtin_mul_overflow(a.hi, b.hi, &p[3]))
    return false;
  *out = (span){p[0], p[0]};
  for (int i = 1; i < 4; i++) {
    if (p[i] < out->lo) out->lo = p[i];
    if (p[i] > out->hi) out->hi = p[i];
  }
  return true;
}

// Divides range a by range b. Returns false if b is not a single positive number.
static bool divide_spans(nw_op op, span a, span b, span *out) {
  if (b.lo != b.hi || b.lo <= 0) return false;
  span q = {nw_floordiv_i64(a.lo, b.lo), nw_floordiv_i64(a.hi, b.lo)};
  if (op == NW_OP_FLOORDIV)
    *out = q;
  else
    *out = q.lo == q.hi ? (span){a.lo - q.lo * b.lo, a.hi - q.lo * b.lo} : (span){0, b.lo - 1};
  return true;
}

static bool binary_spans(nw_op op, span a, span b, span *out) {
  switch (op) {
  case NW_OP_ADD: return add_spans(a, b, out);
  case NW_OP_SUB: return subtract_spans(a, b, out);
  case NW_OP_MUL: return multiply_spans(a, b, out);
  case NW_OP_FLOORDIV:
  case NW_OP_FLOORMOD: return divide_spans(op, a, b, out);
  case NW_OP_MIN: *out = (span){a.lo < b.lo ? a.lo : b.lo, a.hi < b.hi ? a.hi : b.hi}; return true;
  case NW_OP_MAX: *out = (span){a.lo > b.lo ? a.lo : b.lo, a.hi > b.hi ? a.hi : b.hi}; return true;
  default: return false;
  }
}

static bool span_of(const nw_calc *c, const int64_t *lo, const int64_t *hi, span *out) {
  span arg[2];
  if (c->op == NW_OP_INT) return *out = (span){c->i, c->i}, true;
  if (c->op == NW_OP_VAR) return *out = (span){lo[c->slot], hi[c->slot]}, true;
  if (c->op == NW_OP_NEG && c->dtype == NW_INDEX)
    return span_of(c->arg[0], lo, hi, &arg[0]) && subtract_spans((span){0, 0}, arg[0], out);
  if (c->n != 2 || c->dtype != NW_INDEX) return false;
  for (int i = 0; i < 2; i++)
    if (!span_of(c->arg[i], lo, hi, &arg[i])) return false;
  return binary_spans(c->op, arg[0], arg[1], out);
}

bool nw_calc_range(const nw_calc *c, const int64_t *lo, const int64_t *hi, int64_t *from, int64_t *to) {
  span s;
  if (!span_of(c, lo, hi, &s)) return false;
  *from = s.lo;
  *to = s.hi;
  return true;
}
