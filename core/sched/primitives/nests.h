// Makes statements adjacent. Private to sched/.
#pragma once
#include "sched/sched.h"

// Represents two adjacent statements, in->kid[pos] and in->kid[pos + 1].
typedef struct nw_adjacent {
  nw_stmt *in;
  int pos;
} nw_adjacent;

// Makes two statements A and B adjacent. A is the outermost statement that contains a but not b and is not an
// allocation. B is the outermost statement that contains b but not a and is not an allocation. Storage that begins or
// ends between A and B is moved around both. If anything else is between them, makes a structural refusal and returns
// false.
bool nw_adjoin(nw_step *st, const nw_stmt *a, const nw_stmt *b, nw_adjacent *out);
// Does the same for n consecutive loops. Here, A and B must be the loops themselves.
bool nw_adjoin_loops(nw_step *st, int n, nw_stmt *const *loop, nw_adjacent *out);
