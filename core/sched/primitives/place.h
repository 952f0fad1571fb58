// Moving a stage: its nest is removed and built anew elsewhere. Private to sched/.
#pragma once
#include "sched/sched.h"

// A stage that is being moved: its block is not in the tree, its buffers are not allocated.
typedef struct nw_lifted {
  nw_stmt *block;
  nw_stmt **reuse; // per variable: the unsplit loop that bound it, whose id and name are kept; or NULL
  int index; // the parameter with the position among the statements; 0: there is none
} nw_lifted;

// New loops for every variable of the block, inside `loop` (NULL: the root) before the first statement that reads what
// it writes, unless an index is given; then allocates storage around both. In a loop only the box that is read there is computed.
bool nw_place(nw_step *st, nw_lifted *stage, nw_stmt *loop);
// Removes the stage's nest. Loops that are not built again are recorded as replaced.
void nw_lift(nw_step *st, const nw_path *path, nw_lifted *out);
void nw_note_mark(nw_step *st, const nw_stmt *loop); // notes a mark that the new loops do not have
// New loops around the block, one per variable, over the given ranges; lo NULL: the declared ranges.
typedef struct nw_rows {
  const nw_expr *lo, *extent;
} nw_rows;
nw_stmt *nw_fresh_nest(nw_step *st, nw_lifted *stage, const nw_rows *rows);
void nw_guard_domain(nw_step *st, nw_stmt *block);
// Checks that a stage can be moved as a whole: one block writes it, and it is a temporary and not a scan. Else a structural
// refusal.
bool nw_is_piece(const nw_stmt *block, const nw_stmt *of); // true if both compute parts of one stage
bool nw_can_move(nw_step *st, const nw_stmt *block);
bool nw_one_nest(nw_step *st, const nw_stmt *block); // the same for any tensor
// The innermost loop around the block that is outside its own nest; NULL at the root.
nw_stmt *nw_loop_around(const nw_path *path);
