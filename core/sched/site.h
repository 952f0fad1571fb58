// Where in a loop a nest goes, and the storage around it and what reads it. Private to sched/.
#pragma once
#include "sched/box.h"
#include "sched/sched.h"

// Before in->kid[pos]. The statements of a loop are counted through the storage that some of them share, from 0.
typedef struct nw_spot {
  nw_stmt *in;
  int pos;
} nw_spot;
int nw_spot_count(const nw_stmt *in);
nw_spot nw_spot_at(nw_stmt *in, int n); // n == count: behind the last

// Where the block, which is not below `in`, can stand at the earliest (behind the last that writes what it reads) and at
// the latest (before the first that reads what it writes).
int nw_spot_first(const nw_stmt *in, const nw_stmt *block);
int nw_spot_last(const nw_stmt *in, const nw_stmt *block);
// The position asked for by the option `param` (0: there is none), else `fallback`; false and an error when the loop has no such position.
bool nw_spot_given(nw_step *st, int param, nw_stmt *in, const nw_stmt *block, int fallback, int *out);

bool nw_feeds(const nw_stmt *s, const nw_stmt *block); // does anything below s write what the block reads?
bool nw_reads_any(const nw_stmt *s, const nw_stmt *block); // does s read what the block writes?
// Storage for what the block writes around everything below `in` that uses it. box NULL: all of it.
void nw_store_around(nw_step *st, nw_stmt *in, const nw_stmt *block, const nw_box *box);

// The storage of what a block writes, out of the tree and back in, around all that uses it: as it was if that is still inside
// the same loops, else all of it further out.
typedef struct nw_kept {
  nw_stmt *in; // NULL: it has none
  nw_box box;
} nw_kept;
nw_kept nw_take_storage(nw_step *st, const nw_stmt *block);
void nw_put_storage(nw_step *st, const nw_stmt *block, const nw_kept *kept);
