// Moves a loop inwards: statements that were inside the loop are then around it, or beside it. Private to sched/.
#pragma once
#include "sched/sched.h"

// A loop moves past all statements between itself and the statement `end`, which is inside the loop. Every statement
// beside them gets a copy of the loop around it, one copy for neighbouring statements. If `split` is true, `end` itself
// is then outside of the loop and of all copies. Otherwise, all children of `end` are together inside the loop.
// Storage on the way is enlarged, so that it has the part that all iterations of the loop use. A condition that uses the
// variable of the loop moves inwards with the loop.
typedef struct nw_inwards {
  nw_stmt *loop, *end;
  bool split;
} nw_inwards;

// True if the loop can be moved. Otherwise, *why is the reason, as a sentence.
bool nw_moves_inwards(nw_step *st, const nw_inwards *to, const char **why);
void nw_move_inwards(nw_step *st, const nw_inwards *to);
