// Computes the memory layout of a buffer from its allocated box, its layout and its strides.
//
// A parameter is row-major over its shape, or over the extents of its layout, or has strides that the caller chooses. A temporary stores only the box of its allocation. The extents of the stored
// box are upper bounds that do not depend on the enclosing loops. So the strides are constant if the sizes are
// constant.
#include "ir/program/physical.h"
#include "ir/program/pitch.h"

int nw_physical_dims(const nw_buffer *b) { return b->nlayout ? b->nlayout : b->ndim; }

const nw_expr *const *nw_physical_shape(const nw_buffer *b) {
  return (const nw_expr *const *)(b->nlayout ? b->layout_shape : b->shape);
}

// Returns the smallest aligned stride that is not smaller than `stride`, so that no two elements share a location.
static const nw_expr *aligned(nw_pool *pool, const nw_buffer *b, int d, const nw_expr *stride) {
  for (int i = 0; i < b->nstrides; i++) {
    if (b->stride[i].dim != d) continue;
    const nw_expr *short_of = nw_sub(pool, nw_index(pool, b->stride[i].offset), stride);
    return nw_add(pool, stride, nw_floormod(pool, short_of, nw_index(pool, b->stride[i].factor)));
  }
  return stride;
}

static void set_strides(nw_physical *place, nw_pool *pool, const nw_expr *const *extent) {
  const nw_expr *stride = nw_index(pool, 1);
  for (int d = place->n - 1; d >= 0; d--) {
    place->stride[d] = aligned(pool, place->buffer, d, stride);
    stride = nw_mul(pool, place->stride[d], extent[d]);
  }
  place->elements = stride;
}

static nw_physical *new_place(nw_arena *a, nw_pool *pool, const nw_buffer *b, int n) {
  nw_physical *place = NW_NEW(a, nw_physical);
  place->buffer = b;
  place->n = n;
  place->first = NW_NEW_N(a, const nw_expr *, n);
  place->stride = NW_NEW_N(a, const nw_expr *, n);
  for (int d = 0; d < n; d++) place->first[d] = nw_index(pool, 0);
  return place;
}

const nw_expr *nw_physical_reach(nw_pool *p, const nw_buffer *b) {
  const nw_expr *n = nw_index(p, 1);
  if (b->pitch && !NW_MUTATED(pitch_reach))
    return nw_pitch_reach(p, b->ndim, (const nw_expr *const *)b->shape, (const nw_expr *const *)b->pitch);
  for (int d = 0; d < nw_physical_dims(b); d++) n = nw_mul(p, n, nw_physical_shape(b)[d]);
  return n;
}

const nw_expr *nw_physical_room(nw_pool *p, const nw_buffer *b) {
  const nw_expr *any = NULL, *zero = nw_index(p, 0);
  int64_t n;
  for (int d = 0; b->pitch && d < b->ndim; d++)
    if (!nw_is_int(b->shape[d], &n) || n <= 0) any = nw_and(p, any, nw_lt(p, zero, b->shape[d]));
  const nw_expr *reach = nw_physical_reach(p, b);
  return any ? nw_choose(p, any, reach, zero) : reach;
}

nw_physical *nw_physical_param(nw_arena *a, const nw_program *p, const nw_buffer *b) {
  nw_physical *place = new_place(a, p->pool, b, nw_physical_dims(b));
  set_strides(place, p->pool, nw_physical_shape(b));
  for (int d = 0; d < place->n && b->pitch && !NW_MUTATED(pitch_ignored); d++) place->stride[d] = b->pitch[d];
  place->elements = nw_physical_reach(p->pool, b);
  return place;
}

typedef struct box {
  nw_arena *a;
  const nw_program *p;
  const nw_ranges *r;
  const nw_stmt *alloc;
  const nw_buffer *buffer;
  int nloops;
  const char *const *loops;
} box;

static bool uses_any(const box *b, const nw_expr *e) {
  for (int i = 0; i < b->nloops; i++) {
    if (nw_uses_var(e, b->loops[i])) return true;
  }
  return false;
}

// Returns an upper bound of an extent, or NULL if there is none. The bound uses no loop variables. If the extent varies
// with loops or is a minimum, a constant bound is preferred.
static const nw_expr *fixed_extent(const box *b, const nw_expr *e) {
  e = nw_simplify(b->r, e);
  int64_t most;
  bool varies = uses_any(b, e) || e->op == NW_OP_MIN;
  if (varies && nw_const_upper(b->r, e, &most)) return nw_index(b->p->pool, most > 0 ? most : 0);
  if (uses_any(b, e)) e = nw_upper_over(b->r, e, b->nloops, b->loops);
  return e ? nw_simplify(b->r, e) : NULL;
}

static const nw_expr *fixed_or_fail(const box *b, const nw_expr *e) {
  const nw_expr *fixed = e ? fixed_extent(b, e) : NULL;
  if (fixed) return fixed;
  nw_str text = {0};
  if (e) nw_expr_print(&text, e);
  nw_fail(b->p->ctx, NW_ELIMIT, "Allocate it outside these loops.",
          "the size of %s has no bound over the enclosing loops: %s", b->buffer->name, text.n ? text.s : "unbounded");
  nw_str_free(&text);
  return NULL;
}

static bool whole(const box *b) {
  for (int d = 0; d < b->alloc->alloc.n; d++) {
    if (!nw_is_const(b->alloc->alloc.min[d], 0) || b->alloc->alloc.extent[d] != b->buffer->shape[d]) return false;
  }
  return true;
}

static nw_physical *row_major(const box *b) {
  int n = b->alloc->alloc.n;
  nw_physical *place = new_place(b->a, b->p->pool, b->buffer, n);
  const nw_expr **extent = NW_NEW_N(b->a, const nw_expr *, n);
  for (int d = 0; d < n; d++) {
    place->first[d] = b->alloc->alloc.min[d];
    extent[d] = fixed_or_fail(b, b->alloc->alloc.extent[d]);
    if (!extent[d]) return NULL;
  }
  set_strides(place, b->p->pool, extent);
  return place;
}

// Finds the part of one physical dimension that the box covers. If this part is unknown, the whole dimension is stored.
static void layout_dim(const box *b, nw_ranges *logical, const char *const *dims, int d, nw_physical *place,
                       const nw_expr **extent) {
  nw_pool *pool = b->p->pool;
  const nw_expr *e = b->buffer->layout[d];
  const nw_expr *lo = nw_lower_over(logical, e, b->alloc->alloc.n, dims);
  const nw_expr *hi = nw_upper_over(logical, e, b->alloc->alloc.n, dims);
  *extent = b->buffer->layout_shape[d];
  if (!lo || !hi) return;
  const nw_expr *reach = fixed_extent(b, nw_add(pool, nw_sub(pool, hi, lo), nw_index(pool, 1)));
  if (!reach || !nw_prove(b->r, nw_le(pool, reach, *extent))) return;
  place->first[d] = nw_simplify(b->r, lo);
  *extent = reach;
}

static nw_physical *laid_out(const box *b) {
  const nw_buffer *buf = b->buffer;
  nw_pool *pool = b->p->pool;
  nw_physical *place = new_place(b->a, pool, buf, buf->nlayout);
  const nw_expr **extent = NW_NEW_N(b->a, const nw_expr *, buf->nlayout);
  memcpy(extent, buf->layout_shape, (size_t)buf->nlayout * sizeof *extent);
  if (!whole(b)) {
    nw_ranges *logical = (nw_ranges *)b->r;
    const char **dims = NW_NEW_N(b->a, const char *, b->alloc->alloc.n);
    for (int d = 0; d < b->alloc->alloc.n; d++) {
      const nw_expr *min = b->alloc->alloc.min[d];
      const nw_expr *end = nw_add(pool, min, b->alloc->alloc.extent[d]);
      dims[d] = nw_dim_name(pool, d);
      nw_ranges_push(logical, dims[d], min, nw_sub(pool, end, nw_index(pool, 1)));
    }
    for (int d = 0; d < buf->nlayout; d++) layout_dim(b, logical, dims, d, place, &extent[d]);
    for (int d = 0; d < b->alloc->alloc.n; d++) nw_ranges_pop(logical);
  }
  set_strides(place, b->p->pool, extent);
  return place;
}

nw_physical *nw_physical_alloc(nw_arena *a, const nw_program *p, const nw_ranges *r, const nw_stmt *alloc, int nloops,
                               const char *const *loops) {
  const nw_buffer *buf = nw_find_buffer(p, alloc->alloc.buffer);
  box b = {a, p, r, alloc, buf, nloops, loops};
  nw_physical *place = buf->nlayout ? laid_out(&b) : row_major(&b);
  if (place) place->elements = nw_simplify(r, place->elements);
  return place;
}

// Returns the position of an element in one physical dimension.
static const nw_expr *position(const nw_physical *place, const nw_ranges *r, const nw_expr *const *index, int d) {
  const nw_buffer *b = place->buffer;
  if (!b->nlayout) return index[d];
  const char *dims[NW_MAX_DEPTH];
  for (int i = 0; i < b->ndim; i++) dims[i] = nw_dim_name(r->pool, i);
  return nw_subst_n(r->pool, b->layout[d], b->ndim, dims, index);
}

// Returns e*stride, multiplied out over the terms of e, so that loop-invariant terms are separate.
static const nw_expr *spread(nw_pool *p, const nw_expr *e, const nw_expr *stride) {
  if (e->op == NW_OP_ADD) return nw_add(p, spread(p, e->arg[0], stride), spread(p, e->arg[1], stride));
  if (e->op == NW_OP_SUB) return nw_sub(p, spread(p, e->arg[0], stride), spread(p, e->arg[1], stride));
  return nw_mul(p, e, stride);
}

const nw_expr *nw_physical_at(const nw_physical *place, const nw_ranges *r, const nw_expr *const *at) {
  const nw_expr *sum = nw_index(r->pool, 0);
  for (int d = 0; d < place->n; d++) {
    const nw_expr *from = nw_simplify(r, nw_sub(r->pool, at[d], place->first[d]));
    sum = nw_add(r->pool, sum, spread(r->pool, from, place->stride[d]));
  }
  return nw_simplify(r, sum);
}

const nw_expr *nw_physical_index(const nw_physical *place, const nw_ranges *r, const nw_expr *const *index) {
  const nw_expr *at[NW_MAX_DEPTH];
  for (int d = 0; d < place->n; d++) at[d] = position(place, r, index, d);
  return nw_physical_at(place, r, at);
}
