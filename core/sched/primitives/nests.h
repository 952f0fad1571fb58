// Adjacent statements. Private to sched/.
#pragma once
#include "sched/sched.h"

// Two adjacent statements: in->kid[pos] and in->kid[pos + 1].
typedef struct nw_adjacent {
  nw_stmt *in;
  int pos;
} nw_adjacent;

// Makes two statements adjacent if they are separated only by storage that ends or begins between them: the storage is
// moved around both. The innermost statement around a and b has a child that contains a and a child that contains b;
// these are the two statements. Otherwise makes a structural refusal.
bool nw_adjoin(nw_step *st, const nw_stmt *a, const nw_stmt *b, nw_adjacent *out);
// Does the same for n loops. Each loop must itself be such a child, and must have no mark.
bool nw_adjoin_loops(nw_step *st, int n, nw_stmt *const *loop, nw_adjacent *out);
