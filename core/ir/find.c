// Finding statements, walking over them, comparing trees, and what holds at a place.
#include "ir/program.h"
#include <assert.h>

// ---- walking

typedef struct walk {
  bool (*f)(void *env, const nw_path *path);
  void *env;
  nw_path path;
} walk;

static bool walk_down(walk *w, nw_stmt *s, int pos) {
  nw_path *path = &w->path;
  assert(path->n < NW_MAX_DEPTH);
  path->at[path->n] = s;
  path->pos[path->n++] = pos;
  bool more = w->f(w->env, path);
  for (int i = 0; more && i < s->nkids; i++) more = walk_down(w, s->kid[i], i);
  path->n--;
  return more;
}

// True when f never said stop.
bool nw_walk(const nw_program *p, bool (*f)(void *env, const nw_path *path), void *env) {
  walk w = {.f = f, .env = env};
  return walk_down(&w, p->root, 0);
}

bool nw_walk_from(const nw_stmt *s, bool (*f)(void *env, nw_stmt *s), void *env) {
  if (!f(env, (nw_stmt *)s)) return false;
  for (int i = 0; i < s->nkids; i++)
    if (!nw_walk_from(s->kid[i], f, env)) return false;
  return true;
}

// ---- finding

typedef struct by_id {
  int id;
  nw_path *out;
} by_id;

static bool differs_from_id(void *env, const nw_path *path) {
  by_id *want = env;
  if (path->at[path->n - 1]->id != want->id) return true;
  if (want->out) *want->out = *path;
  return false;
}

// `out` may be NULL.
bool nw_find(const nw_program *p, int id, nw_path *out) {
  return id && !nw_walk(p, differs_from_id, &(by_id){id, out});
}

typedef struct by_name {
  nw_stmt_kind kind;
  const char *name;
  nw_stmt *found;
} by_name;

static const char *name_of(const nw_stmt *s) {
  switch (s->kind) {
  case NW_LOOP: return s->loop.var->name;
  case NW_BLOCK: return s->block.name;
  case NW_ALLOC: return s->alloc.buffer;
  default: return NULL;
  }
}

static bool differs_from_name(void *env, nw_stmt *s) {
  by_name *want = env;
  if (s->kind != want->kind || strcmp(name_of(s), want->name)) return true;
  want->found = s;
  return false;
}

static nw_stmt *find_named(const nw_program *p, nw_stmt_kind kind, const char *name) {
  by_name want = {.kind = kind, .name = name};
  if (name) nw_walk_from(p->root, differs_from_name, &want);
  return want.found;
}

nw_stmt *nw_find_loop(const nw_program *p, const char *name) { return find_named(p, NW_LOOP, name); }

nw_stmt *nw_find_block(const nw_program *p, const char *name) { return find_named(p, NW_BLOCK, name); }

// The first in execution order: a copied nest may allocate its buffer again.
nw_stmt *nw_find_alloc(const nw_program *p, const char *buffer) { return find_named(p, NW_ALLOC, buffer); }

nw_buffer *nw_find_buffer(const nw_program *p, const char *name) {
  for (int i = 0; name && i < p->nbuffers; i++)
    if (!strcmp(p->buffer[i]->name, name)) return p->buffer[i];
  return NULL;
}

// ---- comparing. Expressions of one pool are equal when their pointers are; of two pools, when they import alike.

static bool same_expr(const nw_expr *a, const nw_expr *b) {
  if (a == b) return true;
  if (!a || !b || a->op != b->op || a->n != b->n || a->hash != b->hash) return false;
  if (a->type.dtype != b->type.dtype || a->type.lanes != b->type.lanes) return false;
  bool named = a->op == NW_OP_VAR || a->op == NW_OP_LOAD;
  if (named ? strcmp(a->name, b->name) != 0 : a->i != b->i) return false;
  for (int i = 0; i < a->n; i++)
    if (!same_expr(a->arg[i], b->arg[i])) return false;
  return true;
}

static bool same_exprs(int n, const nw_expr *const *a, const nw_expr *const *b) {
  for (int i = 0; i < n; i++)
    if (!same_expr(a[i], b[i])) return false;
  return true;
}

static bool same_text(const char *a, const char *b) { return a == b || (a && b && !strcmp(a, b)); }

static bool same_loop(const nw_stmt *a, const nw_stmt *b) {
  return same_expr(a->loop.var, b->loop.var) && same_expr(a->loop.begin, b->loop.begin) &&
         same_expr(a->loop.extent, b->loop.extent) && a->loop.mark == b->loop.mark &&
         a->loop.nfused == b->loop.nfused && same_exprs(a->loop.nfused, a->loop.fused, b->loop.fused) &&
         same_text(a->loop.pragma, b->loop.pragma);
}

static bool same_var(const nw_block_var *a, const nw_block_var *b) {
  return same_expr(a->var, b->var) && a->kind == b->kind && same_expr(a->lo, b->lo) &&
         same_expr(a->extent, b->extent) && same_expr(a->bind, b->bind);
}

static bool same_target(const nw_target *a, const nw_target *b) {
  return same_text(a->buffer, b->buffer) && a->n == b->n && same_exprs(a->n, a->index, b->index) &&
         same_expr(a->value, b->value) && same_expr(a->init, b->init);
}

static bool same_block(const nw_stmt *a, const nw_stmt *b) {
  if (!same_text(a->block.name, b->block.name) || !same_text(a->block.origin, b->block.origin)) return false;
  if (a->block.init_part != b->block.init_part || a->block.combiner != b->block.combiner) return false;
  if (a->block.has_init != b->block.has_init || !same_expr(a->block.where, b->block.where)) return false;
  if (a->block.nvars != b->block.nvars || a->block.ntargets != b->block.ntargets) return false;
  for (int i = 0; i < a->block.nvars; i++)
    if (!same_var(&a->block.var[i], &b->block.var[i])) return false;
  for (int i = 0; i < a->block.ntargets; i++)
    if (!same_target(&a->block.target[i], &b->block.target[i])) return false;
  return true;
}

static bool same_own(const nw_stmt *a, const nw_stmt *b) {
  switch (a->kind) {
  case NW_SEQ: return true;
  case NW_LOOP: return same_loop(a, b);
  case NW_BLOCK: return same_block(a, b);
  case NW_GUARD: return same_expr(a->guard.cond, b->guard.cond);
  case NW_STORE:
    return same_text(a->store.buffer, b->store.buffer) && same_expr(a->store.index, b->store.index) &&
           same_expr(a->store.value, b->store.value) && same_expr(a->store.mask, b->store.mask);
  case NW_ALLOC:
    return same_text(a->alloc.buffer, b->alloc.buffer) && a->alloc.n == b->alloc.n &&
           same_exprs(a->alloc.n, a->alloc.min, b->alloc.min) &&
           same_exprs(a->alloc.n, a->alloc.extent, b->alloc.extent);
  }
  return false;
}

bool nw_same_tree(const nw_stmt *a, const nw_stmt *b) {
  if (a == b) return true;
  if (!a || !b || a->kind != b->kind || a->nkids != b->nkids || !same_own(a, b)) return false;
  for (int i = 0; i < a->nkids; i++)
    if (!nw_same_tree(a->kid[i], b->kid[i])) return false;
  return true;
}

static bool same_buffer(const nw_buffer *a, const nw_buffer *b) {
  return same_text(a->name, b->name) && a->dtype == b->dtype && a->scope == b->scope && a->role == b->role &&
         a->ndim == b->ndim && same_exprs(a->ndim, a->shape, b->shape) && a->nlayout == b->nlayout &&
         same_exprs(a->nlayout, a->layout, b->layout) && same_exprs(a->nlayout, a->layout_shape, b->layout_shape);
}

// Same text, same program: names, tables and trees; ids and step numbers are not compared.
bool nw_same_program(const nw_program *a, const nw_program *b) {
  if (a == b) return true;
  if (!a || !b || !same_text(a->name, b->name)) return false;
  if (a->nsizes != b->nsizes || a->nfacts != b->nfacts || a->nbuffers != b->nbuffers) return false;
  for (int i = 0; i < a->nsizes; i++)
    if (!same_text(a->size[i].name, b->size[i].name) || !same_expr(a->size[i].lo, b->size[i].lo)) return false;
  for (int i = 0; i < a->nbuffers; i++)
    if (!same_buffer(a->buffer[i], b->buffer[i])) return false;
  return same_exprs(a->nfacts, a->fact, b->fact) && nw_same_tree(a->root, b->root);
}

// ---- what holds at a place

static void range_of_loop(nw_ranges *r, nw_pool *pool, const nw_stmt *s) {
  const nw_expr *end = nw_add(pool, s->loop.begin, s->loop.extent);
  nw_ranges_push(r, s->loop.var->name, s->loop.begin, nw_sub(pool, end, nw_index(pool, 1)));
}

// Makes r (the caller frees it). Guards hold strictly below themselves, so the statement a path ends in can be asked
// whether its own condition is needed; `path` may be NULL: sizes and facts only.
void nw_ranges_of(nw_ranges *r, const nw_program *p, const nw_path *path) {
  nw_ranges_init(r, p->pool);
  for (int i = 0; i < p->nsizes; i++) nw_ranges_push(r, p->size[i].name, p->size[i].lo, NULL);
  for (int i = 0; i < p->nfacts; i++) nw_ranges_fact(r, p->fact[i]);
  for (int i = 0; path && i < path->n; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind == NW_LOOP) range_of_loop(r, p->pool, s);
    if (s->kind == NW_GUARD && i < path->n - 1) nw_ranges_fact(r, s->guard.cond);
  }
}

static const nw_expr *binding_of(void *block, const nw_expr *var) {
  const nw_stmt *s = block;
  for (int i = 0; i < s->block.nvars; i++)
    if (!strcmp(s->block.var[i].var->name, var->name)) return s->block.var[i].bind;
  return NULL;
}

const nw_expr *nw_block_bound(const nw_program *p, const nw_stmt *block, const nw_expr *e) {
  return nw_rewrite(p->pool, e, binding_of, NULL, (void *)block);
}
