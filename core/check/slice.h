// A slice is a part of a run. It consists of some executions, and of all writes to some elements. All other executions
// are skipped, so that one conflict in a large nest can be replayed quickly. The executions in the slice keep their
// order.
#pragma once
#include "check/check.h"
#include "check/numbers.h"

typedef struct nw_wanted { // executions of one block
  const nw_execution *by_loops; // if not NULL: the execution in which the loops have these values
  // if by_loops is NULL: the executions of blocks with this origin in which the n variables `var` have the values `at`
  const char *origin;
  int n;
  const char *const *var;
  const int64_t *at;
} nw_wanted;

typedef struct nw_elements { // elements of one buffer
  const nw_buffer *buffer;
  int64_t extent[NW_MAX_DEPTH];
  int64_t lo[NW_MAX_DEPTH], hi[NW_MAX_DEPTH]; // bounding box of the elements
  nw_numbers flat; // flat indices of the elements
} nw_elements;

typedef struct nw_slice_site nw_slice_site;
typedef struct nw_slice {
  const nw_program *p;
  const int64_t *sizes;
  nw_arena *arena;
  nw_pool *pool;
  int nsites;
  nw_slice_site *site;
  nw_elements *focus; // one per buffer
  nw_vec wanted; // nw_wanted *
  bool whole; // true if the slice is the whole program
  // if not NULL, the name of a buffer; its updates are not added to the slice, but its separate init blocks are
  const char *inits_of;
} nw_slice;

void nw_slice_init(nw_slice *s, const nw_program *p, const int64_t *sizes);
void nw_slice_free(nw_slice *s);
void nw_slice_want(nw_slice *s, nw_wanted w);
// Adds all writes to this element. Returns false if the element was added before, or does not exist.
bool nw_slice_focus(nw_slice *s, const char *buffer, int n, const int64_t *index);
int nw_slice_focused(const nw_slice *s); // number of elements
// nw_slice_enters is true if some iteration lo..hi of the loop may belong to the slice. nw_slice_runs is true if the
// current execution of the block belongs to the slice. They are called by the callbacks of nw_interp_opts.
bool nw_slice_enters(nw_slice *s, const nw_stmt *loop, int64_t lo, int64_t hi);
bool nw_slice_runs(nw_slice *s, const nw_stmt *block);
bool nw_slice_at(const nw_slice *s, const nw_stmt *block, const nw_execution *e); // true if the loops have these values
