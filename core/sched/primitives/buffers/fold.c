// Makes storage cyclic: element i is stored at position i % size, where it replaces element i - size.
#include "sched/primitives/buffers/fold.h"
#include <stdio.h>

static void plain_layout(nw_program *p, nw_buffer *b) {
  b->nlayout = b->ndim;
  b->layout = NW_NEW_N(p->arena, const nw_expr *, b->ndim);
  b->layout_shape = NW_NEW_N(p->arena, const nw_expr *, b->ndim);
  for (int d = 0; d < b->ndim; d++) {
    char name[16];
    snprintf(name, sizeof name, "_%d", d);
    b->layout[d] = nw_var(p->pool, name);
    b->layout_shape[d] = b->shape[d];
  }
}

// Returns the dimension of the layout that is dimension `dim` of the buffer, or -1 if there is none.
static int layout_dim(const nw_buffer *b, int dim) {
  char name[16];
  snprintf(name, sizeof name, "_%d", dim);
  for (int d = 0; d < b->nlayout; d++)
    if (b->layout[d]->op == NW_OP_VAR && !strcmp(b->layout[d]->name, name)) return d;
  return -1;
}

bool nw_can_fold_buffer(const nw_buffer *b) {
  if (!b->nlayout) return true;
  for (int d = 0; d < b->ndim; d++)
    if (layout_dim(b, d) < 0) return false;
  return b->nlayout == b->ndim;
}

void nw_fold_buffer(nw_program *p, nw_buffer *b, int dim, int64_t size) {
  if (!b->nlayout) plain_layout(p, b);
  int at = layout_dim(b, dim);
  NW_MUST(at >= 0);
  // The arrays may be shared with the program before the step.
  const nw_expr **layout = NW_NEW_N(p->arena, const nw_expr *, b->nlayout);
  const nw_expr **shape = NW_NEW_N(p->arena, const nw_expr *, b->nlayout);
  memcpy(layout, b->layout, (size_t)b->nlayout * sizeof *layout);
  memcpy(shape, b->layout_shape, (size_t)b->nlayout * sizeof *shape);
  layout[at] = nw_floormod(p->pool, layout[at], nw_index(p->pool, size));
  shape[at] = nw_index(p->pool, size);
  b->layout = layout, b->layout_shape = shape;
}
