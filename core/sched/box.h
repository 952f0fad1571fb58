// Boxes: the part of a tensor that is used inside a loop. In dimension d, a box has extent[d] elements, beginning with
// element lo[d]. Private to sched/.
#pragma once
#include "sched/sched.h"

typedef struct nw_box {
  int n;
  const nw_expr **lo, **extent;
} nw_box;

// Returns the box of the buffers of `block` that is read below `in`, in terms of the loops on the path `outside` and
// sizes. It is never larger than the tensor, as far as this can be proven.
nw_box nw_box_read(nw_step *st, const nw_stmt *block, const nw_stmt *in, const nw_path *outside);
// Returns the box of a buffer that any block below `in` reads or writes.
nw_box nw_box_used(nw_step *st, const nw_buffer *buffer, const nw_stmt *in, const nw_path *outside);
