// Moves a stage: removes its nest, and builds a new nest elsewhere. Private to sched/.
#pragma once
#include "sched/sched.h"

// Describes the range of one variable of the block in the new nest. If lo is NULL, this is the declared range.
typedef struct nw_rows {
  const nw_expr *lo, *extent;
} nw_rows;

// Describes a stage that is being moved. Its block is not in the tree, and its buffers are not allocated.
typedef struct nw_lifted {
  nw_stmt *block;
  nw_stmt **reuse; // for each variable, the old unsplit loop that bound it, or NULL; the new loop keeps its id and name
  bool shifted; // true if a loop that ran over a part of a variable, and is unsplit, counts as its old loop too
  // for a piece of a stage that moves alone: the range of each variable in the piece; otherwise NULL. The other pieces
  // use the same storage, so the storage does not move.
  nw_rows *part;
  int index; // number of the step's parameter that gives the position of the stage in the loop; 0 if there is none
} nw_lifted;

// Makes new loops for all variables of the block inside `loop`, or at the root if `loop` is NULL. The parameter number
// stage->index of the step gives the position of the new loops. By default, they are before the first reader of the
// block's buffers. Allocates storage around the nest and its readers. Inside a loop, only the box that one iteration
// reads is computed.
bool nw_place(nw_step *st, nw_lifted *stage, nw_stmt *loop);
// Removes the stage's nest. Loops that are not built again are recorded as replaced.
void nw_lift(nw_step *st, const nw_path *path, nw_lifted *out);
// The new loop of this variable will have the id and the name of `loop`, or will be new if `loop` is NULL.
void nw_reuse_loop(nw_step *st, nw_lifted *stage, int var, nw_stmt *loop);
// Returns a second computation of the stage, which is not in the tree yet. Its name is `name` or begins with it.
nw_lifted nw_lift_copy(nw_step *st, const nw_stmt *block, const char *name);
// Adds a note if an element of the stage is computed several times.
void nw_note_recompute(nw_step *st, const nw_stmt *block);
int nw_allocations(const nw_stmt *s, const char *buffer); // number of allocations of the buffer at or below s
void nw_note_mark(nw_step *st, const nw_stmt *loop); // adds a note if the loop has a mark, which the new loops lack
nw_stmt *nw_fresh_nest(nw_step *st, nw_lifted *stage, const nw_rows *rows);
void nw_guard_domain(nw_step *st, nw_stmt *block);
bool nw_is_piece(const nw_stmt *block, const nw_stmt *of); // true if both compute parts of one stage
// Checks that a stage can be moved as a whole: one block writes it, and it is a temporary and not a scan. Otherwise
// makes a structural refusal.
bool nw_can_move(nw_step *st, const nw_stmt *block);
bool nw_one_nest(nw_step *st, const nw_stmt *block); // like nw_can_move, but the stage need not be a temporary
// Returns the innermost loop around the block that does not belong to the block's own nest, or NULL if there is none.
nw_stmt *nw_loop_around(const nw_path *path);
// Checks that the whole stage can be moved. The stage may have several pieces, because the move merges them into one
// nest.
bool nw_can_move_whole(nw_step *st, const nw_stmt *block);
bool nw_is_among(const nw_stmt *s, int n, nw_stmt *const *list);
bool nw_is_scan(const nw_stmt *block); // true if the block is a scan or a definition of an update
bool nw_is_definition(const nw_stmt *block); // true if it is a definition of an update, and not a scan
// Why such a block cannot move on its own, and what it is: "it is an update".
const char *nw_scan_reason(const nw_stmt *block);
const char *nw_scan_noun(const nw_stmt *block);
// Finds the part of dimension d that one iteration of the last loop of the path writes, if it varies with the loops of
// the path. Otherwise, or if the part is not known, returns false.
bool nw_made_at(nw_step *st, const nw_path *at, const char *buffer, int d, const nw_expr **lo, const nw_expr **hi);
int nw_allocations_of(const nw_stmt *s, const char *buffer); // number of allocations of the buffer inside s
// Returns the number of blocks that write the buffer. If `pieces` is true, the pieces of one stage count as one block.
int nw_writers_of(nw_step *st, const nw_stmt *block, const char *buffer, bool pieces);

// The stages that are computed in the loops of another stage, and that only this stage needs. They move with it.
typedef struct nw_feeders {
  int n;
  struct nw_feeder *at; // in reverse order: a reader before the stages that it reads
} nw_feeders;
// True if the statement `top`, which contains the block, contains otherwise only such stages.
bool nw_feeds_alone(nw_step *st, const nw_stmt *top, nw_stmt *block);
nw_feeders nw_lift_feeders(nw_step *st, const nw_path *own); // removes them
// Computes the stages again, in the loop in which each was computed if that loop still exists, otherwise in `loop`.
bool nw_place_feeders(nw_step *st, const nw_feeders *f, nw_stmt *loop);
