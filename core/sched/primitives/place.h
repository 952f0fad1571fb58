// Where a stage is computed: its nest taken out and made afresh elsewhere. Private to sched/.
#pragma once
#include "sched/sched.h"

// A stage on its way: its block is out of the tree, its buffers are not allocated.
typedef struct nw_lifted {
  nw_stmt *block;
  nw_stmt **reuse; // per variable: the unsplit loop that bound it, whose id and name go on; or NULL
  int index; // the parameter that says where among the statements; 0: none does
} nw_lifted;

// Fresh loops for every variable of the block, inside `loop` (NULL: the root) before the first statement that reads what
// it writes, unless an index is given, and the storage around both. In a loop only the box that is read there is computed.
bool nw_place(nw_step *st, nw_lifted *stage, nw_stmt *loop);
// Takes the stage's nest out. Loops that will not come back are noted as replaced.
void nw_lift(nw_step *st, const nw_path *path, nw_lifted *out);
void nw_note_mark(nw_step *st, const nw_stmt *loop); // a mark that fresh loops do not have
// Fresh loops around the block, one per variable, through these values; lo NULL: all that are declared.
typedef struct nw_rows {
  const nw_expr *lo, *extent;
} nw_rows;
nw_stmt *nw_fresh_nest(nw_step *st, nw_lifted *stage, const nw_rows *rows);
void nw_guard_domain(nw_step *st, nw_stmt *block);
// A stage that can be moved whole: one block writes it, it is a temporary and no scan. Else a structural refusal.
bool nw_is_piece(const nw_stmt *block, const nw_stmt *of); // do both do parts of one stage?
bool nw_can_move(nw_step *st, const nw_stmt *block);
bool nw_one_nest(nw_step *st, const nw_stmt *block); // the same of any tensor
// The innermost loop outside the nest that is the block's own; NULL at the root.
nw_stmt *nw_loop_around(const nw_path *path);
