// Builds an affine nest from the text of the nest and the values of its parameters.
#include "access/affine/affine_inside.h"
#include "nest/nest_make.h"

// ---- references

static bool add_ref(nw_nest_maker *k, nw_affine_node *to, int array, const nw_text_ref *r, bool write, int site,
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

static bool add_cases(nw_nest_maker *k, nw_affine_node *to, int array, const nw_expr *element, const nw_text_ref *r,
                      bool write, int site) {
  nw_cases x;
  if (!nw_cases_of(&k->m.s, element, &x)) return false;
  for (int i = 0; i < x.n; i++) {
    nw_affine_node *in = nw_maker_where(&k->m, to, &x.at[i].when);
    if (!in || !add_ref(k, in, array, r, write, site, &x.at[i].value)) return false;
  }
  return true;
}

// Adds a reference. The position of its element in the array is the sum of index * stride over all dimensions.
static bool make_ref(nw_nest_maker *k, nw_affine_node *to, const nw_text_ref *r, bool write, int site) {
  nw_pool *pool = k->t->pool;
  const nw_nest_shape *s = &k->shape[r->array];
  const nw_expr *sum = nw_index(pool, 0);
  for (int d = 0; d < r->nindex; d++) {
    if (k->indices && !add_cases(k, to, s->first + d, r->index[d], r, write, site)) return false;
    sum = nw_add(pool, sum, nw_mul(pool, r->index[d], nw_index(pool, s->stride[d])));
  }
  return k->indices || add_cases(k, to, k->m.array[r->array], sum, r, write, site);
}

// Adds the references of a statement. A statement that updates its target reads the target before all other references.
// Every statement writes its target last.
static bool make_refs(nw_nest_maker *k, nw_affine_node *to, const nw_text_node *x, int site) {
  bool updates = x->ntargets && strcmp(x->op, "=");
  for (int i = 0; i <= x->nrefs; i++) {
    bool write = i == x->nrefs;
    if (write ? !x->ntargets : i < x->ntargets && !updates) continue;
    const nw_text_ref *r = &x->ref[write ? 0 : i];
    int number = site + (write && updates ? x->nrefs : write ? 0 : i);
    if (!make_ref(k, to, r, write, number)) return nw_error(k->m.s.ctx) ? nw_nest_blame(k, r->line, r->column) : false;
  }
  return true;
}

static void take(nw_maker *m, nw_affine_node *to, nw_affine_node *x) {
  if (x->kind == NW_AFFINE_SEQ)
    for (int i = 0; i < x->nkids; i++) nw_maker_add(m, to, x->kid[i]);
  else
    nw_maker_add(m, to, x);
}

static bool make_statement(nw_nest_maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  int quotients = k->m.s.quotient.n;
  nw_affine_node *all = nw_maker_node(&k->m, NW_AFFINE_SEQ);
  if (!make_refs(k, all, x, site)) return false;
  take(&k->m, to, nw_maker_wrap(&k->m, all, quotients));
  return true;
}

// ---- Loops and ifs

// A site is the number of a load or store in the text. Sites are numbered in the order of the text. If a statement is
// copied for several cases (cases.h), all copies have the same sites.

static int sites_in(const nw_text_node *x) {
  if (!x) return 0;
  if (x->kind == NW_TEXT_STMT) return x->nrefs + (x->ntargets && strcmp(x->op, "="));
  int n = sites_in(x->other);
  for (int i = 0; i < x->kid.n; i++) n += sites_in(x->kid.at[i]);
  return n;
}

static bool make_node(nw_nest_maker *k, const nw_text_node *x, int site, nw_affine_node *to);

static bool make_kids(nw_nest_maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  for (int i = 0; i < x->kid.n; i++) {
    if (!make_node(k, x->kid.at[i], site, to)) return false;
    site += sites_in(x->kid.at[i]);
  }
  return true;
}

static bool make_branch(nw_nest_maker *k, const nw_text_node *x, bool holds, int site, nw_affine_node *to) {
  nw_union when;
  if (!nw_union_of(&k->m.s, x->cond, holds, &when)) return nw_nest_blame(k, x->line, x->column);
  for (int i = 0; i < when.n; i++) {
    nw_affine_node *in = nw_maker_where(&k->m, to, &when.at[i]);
    if (!in || !make_kids(k, holds ? x : x->other, site, in)) return false;
  }
  return true;
}

static bool make_if(nw_nest_maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  int quotients = k->m.s.quotient.n;
  nw_affine_node *all = nw_maker_node(&k->m, NW_AFFINE_SEQ);
  int inside = sites_in(x) - sites_in(x->other);
  if (!make_branch(k, x, true, site, all) || (x->other && !make_branch(k, x, false, site + inside, all))) return false;
  take(&k->m, to, nw_maker_wrap(&k->m, all, quotients));
  return true;
}

// Sets *out to the value of the loop's variable. In a loop that runs forwards, this is the value in the slot. In a
// reversed loop, it is first + last - slot, where `first` and `last` are the bounds of the loop.
static bool value_of(nw_nest_maker *k, const nw_text_node *x, int slot, const nw_bounds *from, const nw_bounds *until,
                     nw_form *out) {
  nw_form s = nw_form_slot(k->m.s.arena, slot);
  *out = s;
  if (!x->reversed) return true;
  if (from->n != 1 || until->n != 1 || from->at[0].div != 1 || until->at[0].div != 1)
    return nw_fail(k->m.s.ctx, NW_ELIMIT, NULL, "the bounds of a reversed loop cannot use min, max or //");
  *out = nw_form_sum(k->m.s.arena, &from->at[0].form, 1, &until->at[0].form, 0);
  *out = nw_form_sum(k->m.s.arena, out, -1, &s, 0);
  return true;
}

static bool make_body(nw_nest_maker *k, const nw_text_node *x, const nw_form *value, int site, nw_affine_node *to) {
  bool inside = k->m.inside;
  k->m.inside = inside || x->parallel;
  nw_affine_scope_push(&k->m.s, x->name, value);
  bool ok = make_kids(k, x, site, to);
  nw_affine_scope_pop(&k->m.s);
  k->m.inside = inside;
  return ok;
}

static bool make_bounded(nw_nest_maker *k, const nw_text_node *x, const nw_bounds *from, const nw_bounds *until,
                         int site, nw_affine_node *to) {
  int64_t lo, hi;
  nw_bounds_range(&k->m.s, from, until, &lo, &hi);
  if (lo > hi) return true;
  if (lo == INT64_MIN || hi == INT64_MAX) {
    nw_fail(k->m.s.ctx, NW_ERANGE, NULL, "the number of iterations of %s is not known", x->name);
    return nw_nest_blame(k, x->line, x->column);
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
  if (!value_of(k, x, loop->slot, from, until, value)) return nw_nest_blame(k, x->line, x->column);
  return make_body(k, x, value, site, loop) && nw_maker_add(&k->m, to, loop);
}

static bool make_loop(nw_nest_maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  static const nw_form zero = {0}, less = {.rest = -1};
  int quotients = k->m.s.quotient.n;
  nw_bounds from = {0}, until = {0};
  nw_affine_node *all = nw_maker_node(&k->m, NW_AFFINE_SEQ);
  if (!nw_bounds_of(&k->m.s, x->lo, &zero, true, &from) || !nw_bounds_of(&k->m.s, x->hi, &less, false, &until)) {
    nw_fail(k->m.s.ctx, NW_ELIMIT,
            "A lower bound is an affine form or a max of such forms; an upper bound is an affine form or a min of such "
            "forms.",
            "a bound of %s is not affine", x->name);
    return nw_nest_blame(k, x->line, x->column);
  }
  if (!make_bounded(k, x, &from, &until, site, all)) return false;
  take(&k->m, to, nw_maker_wrap(&k->m, all, quotients));
  return true;
}

static bool make_node(nw_nest_maker *k, const nw_text_node *x, int site, nw_affine_node *to) {
  if (nw_stopped(k->m.s.ctx)) return false;
  switch (x->kind) {
  case NW_TEXT_LOOP: return make_loop(k, x, site, to);
  case NW_TEXT_IF: return make_if(k, x, site, to);
  case NW_TEXT_STMT: return make_statement(k, x, site, to);
  default: return make_kids(k, x, site, to);
  }
}

// ---- sites, and the whole nest

static void name_sites(nw_nest_maker *k, const nw_text_node *x, const char *loop, int site) {
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

// Returns the reference in the text that has this site.
static const nw_text_ref *ref_of(const nw_text_node *x, int site) {
  if (x->kind == NW_TEXT_STMT) return &x->ref[site < x->nrefs ? site : 0];
  for (int i = 0; i < x->kid.n; i++) {
    int n = sites_in(x->kid.at[i]);
    if (site < n) return ref_of(x->kid.at[i], site);
    site -= n;
  }
  return ref_of(x->other, site);
}

static bool is_inside(nw_nest_maker *k) {
  int site = nw_affine_outside(k->m.s.ctx, k->m.nest);
  if (site < 0) return true;
  const nw_text_ref *r = ref_of(k->t->root, site);
  const nw_text_array *array = k->t->array.at[r->array];
  return nw_fail(k->m.s.ctx, NW_ERANGE, "Make the array larger, or put an if around the access.",
                 "%d:%d: cannot prove that %s stays inside its bounds here", r->line, r->column, array->name);
}

static nw_affine_nest *make(nw_ctx *c, nw_arena *a, const nw_text *t, const int64_t *value, bool indices) {
  nw_nest_maker k = {.m = {.s = {.ctx = c, .arena = a, .lanes = 1, .lane = -1}, .nest = NW_NEW(a, nw_affine_nest)},
                     .t = t,
                     .indices = indices};
  for (int i = 0; i < t->param.n; i++) nw_nest_param(&k.m.s, ((nw_text_param *)t->param.at[i])->name, value[i]);
  nw_affine_nest *n = k.m.nest;
  n->root = nw_maker_node(&k.m, NW_AFFINE_SEQ);
  n->nsites = sites_in(t->root);
  n->site = NW_NEW_N(a, nw_affine_site, n->nsites + 1);
  bool ok = nw_nest_arrays(&k);
  if (ok && !indices) name_sites(&k, t->root, NULL, 0);
  if (ok && indices) nw_nest_indices(&k);
  ok = ok && make_node(&k, t->root, 0, n->root);
  nw_maker_prune(n->root);
  n->nslots = k.m.s.nslots;
  ok = ok && (!indices || is_inside(&k));
  nw_affine_scope_free(&k.m.s);
  return ok ? n : NULL;
}

nw_affine_nest *nw_text_nest(nw_ctx *c, nw_arena *a, const nw_text *t, const int64_t *value) {
  nw_arena *aside = nw_arena_scratch();
  bool inside = make(c, aside, t, value, true);
  nw_arena_free(aside);
  return inside ? make(c, a, t, value, false) : NULL;
}
