// Finds the part of a local buffer that one thread of a GPU uses.
//
// Each thread has its own array for a buffer of scope local. If loops over threads are inside the allocation, the box of
// the allocation holds the elements of all threads. The elements of one thread are those that its blocks access. Their
// least index in a dimension may depend on the indices of the thread, but not the number of elements in the dimension.
#include "lower/pass.h"
#include "lower/private.h"

typedef struct bound {
  const nw_expr *e; // NULL until an access is seen
  unsigned first; // dimensions of threads in which only index 0 makes the access, as bits
} bound;

typedef struct finding {
  const nw_program *p;
  nw_ranges *r; // the ranges around the allocation, and those of the loops inside it
  const nw_stmt *alloc;
  int n; // loops inside the allocation that are not bound to threads
  const char *loop[NW_MAX_DEPTH];
  const nw_stmt *thread[NW_GRID_DIMS]; // the loops around that are bound to threads
  bound *lo, *hi; // the least and the greatest index in each dimension
  bool failed;
} finding;

// Returns e with each loop over threads replaced by the index of the thread.
static const nw_expr *of_thread(const finding *f, const nw_expr *e) {
  for (int d = 0; d < NW_GRID_DIMS; d++)
    if (f->thread[d])
      e = nw_subst(f->p->pool, e, f->thread[d]->loop.var->name,
                   nw_add(f->p->pool, f->thread[d]->loop.begin, nw_var(f->p->pool, nw_grid_index[d])));
  return e;
}

// Returns the difference where the indices in `zero` are 0.
static bool difference(const finding *f, const nw_expr *b, const nw_expr *a, unsigned zero, int64_t *by) {
  const nw_expr *e = nw_sub(f->p->pool, b, a);
  for (int d = 0; d < NW_GRID_DIMS; d++)
    if (zero >> d & 1) e = nw_subst(f->p->pool, e, nw_grid_index[d], nw_index(f->p->pool, 0));
  return nw_is_int(nw_simplify(f->r, e), by);
}

// Returns the lesser of two bounds, or the greater one. The two must differ by a number that is known. Where no loop over
// threads is around, only the first thread is: there, both bounds may be equal although they differ in other threads.
static bound beyond(finding *f, bound a, bound b, bool greater) {
  int64_t by;
  if (!a.e) return b;
  if (difference(f, b.e, a.e, 0, &by)) return (by > 0) == greater ? b : a;
  if (b.first && difference(f, b.e, a.e, b.first, &by) && !by) return a;
  if (a.first && difference(f, b.e, a.e, a.first, &by) && !by) return b;
  return f->failed = true, a;
}

// Returns the dimensions of threads of which no loop is around, as bits.
static unsigned first_in(const finding *f) {
  unsigned first = 0;
  for (int d = 3; d < NW_GRID_DIMS; d++)
    if (!f->thread[d]) first |= 1u << d;
  return first;
}

static void access(finding *f, const nw_stmt *block, const nw_expr *const *index) {
  for (int d = 0; d < f->alloc->alloc.n && !f->failed; d++) {
    const nw_expr *e = of_thread(f, nw_block_bound(f->p, block, index[d]));
    const nw_expr *lo = nw_lower_over(f->r, e, f->n, f->loop), *hi = nw_upper_over(f->r, e, f->n, f->loop);
    f->failed |= !lo || !hi || nw_uses_any(lo, f->n, f->loop) || nw_uses_any(hi, f->n, f->loop) ||
                 nw_uses_load(lo, NULL) || nw_uses_load(hi, NULL);
    if (f->failed) return;
    f->lo[d] = beyond(f, f->lo[d], (bound){nw_simplify(f->r, lo), first_in(f)}, false);
    f->hi[d] = beyond(f, f->hi[d], (bound){nw_simplify(f->r, hi), first_in(f)}, true);
  }
}

typedef struct loads {
  finding *f;
  const nw_stmt *block;
} loads;

static bool see_load(void *env, const nw_expr *e) {
  loads *l = env;
  if (e->op == NW_OP_LOAD && !strcmp(e->name, l->f->alloc->alloc.buffer)) access(l->f, l->block, e->arg);
  return true;
}

static void see_block(finding *f, const nw_stmt *s) {
  loads l = {f, s};
  for (int i = 0; i < s->block.ntargets; i++) {
    const nw_block_target *t = &s->block.target[i];
    if (!strcmp(t->buffer, f->alloc->alloc.buffer)) access(f, s, t->index);
    nw_visit(t->value, see_load, &l);
    if (t->init) nw_visit(t->init, see_load, &l);
    for (int d = 0; d < t->n; d++) nw_visit(t->index[d], see_load, &l);
  }
}

static void see(finding *f, const nw_stmt *s) {
  int d = nw_is_thread_loop(s) ? nw_grid_dim(s) : -1;
  // A nest of an intrinsic gets tiles, and a loop over blocks runs on other threads.
  if (s->kind == NW_CALL || nw_is_block_loop(s) || s->kind == NW_PREFETCH) f->failed = true;
  if (f->failed) return;
  if (s->kind == NW_BLOCK) see_block(f, s);
  nw_scope_push(f->r, s);
  const nw_stmt *around = d >= 0 ? f->thread[d] : NULL;
  if (d >= 0)
    f->thread[d] = s;
  else if (s->kind == NW_LOOP)
    f->loop[f->n++] = s->loop.var->name;
  for (int i = 0; i < s->nkids; i++) see(f, s->kid[i]);
  if (d >= 0)
    f->thread[d] = around;
  else if (s->kind == NW_LOOP)
    f->n--;
  nw_scope_pop(f->r, s);
}

static bool has_threads(const nw_stmt *s) {
  bool any = nw_is_thread_loop(s);
  for (int i = 0; i < s->nkids && !any; i++) any = has_threads(s->kid[i]);
  return any;
}

bool nw_private_box(nw_program *p, nw_ranges *r, nw_stmt *alloc) {
  const nw_buffer *b = nw_find_buffer(p, alloc->alloc.buffer);
  int n = alloc->alloc.n;
  if (b->scope != NW_LOCAL || b->nlayout || !has_threads(alloc)) return false;
  finding f = {.p = p, .r = r, .alloc = alloc};
  f.lo = NW_NEW_N(p->arena, bound, n + 1), f.hi = NW_NEW_N(p->arena, bound, n + 1);
  const nw_expr **min = NW_NEW_N(p->arena, const nw_expr *, n + 1),
                **extent = NW_NEW_N(p->arena, const nw_expr *, n + 1);
  for (int i = 0; i < alloc->nkids; i++) see(&f, alloc->kid[i]);
  for (int d = 0; d < n && !f.failed; d++) {
    int64_t elements;
    if (!f.lo[d].e) return false;
    min[d] = f.lo[d].e;
    extent[d] = nw_simplify(r, nw_add(p->pool, nw_sub(p->pool, f.hi[d].e, f.lo[d].e), nw_index(p->pool, 1)));
    f.failed |= !nw_is_int(extent[d], &elements);
  }
  if (f.failed) return false;
  alloc->alloc.min = min, alloc->alloc.extent = extent;
  return true;
}
