// Direct evaluation of the definition: one array per operation, or one element at a time.
#pragma once
#include "interp/node.h"

// An operation with its axes as slots and its bodies as nodes.
typedef struct nwi_op {
  const nw_teop *op;
  int axis, reduce; // first slot of each
  int64_t *shape;
  int64_t count;
  nwi_node **body, **identity, **lo, **extent;
  char **data; // one array per output, if whole
  bool *own;
  bool whole; // data is complete (or, in a scan, complete as far as it may be read)
  nw_vec memo; // elements computed alone: int64_t key, then cells; see point.c
} nwi_op;

typedef struct nwi_naive {
  nwi_run run;
  nw_arena *arena;
  nwi_scope scope;
  nw_vec op; // nwi_op *
  int nslots, cap;
  bool points; // elements on demand instead of whole arrays
} nwi_naive;

nwi_op *nwi_op_of(nwi_naive *x, const nw_teop *op); // NULL on failure
// All outputs of the element at the current axes, rounded to their dtypes.
bool nwi_element(nwi_naive *x, nwi_op *o, nwi_cell *out);
// Computes whole arrays for o and, unless `points`, for everything it reads.
bool nwi_whole(nwi_naive *x, nwi_op *o);
// The cells of one element, by its position; computed if not known yet.
const nwi_cell *nwi_point(nwi_naive *x, nwi_op *o, int64_t at);
bool nwi_naive_load(nwi_scope *s, nwi_node *n); // sets up a read
