// Decides where allocations are kept. If a buffer exists as long as the program runs, its allocation is in the
// program's flat list, together with its first and last use. Every other allocation is a statement in the tree, around
// the uses of its buffer. The list exists because a statement in the tree makes the tree deeper.
#include "ir/program/valid.h"
#include <stdlib.h>

nw_stmt *nw_new_alloc(nw_program *p, const nw_buffer *b) {
  nw_stmt *a = nw_new_stmt(p, NW_ALLOC);
  a->alloc.buffer = b->name;
  a->alloc.n = b->ndim;
  a->alloc.min = NW_NEW_N(p->arena, const nw_expr *, b->ndim + 1);
  a->alloc.extent = NW_NEW_N(p->arena, const nw_expr *, b->ndim + 1);
  for (int d = 0; d < b->ndim; d++) {
    a->alloc.min[d] = nw_index(p->pool, 0);
    a->alloc.extent[d] = b->shape[d];
  }
  return a;
}

// ---- uses of buffers

typedef struct uses {
  int n, *row; // the numbers of the buffers, sorted by name
  nw_program *p;
  int at; // index of the current child of the root
} uses;

static int by_name(const void *a, const void *b, void *of) {
  const nw_program *p = of;
  return strcmp(p->buffer[*(const int *)a]->name, p->buffer[*(const int *)b]->name);
}

static nw_buffer *named(const uses *u, const char *name) {
  int lo = 0, hi = u->n;
  while (lo < hi) {
    int middle = lo + (hi - lo) / 2, order = strcmp(name, u->p->buffer[u->row[middle]]->name);
    if (!order) return u->p->buffer[u->row[middle]];
    if (order < 0)
      hi = middle;
    else
      lo = middle + 1;
  }
  return NULL;
}

static void use(const uses *u, const char *buffer) {
  nw_buffer *b = named(u, buffer);
  if (!b || !b->alloc) return;
  if (b->alloc->alloc.last < b->alloc->alloc.first) b->alloc->alloc.first = u->at;
  b->alloc->alloc.last = u->at;
}

static bool use_load(void *env, const nw_expr *e) {
  if (e->op == NW_OP_LOAD) use(env, e->name);
  return true;
}

static void use_expr(uses *u, const nw_expr *e) {
  if (e) nw_visit(e, use_load, u);
}

static void use_target(uses *u, const nw_block_target *t) {
  use(u, t->buffer);
  use_expr(u, t->value);
  use_expr(u, t->init);
  for (int d = 0; d < t->n; d++) use_expr(u, t->index[d]);
}

static bool use_stmt(void *env, nw_stmt *s) {
  uses *u = env;
  if (s->kind == NW_BLOCK) {
    use_expr(u, s->block.where);
    for (int i = 0; i < s->block.ntargets; i++) use_target(u, &s->block.target[i]);
  }
  if (s->kind == NW_STORE) {
    use(u, s->store.buffer);
    use_expr(u, s->store.index);
    use_expr(u, s->store.value);
    use_expr(u, s->store.mask);
  }
  if (s->kind == NW_LOOP) use_expr(u, s->loop.begin), use_expr(u, s->loop.extent);
  if (s->kind == NW_GUARD) use_expr(u, s->guard.cond);
  if (s->kind == NW_PREFETCH) use(u, s->prefetch.buffer);
  for (int i = 0; s->kind == NW_CALL && i < s->call.ntiles; i++) use(u, s->call.tile[i].buffer);
  return true;
}

// Records the first and last use of the entries of the flat list.
static void find_uses(nw_program *p) {
  uses u = {.n = p->nbuffers, .p = p, .row = nw_xcalloc((size_t)p->nbuffers + 1, sizeof *u.row)};
  bool any = false;
  for (int i = 0; i < p->nbuffers; i++) {
    u.row[i] = i;
    if (!p->buffer[i]->alloc) continue;
    p->buffer[i]->alloc->alloc.first = 0;
    p->buffer[i]->alloc->alloc.last = -1;
    any = true;
  }
  if (any) {
    qsort_r(u.row, (size_t)u.n, sizeof *u.row, by_name, p);
    for (u.at = 0; u.at < p->root->nkids; u.at++) nw_walk_from(p->root->kid[u.at], use_stmt, &u);
  }
  free(u.row);
}

// ---- moves into the list, and out of it

static int places_of(const nw_stmt *s, const char *buffer) {
  int n = s->kind == NW_ALLOC && !strcmp(s->alloc.buffer, buffer);
  for (int i = 0; i < s->nkids; i++) n += places_of(s->kid[i], buffer);
  return n;
}

// True if the allocation can move to the flat list. If a buffer is allocated in several places, each allocation is a
// separate object, so all of them stay in the tree.
static bool outlives_loops(const nw_program *p, const nw_stmt *s, nw_buffer **b) {
  if (s->kind != NW_ALLOC) return false;
  *b = nw_find_buffer(p, s->alloc.buffer);
  return *b && (*b)->scope == NW_GLOBAL && !(*b)->alloc && places_of(p->root, s->alloc.buffer) == 1;
}

static void lift_allocs(nw_program *p, nw_stmt *in, nw_vec *out) {
  for (int i = 0; i < in->nkids; i++) {
    nw_stmt *kid = in->kid[i];
    nw_buffer *b;
    if (!outlives_loops(p, kid, &b)) {
      nw_vec_push(out, kid);
      continue;
    }
    lift_allocs(p, kid, out);
    kid->nkids = 0;
    b->alloc = kid;
  }
}

// Moves an allocation from the list into the tree, around the uses of its buffer. Called if the scope of the buffer is
// no longer global.
static void sink(nw_program *p, nw_buffer *b) {
  nw_stmt *a = b->alloc;
  int first = a->alloc.first, n = a->alloc.last - first + 1;
  b->alloc = NULL;
  if (n <= 0) return;
  nw_kids_set(p, a, n, p->root->kid + first);
  for (int i = 0; i < n; i++) nw_kids_remove(p, p->root, first);
  nw_kids_insert(p, p->root, first, a);
}

void nw_settle_allocs(nw_program *p) {
  for (int i = 0; i < p->nbuffers; i++)
    if (p->buffer[i]->alloc && p->buffer[i]->scope != NW_GLOBAL) {
      find_uses(p);
      sink(p, p->buffer[i]);
    }
  bool any = false;
  for (int i = 0; i < p->root->nkids; i++) any |= p->root->kid[i]->kind == NW_ALLOC;
  if (any) {
    nw_vec kids = {0};
    lift_allocs(p, p->root, &kids);
    nw_kids_set(p, p->root, kids.n, (nw_stmt **)kids.at);
    nw_vec_free(&kids);
  }
  find_uses(p);
}
