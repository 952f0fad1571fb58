// Finds and traverses statements, and collects the facts at a position.
#include "ir/expr/known.h"
#include "ir/program/program.h"

// ---- traversal

typedef struct walk {
  const nw_program *p;
  bool (*f)(void *env, const nw_path *path);
  void *env;
  nw_path path;
} walk;

static bool walk_down(walk *w, nw_stmt *s, int pos);

static bool walk_allocs(walk *w) {
  bool more = true;
  for (int i = 0; more && i < w->p->nbuffers; i++)
    if (w->p->buffer[i]->alloc) more = walk_down(w, w->p->buffer[i]->alloc, -1);
  return more;
}

static bool walk_down(walk *w, nw_stmt *s, int pos) {
  nw_path *path = &w->path;
  NW_MUST(path->n < NW_MAX_DEPTH);
  path->at[path->n] = s;
  path->pos[path->n++] = pos;
  bool more = w->f(w->env, path);
  if (more && s == w->p->root) more = walk_allocs(w);
  for (int i = 0; more && i < s->nkids; i++) more = walk_down(w, s->kid[i], i);
  path->n--;
  return more;
}

// True if f never returned false.
bool nw_walk(const nw_program *p, bool (*f)(void *env, const nw_path *path), void *env) {
  walk w = {.p = p, .f = f, .env = env};
  return walk_down(&w, p->root, 0);
}

bool nw_walk_from(const nw_stmt *s, bool (*f)(void *env, nw_stmt *s), void *env) {
  if (!f(env, (nw_stmt *)s)) return false;
  for (int i = 0; i < s->nkids; i++)
    if (!nw_walk_from(s->kid[i], f, env)) return false;
  return true;
}

bool nw_is_leaf(const nw_stmt *s) {
  return s->kind == NW_BLOCK || s->kind == NW_STORE || s->kind == NW_PREFETCH || s->kind == NW_BARRIER ||
         s->kind == NW_COMMIT || s->kind == NW_WAIT;
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
  case NW_UNIT: return s->unit.name;
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

nw_stmt *nw_find_unit(const nw_program *p, const char *name) { return find_named(p, NW_UNIT, name); }

// Returns the first allocation in execution order; a copied nest may allocate its buffer again.
nw_stmt *nw_find_alloc(const nw_program *p, const char *buffer) {
  const nw_buffer *b = nw_find_buffer(p, buffer);
  return b && b->alloc ? b->alloc : find_named(p, NW_ALLOC, buffer);
}

// Most names are in the program's pool, so pointers are compared first.
nw_buffer *nw_find_buffer(const nw_program *p, const char *name) {
  for (int i = 0; name && i < p->nbuffers; i++)
    if (p->buffer[i]->name == name) return p->buffer[i];
  for (int i = 0; name && i < p->nbuffers; i++)
    if (!strcmp(p->buffer[i]->name, name)) return p->buffer[i];
  return NULL;
}

// ---- accesses of a block

bool nw_block_reads(const nw_stmt *block, const char *buffer) {
  for (int t = 0; t < block->block.ntargets; t++) {
    const nw_block_target *g = &block->block.target[t];
    if (nw_uses_load(g->value, buffer) || (g->init && nw_uses_load(g->init, buffer))) return true;
    for (int i = 0; i < g->n; i++)
      if (nw_uses_load(g->index[i], buffer)) return true;
  }
  return false;
}

bool nw_block_writes(const nw_stmt *block, const char *buffer) {
  for (int t = 0; t < block->block.ntargets; t++)
    if (!strcmp(block->block.target[t].buffer, buffer)) return true;
  return false;
}

// ---- ranges and facts at a position

static void range_of_loop(nw_ranges *r, nw_pool *pool, const nw_stmt *s) {
  const nw_expr *end = nw_add(pool, s->loop.begin, s->loop.extent);
  nw_ranges_push(r, s->loop.var->name, s->loop.begin, nw_sub(pool, end, nw_index(pool, 1)));
}

// Makes r, which the caller frees. A guard at the end of the path is not a fact, so the caller can test whether its
// condition is needed. If `path` is NULL, r has only sizes and facts.
void nw_ranges_of(nw_ranges *r, const nw_program *p, const nw_path *path) {
  int last = path ? path->n - 1 : -1;
  nw_ranges_around(r, p, path);
  if (last >= 0 && path->at[last]->kind == NW_LOOP) range_of_loop(r, p->pool, path->at[last]);
}

void nw_ranges_around(nw_ranges *r, const nw_program *p, const nw_path *path) {
  nw_ranges_init(r, p->pool);
  for (int i = 0; i < p->nsizes; i++) nw_ranges_push(r, p->size[i].name, p->size[i].lo, NULL);
  for (int i = 0; i < p->nfacts; i++) nw_ranges_fact(r, p->fact[i]);
  for (int i = 0; path && i < path->n - 1; i++) {
    const nw_stmt *s = path->at[i];
    if (s->kind == NW_LOOP) range_of_loop(r, p->pool, s);
    if (s->kind == NW_GUARD) nw_ranges_fact(r, s->guard.cond);
  }
}

void nw_ranges_declared(nw_ranges *r, const nw_program *p, const nw_stmt *block) {
  nw_ranges_of(r, p, NULL);
  for (int i = 0; i < block->block.nvars; i++) {
    const nw_block_var *v = &block->block.var[i];
    const nw_expr *end = nw_add(p->pool, v->lo, v->extent);
    nw_ranges_push(r, v->var->name, v->lo, nw_sub(p->pool, end, nw_index(p->pool, 1)));
  }
}

bool nw_stores_values_of(const nw_program *p, const nw_stmt *block, int t, nw_dtype to) {
  const nw_block_target *g = &block->block.target[t];
  const nw_buffer *b = nw_find_buffer(p, g->buffer);
  nw_ranges r;
  nw_ranges_declared(&r, p, block);
  bool all = nw_all_in(&r, nw_cast(p->pool, b->dtype, g->value), to);
  nw_ranges_free(&r);
  return all;
}

static const nw_expr *binding_of(void *block, const nw_expr *var) {
  const nw_stmt *s = block;
  for (int i = 0; i < s->block.nvars; i++)
    if (!strcmp(s->block.var[i].var->name, var->name)) return s->block.var[i].bind;
  return NULL;
}

const nw_expr *nw_block_bound(const nw_program *p, const nw_stmt *block, const nw_expr *e) {
  return nw_rewrite(p->pool, nw_as_proved(p->pool, e), binding_of, NULL, (void *)block);
}

int nw_path_common(const nw_path *a, const nw_path *b) {
  int n = 0;
  while (n < a->n && n < b->n && a->at[n] == b->at[n]) n++;
  return n;
}

int nw_path_at(const nw_path *path, int id) {
  int i = path->n - 1;
  while (i > 0 && path->at[i]->id != id) i--;
  return i;
}
