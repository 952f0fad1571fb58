// Evaluates the definition of tensors without a program: a whole array for each operation, or one element at a time.
#pragma once
#include "interp/node.h"

// Represents an operation. Its axes are slots, and its bodies are nodes (node.h).
typedef struct nwi_op {
  const nw_teop *op;
  int axis, reduce; // axis: slot of the first axis; reduce: slot of the first reduce axis
  int64_t *shape;
  int64_t count;
  nwi_node **body, **identity, **lo, **extent;
  nwi_node **from, **to; // per reduce axis: its range, if it depends on other axes or on data; otherwise NULL
  // for a reducer that a user has defined: the nodes of the combined state, and the first slot of the two states
  nwi_node **combine;
  int states;
  // for a definition of an update: the element that is written, as a LOAD; its condition, or NULL; and where the axes
  // begin
  nwi_node *target, *when;
  int64_t *start;
  char **data; // one array for each output, if `whole`
  bool *own;
  bool whole; // true if `data` is complete, or if it is the state of a running scan, which reads only complete rows
  bool settled; // true if the scans and updates that it reads are computed, or in progress
  nw_vec memo; // hash table of the elements that were computed one at a time; see point.c
} nwi_op;

typedef struct nwi_naive {
  nwi_run run;
  nw_arena *arena;
  nwi_scope scope;
  nw_vec op; // nwi_op *
  int nslots, cap;
  bool points; // if true, elements are computed on demand instead of whole arrays
} nwi_naive;

nwi_op *nwi_op_of(nwi_naive *x, const nw_teop *op); // NULL on failure
// Computes all outputs of the element at the current axes, rounded to their dtypes.
bool nwi_element(nwi_naive *x, nwi_op *o, nwi_cell *out);
// Computes whole arrays for o. If x->points is false, also computes whole arrays for everything that o reads.
bool nwi_whole(nwi_naive *x, nwi_op *o);
// Returns the values of all outputs at this position, or NULL on failure. Computes the values if they are not known
// yet.
const nwi_cell *nwi_point(nwi_naive *x, nwi_op *o, int64_t at);
bool nwi_naive_load(nwi_scope *s, nwi_node *n); // the `load` function of the scope (node.h)
