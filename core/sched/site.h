// The position of a nest in a loop, and the storage around the nest and its readers. Private to sched/.
#pragma once
#include "sched/box.h"
#include "sched/sched.h"

// The position before in->kid[pos]. Statements of a loop are counted from 0, including those inside shared storage.
typedef struct nw_spot {
  nw_stmt *in;
  int pos;
} nw_spot;
int nw_spot_count(const nw_stmt *in);
nw_spot nw_spot_at(nw_stmt *in, int n); // n == count: after the last statement

// The earliest position of a block that is not below `in` (after the last statement that writes what it reads) and
// the latest (before the first that reads what it writes).
int nw_spot_first(const nw_stmt *in, const nw_stmt *block);
int nw_spot_last(const nw_stmt *in, const nw_stmt *block);
// The position given by the option `param` (0: there is none), else `fallback`; false and an error if the loop has no such
// position.
bool nw_spot_given(nw_step *st, int param, nw_stmt *in, const nw_stmt *block, int fallback, int *out);

bool nw_feeds(const nw_stmt *s, const nw_stmt *block); // true if anything below s writes what the block reads
bool nw_reads_any(const nw_stmt *s, const nw_stmt *block); // true if s reads what the block writes
// Allocates the buffers of the block around everything below `in` that uses them. box NULL: all of it.
void nw_store_around(nw_step *st, nw_stmt *in, const nw_stmt *block, const nw_box *box);

// Removes the allocations of a block's buffers and inserts them again around all uses: unchanged if these are still inside
// the same loops, otherwise whole and further out.
typedef struct nw_kept {
  nw_stmt *in; // NULL: there is none
  nw_box box;
} nw_kept;
nw_kept nw_take_storage(nw_step *st, const nw_stmt *block);
void nw_put_storage(nw_step *st, const nw_stmt *block, const nw_kept *kept);
