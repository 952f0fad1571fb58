// Adjacent statements. Private to sched/.
#pragma once
#include "sched/sched.h"

// Two adjacent statements: in->kid[pos] and in->kid[pos + 1].
typedef struct nw_adjacent {
  nw_stmt *in;
  int pos;
} nw_adjacent;

// Makes two statements adjacent if only storage that ends or begins between them separates them: the storage is moved
// around both. The two statements are the children, of the innermost statement around a and b, that contain a and b.
// Otherwise makes a structural refusal.
bool nw_adjoin(nw_step *st, const nw_stmt *a, const nw_stmt *b, nw_adjacent *out);
// The same for n loops. Each of them must be such a child itself, and must have no mark.
bool nw_adjoin_loops(nw_step *st, int n, nw_stmt *const *loop, nw_adjacent *out);
