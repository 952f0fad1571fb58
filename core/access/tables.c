// Fills tables by running the stores of a temporary. Their addresses, values and loops must follow from the sizes. If no
// element gets two values, its value is the same at every time when it is read. Otherwise, the walk stores the values.
#include "access/tables.h"

enum { MOST_RUNS = 1 << 22 }; // limit on the elements of a table, and on the executions that fill it before the walk

// A statement on the way to the stores of the temporary.
typedef struct part {
  const nw_stmt *stmt;
  nw_calc *begin, *extent; // LOOP
  nw_calc *cond; // GUARD
  nw_keep *keep; // STORE
  int slot, nkids;
  struct part **kid;
} part;

typedef struct filling {
  nw_walker *w;
  nw_table *to;
  bool *known; // for each element: true if it was stored
  nw_names names; // the sizes, and the loops around the current statement
  int64_t *slot;
  int64_t runs;
} filling;

// ---- the stores and the statements around them

// Returns NULL if e depends on data.
static nw_calc *number(nw_walker *w, const nw_names *names, const nw_expr *e) {
  nw_calc *c = nw_calc_of(w->arena, names, e);
  return c || !nw_tables_of(w, e) ? c : nw_calc_of(w->arena, names, e);
}

// Returns NULL if the store depends on data.
static nw_keep *keep_of(nw_walker *w, const nw_names *names, const nw_stmt *s, const nw_table *to) {
  nw_keep *k = NW_NEW(w->arena, nw_keep);
  *k = (nw_keep){.to = to, .lanes = s->store.index->type.lanes};
  k->index = number(w, names, s->store.index);
  k->value = number(w, names, s->store.value);
  k->mask = s->store.mask ? number(w, names, s->store.mask) : NULL;
  return k->index && k->value && (k->mask || !s->store.mask) ? k : NULL;
}

static bool is_still(void *env, const nw_expr *e) {
  const nw_table *t = e->op == NW_OP_LOAD ? nw_find_table(env, e->name) : NULL;
  return !t || !t->changes;
}

// Before the walk, the elements of a table that changes are not known. So a table that is filled from it changes, too.
static void note_changes(filling *f, const nw_expr *e) {
  f->to->changes |= e && !nw_visit(e, is_still, &f->names) && !NW_MUTATED(tables_still);
}

static bool calculate(filling *f, const nw_expr *e, nw_calc **out) {
  *out = number(f->w, &f->names, e);
  note_changes(f, e);
  return *out != NULL;
}

static bool stores_to(const nw_stmt *s, const char *buffer) {
  bool found = (s->kind == NW_STORE && !strcmp(s->store.buffer, buffer)) || s->kind == NW_CALL;
  for (int i = 0; i < s->nkids && !found; i++) found = stores_to(s->kid[i], buffer);
  return found;
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
  if (!calculate(f, s->loop.begin, &x->begin) || !calculate(f, s->loop.extent, &x->extent)) return false;
  x->slot = f->names.name.n;
  nw_vec_push(&f->names.name, (void *)s->loop.var->name);
  nw_vec_push(&f->names.slot, (void *)(intptr_t)x->slot);
  bool ok = prepare_kids(f, x);
  f->names.name.n--, f->names.slot.n--;
  return ok;
}

static bool prepare_store(filling *f, part *x) {
  const nw_stmt *s = x->stmt;
  x->keep = keep_of(f->w, &f->names, s, f->to);
  note_changes(f, s->store.index);
  note_changes(f, s->store.value);
  note_changes(f, s->store.mask);
  return x->keep != NULL;
}

// Returns NULL if the statement depends on data.
static part *prepare(filling *f, const nw_stmt *s) {
  part *x = NW_NEW(f->w->arena, part);
  *x = (part){.stmt = s};
  bool ok = s->kind != NW_CALL;
  if (s->kind == NW_LOOP) return prepare_loop(f, x) ? x : NULL;
  if (s->kind == NW_STORE) return prepare_store(f, x) ? x : NULL;
  if (s->kind == NW_GUARD) ok = calculate(f, s->guard.cond, &x->cond);
  return ok && prepare_kids(f, x) ? x : NULL;
}

// ---- running them

// Returns false if an element gets another value than before.
static bool run_store(filling *f, const nw_keep *k) {
  for (int l = 0; l < k->lanes; l++) {
    if (k->mask && !nw_calc_at(k->mask, f->slot, l)) continue;
    int64_t at = nw_calc_at(k->index, f->slot, l), v = nw_calc_at(k->value, f->slot, l);
    if (at < 0 || at >= f->to->n) return false;
    if (f->known[at] && f->to->value[at] != v && !NW_MUTATED(tables_change)) return false;
    f->to->value[at] = v;
    f->known[at] = true;
  }
  return true;
}

static bool run(filling *f, const part *x) {
  if (++f->runs > MOST_RUNS) return false;
  if (x->keep) return run_store(f, x->keep);
  if (x->cond && !nw_calc_at(x->cond, f->slot, 0)) return true;
  int64_t from = x->begin ? nw_calc_at(x->begin, f->slot, 0) : 0, n = x->begin ? nw_calc_at(x->extent, f->slot, 0) : 1;
  for (int64_t i = 0; i < n; i++) {
    if (x->begin) f->slot[x->slot] = from + i;
    for (int k = 0; k < x->nkids; k++)
      if (!run(f, x->kid[k])) return false;
  }
  return true;
}

// Returns false if what the temporary holds depends on data.
static bool fill(nw_walker *w, const nw_placed *place, nw_table *t) {
  const nw_program *p = w->exec->p;
  int64_t n = place->bytes / nw_dtype_bytes(place->buffer->dtype);
  if (n > MOST_RUNS || !stores_to(p->root, place->buffer->name)) return false;
  filling f = {.w = w, .to = t, .names = {.nsizes = p->nsizes, .table = &w->tables}};
  f.known = NW_NEW_N(w->arena, bool, n + 1);
  f.slot = NW_NEW_N(w->arena, int64_t, p->nsizes + NW_MAX_DEPTH + 1);
  for (int i = 0; i < p->nsizes; i++) f.slot[i] = w->slot[i];
  nw_name_sizes(&f.names, p);
  *t = (nw_table){place->buffer->name, n, NW_NEW_N(w->arena, int64_t, n + 1), false};
  const part *all = prepare(&f, p->root);
  if (all) t->changes = t->changes || !run(&f, all);
  nw_vec_free(&f.names.name);
  nw_vec_free(&f.names.slot);
  return all != NULL;
}

static bool is_filled(const nw_walker *w, const char *buffer) {
  for (int i = 0; i < w->filling.n; i++)
    if (!strcmp(w->filling.at[i], buffer)) return true;
  return false;
}

typedef struct wanted {
  nw_walker *w;
  bool ok;
} wanted;

// A temporary whose values follow from its own elements is not supported.
static bool want(void *env, const nw_expr *e) {
  wanted *x = env;
  nw_walker *w = x->w;
  const nw_placed *place = e->op == NW_OP_LOAD ? nw_place_named(&w->places, e->name) : NULL;
  if (!place || nw_find_table(&w->names, e->name)) return x->ok;
  nw_table *t = NW_NEW(w->arena, nw_table);
  x->ok = place->buffer->role == NW_TEMP && nw_dtype_is_int(place->buffer->dtype) && !is_filled(w, e->name);
  if (!x->ok) return false;
  nw_vec_push(&w->filling, (void *)place->buffer->name);
  x->ok = fill(w, place, t);
  w->filling.n--;
  if (x->ok) nw_vec_push(&w->tables, t);
  return x->ok;
}

bool nw_tables_of(nw_walker *w, const nw_expr *e) {
  wanted x = {w, true};
  nw_visit(e, want, &x);
  return x.ok;
}

// ---- tables that change

static const nw_table *changing(const nw_walker *w, const char *buffer) {
  const nw_table *t = nw_find_table(&w->names, buffer);
  return t && t->changes ? t : NULL;
}

static void keep_in(nw_walker *w, nw_nest *c) {
  const nw_stmt *s = c->stmt;
  const nw_table *to = s->kind == NW_STORE && !c->keep ? changing(w, s->store.buffer) : NULL;
  if (to) {
    c->keep = keep_of(w, &w->names, s, to);
    NW_MUST(c->keep); // all stores to the temporary were prepared when its table was made
    c->plain = false;
  }
  c->keeps = c->keep != NULL;
  if (s->kind == NW_LOOP) {
    nw_vec_push(&w->names.name, (void *)s->loop.var->name);
    nw_vec_push(&w->names.slot, (void *)(intptr_t)c->slot);
  }
  for (int i = 0; i < c->nkids; i++) {
    keep_in(w, c->kid[i]);
    c->keeps |= c->kid[i]->keeps;
  }
  if (s->kind != NW_LOOP) return;
  w->names.name.n--, w->names.slot.n--;
  c->flat &= !c->keeps;
}

// Preparing the stores of one table may make another table, which the first one is filled from. So this is repeated until
// there are no new tables.
void nw_tables_keep(nw_walker *w) {
  for (int n = 0; n < w->tables.n;) {
    n = w->tables.n;
    keep_in(w, w->root);
  }
}

void nw_table_store(const nw_keep *k, const int64_t *slot) {
  for (int l = 0; l < k->lanes; l++) {
    if (k->mask && !nw_calc_at(k->mask, slot, l)) continue;
    int64_t at = nw_calc_at(k->index, slot, l);
    if (at >= 0 && at < k->to->n) k->to->value[at] = nw_calc_at(k->value, slot, l);
  }
}
