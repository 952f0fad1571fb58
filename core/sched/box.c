// Finds the box of a tensor that the blocks inside a loop read (nw_box_read), or that they read or write (nw_box_used).
// Also enlarges the box of an allocation that moves out of loops (nw_box_widen).
#include "sched/box.h"
#include "sched/tree.h"

typedef struct reads {
  nw_step *st;
  const nw_stmt *block; // the block whose buffers are read; or NULL
  const char *buffer; // used if `block` is NULL: the buffer whose reads and writes are both examined
  const nw_path *outside;
  nw_ranges *ranges; // ranges at the reader
  int nover;
  const char **over; // the loops between `in` (see box.h) and the reader
  const nw_stmt *reader;
  const nw_expr **lo, **hi; // bounds of each dimension; NULL if no read was found yet
  bool *all; // true if the box covers the whole dimension
} reads;

static bool is_wanted(const reads *x, const char *buffer) {
  return x->block ? nw_block_writes(x->block, buffer) : !strcmp(x->buffer, buffer);
}

// Returns the smaller of two bounds if `least` is true, otherwise the larger bound. If no proof shows which bound is
// smaller, returns the min or max of both.
static const nw_expr *join(const nw_ranges *r, const nw_expr *a, const nw_expr *b, bool least) {
  if (!a || a == b) return b;
  if (nw_prove(r, nw_le(r->pool, a, b))) return least ? a : b;
  if (nw_prove(r, nw_le(r->pool, b, a))) return least ? b : a;
  return least ? nw_min(r->pool, a, b) : nw_max(r->pool, a, b);
}

static bool only_outside(const reads *x, const nw_expr *e) {
  for (int i = 0; i < x->nover; i++)
    if (nw_uses_var(e, x->over[i])) return false;
  return !nw_uses_load(e, NULL);
}

static void join_dim(reads *x, int d, const nw_expr *index) {
  const nw_expr *at = nw_simplify(x->ranges, nw_block_bound(x->st->p, x->reader, index));
  const nw_expr *lo = nw_lower_over(x->ranges, at, x->nover, x->over),
                *hi = nw_upper_over(x->ranges, at, x->nover, x->over);
  if (!lo || !hi || !only_outside(x, lo) || !only_outside(x, hi)) {
    x->all[d] = true;
    return;
  }
  x->lo[d] = join(x->ranges, x->lo[d], lo, true);
  x->hi[d] = join(x->ranges, x->hi[d], hi, false);
}

static bool see_load(void *env, const nw_expr *e) {
  reads *x = env;
  if (e->op != NW_OP_LOAD || !is_wanted(x, e->name)) return true;
  for (int d = 0; d < e->n; d++) join_dim(x, d, e->arg[d]);
  return true;
}

static void see_block(reads *x, const nw_stmt *reader) {
  nw_path path;
  const char *over[NW_MAX_DEPTH];
  nw_find(x->st->p, reader->id, &path);
  x->reader = reader;
  x->over = over;
  x->nover = 0;
  for (int i = 0; i < path.n; i++)
    if (path.at[i]->kind == NW_LOOP && nw_path_index(x->outside, path.at[i]) < 0)
      over[x->nover++] = path.at[i]->loop.var->name;
  nw_ranges ranges;
  nw_ranges_of(&ranges, x->st->p, &path);
  x->ranges = &ranges;
  for (int t = 0; t < reader->block.ntargets; t++) {
    const nw_block_target *g = &reader->block.target[t];
    nw_visit(g->value, see_load, x);
    if (g->init) nw_visit(g->init, see_load, x);
    for (int i = 0; i < g->n; i++) nw_visit(g->index[i], see_load, x);
    for (int d = 0; !x->block && d < g->n && is_wanted(x, g->buffer); d++) join_dim(x, d, g->index[d]);
  }
  nw_ranges_free(&ranges);
}

// True if an extent varies with the outer loops and has no known maximum. No storage of fixed size is large enough for
// this extent.
static bool has_no_bound(const reads *x, const nw_ranges *r, const nw_expr *extent) {
  const char *loop[NW_MAX_DEPTH];
  int n = 0;
  bool varies = false;
  for (int i = 0; i < x->outside->n; i++)
    if (x->outside->at[i]->kind == NW_LOOP) loop[n++] = x->outside->at[i]->loop.var->name;
  for (int i = 0; i < n && !varies; i++) varies = nw_uses_var(extent, loop[i]);
  return varies && !nw_upper_over(r, extent, n, loop);
}

// True if the box is proven to be at least as long as the dimension. For example, a guarded tile can be larger than the
// tensor.
static bool takes_all(const nw_ranges *r, const nw_expr *extent, const nw_expr *shape) {
  return nw_prove(r, nw_le(r->pool, shape, extent)) && !NW_MUTATED(box_beyond_tensor);
}

// Computes dimension d of the box. A bound that is proven to be outside the tensor is moved to the tensor's edge. An
// extent with a constant upper bound becomes that constant. If the box is then as long as the dimension, or if its
// extent has no known maximum, the box becomes the whole dimension. But a box that begins after the last element in
// some iterations, and never before the first, begins where it did: there, nothing is needed, and the whole dimension
// would be computed in vain.
static void close_dim(reads *x, const nw_ranges *r, const nw_expr *shape, int d, nw_box *out) {
  nw_pool *pool = r->pool;
  const nw_expr *zero = nw_index(pool, 0), *last = nw_sub(pool, shape, nw_index(pool, 1));
  const nw_expr *lo = x->lo[d], *hi = x->hi[d];
  if (x->all[d] || !lo) lo = zero, hi = last;
  if (nw_prove(r, nw_le(pool, lo, zero))) lo = zero;
  if (nw_prove(r, nw_le(pool, last, hi))) hi = last;
  const nw_expr *extent = nw_simplify(r, nw_add(pool, nw_sub(pool, hi, lo), nw_index(pool, 1)));
  int64_t bound;
  if (!nw_is_int(extent, &bound) && nw_const_upper(r, extent, &bound)) extent = nw_index(pool, bound > 0 ? bound : 0);
  bool long_enough = takes_all(r, extent, shape);
  bool after = long_enough && !nw_prove(r, nw_le(pool, lo, last)) && nw_prove(r, nw_le(pool, zero, lo));
  bool all = (long_enough && !after) || has_no_bound(x, r, extent);
  if (after) extent = shape;
  out->lo[d] = all ? zero : nw_simplify(r, lo);
  out->extent[d] = all ? shape : extent;
}

static nw_box box_of(reads x, const nw_buffer *buffer, const nw_stmt *in) {
  nw_step *st = x.st;
  int n = buffer->ndim;
  x.lo = NW_NEW_N(st->scratch, const nw_expr *, n + 1);
  x.hi = NW_NEW_N(st->scratch, const nw_expr *, n + 1);
  x.all = NW_NEW_N(st->scratch, bool, n + 1);
  nw_blocks readers = nw_blocks_below(st->scratch, in);
  for (int i = 0; i < readers.n; i++) see_block(&x, readers.at[i]);
  nw_box out = {.n = n,
                .lo = NW_NEW_N(st->scratch, const nw_expr *, n + 1),
                .extent = NW_NEW_N(st->scratch, const nw_expr *, n + 1)};
  nw_ranges r;
  nw_ranges_of(&r, st->p, x.outside);
  for (int d = 0; d < n; d++) close_dim(&x, &r, buffer->shape[d], d, &out);
  nw_ranges_free(&r);
  return out;
}

nw_box nw_box_read(nw_step *st, const nw_stmt *block, const nw_stmt *in, const nw_path *outside) {
  const nw_buffer *buffer = nw_find_buffer(st->p, block->block.target[0].buffer);
  return box_of((reads){.st = st, .block = block, .outside = outside}, buffer, in);
}

nw_box nw_box_used(nw_step *st, const nw_buffer *buffer, const nw_stmt *in, const nw_path *outside) {
  return box_of((reads){.st = st, .buffer = buffer->name, .outside = outside}, buffer, in);
}

void nw_box_widen(nw_step *st, const nw_path *path, int at, int n, const char *const *over) {
  nw_ranges r;
  nw_pool *pool = st->p->pool;
  nw_stmt *alloc = path->at[at];
  const nw_buffer *b = nw_find_buffer(st->p, alloc->alloc.buffer);
  nw_path around = *path;
  around.n = at;
  nw_ranges_of(&r, st->p, &around);
  for (int d = 0; d < alloc->alloc.n; d++) {
    const nw_expr *last = nw_sub(pool, nw_add(pool, alloc->alloc.min[d], alloc->alloc.extent[d]), nw_index(pool, 1));
    const nw_expr *lo = nw_lower_over(&r, alloc->alloc.min[d], n, over), *hi = nw_upper_over(&r, last, n, over);
    bool known = lo && hi && !nw_uses_any(lo, n, over) && !nw_uses_any(hi, n, over);
    alloc->alloc.min[d] = known ? lo : nw_index(pool, 0);
    alloc->alloc.extent[d] = known ? nw_add(pool, nw_sub(pool, hi, lo), nw_index(pool, 1)) : b->shape[d];
  }
  nw_ranges_free(&r);
  alloc->step = st->p->step;
}
