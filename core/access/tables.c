// Fills tables by running the stores of a temporary. Their addresses, values and loops must follow from the sizes, and no
// element may get two values: then its value is the same at every time when it is read.
#include "access/tables.h"

enum { MOST_RUNS = 1 << 22 }; // limit on the executions of loops and stores for one table

// A statement on the way to the stores of the temporary.
typedef struct part {
  const nw_stmt *stmt;
  nw_calc *begin, *extent; // LOOP
  nw_calc *cond; // GUARD
  nw_calc *index, *value, *mask; // STORE; `mask` may be NULL
  int slot, nkids;
  struct part **kid;
} part;

typedef struct filling {
  nw_walker *w;
  const nw_table *to;
  int64_t *value;
  bool *known; // for each element: true if it was stored
  nw_names names; // the sizes, and the loops around the current statement
  int64_t *slot;
  int64_t runs;
} filling;

// ---- the stores and the statements around them

static bool stores_to(const nw_stmt *s, const char *buffer) {
  bool found = (s->kind == NW_STORE && !strcmp(s->store.buffer, buffer)) || s->kind == NW_CALL;
  for (int i = 0; i < s->nkids && !found; i++) found = stores_to(s->kid[i], buffer);
  return found;
}

static bool number(const filling *f, const nw_expr *e, nw_calc **out) {
  return (*out = nw_calc_of(f->w->arena, &f->names, e)) != NULL;
}

static part *prepare(filling *f, const nw_stmt *s);

static bool prepare_kids(filling *f, part *x) {
  x->kid = NW_NEW_N(f->w->arena, part *, x->stmt->nkids + 1);
  for (int i = 0; i < x->stmt->nkids; i++) {
    if (!stores_to(x->stmt->kid[i], f->to->buffer)) continue;
    if (!(x->kid[x->nkids] = prepare(f, x->stmt->kid[i]))) return false;
    x->nkids++;
  }
  return true;
}

static bool prepare_loop(filling *f, part *x) {
  const nw_stmt *s = x->stmt;
  if (!number(f, s->loop.begin, &x->begin) || !number(f, s->loop.extent, &x->extent)) return false;
  x->slot = f->names.name.n;
  nw_vec_push(&f->names.name, (void *)s->loop.var->name);
  nw_vec_push(&f->names.slot, (void *)(intptr_t)x->slot);
  bool ok = prepare_kids(f, x);
  f->names.name.n--, f->names.slot.n--;
  return ok;
}

// Returns NULL if the statement depends on data.
static part *prepare(filling *f, const nw_stmt *s) {
  part *x = NW_NEW(f->w->arena, part);
  *x = (part){.stmt = s};
  bool ok = s->kind != NW_CALL;
  if (s->kind == NW_LOOP) return prepare_loop(f, x) ? x : NULL;
  if (s->kind == NW_GUARD) ok = number(f, s->guard.cond, &x->cond);
  if (s->kind == NW_STORE)
    ok = number(f, s->store.index, &x->index) && number(f, s->store.value, &x->value) &&
         (!s->store.mask || number(f, s->store.mask, &x->mask));
  return ok && prepare_kids(f, x) ? x : NULL;
}

// ---- running them

static bool run_store(filling *f, const part *x) {
  for (int l = 0; l < x->stmt->store.index->type.lanes; l++) {
    if (x->mask && !nw_calc_at(x->mask, f->slot, l)) continue;
    int64_t at = nw_calc_at(x->index, f->slot, l), v = nw_calc_at(x->value, f->slot, l);
    if (at < 0 || at >= f->to->n || (f->known[at] && f->value[at] != v && !NW_MUTATED(tables_change))) return false;
    f->value[at] = v;
    f->known[at] = true;
  }
  return true;
}

static bool run(filling *f, const part *x) {
  if (++f->runs > MOST_RUNS) return false;
  if (x->index) return run_store(f, x);
  if (x->cond && !nw_calc_at(x->cond, f->slot, 0)) return true;
  int64_t from = x->begin ? nw_calc_at(x->begin, f->slot, 0) : 0, n = x->begin ? nw_calc_at(x->extent, f->slot, 0) : 1;
  for (int64_t i = 0; i < n; i++) {
    if (x->begin) f->slot[x->slot] = from + i;
    for (int k = 0; k < x->nkids; k++)
      if (!run(f, x->kid[k])) return false;
  }
  return true;
}

static bool fill(nw_walker *w, const nw_placed *place, nw_table *t) {
  const nw_program *p = w->exec->p;
  int64_t n = place->bytes / nw_dtype_bytes(place->buffer->dtype);
  if (n > MOST_RUNS) return false;
  filling f = {.w = w, .to = t, .names = {.nsizes = p->nsizes, .table = &w->tables}};
  f.value = NW_NEW_N(w->arena, int64_t, n + 1);
  f.known = NW_NEW_N(w->arena, bool, n + 1);
  f.slot = NW_NEW_N(w->arena, int64_t, p->nsizes + NW_MAX_DEPTH + 1);
  for (int i = 0; i < p->nsizes; i++) f.slot[i] = w->slot[i];
  nw_name_sizes(&f.names, p);
  *t = (nw_table){place->buffer->name, n, f.value};
  const part *all = stores_to(p->root, t->buffer) ? prepare(&f, p->root) : NULL;
  bool ok = all && run(&f, all);
  nw_vec_free(&f.names.name);
  nw_vec_free(&f.names.slot);
  return ok;
}

typedef struct wanted {
  nw_walker *w;
  bool ok;
} wanted;

static bool want(void *env, const nw_expr *e) {
  wanted *x = env;
  const nw_placed *place = e->op == NW_OP_LOAD ? nw_place_named(&x->w->places, e->name) : NULL;
  if (!place || nw_find_table(&x->w->names, e->name)) return x->ok;
  nw_table *t = NW_NEW(x->w->arena, nw_table);
  x->ok = place->buffer->role == NW_TEMP && nw_dtype_is_int(place->buffer->dtype) && fill(x->w, place, t);
  if (x->ok) nw_vec_push(&x->w->tables, t);
  return x->ok;
}

bool nw_tables_of(nw_walker *w, const nw_expr *e) {
  wanted x = {w, true};
  nw_visit(e, want, &x);
  return x.ok;
}
