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

void nw_fold_buffer(nw_program *p, nw_buffer *b, int dim, int64_t size) {
  if (!b->nlayout) plain_layout(p, b);
  b->layout[dim] = nw_floormod(p->pool, b->layout[dim], nw_index(p->pool, size));
  b->layout_shape[dim] = nw_index(p->pool, size);
}
