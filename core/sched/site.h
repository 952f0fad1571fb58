// Finds the position of a nest in a loop, and allocates storage around the nest and its readers. Private to sched/.
#pragma once
#include "sched/box.h"
#include "sched/sched.h"

// Represents the position before in->kid[pos]. The positions in a loop are numbered from 0. An allocation has no
// number. Instead, the positions inside the allocation are numbered.
typedef struct nw_spot {
  nw_stmt *in;
  int pos;
} nw_spot;
int nw_spot_count(const nw_stmt *in);
nw_spot nw_spot_at(nw_stmt *in, int n); // position n; if n is nw_spot_count(in), the end of `in`

// The next two functions find positions inside `in` for a block or a nest that is not yet there. nw_spot_first returns
// the earliest position after all statements that compute an input of it. nw_spot_last returns the latest position
// before all statements that read an output of it.
int nw_spot_first(const nw_stmt *in, const nw_stmt *what);
int nw_spot_last(const nw_stmt *in, const nw_stmt *what);
// Sets *out to the position that the option `param` specifies, or to `fallback` if the option is not given or `param`
// is 0. Returns false, with an error, if the loop does not have the specified position.
bool nw_spot_given(nw_step *st, int param, nw_stmt *in, const nw_stmt *what, int fallback, int *out);

// True if s, or a statement inside s, writes a buffer that the block or nest `what` reads.
bool nw_feeds(const nw_stmt *s, const nw_stmt *what);
bool nw_reads_any(const nw_stmt *s, const nw_stmt *what); // true if s reads a buffer that `what` writes
// Allocates n buffers around all statements inside `in` that use them. If `box` is NULL, allocates the whole buffers.
void nw_store_buffers(nw_step *st, nw_stmt *in, int n, const char *const *buffer, const nw_box *box);
// Allocates the buffers of the block around all statements inside `in` that use them. If `box` is NULL, allocates the
// whole buffers.
void nw_store_around(nw_step *st, nw_stmt *in, const nw_stmt *block, const nw_box *box);

// nw_take_storage removes the allocations of a block's buffers, and nw_put_storage inserts them again around all uses.
// If all uses are still inside the same loops, the allocations are unchanged. Otherwise, the allocations are placed
// further outside, and store the whole buffers.
typedef struct nw_kept {
  nw_stmt *in; // NULL if there was no allocation in the tree
  nw_box box;
} nw_kept;
nw_kept nw_take_storage(nw_step *st, const nw_stmt *block);
void nw_put_storage(nw_step *st, const nw_stmt *block, const nw_kept *kept);

// Moves each allocation outwards that does not contain all uses of its buffer. The new allocation stores the part that
// is used in one iteration of the loops around it. Adds a note for each buffer.
void nw_widen_storage(nw_step *st);
// Gives each temporary that is now allocated in the lanes of a vector loop the scope local, if it is small (lanes.c).
void nw_hold_in_lanes(nw_step *st);
