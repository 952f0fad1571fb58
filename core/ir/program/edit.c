// Changes a program that is not frozen yet: makes and copies statements, changes their children, and substitutes
// variables.
#include "ir/program/program.h"
#include "ir/program/valid.h"
#include <stdio.h>
#include <stdlib.h>

// The capacity of the table of buffers is a power of two, also in clones.
static void grow_buffers(nw_program *p) {
  nw_buffer **all = NW_NEW_N(p->arena, nw_buffer *, p->nbuffers ? 2 * p->nbuffers : 1);
  if (p->nbuffers) memcpy(all, p->buffer, (size_t)p->nbuffers * sizeof *all);
  p->buffer = all;
}

nw_buffer *nw_add_buffer(nw_program *p, const char *name, nw_dtype t, nw_scope s, nw_role r, int ndim,
                         const nw_expr *const *shape) {
  NW_MUST(!p->frozen);
  nw_buffer *b = NW_NEW(p->arena, nw_buffer);
  b->id = p->next_id++;
  b->name = nw_unique_buffer_name(p, name);
  b->dtype = t;
  b->scope = s;
  b->role = r;
  b->ndim = ndim;
  b->shape = NW_NEW_N(p->arena, const nw_expr *, ndim);
  if (ndim) memcpy(b->shape, shape, (size_t)ndim * sizeof *shape);
  if ((p->nbuffers & (p->nbuffers - 1)) == 0) grow_buffers(p);
  p->buffer[p->nbuffers++] = b;
  return b;
}

nw_stmt *nw_new_stmt(nw_program *p, nw_stmt_kind k) {
  NW_MUST(!p->frozen);
  nw_stmt *s = NW_NEW(p->arena, nw_stmt);
  s->kind = k;
  s->id = k == NW_SEQ ? 0 : p->next_id++;
  s->step = p->step;
  return s;
}

// The name must be unique, so the caller gets it from nw_unique_loop_name.
nw_stmt *nw_new_loop(nw_program *p, const char *name, const nw_expr *begin, const nw_expr *extent) {
  nw_stmt *s = nw_new_stmt(p, NW_LOOP);
  s->loop.var = nw_var(p->pool, name);
  s->loop.begin = begin;
  s->loop.extent = extent;
  return s;
}

// ---- children

void nw_kids_set(nw_program *p, nw_stmt *s, int n, nw_stmt **kid) {
  NW_MUST(!p->frozen && (n == 0 || !nw_is_leaf(s)));
  nw_stmt **all = NW_NEW_N(p->arena, nw_stmt *, n);
  if (n) memmove(all, kid, (size_t)n * sizeof *all);
  s->kid = all;
  s->nkids = n;
}

void nw_kids_insert(nw_program *p, nw_stmt *parent, int pos, nw_stmt *kid) {
  NW_MUST(!p->frozen && pos >= 0 && pos <= parent->nkids);
  nw_stmt **all = NW_NEW_N(p->arena, nw_stmt *, parent->nkids + 1);
  for (int i = 0; i < pos; i++) all[i] = parent->kid[i];
  all[pos] = kid;
  for (int i = pos; i < parent->nkids; i++) all[i + 1] = parent->kid[i];
  parent->kid = all;
  parent->nkids++;
}

void nw_kids_remove(nw_program *p, nw_stmt *parent, int pos) {
  (void)p; // used only in the assertion
  NW_MUST(!p->frozen && pos >= 0 && pos < parent->nkids);
  for (int i = pos + 1; i < parent->nkids; i++) parent->kid[i - 1] = parent->kid[i];
  parent->nkids--;
}

nw_stmt *nw_kids_replace(nw_stmt *parent, int pos, nw_stmt *kid) {
  NW_MUST(pos >= 0 && pos < parent->nkids);
  nw_stmt *old = parent->kid[pos];
  parent->kid[pos] = kid;
  return old;
}

// ---- substitution

typedef struct map {
  nw_program *p;
  nw_map_fn f;
  void *env;
  bool changed;
} map;

static void map_one(map *m, const nw_expr **e) {
  const nw_expr *to = *e ? m->f(m->env, *e) : NULL;
  m->changed |= to != *e;
  *e = to;
}

static void map_all(map *m, int n, const nw_expr **e) {
  for (int i = 0; i < n; i++) map_one(m, &e[i]);
}

// Maps every expression of s itself that may use loop variables. The body of a block is not mapped, since it uses only
// the variables of the block.
static void map_own(map *m, nw_stmt *s) {
  switch (s->kind) {
  case NW_SEQ:
  case NW_UNIT:
  case NW_BARRIER:
  case NW_COMMIT:
  case NW_WAIT: break;
  case NW_LOOP:
    map_one(m, &s->loop.begin);
    map_one(m, &s->loop.extent);
    map_all(m, s->loop.nfused, s->loop.fused);
    break;
  case NW_BLOCK:
    for (int i = 0; i < s->block.nvars; i++) map_one(m, &s->block.var[i].bind);
    map_one(m, &s->block.where);
    break;
  case NW_GUARD: map_one(m, &s->guard.cond); break;
  case NW_STORE:
    map_one(m, &s->store.index);
    map_one(m, &s->store.value);
    map_one(m, &s->store.mask);
    break;
  case NW_ALLOC:
  case NW_PREFETCH:
    map_all(m, s->alloc.n, s->alloc.min);
    map_all(m, s->alloc.n, s->alloc.extent);
    break;
  case NW_CALL:
    for (int i = 0; i < s->call.ntiles; i++) {
      map_one(m, &s->call.tile[i].index);
      map_all(m, s->call.tile[i].n, s->call.tile[i].stride);
    }
    break;
  }
}

// Gives a changed statement the number of the current step. Lowering is not a step. During lowering, p->step is 0, so a
// changed statement keeps its number.
static void changed_now(const nw_program *p, nw_stmt *s) {
  if (s->step < p->step) s->step = p->step;
}

static void map_tree(map *m, nw_stmt *s) {
  m->changed = false;
  map_own(m, s);
  if (m->changed) changed_now(m->p, s);
  for (int i = 0; i < s->nkids; i++) map_tree(m, s->kid[i]);
}

typedef struct renaming {
  nw_pool *pool;
  int n, cap;
  const char **var;
  const nw_expr **by;
} renaming;

static const nw_expr *rename_in(void *env, const nw_expr *e) {
  renaming *r = env;
  return nw_subst_n(r->pool, e, r->n, r->var, r->by);
}

// The substitution also applies to s itself. A changed statement gets the number of this step.
void nw_stmt_subst(nw_program *p, nw_stmt *s, const char *var, const nw_expr *by) {
  NW_MUST(!p->frozen);
  renaming r = {.pool = p->pool, .n = 1, .var = &var, .by = &by};
  map_tree(&(map){.p = p, .f = rename_in, .env = &r}, s);
}

void nw_stmt_map(nw_program *p, nw_stmt *s, nw_map_fn f, void *env) {
  NW_MUST(!p->frozen);
  map_tree(&(map){.p = p, .f = f, .env = env}, s);
}

// ---- copies

static void renaming_add(renaming *r, const char *var, const nw_expr *by) {
  if (r->n == r->cap) {
    r->cap = r->cap ? 2 * r->cap : 8;
    r->var = nw_xrealloc(r->var, (size_t)r->cap * sizeof *r->var);
    r->by = nw_xrealloc(r->by, (size_t)r->cap * sizeof *r->by);
  }
  r->var[r->n] = var;
  r->by[r->n++] = by;
}

// Returns the length of the loop's name in a path: 1 for "i.tail", which names the tail of loop i. Returns 0 if the
// path does not name a part of a loop.
static size_t stem(const char *path) {
  const char *dot = path ? strrchr(path, '.') : NULL;
  return dot ? (size_t)(dot - path) : 0;
}

// Returns `old` without the prefix that it shares with the path. For example, if `old` is i.main/k, the result is k,
// both for the path i.main/j.head and for the path i.main.head. So the copies are named i.main/j.head/k and
// i.main.head/k.
const char *nw_name_below(const char *path, const char *old) {
  const char *slash = strrchr(path, '/');
  size_t n = stem(path), dir = slash ? (size_t)(slash - path) : 0;
  if (n && !strncmp(old, path, n) && old[n] == '/') return old + n + 1;
  return dir && !strncmp(old, path, dir) && old[dir] == '/' ? old + dir + 1 : old;
}

static const char *loop_name_at(nw_program *p, const char *path, const char *old) {
  if (!path) return nw_unique_loop_name(p, old);
  if (strlen(old) == stem(path) && !strncmp(old, path, stem(path))) return nw_unique_loop_name(p, path);
  return nw_unique_loop_name(p, nw_arena_printf(p->arena, "%s/%s", path, nw_name_below(path, old)));
}

static const char *block_name_at(nw_program *p, const char *path, const char *old) {
  if (!path) return nw_unique_block_name(p, old);
  const char *part = stem(path) ? path + stem(path) : NULL;
  return nw_unique_block_name(p, part ? nw_arena_printf(p->arena, "%s%s", old, part)
                                      : nw_arena_printf(p->arena, "%s/%s", path, old));
}

static const char *unit_name_at(nw_program *p, const char *path, const char *old) {
  const char *part = stem(path) ? path + stem(path) : NULL;
  if (!path) return nw_unique_unit_name(p, old);
  return nw_unique_unit_name(p, part ? nw_arena_printf(p->arena, "%s%s", old, part)
                                     : nw_arena_printf(p->arena, "%s/%s", path, old));
}

static void renew(nw_program *p, nw_stmt *s, const char *path, bool copy, renaming *r) {
  if (s->kind != NW_SEQ && (copy || s->kind == NW_LOOP)) s->id = p->next_id++;
  changed_now(p, s);
  if (s->kind == NW_LOOP) {
    const char *old = s->loop.var->name;
    s->loop.var = nw_var(p->pool, loop_name_at(p, path, old));
    renaming_add(r, old, s->loop.var);
  }
  if (s->kind == NW_BLOCK) s->block.name = block_name_at(p, path, s->block.name);
  if (s->kind == NW_UNIT) s->unit.name = unit_name_at(p, path, s->unit.name);
  for (int i = 0; i < s->nkids; i++) renew(p, s->kid[i], path, copy, r);
}

static void renew_tree(nw_program *p, nw_stmt *s, const char *path, bool copy) {
  renaming r = {.pool = p->pool};
  renew(p, s, path, copy, &r);
  if (r.n) map_tree(&(map){.p = p, .f = rename_in, .env = &r}, s);
  free(r.var);
  free(r.by);
}

nw_stmt *nw_copy_stmt_as(nw_program *p, const nw_stmt *s, const char *path) {
  NW_MUST(!p->frozen);
  nw_stmt *copy = nw_stmt_clone(p->arena, s);
  renew_tree(p, copy, path, true);
  return copy;
}

void nw_rename_as(nw_program *p, nw_stmt *s, const char *path) {
  NW_MUST(!p->frozen);
  renew_tree(p, s, path, false);
}

nw_stmt *nw_copy_stmt(nw_program *p, const nw_stmt *s) { return nw_copy_stmt_as(p, s, NULL); }

void nw_init_targets(nw_arena *a, nw_stmt *init, const nw_stmt *block) {
  init->block.ntargets = block->block.ntargets;
  init->block.target = NW_NEW_N(a, nw_block_target, block->block.ntargets);
  for (int t = 0; t < block->block.ntargets; t++) {
    init->block.target[t] = block->block.target[t];
    init->block.target[t].value = block->block.target[t].init;
    init->block.target[t].init = NULL;
  }
}
