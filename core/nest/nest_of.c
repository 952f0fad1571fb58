// Makes the text of an affine nest, for example of the nest of a program.
#include "nest/nest_text.h"
#include "ir/program/program.h"
#include <stdlib.h>

typedef struct writer {
  nw_text *t;
  const nw_affine_nest *nest;
  const nw_expr **var; // the variable of each slot
  const char **name; // the name of each slot
} writer;

// ---- forms as expressions

static const nw_expr *expr_of(const writer *w, const nw_form *f, int64_t by) {
  nw_pool *p = w->t->pool;
  const nw_expr *e = nw_index(p, by * f->rest);
  for (int i = 0; i < f->n; i++)
    if (f->coef[i]) e = nw_add(p, e, nw_mul(p, nw_index(p, by * f->coef[i]), w->var[f->slot[i]]));
  return e;
}

// Returns the index of the element at byte offset f. `elem` is the size of an element in bytes; all coefficients of f
// are multiples of it.
static const nw_expr *element_of(const writer *w, const nw_form *f, int elem) {
  nw_form g = *f;
  g.rest /= elem;
  g.coef = NW_NEW_N(w->t->arena, int64_t, f->n + 1);
  for (int i = 0; i < f->n; i++) g.coef[i] = f->coef[i] / elem;
  return expr_of(w, &g, 1);
}

// Combines n bounds. If they are lower bounds (`begin`), returns the maximum of ceil(form / div). If they are upper
// bounds, returns the minimum of floor(form / div) + 1.
static const nw_expr *bound_of(const writer *w, int n, const nw_affine_bound *b, bool begin) {
  nw_pool *p = w->t->pool;
  const nw_expr *e = NULL;
  for (int i = 0; i < n; i++) {
    const nw_expr *x = expr_of(w, &b[i].form, 1);
    if (begin && b[i].div > 1) x = nw_add(p, x, nw_index(p, b[i].div - 1));
    if (b[i].div > 1) x = nw_floordiv(p, x, nw_index(p, b[i].div));
    if (!begin) x = nw_add(p, x, nw_index(p, 1));
    e = !e ? x : begin ? nw_max(p, e, x) : nw_min(p, e, x);
  }
  return e;
}

// ---- names

static bool taken(const writer *w, const char *name, int slots) {
  for (int i = 0; i < w->nest->narrays; i++)
    if (!strcmp(w->nest->array[i].name, name)) return true;
  for (int i = 0; i < slots; i++)
    if (w->name[i] && !strcmp(w->name[i], name)) return true;
  return false;
}

static void name_slots(writer *w, const nw_affine_node *x) {
  if (x->kind == NW_AFFINE_LOOP && !w->name[x->slot]) {
    const char *name = x->name;
    for (int n = 1; taken(w, name, w->nest->nslots); n++) name = nw_arena_printf(w->t->arena, "%s_%d", x->name, n);
    w->name[x->slot] = name;
    w->var[x->slot] = nw_var(w->t->pool, name);
  }
  for (int i = 0; i < x->nkids; i++) name_slots(w, x->kid[i]);
}

// ---- the nest

static void write_arrays(writer *w) {
  for (int i = 0; i < w->nest->narrays; i++) {
    const nw_affine_array *from = &w->nest->array[i];
    nw_text_array *x = NW_NEW(w->t->arena, nw_text_array);
    x->name = nw_arena_strdup(w->t->arena, from->name);
    x->elem = from->elem;
    x->ndim = 1;
    x->dim = NW_NEW(w->t->arena, const nw_expr *);
    x->dim[0] = nw_index(w->t->pool, from->bytes / from->elem);
    x->address = nw_index(w->t->pool, (int64_t)from->address);
    nw_vec_push(&w->t->array, x);
  }
}

static nw_text_ref ref_of(const writer *w, const nw_affine_ref *r) {
  int elem = w->nest->array[r->array].elem;
  nw_text_ref x = {
      .array = r->array, .nindex = 1, .index = NW_NEW(w->t->arena, const nw_expr *), .lanes = r->bytes / elem};
  x.index[0] = element_of(w, &r->at, elem);
  return x;
}

// Writes the references `from` to `end` - 1 as a statement. Only the last reference may be a write.
static void write_statement(writer *w, const nw_affine_node *s, int from, int end, nw_text_node *to) {
  nw_text_node *x = nw_text_node_new(w->t, NW_TEXT_STMT);
  nw_str value = {0};
  bool writes = s->ref[end - 1].write;
  x->ref = NW_NEW_N(w->t->arena, nw_text_ref, end - from + 1);
  if (writes) x->ref[x->nrefs++] = ref_of(w, &s->ref[end - 1]), x->ntargets = 1, x->op = "=";
  for (int i = from; i < end - writes; i++) {
    nw_str_add(&value, i > from ? " + \x01" : "\x01");
    x->ref[x->nrefs++] = ref_of(w, &s->ref[i]);
  }
  if (!value.n) nw_str_add(&value, "0");
  x->value = nw_arena_strdup(w->t->arena, value.s);
  nw_str_free(&value);
  nw_vec_push(&to->kid, x);
}

static void write_statements(writer *w, const nw_affine_node *s, nw_text_node *to) {
  for (int from = 0, end = 0; from < s->nrefs; from = end) {
    while (end < s->nrefs && end - from < NW_TEXT_REFS - 2 && !s->ref[end].write) end++;
    if (end < s->nrefs && s->ref[end].write) end++;
    write_statement(w, s, from, end, to);
  }
}

static void write_node(writer *w, const nw_affine_node *x, nw_text_node *to);

static void write_kids(writer *w, const nw_affine_node *x, nw_text_node *to) {
  for (int i = 0; i < x->nkids; i++) write_node(w, x->kid[i], to);
}

static nw_text_node *write_loop(writer *w, const nw_affine_node *x) {
  nw_text_node *loop = nw_text_node_new(w->t, NW_TEXT_LOOP);
  loop->name = w->name[x->slot];
  loop->lo = bound_of(w, x->nbegin, x->begin, true);
  loop->hi = bound_of(w, x->nend, x->end, false);
  loop->step = x->step;
  loop->parallel = x->parallel;
  loop->chunk = llabs((long long)x->chunk);
  return loop;
}

static nw_text_node *write_guard(writer *w, const nw_affine_node *x) {
  nw_text_node *guard = nw_text_node_new(w->t, NW_TEXT_IF);
  nw_pool *p = w->t->pool;
  for (int i = 0; i < x->nconds; i++)
    guard->cond = nw_and(p, guard->cond, nw_le(p, nw_index(p, 0), expr_of(w, &x->cond[i], 1)));
  return guard;
}

static void write_node(writer *w, const nw_affine_node *x, nw_text_node *to) {
  if (x->kind == NW_AFFINE_STMT) return write_statements(w, x, to);
  if (x->kind == NW_AFFINE_LOOP || x->kind == NW_AFFINE_GUARD) {
    nw_text_node *in = x->kind == NW_AFFINE_LOOP ? write_loop(w, x) : write_guard(w, x);
    nw_vec_push(&to->kid, in);
    to = in;
  }
  write_kids(w, x, to);
}

nw_text *nw_text_of(nw_ctx *c, const nw_affine_nest *n) {
  writer w = {.t = nw_text_new(c), .nest = n};
  w.var = NW_NEW_N(w.t->arena, const nw_expr *, n->nslots + 1);
  w.name = NW_NEW_N(w.t->arena, const char *, n->nslots + 1);
  name_slots(&w, n->root);
  write_arrays(&w);
  write_node(&w, n->root, w.t->root);
  return w.t;
}
