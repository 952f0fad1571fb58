// Adjacent statements. Private to sched/.
#pragma once
#include "sched/sched.h"

// Two adjacent statements: in->kid[pos] and in->kid[pos + 1].
typedef struct nw_adjacent {
  nw_stmt *in;
  int pos;
} nw_adjacent;

// Let A be the outermost statement that contains a but not b, and B the outermost one that contains b but not a;
// neither is an allocation. Makes A and B adjacent: storage that ends or begins between them is moved around both. If
// anything else is between them, makes a structural refusal.
bool nw_adjoin(nw_step *st, const nw_stmt *a, const nw_stmt *b, nw_adjacent *out);
// Does the same for n consecutive loops. Here each loop must itself be the outermost statement.
bool nw_adjoin_loops(nw_step *st, int n, nw_stmt *const *loop, nw_adjacent *out);
