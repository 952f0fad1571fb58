// Counts the elements of a buffer of scope warp that one warp accesses. If the loops over warps are inside the allocation, the
// extents of the buffer hold the elements of all warps of a block, and each warp has only its own in its registers.
#include "ir/program/physical.h"
#include "poly/internal.h"
#include <stdlib.h>

typedef struct part {
  const nw_model *m;
  const nw_stmt *alloc;
  const nw_path *path; // of the block that is visited
  nw_ranges ranges; // around it
  const nw_expr *lo[NW_MAX_DEPTH], *hi[NW_MAX_DEPTH]; // the least and the greatest index; NULL until an access is seen
  bool known;
} part;

// True if the iterations of a loop are different warps.
static bool is_warp_loop(const nw_stmt *s) { return nw_is_thread_loop(s) && nw_grid_dim(s) > 3; }

// Returns the position of the allocation in the path; path->n if it is not in it.
static int place_of(const part *x) {
  int i = 0;
  while (i < x->path->n && x->path->at[i] != x->alloc) i++;
  return i;
}

// Sets *at to the lesser of two bounds, or to the greater one. They must differ by a number that is known.
static void extend(part *x, const nw_expr **at, const nw_expr *e, bool greater) {
  int64_t by;
  if (!*at) {
    *at = e;
    return;
  }
  x->known = x->known && nw_is_int(nw_simplify(&x->ranges, nw_sub(x->m->f->pool, e, *at)), &by);
  if (x->known && by && (by > 0) == greater) *at = e;
}

// Adds an index in dimension d. All loops between the allocation and the block are visited, except those over warps.
static void add_index(part *x, const nw_stmt *block, int d, const nw_expr *index) {
  const char *over[NW_MAX_DEPTH];
  const nw_expr *e = nw_block_bound(x->m->seen, block, index);
  int n = 0;
  for (int i = place_of(x); i < x->path->n; i++) {
    const nw_stmt *s = x->path->at[i];
    if (s->kind != NW_LOOP) continue;
    if (is_warp_loop(s))
      e = nw_subst(x->m->f->pool, e, s->loop.var->name,
                   nw_add(x->m->f->pool, s->loop.begin, nw_var(x->m->f->pool, nw_grid_index[nw_grid_dim(s)])));
    else
      over[n++] = s->loop.var->name;
  }
  const nw_expr *lo = nw_lower_over(&x->ranges, e, n, over), *hi = nw_upper_over(&x->ranges, e, n, over);
  x->known = x->known && lo && hi && !nw_uses_any(lo, n, over) && !nw_uses_any(hi, n, over) &&
             !nw_uses_load(lo, NULL) && !nw_uses_load(hi, NULL);
  if (!x->known) return;
  extend(x, &x->lo[d], nw_simplify(&x->ranges, lo), false);
  extend(x, &x->hi[d], nw_simplify(&x->ranges, hi), true);
}

static void add_access(part *x, const nw_stmt *block, const nw_expr *const *index) {
  for (int d = 0; d < x->alloc->alloc.n && x->known; d++) add_index(x, block, d, index[d]);
}

static bool see_load(void *env, const nw_expr *e) {
  part *x = env;
  if (e->op == NW_OP_LOAD && !strcmp(e->name, x->alloc->alloc.buffer))
    add_access(x, x->path->at[x->path->n - 1], e->arg);
  return true;
}

static bool see(void *env, const nw_path *path) {
  part *x = env;
  const nw_stmt *s = path->at[path->n - 1];
  x->path = path;
  if (s->kind != NW_BLOCK || place_of(x) == path->n) return true;
  nw_ranges_of(&x->ranges, x->m->seen, path);
  for (int i = 0; i < s->block.ntargets; i++) {
    const nw_block_target *t = &s->block.target[i];
    if (!strcmp(t->buffer, x->alloc->alloc.buffer)) add_access(x, s, t->index);
    nw_visit(t->value, see_load, x);
    if (t->init) nw_visit(t->init, see_load, x);
    for (int d = 0; d < t->n; d++) nw_visit(t->index[d], see_load, x);
  }
  nw_ranges_free(&x->ranges);
  return x->known;
}

static bool has_warps(const nw_stmt *s) {
  bool any = s->kind == NW_LOOP && is_warp_loop(s);
  for (int i = 0; i < s->nkids && !any; i++) any = has_warps(s->kid[i]);
  return any;
}

int64_t nw_warp_elements(const nw_model *m, const nw_path *path) {
  const nw_stmt *alloc = path->at[path->n - 1];
  part x = {.m = m, .alloc = alloc, .known = alloc->alloc.n <= NW_MAX_DEPTH};
  int64_t count = 1, n;
  if (!has_warps(alloc)) return -1;
  nw_walk(m->seen, see, &x);
  nw_ranges_of(&x.ranges, m->seen, path);
  for (int d = 0; d < alloc->alloc.n && x.known; d++) {
    x.known = x.lo[d] && nw_is_int(nw_simplify(&x.ranges, nw_sub(m->f->pool, x.hi[d], x.lo[d])), &n) &&
              !__builtin_mul_overflow(count, n + 1, &count);
  }
  nw_ranges_free(&x.ranges);
  return x.known ? count : -1;
}
