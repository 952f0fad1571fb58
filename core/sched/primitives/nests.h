// Statements that follow each other. Private to sched/.
#pragma once
#include "sched/sched.h"

// Two statements made neighbours: in->kid[pos] and in->kid[pos + 1].
typedef struct nw_adjacent {
  nw_stmt *in;
  int pos;
} nw_adjacent;

// Where two statements follow each other but for storage that ends or begins between them, that storage is made to last
// for both. The statements are those that hold a and b directly where their nests part. Else a structural refusal.
bool nw_adjoin(nw_step *st, const nw_stmt *a, const nw_stmt *b, nw_adjacent *out);
// The same for n loops, each of which must be such a statement itself, and unmarked.
bool nw_adjoin_loops(nw_step *st, int n, nw_stmt *const *loop, nw_adjacent *out);
