// Keeps the session's table of reducers.
#include "ir/program/reducer.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 4096 }; // reducers in a session

typedef struct table {
  nw_pool *pool; // of the expressions of all reducers
  nw_arena *arena; // of the reducers and their names
  nw_vec all; // nw_reducer *
} table;

static void free_table(void *data) {
  table *t = data;
  nw_pool_release(t->pool);
  nw_arena_free(t->arena);
  nw_vec_free(&t->all);
  free(t);
}

static table *table_of(nw_ctx *c) {
  nw_slot *slot = &c->slot[NW_SLOT_REDUCERS];
  if (slot->data) return slot->data;
  table *t = nw_xcalloc(1, sizeof *t);
  t->pool = nw_pool_new(c);
  t->arena = nw_arena_new();
  nw_slot_fill(c, NW_SLOT_REDUCERS, t, free_table, NULL);
  return t;
}

const nw_reducer *nw_reducer_of(nw_ctx *c, nw_combiner k) {
  const table *t = table_of(c);
  int i = (int)k - NW_OWN;
  NW_MUST(i >= 0 && i < t->all.n);
  return t->all.at[i];
}

const nw_expr *nw_reducer_var(nw_pool *p, bool second, int i, nw_dtype t) {
  char name[16];
  snprintf(name, sizeof name, "%c%d", second ? 'b' : 'a', i);
  return nw_data_var(p, name, (nw_type){(uint8_t)t, 1});
}

const nw_expr *nw_reducer_combined(nw_pool *p, const nw_reducer *r, int i, const nw_expr *const *a,
                                   const nw_expr *const *b) {
  const char *name[2 * NW_MAX_REDUCED];
  const nw_expr *by[2 * NW_MAX_REDUCED];
  for (int k = 0; k < 2 * r->n; k++) {
    name[k] = nw_reducer_var(p, k >= r->n, k % r->n, r->dtype[k % r->n])->name;
    by[k] = k < r->n ? a[k] : b[k - r->n];
  }
  return nw_subst_n(p, r->combine[i], 2 * r->n, name, by);
}

// ---- adding

static bool same(const nw_reducer *a, const nw_reducer *b) {
  if (a->n != b->n || a->tested != b->tested) return false;
  for (int i = 0; i < a->n; i++)
    if (a->dtype[i] != b->dtype[i] || a->init[i] != b->init[i] || a->combine[i] != b->combine[i] ||
        strcmp(a->part[i], b->part[i]) != 0)
      return false;
  return true;
}

// True if a program may give a reducer with this base the name: "online", "online_1", "online_2", ...
static bool is_called(const char *base, const char *name) {
  size_t n = strlen(base);
  if (strncmp(base, name, n) != 0) return false;
  if (!name[n]) return true;
  return name[n] == '_' && name[n + 1] && strspn(name + n + 1, "0123456789") == strlen(name + n + 1);
}

static const nw_reducer *find(const table *t, const nw_reducer *like) {
  for (int exactly = 1; exactly >= 0; exactly--)
    for (int i = 0; i < t->all.n; i++) {
      const nw_reducer *r = t->all.at[i];
      if ((exactly ? !strcmp(r->name, like->name) : is_called(r->name, like->name)) && same(r, like)) return r;
    }
  return NULL;
}

static bool exact(void *env, const nw_expr *e) {
  (void)env;
  return !nw_dtype_is_float((nw_dtype)e->type.dtype) || nw_op_exactness((nw_op)e->op) == NW_EXACT_SAME;
}

const nw_reducer *nw_reducer_add(nw_ctx *c, const nw_reducer *like) {
  table *t = table_of(c);
  nw_reducer own = *like;
  for (int i = 0; i < like->n; i++) {
    own.init[i] = nw_import(t->pool, like->init[i]);
    own.combine[i] = nw_import(t->pool, like->combine[i]);
  }
  const nw_reducer *known = find(t, &own);
  if (known) return known;
  if (t->all.n == MOST)
    return nw_fail(c, NW_ELIMIT, "define a reducer once, and use it several times",
                   "a session can have at most %d different reducers", MOST);
  nw_reducer *r = NW_NEW(t->arena, nw_reducer);
  *r = own;
  r->name = nw_arena_strdup(t->arena, like->name);
  r->combiner = (nw_combiner)(NW_OWN + t->all.n);
  r->rounds = false;
  for (int i = 0; i < r->n; i++) {
    r->part[i] = nw_arena_strdup(t->arena, like->part[i]);
    r->rounds |= !nw_visit(r->combine[i], exact, NULL);
  }
  nw_vec_push(&t->all, r);
  return r;
}

// ---- programs

const nw_used_reducer *nw_program_reducer(const nw_program *p, nw_combiner k) {
  for (int i = 0; i < p->nreducers; i++)
    if (p->reducer[i].combiner == k) return &p->reducer[i];
  return NULL;
}

// The names of the built-in combiners are reserved.
static bool is_taken(const nw_program *p, const char *name) {
  for (nw_combiner b = NW_PLAIN; b < NW_OWN; b++)
    if (!strcmp(nw_combiner_name(p->ctx, b), name)) return true;
  for (int i = 0; i < p->nreducers; i++)
    if (!strcmp(p->reducer[i].name, name)) return true;
  return false;
}

static const char *unused_name(nw_program *p, const char *want) {
  const char *name = want;
  for (int k = 1; is_taken(p, name); k++) name = nw_arena_printf(p->arena, "%s_%d", want, k);
  return name;
}

void nw_program_use_reducer(nw_program *p, nw_combiner k, const char *name) {
  if (k < NW_OWN || nw_program_reducer(p, k)) return;
  nw_used_reducer *more = NW_NEW_N(p->arena, nw_used_reducer, p->nreducers + 1);
  if (p->nreducers) memcpy(more, p->reducer, sizeof *more * (size_t)p->nreducers);
  nw_used_reducer *r = &more[p->nreducers];
  r->combiner = k;
  r->name = nw_pool_name(p->pool, name ? name : unused_name(p, nw_reducer_of(p->ctx, k)->name));
  r->assign = nw_pool_name(p->pool, nw_arena_printf(p->arena, "%s=", r->name));
  p->reducer = more;
  p->nreducers++;
}

int nw_program_tested(const nw_program *p) {
  int least = p->tested ? p->values : 0;
  for (int i = 0; i < p->nreducers; i++) {
    int n = nw_reducer_of(p->ctx, p->reducer[i].combiner)->tested;
    if (n && (!least || n < least)) least = n;
  }
  return least;
}

void nw_program_note_reducers(nw_str *out, const nw_program *p, const char *prefix) {
  for (int i = 0; i < p->nreducers; i++) {
    int n = nw_reducer_of(p->ctx, p->reducer[i].combiner)->tested;
    if (n) nw_str_fmt(out, "%s reducer %s: tested on %d values, not proved\n", prefix, p->reducer[i].name, n);
  }
}
