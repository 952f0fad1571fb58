// A box is the part of a tensor that is used inside a loop. In dimension d, it has extent[d] elements, beginning with
// element lo[d]. Private to sched/.
#pragma once
#include "sched/sched.h"

typedef struct nw_box {
  int n;
  const nw_expr **lo, **extent;
} nw_box;

// Returns the box that the statements below `in` read from the buffers that `block` writes. The box is expressed in
// sizes and the loops on the path `outside`. In a dimension in which the box is proven to be at least as long as the
// tensor, the whole dimension is returned.
nw_box nw_box_read(nw_step *st, const nw_stmt *block, const nw_stmt *in, const nw_path *outside);
// Returns the box of `buffer` that the blocks below `in` together read or write.
nw_box nw_box_used(nw_step *st, const nw_buffer *buffer, const nw_stmt *in, const nw_path *outside);
// Enlarges the allocation at position `at` of the path, so that it holds the part of the buffer that all iterations of
// the loops with the variables `over` use together. If this part is not known in a dimension, the allocation holds the
// whole dimension.
void nw_box_widen(nw_step *st, const nw_path *path, int at, int n, const char *const *over);
