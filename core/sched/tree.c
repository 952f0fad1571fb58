// Queries a statement tree, and makes small edits. The primitives share these functions.
#include "sched/tree.h"
#include <stdlib.h>

// ---- blocks

static bool collect_block(void *env, nw_stmt *s) {
  nw_blocks *b = env;
  if (s->kind != NW_BLOCK) return true;
  if (b->at) b->at[b->n] = s;
  b->n++;
  return true;
}

nw_blocks nw_blocks_below(nw_arena *a, const nw_stmt *s) {
  nw_blocks b = {0};
  nw_walk_from(s, collect_block, &b);
  b.at = NW_NEW_N(a, nw_stmt *, b.n + 1);
  b.n = 0;
  nw_walk_from(s, collect_block, &b);
  return b;
}

const nw_stmt *nw_fill_of(const nw_step *st, const nw_stmt *block) {
  nw_blocks all = nw_blocks_below(st->scratch, st->p->root);
  for (int i = 0; i < all.n; i++)
    if (all.at[i]->block.init_part && block->block.combiner == NW_PLAIN &&
        !strcmp(all.at[i]->block.origin, block->block.origin))
      return all.at[i];
  return NULL;
}

static bool list_loop(void *env, nw_stmt *s) {
  if (s->kind == NW_LOOP) nw_vec_push(env, s);
  return true;
}

void nw_tree_loops(const nw_stmt *s, nw_vec *out) { nw_walk_from(s, list_loop, out); }

int nw_path_storage(const nw_path *path, const char *buffer) {
  for (int i = path->n - 1; i > 0; i--)
    if (path->at[i]->kind == NW_ALLOC && !strcmp(path->at[i]->alloc.buffer, buffer)) return i;
  return 0;
}

const nw_stmt *nw_tree_reader(const nw_stmt *s, const char *buffer) {
  if (s->kind == NW_BLOCK) return nw_block_reads(s, buffer) ? s : NULL;
  for (int i = 0; i < s->nkids; i++) {
    const nw_stmt *found = nw_tree_reader(s->kid[i], buffer);
    if (found) return found;
  }
  return NULL;
}

bool nw_tree_reads(const nw_stmt *s, const char *buffer) { return nw_tree_reader(s, buffer) != NULL; }

bool nw_tree_has(const nw_stmt *s, const nw_stmt *what) {
  if (s == what) return true;
  for (int i = 0; i < s->nkids; i++)
    if (nw_tree_has(s->kid[i], what)) return true;
  return false;
}

const nw_stmt *nw_tree_marked(const nw_stmt *s, nw_loop_kind mark) {
  if (s->kind == NW_LOOP && s->loop.mark == mark) return s;
  for (int i = 0; i < s->nkids; i++) {
    const nw_stmt *found = nw_tree_marked(s->kid[i], mark);
    if (found) return found;
  }
  return NULL;
}

bool nw_tree_prefetches(const nw_stmt *s, const char *buffer) {
  bool any = s->kind == NW_PREFETCH && !strcmp(s->prefetch.buffer, buffer);
  for (int i = 0; !any && i < s->nkids; i++) any = nw_tree_prefetches(s->kid[i], buffer);
  return any;
}

int nw_tree_depth(const nw_stmt *s) {
  int deepest = 0;
  for (int i = 0; i < s->nkids; i++) {
    int d = nw_tree_depth(s->kid[i]);
    if (d > deepest) deepest = d;
  }
  return deepest + 1;
}

const char *nw_tree_what(const nw_stmt *s) {
  switch (s->kind) {
  case NW_LOOP: return s->loop.var->name;
  case NW_BLOCK: return s->block.name;
  case NW_ALLOC: return s->alloc.buffer;
  case NW_GUARD: return "a condition";
  case NW_PREFETCH: return "a prefetch";
  case NW_CALL: return s->call.intrinsic;
  case NW_UNIT: return s->unit.name;
  default: return "something else";
  }
}

// ---- paths

int nw_path_loops(const nw_path *path, nw_stmt **out) {
  int n = 0;
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_LOOP) out[n++] = path->at[i];
  return n;
}

int nw_path_index(const nw_path *path, const nw_stmt *s) {
  for (int i = 0; i < path->n; i++)
    if (path->at[i] == s) return i;
  return -1;
}

const nw_stmt *nw_path_marked(const nw_path *path, nw_loop_kind mark) {
  for (int i = 0; i < path->n - 1; i++)
    if (path->at[i]->kind == NW_LOOP && path->at[i]->loop.mark == mark) return path->at[i];
  return NULL;
}

int nw_path_exclusive(const nw_path *path) {
  int top = path->n - 1;
  while (top > 0 && path->at[top - 1]->kind == NW_LOOP && path->at[top - 1]->nkids == 1) top--;
  return top;
}

// ---- edits

void nw_detach(nw_program *p, const nw_path *path, int depth) {
  nw_kids_remove(p, path->at[depth - 1], path->pos[depth]);
  while (--depth > 0 && path->at[depth]->nkids == 0) nw_kids_remove(p, path->at[depth - 1], path->pos[depth]);
}

static bool splice_in(nw_program *p, nw_stmt *s, const char *buffer) {
  for (int i = 0; i < s->nkids; i++) {
    nw_stmt *kid = s->kid[i];
    if (kid->kind != NW_ALLOC || strcmp(kid->alloc.buffer, buffer)) {
      if (splice_in(p, kid, buffer)) return true;
      continue;
    }
    nw_kids_remove(p, s, i);
    for (int j = 0; j < kid->nkids; j++) nw_kids_insert(p, s, i + j, kid->kid[j]);
    return true;
  }
  return false;
}

void nw_splice_alloc(nw_program *p, const char *buffer) {
  nw_buffer *b = nw_find_buffer(p, buffer);
  if (b) b->alloc = NULL;
  while (splice_in(p, p->root, buffer)) {}
}

void nw_remove_buffer(nw_program *p, const char *buffer) {
  int n = 0;
  for (int i = 0; i < p->nbuffers; i++)
    if (strcmp(p->buffer[i]->name, buffer)) p->buffer[n++] = p->buffer[i];
  p->nbuffers = n;
}

bool nw_is_allocated(const nw_path *path, const nw_program *p, const char *buffer) {
  const nw_buffer *b = nw_find_buffer(p, buffer);
  if (!b || b->role != NW_TEMP || b->alloc) return true;
  for (int i = 0; i < path->n; i++)
    if (path->at[i]->kind == NW_ALLOC && !strcmp(path->at[i]->alloc.buffer, buffer)) return true;
  return false;
}

// ---- conditions and bodies

void nw_block_guard(nw_program *p, nw_stmt *block, const nw_expr *cond) {
  block->block.where = nw_and(p->pool, block->block.where, cond);
  block->step = p->step;
}

void nw_block_rewrite(nw_program *p, nw_stmt *block, nw_load_fn f, void *env) {
  for (int t = 0; t < block->block.ntargets; t++) {
    nw_block_target *g = &block->block.target[t];
    g->value = nw_rewrite(p->pool, g->value, NULL, f, env);
    if (g->init) g->init = nw_rewrite(p->pool, g->init, NULL, f, env);
    for (int i = 0; i < g->n; i++) g->index[i] = nw_rewrite(p->pool, g->index[i], NULL, f, env);
  }
  block->step = p->step;
}

const nw_expr *nw_loop_last(nw_pool *p, const nw_stmt *loop) {
  return nw_sub(p, nw_add(p, loop->loop.begin, loop->loop.extent), nw_index(p, 1));
}

// ---- work

static bool count_op(void *env, const nw_expr *e) {
  *(double *)env += e->n > 0 && e->op != NW_OP_LOAD;
  return true;
}

// Returns the number of operations of one execution of the statement. A store or an update counts as one operation.
// Returns -1 if the number depends on a size.
double nw_work_below(const nw_stmt *s) {
  double n = 0;
  int64_t extent = 1;
  if (s->kind == NW_BLOCK)
    for (int t = 0; t < s->block.ntargets; t++) nw_visit(s->block.target[t].value, count_op, &n), n++;
  if (s->kind == NW_LOOP && !nw_is_int(s->loop.extent, &extent)) return -1;
  for (int i = 0; i < s->nkids; i++) {
    double kid = nw_work_below(s->kid[i]);
    if (kid < 0) return kid;
    n += kid;
  }
  return n * (double)extent;
}
