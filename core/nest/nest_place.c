// Computes the values of the parameters of a nest's text, and the sizes and addresses of its arrays.
#include "nest/nest_make.h"
#include "access/place.h"
#include <stdlib.h>

bool nw_nest_blame(nw_nest_maker *k, int line, int column) {
  char message[400];
  const nw_diag *d = nw_error(k->m.s.ctx);
  if (d && d->code == NW_EINTERRUPT) return false;
  strncat(strcpy(message, ""), d && d->message ? d->message : "this is not affine", sizeof message - 1);
  nw_clear(k->m.s.ctx);
  return nw_fail(k->m.s.ctx, NW_ELIMIT, NULL, "%d:%d: %s", line, column, message);
}

static bool number(nw_nest_maker *k, const nw_expr *e, int64_t *out) {
  nw_cases x;
  if (!nw_cases_of(&k->m.s, e, &x)) return false;
  if (x.n != 1 || x.at[0].when.n || x.at[0].value.n)
    return nw_fail(k->m.s.ctx, NW_EINVAL, NULL, "this is not a number");
  *out = x.at[0].value.rest;
  return true;
}

// ---- parameters

void nw_nest_param(nw_affine_scope *s, const char *name, int64_t value) {
  nw_form *f = NW_NEW(s->arena, nw_form);
  f->rest = value;
  nw_affine_scope_push(s, name, f);
}

static int number_of(const char *name, int n, const char *const *names) {
  for (int i = 0; i < n; i++)
    if (!strcmp(names[i], name)) return i;
  return -1;
}

static bool all_known(nw_ctx *c, const nw_text *t, int n, const char *const *name) {
  for (int i = 0; i < n; i++) {
    bool known = false;
    for (int p = 0; p < t->param.n; p++) known = known || !strcmp(((nw_text_param *)t->param.at[p])->name, name[i]);
    if (!known) return nw_fail(c, NW_EINVAL, NULL, "%s is not a parameter of this nest", name[i]);
  }
  return true;
}

static bool of_set(nw_ctx *c, const nw_text *t, const char *name, const nw_text_set **out) {
  *out = NULL;
  for (int i = 0; i < t->set.n && name; i++)
    if (!strcmp(((nw_text_set *)t->set.at[i])->name, name)) *out = t->set.at[i];
  if (*out || !name) return true;
  return nw_fail(c, NW_EINVAL, t->set.n ? ((nw_text_set *)t->set.at[0])->name : "sizes SMALL: N = 60",
                 "params: the nest has no set of sizes \"%s\"", name);
}

// Finds the value that is given for a parameter by name or by the set. Returns false if no value is given.
static bool given_value(const char *param, int n, const char *const *name, const int64_t *value, const nw_text_set *set,
                        int64_t *out) {
  int at = number_of(param, n, name);
  if (at >= 0) return *out = value[at], true;
  at = set ? number_of(param, set->n, set->param) : -1;
  if (at >= 0) *out = set->value[at];
  return at >= 0;
}

bool nw_text_values(nw_ctx *c, const nw_text *t, const char *set, int n, const char *const *name, const int64_t *value,
                    bool *given, int64_t *out) {
  nw_nest_maker k = {.m.s = {.ctx = c, .arena = nw_arena_scratch(), .lanes = 1, .lane = -1}, .t = t};
  const nw_text_set *by_set;
  bool ok = all_known(c, t, n, name) && of_set(c, t, set, &by_set);
  for (int i = 0; i < t->param.n && ok; i++) {
    const nw_text_param *p = t->param.at[i];
    given[i] = given_value(p->name, n, name, value, by_set, &out[i]);
    if (!given[i] && !(ok = number(&k, p->value, &out[i]))) break;
    if (out[i] > INT64_C(1) << 56 || out[i] < -(INT64_C(1) << 56))
      ok = nw_fail(c, NW_ERANGE, NULL, "%s = %lld is out of range: give -2^56 to 2^56", p->name, (long long)out[i]);
    nw_nest_param(&k.m.s, p->name, out[i]);
  }
  nw_affine_scope_free(&k.m.s);
  nw_arena_free(k.m.s.arena);
  return ok;
}

// ---- arrays

static bool shape_of(nw_nest_maker *k, const nw_text_array *x, nw_nest_shape *out, int64_t *elements) {
  int64_t pad = 0;
  *elements = 1;
  if (x->pad && !number(k, x->pad, &pad)) return false;
  if (pad < 0 || pad > INT64_C(1) << 40)
    return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "pad: %lld elements are out of range: give 0 to 2^40", (long long)pad);
  for (int d = x->ndim - 1; d >= 0; d--) {
    if (!number(k, x->dim[d], &out->dim[d])) return false;
    if (out->dim[d] < 0)
      return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "%s has a size of %lld: give 0 or more", x->name,
                     (long long)out->dim[d]);
    out->stride[d] = *elements;
    if (__builtin_mul_overflow(*elements, out->dim[d] + (d == x->ndim - 1 ? pad : 0), elements) ||
        *elements > INT64_C(1) << 42)
      return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "%s is too large: give at most 2^42 elements", x->name);
  }
  return true;
}

static bool address_of(nw_nest_maker *k, const nw_text_array *x, uint64_t after, uint64_t *out) {
  int64_t align = NW_PAGE, address = 0;
  if (x->align && !number(k, x->align, &align)) return false;
  if (align < 1 || align > INT64_C(1) << 40)
    return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "align: %lld bytes are out of range: give 1 to 2^40", (long long)align);
  *out = (after + (uint64_t)align - 1) / (uint64_t)align * (uint64_t)align;
  if (!x->address) return true;
  if (!number(k, x->address, &address)) return false;
  if (address < 0 || address > INT64_C(1) << 44)
    return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "address: %lld is out of range: give 0 to 2^44", (long long)address);
  *out = (uint64_t)address;
  return true;
}

static bool make_array(nw_nest_maker *k, const nw_text_array *x, nw_nest_shape *s, uint64_t *after) {
  nw_affine_array *to = &k->m.nest->array[k->m.nest->narrays];
  int64_t elements;
  if (!shape_of(k, x, s, &elements) || !address_of(k, x, *after, &to->address))
    return nw_nest_blame(k, x->line, x->column);
  to->name = nw_arena_strdup(k->m.s.arena, x->name);
  to->elem = x->elem;
  to->bytes = elements * x->elem;
  *after = to->address + (uint64_t)to->bytes;
  k->m.nest->narrays++;
  if (*after <= UINT64_C(1) << 45) return true;
  nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "the arrays are too large");
  return nw_nest_blame(k, x->line, x->column);
}

static int by_address(const void *a, const void *b) {
  const nw_affine_array *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  return (x->bytes > 0) - (y->bytes > 0); // if the addresses are equal, an empty array comes first
}

// Sorts the arrays by address, and records the new position of each array. Fails if two arrays overlap.
static bool sort_arrays(nw_nest_maker *k) {
  nw_affine_nest *n = k->m.nest;
  qsort(n->array, (size_t)n->narrays, sizeof *n->array, by_address);
  for (int i = 0; i + 1 < n->narrays; i++)
    if (n->array[i].address + (uint64_t)n->array[i].bytes > n->array[i + 1].address)
      return nw_fail(k->m.s.ctx, NW_EINVAL, NULL, "%s and %s share memory", n->array[i].name, n->array[i + 1].name);
  k->m.array = NW_NEW_N(k->m.s.arena, int, n->narrays + 1);
  for (int i = 0; i < n->narrays; i++)
    for (int x = 0; x < n->narrays; x++)
      if (!strcmp(((nw_text_array *)k->t->array.at[x])->name, n->array[i].name)) k->m.array[x] = i;
  return true;
}

bool nw_nest_arrays(nw_nest_maker *k) {
  uint64_t after = NW_PAGE;
  k->m.nest->array = NW_NEW_N(k->m.s.arena, nw_affine_array, k->t->array.n + 1);
  k->shape = NW_NEW_N(k->m.s.arena, nw_nest_shape, k->t->array.n + 1);
  for (int i = 0; i < k->t->array.n; i++)
    if (!make_array(k, k->t->array.at[i], &k->shape[i], &after)) return false;
  return sort_arrays(k);
}

void nw_nest_indices(nw_nest_maker *k) {
  nw_affine_nest *n = k->m.nest;
  n->array = NW_NEW_N(k->m.s.arena, nw_affine_array, k->t->array.n * NW_TEXT_DIMS + 1);
  for (int i = n->narrays = 0; i < k->t->array.n; i++) {
    k->shape[i].first = n->narrays;
    for (int d = 0; d < ((nw_text_array *)k->t->array.at[i])->ndim; d++)
      n->array[n->narrays++] = (nw_affine_array){.elem = 1, .bytes = k->shape[i].dim[d]};
  }
}
