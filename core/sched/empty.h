// Pieces of a loop that were proven empty. They are in no program, but their names stay valid, so that a trace with
// steps on a tail can be replayed if the tail is empty: a step on an empty piece has no effect, and a note reports
// this. Private to sched/.
#pragma once
#include "sched/sched.h"

// Adds the names of an empty piece "i.tail" (suffix "tail") of loop i, of all loops in `whole`, and of the blocks.
// Returns the id of the piece's loop.
int nw_empty_piece(nw_step *st, const nw_stmt *loop, const nw_stmt *whole, const char *suffix);
// Adds the names of an empty version "else" of a statement: else/i, else/C. Returns the id of the first loop.
int nw_empty_version(nw_step *st, const nw_stmt *whole, const char *path);
// Adds the name of a loop that was removed because the main part is empty. If id is not 0, handles with that id stay
// valid too.
int nw_empty_named(nw_step *st, int id, const char *name);
int nw_empty_loop(const nw_sched *s, const char *name); // the id of the empty loop of that name; 0 if there is none
const char *nw_empty_name(const nw_sched *s, int id); // NULL if it is not an empty piece
bool nw_empty_stage(const nw_sched *s, const char *name);
void nw_empty_results(nw_step *st); // makes the results of a step on an empty piece, which are empty pieces too
