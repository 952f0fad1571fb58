// From the text of a nest to the affine nest, with values for its parameters.
#include "cost/affine_inside.h"
#include "cost/affine_make.h"
#include "cost/nest_text.h"
#include "cost/place.h"
#include <stdlib.h>

typedef struct shape {
  int64_t dim[NW_TEXT_DIMS], stride[NW_TEXT_DIMS]; // stride: in elements
  int first; // number of its first index, among all arrays'
} shape;

typedef struct maker {
  nw_maker m;
  const nw_text *t;
  shape *shape; // by array of the text
  bool
      indices; // not the nest, but one that touches each index of a reference by itself: to see whether they are inside
} maker;

// What went wrong, at a place of the text.
static bool blame(maker *k, int line, int column) {
  char message[400];
  const nw_diag *d = nw_error(k->m.s.ctx);
  if (d && d->code == NW_EINTERRUPT) return false;
  strncat(strcpy(message, ""), d && d->message ? d->message : "this is not affine", sizeof message - 1);
  nw_clear(k->m.s.ctx);
  return nw_fail(k->m.s.ctx, NW_ELIMIT, NULL, "%d:%d: %s", line, column, message);
}

static bool number(maker *k, const nw_expr *e, int64_t *out) {
  nw_cases x;
  if (!nw_cases_of(&k->m.s, e, &x)) return false;
  if (x.n != 1 || x.at[0].when.n || x.at[0].value.n) return nw_fail(k->m.s.ctx, NW_EINVAL, NULL, "this is no number");
  *out = x.at[0].value.rest;
  return true;
}

// ---- parameters

static void name_param(nw_affine_scope *s, const char *name, int64_t value) {
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
    if (!known) return nw_fail(c, NW_EINVAL, NULL, "%s is no parameter of this nest", name[i]);
  }
  return true;
}

static bool of_set(nw_ctx *c, const nw_text *t, const char *name, const nw_text_set **out) {
  *out = NULL;
  for (int i = 0; i < t->set.n && name; i++)
    if (!strcmp(((nw_text_set *)t->set.at[i])->name, name)) *out = t->set.at[i];
  if (*out || !name) return true;
  return nw_fail(c, NW_EINVAL, t->set.n ? ((nw_text_set *)t->set.at[0])->name : "sizes SMALL: N = 60",
                 "the nest has no sizes %s", name);
}

// Given by name, or by the set.
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
  maker k = {.m.s = {.ctx = c, .arena = nw_arena_new(), .lanes = 1, .lane = -1}, .t = t};
  const nw_text_set *by_set;
  bool ok = all_known(c, t, n, name) && of_set(c, t, set, &by_set);
  for (int i = 0; i < t->param.n && ok; i++) {
    const nw_text_param *p = t->param.at[i];
    given[i] = given_value(p->name, n, name, value, by_set, &out[i]);
    if (!given[i] && !(ok = number(&k, p->value, &out[i]))) break;
    if (out[i] > INT64_C(1) << 56 || out[i] < -(INT64_C(1) << 56))
      ok = nw_fail(c, NW_ERANGE, NULL, "%s = %lld is too large", p->name, (long long)out[i]);
    name_param(&k.m.s, p->name, out[i]);
  }
  nw_affine_scope_free(&k.m.s);
  nw_arena_free(k.m.s.arena);
  return ok;
}

// ---- arrays

static bool shape_of(maker *k, const nw_text_array *x, shape *out, int64_t *elements) {
  int64_t pad = 0;
  *elements = 1;
  if (x->pad && !number(k, x->pad, &pad)) return false;
  if (pad < 0 || pad > INT64_C(1) << 40)
    return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "pad: %lld elements", (long long)pad);
  for (int d = x->ndim - 1; d >= 0; d--) {
    if (!number(k, x->dim[d], &out->dim[d])) return false;
    if (out->dim[d] < 0)
      return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "%s has a size of %lld", x->name, (long long)out->dim[d]);
    out->stride[d] = *elements;
    if (__builtin_mul_overflow(*elements, out->dim[d] + (d == x->ndim - 1 ? pad : 0), elements) ||
        *elements > INT64_C(1) << 42)
      return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "%s is too large", x->name);
  }
  return true;
}

static bool address_of(maker *k, const nw_text_array *x, uint64_t after, uint64_t *out) {
  int64_t align = NW_PAGE, address;
  if (x->align && !number(k, x->align, &align)) return false;
  if (align < 1 || align > INT64_C(1) << 40)
    return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "align: %lld bytes", (long long)align);
  *out = (after + (uint64_t)align - 1) / (uint64_t)align * (uint64_t)align;
  if (!x->address) return true;
  if (!number(k, x->address, &address)) return false;
  if (address < 0 || address > INT64_C(1) << 44)
    return nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "address: %lld", (long long)address);
  *out = (uint64_t)address;
  return true;
}

static bool make_array(maker *k, const nw_text_array *x, shape *s, uint64_t *after) {
  nw_affine_array *to = &k->m.nest->array[k->m.nest->narrays];
  int64_t elements;
  if (!shape_of(k, x, s, &elements) || !address_of(k, x, *after, &to->address)) return blame(k, x->line, x->column);
  to->name = nw_arena_strdup(k->m.s.arena, x->name);
  to->elem = x->elem;
  to->bytes = elements * x->elem;
  *after = to->address + (uint64_t)to->bytes;
  k->m.nest->narrays++;
  if (*after <= UINT64_C(1) << 45) return true;
  nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "the arrays are too large");
  return blame(k, x->line, x->column);
}

static int by_address(const void *a, const void *b) {
  const nw_affine_array *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  return (x->bytes > 0) - (y->bytes > 0); // an empty one first
}

// In the order of addresses, and where each went.
static bool sort_arrays(maker *k) {
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

static bool make_arrays(maker *k) {
  uint64_t after = NW_PAGE;
  k->m.nest->array = NW_NEW_N(k->m.s.arena, nw_affine_array, k->t->array.n + 1);
  k->shape = NW_NEW_N(k->m.s.arena, shape, k->t->array.n + 1);
  for (int i = 0; i < k->t->array.n; i++)
    if (!make_array(k, k->t->array.at[i], &k->shape[i], &after)) return false;
  return sort_arrays(k);
}

// An array for each index there is, as long as that goes.
static void make_indices(maker *k) {
  nw_affine_nest *n = k->m.nest;
  n->array = NW_NEW_N(k->m.s.arena, nw_affine_array, k->t->array.n * NW_TEXT_DIMS + 1);
  for (int i = n->narrays = 0; i < k->t->array.n; i++) {
    k->shape[i].first = n->narrays;
    for (int d = 0; d < ((nw_text_array *)k->t->array.at[i])->ndim; d++)
      n->array[n->narrays++] = (nw_affine_array){.elem = 1, .bytes = k->shape[i].dim[d]};
  }
}

// ---- references

static bool add_ref(maker *k, nw_affine_node *to, int array, const nw_text_ref *r, bool write, int site,
                    const nw_form *element) {
  static const nw_form zero = {0};
  int bytes = k->m.nest->array[array].elem;
  nw_affine_node *s = nw_maker_node(&k->m, NW_AFFINE_STMT);
  s->nrefs = 1;
  s->ref = NW_NEW_N(k->m.s.arena, nw_affine_ref, 4);
  s->ref[0] = (nw_affine_ref){.array = array,
                              .at = nw_form_sum(k->m.s.arena, &zero, bytes, element, 0),
                              .bytes = (int)r->lanes * bytes,
                              .write = write,
                              .site = site};
  nw_form_keep(&k->m.s, element);
  return nw_maker_add(&k->m, to, s);
}

static bool add_cases(maker *k, nw_affine_node *to, int array, const nw_expr *element, const nw_text_ref *r, bool write,
                      int site) {
  nw_cases x;
  if (!nw_cases_of(&k->m.s, element, &x)) return false;
  for (int i = 0; i < x.n; i++) {
    nw_affine_node *in = nw_maker_where(&k->m, to, &x.at[i].when);
    if (!in || !add_ref(k, in, array, r, write, site, &x.at[i].value)) return false;
  }
  return true;
}

// The element, counted from the array's first: a sum over the dimensions.
static bool make_ref(maker *k, nw_affine_node *to, const nw_text_ref *r, bool write, int site) {
  nw_pool *pool = k->t->pool;
  const shape *s = &k->shape[r->array];
  const nw_expr *sum = nw_index(pool, 0);
  for (int d = 0; d < r->nindex; d++) {
    if (k->indices && !add_cases(k, to, s->first + d, r->index[d], r, write, site)) return false;
    sum = nw_add(pool, sum, nw_mul(pool, r->index[d], nw_index(pool, s->stride[d])));
  }
  return k->indices || add_cases(k, to, k->m.array[r->array], sum, r, write, site);
}

// The target is read first, where the statement adds to it, and written last.
static bool make_refs(maker *k, nw_affine_node *to, const nw_text_node *x, int site) {
  bool updates = x->ntargets && strcmp(x->op, "=");
  for (int i = 0; i <= x->nrefs; i++) {
    bool write = i == x->nrefs;
    if (write ? !x->ntargets : i < x->ntargets && !updates) continue;
    const nw_text_ref *r = &x->ref[write ? 0 : i];
    int number = site + (write && updates ? x->nrefs : write ? 0 : i);
    if (!make_ref(k, to, r, write, number)) return nw_error(k->m.s.ctx) ? blame(k, r->line, r->column) : false;
  }
  return true;
}

static void take(nw_maker *m, nw_affine_node *to, nw_affine_node *x) {
  if (x->kind == NW_AFFINE_SEQ)
    for (int i = 0; i < x->nkids; i++) nw_maker_add(m, to, x->kid[i]);
  else
    nw_maker_add(m, to, x);
}

static bool make_statement(maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  int quotients = k->m.s.quotient.n;
  nw_affine_node *all = nw_maker_node(&k->m, NW_AFFINE_SEQ);
  if (!make_refs(k, all, x, site)) return false;
  take(&k->m, to, nw_maker_wrap(&k->m, all, quotients));
  return true;
}

// ---- loops and ifs; sites are numbered as they are written, also where cases repeat them

static int sites_in(const nw_text_node *x) {
  if (!x) return 0;
  if (x->kind == NW_TEXT_STMT) return x->nrefs + (x->ntargets && strcmp(x->op, "="));
  int n = sites_in(x->other);
  for (int i = 0; i < x->kid.n; i++) n += sites_in(x->kid.at[i]);
  return n;
}

static bool make_node(maker *k, const nw_text_node *x, int site, nw_affine_node *to);

static bool make_kids(maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  for (int i = 0; i < x->kid.n; i++) {
    if (!make_node(k, x->kid.at[i], site, to)) return false;
    site += sites_in(x->kid.at[i]);
  }
  return true;
}

static bool make_branch(maker *k, const nw_text_node *x, bool holds, int site, nw_affine_node *to) {
  nw_union when;
  if (!nw_union_of(&k->m.s, x->cond, holds, &when)) return blame(k, x->line, x->column);
  for (int i = 0; i < when.n; i++) {
    nw_affine_node *in = nw_maker_where(&k->m, to, &when.at[i]);
    if (!in || !make_kids(k, holds ? x : x->other, site, in)) return false;
  }
  return true;
}

static bool make_if(maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  int quotients = k->m.s.quotient.n;
  nw_affine_node *all = nw_maker_node(&k->m, NW_AFFINE_SEQ);
  int inside = sites_in(x) - sites_in(x->other);
  if (!make_branch(k, x, true, site, all) || (x->other && !make_branch(k, x, false, site + inside, all))) return false;
  take(&k->m, to, nw_maker_wrap(&k->m, all, quotients));
  return true;
}

// first + last - slot, where a loop runs backwards.
static bool value_of(maker *k, const nw_text_node *x, int slot, const nw_bounds *from, const nw_bounds *until,
                     nw_form *out) {
  nw_form s = nw_form_slot(k->m.s.arena, slot);
  *out = s;
  if (!x->reversed) return true;
  if (from->n != 1 || until->n != 1 || from->at[0].div != 1 || until->at[0].div != 1)
    return nw_fail(k->m.s.ctx, NW_ELIMIT, NULL,
                   "a reversed loop has one beginning and one end, without min, max and //");
  *out = nw_form_sum(k->m.s.arena, &from->at[0].form, 1, &until->at[0].form, 0);
  *out = nw_form_sum(k->m.s.arena, out, -1, &s, 0);
  return true;
}

static bool make_body(maker *k, const nw_text_node *x, const nw_form *value, int site, nw_affine_node *to) {
  bool inside = k->m.inside;
  k->m.inside = inside || x->parallel;
  nw_affine_scope_push(&k->m.s, x->name, value);
  bool ok = make_kids(k, x, site, to);
  nw_affine_scope_pop(&k->m.s);
  k->m.inside = inside;
  return ok;
}

static bool make_bounded(maker *k, const nw_text_node *x, const nw_bounds *from, const nw_bounds *until, int site,
                         nw_affine_node *to) {
  int64_t lo, hi;
  nw_bounds_range(&k->m.s, from, until, &lo, &hi);
  if (lo > hi) return true;
  if (lo == INT64_MIN || hi == INT64_MAX) {
    nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "how often %s runs is not known", x->name);
    return blame(k, x->line, x->column);
  }
  nw_affine_node *loop = nw_maker_node(&k->m, NW_AFFINE_LOOP);
  loop->name = nw_arena_strdup(k->m.s.arena, x->name);
  loop->slot = nw_affine_scope_slot(&k->m.s, lo, hi);
  loop->step = x->step;
  loop->nbegin = from->n, loop->nend = until->n;
  loop->begin = nw_bounds_keep(&k->m.s, from);
  loop->end = nw_bounds_keep(&k->m.s, until);
  loop->parallel = x->parallel && !k->m.inside;
  loop->chunk = (int)x->chunk;
  nw_form *value = NW_NEW(k->m.s.arena, nw_form);
  if (!value_of(k, x, loop->slot, from, until, value)) return blame(k, x->line, x->column);
  return make_body(k, x, value, site, loop) && nw_maker_add(&k->m, to, loop);
}

static bool make_loop(maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  static const nw_form zero = {0}, less = {.rest = -1};
  int quotients = k->m.s.quotient.n;
  nw_bounds from = {0}, until = {0};
  nw_affine_node *all = nw_maker_node(&k->m, NW_AFFINE_SEQ);
  if (!nw_bounds_of(&k->m.s, x->lo, &zero, true, &from) || !nw_bounds_of(&k->m.s, x->hi, &less, false, &until)) {
    nw_fail(k->m.s.ctx, NW_ELIMIT, "A loop runs from an affine form, or the max of some, to one, or the min of some.",
            "where %s runs is not affine", x->name);
    return blame(k, x->line, x->column);
  }
  if (!make_bounded(k, x, &from, &until, site, all)) return false;
  take(&k->m, to, nw_maker_wrap(&k->m, all, quotients));
  return true;
}

static bool make_node(maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  if (nw_stopped(k->m.s.ctx)) return false;
  switch (x->kind) {
  case NW_TEXT_LOOP: return make_loop(k, x, site, to);
  case NW_TEXT_IF: return make_if(k, x, site, to);
  case NW_TEXT_STMT: return make_statement(k, x, site, to);
  default: return make_kids(k, x, site, to);
  }
}

// ---- sites, and the whole

static void name_sites(maker *k, const nw_text_node *x, const char *loop, int site) {
  for (int i = 0; x->kind == NW_TEXT_STMT && i < sites_in(x); i++) {
    const nw_text_ref *r = &x->ref[i < x->nrefs ? i : 0];
    bool write = i == x->nrefs || (!i && x->ntargets && !strcmp(x->op, "="));
    k->m.nest->site[site + i] = (nw_affine_site){loop, k->m.array[r->array], write};
  }
  if (x->kind == NW_TEXT_LOOP) loop = nw_arena_strdup(k->m.s.arena, x->name);
  for (int i = 0; i < x->kid.n; i++) {
    name_sites(k, x->kid.at[i], loop, site);
    site += sites_in(x->kid.at[i]);
  }
  if (x->other) name_sites(k, x->other, loop, site);
}

// Where the reference of a site stands.
static const nw_text_ref *ref_of(const nw_text_node *x, int site) {
  if (x->kind == NW_TEXT_STMT) return &x->ref[site < x->nrefs ? site : 0];
  for (int i = 0; i < x->kid.n; i++) {
    int n = sites_in(x->kid.at[i]);
    if (site < n) return ref_of(x->kid.at[i], site);
    site -= n;
  }
  return ref_of(x->other, site);
}

static bool is_inside(maker *k) {
  int site = nw_affine_outside(k->m.nest);
  if (site < 0) return true;
  const nw_text_ref *r = ref_of(k->t->root, site);
  const nw_text_array *array = k->t->array.at[r->array];
  return nw_fail(k->m.s.ctx, NW_ERANGE, "Make the array larger, or put an if around it.",
                 "%d:%d: it is not seen that %s stays inside its bounds here", r->line, r->column, array->name);
}

static nw_affine_nest *make(nw_ctx *c, nw_arena *a, const nw_text *t, const int64_t *value, bool indices) {
  maker k = {.m = {.s = {.ctx = c, .arena = a, .lanes = 1, .lane = -1}, .nest = NW_NEW(a, nw_affine_nest)},
             .t = t,
             .indices = indices};
  for (int i = 0; i < t->param.n; i++) name_param(&k.m.s, ((nw_text_param *)t->param.at[i])->name, value[i]);
  nw_affine_nest *n = k.m.nest;
  n->root = nw_maker_node(&k.m, NW_AFFINE_SEQ);
  n->nsites = sites_in(t->root);
  n->site = NW_NEW_N(a, nw_affine_site, n->nsites + 1);
  bool ok = make_arrays(&k);
  if (ok && !indices) name_sites(&k, t->root, NULL, 0);
  if (ok && indices) make_indices(&k);
  ok = ok && make_node(&k, t->root, 0, n->root);
  n->nslots = k.m.s.nslots;
  ok = ok && (!indices || is_inside(&k));
  nw_affine_scope_free(&k.m.s);
  return ok ? n : NULL;
}

nw_affine_nest *nw_text_nest(nw_ctx *c, nw_arena *a, const nw_text *t, const int64_t *value) {
  nw_arena *aside = nw_arena_new();
  bool inside = make(c, aside, t, value, true);
  nw_arena_free(aside);
  return inside ? make(c, a, t, value, false) : NULL;
}
