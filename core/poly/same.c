// Compares two programs: whether they have the same parameters, and whether they differ in nothing but marks.
#include "poly/internal.h"

static bool same_shape(const nw_buffer *a, const nw_buffer *b) {
  if (strcmp(a->name, b->name) || a->dtype != b->dtype || a->role != b->role || a->ndim != b->ndim) return false;
  for (int d = 0; d < a->ndim; d++)
    if (a->shape[d] != b->shape[d]) return false;
  return true;
}

static int count_params(const nw_program *p) {
  int n = 0;
  while (n < p->nbuffers && p->buffer[n]->role != NW_TEMP) n++;
  return n;
}

bool nw_same_params(const nw_program *a, const nw_program *b) {
  int n = count_params(a);
  if (n != count_params(b)) return false;
  for (int i = 0; i < n; i++)
    if (!same_shape(a->buffer[i], b->buffer[i])) return false;
  return true;
}

bool nw_same_pointers(int n, const nw_expr *const *a, const nw_expr *const *b) {
  for (int i = 0; i < n; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static bool same_loop(const nw_stmt *a, const nw_stmt *b) {
  return a->loop.var == b->loop.var && a->loop.begin == b->loop.begin && a->loop.extent == b->loop.extent &&
         a->loop.nfused == b->loop.nfused && nw_same_pointers(a->loop.nfused, a->loop.fused, b->loop.fused);
}

static bool same_alloc(const nw_stmt *a, const nw_stmt *b) {
  return !strcmp(a->alloc.buffer, b->alloc.buffer) && a->alloc.n == b->alloc.n &&
         nw_same_pointers(a->alloc.n, a->alloc.min, b->alloc.min) &&
         nw_same_pointers(a->alloc.n, a->alloc.extent, b->alloc.extent);
}

static bool same_target(const nw_block_target *a, const nw_block_target *b) {
  return !strcmp(a->buffer, b->buffer) && a->n == b->n && a->value == b->value && a->init == b->init &&
         nw_same_pointers(a->n, a->index, b->index);
}

static bool same_block(const nw_stmt *a, const nw_stmt *b) {
  if (strcmp(a->block.origin, b->block.origin) || a->block.init_part != b->block.init_part ||
      a->block.where != b->block.where || a->block.when != b->block.when)
    return false;
  if (a->block.combiner != b->block.combiner || a->block.has_init != b->block.has_init ||
      a->block.nvars != b->block.nvars || a->block.ntargets != b->block.ntargets)
    return false;
  for (int i = 0; i < a->block.nvars; i++) {
    const nw_block_var *v = &a->block.var[i], *w = &b->block.var[i];
    if (v->var != w->var || v->kind != w->kind || v->bind != w->bind || v->lo != w->lo || v->extent != w->extent)
      return false;
  }
  for (int i = 0; i < a->block.ntargets; i++)
    if (!same_target(&a->block.target[i], &b->block.target[i])) return false;
  return true;
}

// Returns the nest inside a call; returns s itself if s is not a call. A call is like a mark on its nest, since a call
// only names code that does the same work.
static const nw_stmt *through_call(const nw_stmt *s) { return s->kind == NW_CALL && s->nkids == 1 ? s->kid[0] : s; }

static bool same_layout(const nw_buffer *a, const nw_buffer *b) {
  if (!a->pitch != !b->pitch || (a->pitch && !nw_same_pointers(a->ndim, a->pitch, b->pitch))) return false;
  return a->nlayout == b->nlayout && a->pad == b->pad && nw_same_pointers(a->nlayout, a->layout, b->layout) &&
         nw_same_pointers(a->nlayout, a->layout_shape, b->layout_shape);
}

// True if both programs have the same buffers, with the same shapes, layouts and allocations.
static bool same_buffers(const nw_program *a, const nw_program *b) {
  for (int i = 0; i < a->nbuffers; i++) {
    const nw_buffer *other = nw_find_buffer(b, a->buffer[i]->name);
    if (!other || !same_shape(a->buffer[i], other) || !same_layout(a->buffer[i], other)) return false;
    const nw_stmt *here = a->buffer[i]->alloc, *there = other->alloc;
    if (!here != !there || (here && !same_alloc(here, there))) return false;
  }
  return a->nbuffers == b->nbuffers;
}

static bool same_but_marks(const nw_stmt *a, const nw_stmt *b) {
  a = through_call(a);
  b = through_call(b);
  if (a->kind != b->kind || a->nkids != b->nkids) return false;
  if (a->kind == NW_LOOP && !same_loop(a, b)) return false;
  if (a->kind == NW_ALLOC && !same_alloc(a, b)) return false;
  if (a->kind == NW_GUARD && a->guard.cond != b->guard.cond) return false;
  if (a->kind == NW_BLOCK && !same_block(a, b)) return false;
  for (int i = 0; i < a->nkids; i++)
    if (!same_but_marks(a->kid[i], b->kid[i])) return false;
  return true;
}

bool nw_only_marks(const nw_program *before, const nw_program *after) {
  return same_buffers(before, after) && same_but_marks(before->root, after->root);
}
