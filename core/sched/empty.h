// Pieces of a loop that were proven empty. They are in no program, but their names stay valid, so that a trace that mentions a
// tail replays if the tail is empty: a step on one does nothing, with a note. Private to sched/.
#pragma once
#include "sched/sched.h"

// Names for an empty piece "i.tail" (suffix "tail") of loop i: `whole`, everything below it, and the blocks. Returns
// the id of its loop.
int nw_empty_piece(nw_step *st, const nw_stmt *loop, const nw_stmt *whole, const char *suffix);
// Names for an empty version "else" of a statement: else/i, else/C. Returns the id of the first loop.
int nw_empty_version(nw_step *st, const nw_stmt *whole, const char *path);
// A loop that is gone because the main part is empty: its name stays valid, and so do handles with its id, if not 0.
int nw_empty_named(nw_step *st, int id, const char *name);
int nw_empty_loop(const nw_sched *s, const char *name); // an id, 0 if there is none
const char *nw_empty_name(const nw_sched *s, int id); // NULL if it is not an empty piece
bool nw_empty_stage(const nw_sched *s, const char *name);
void nw_empty_results(nw_step *st); // results of a step on an empty piece: more empty pieces
