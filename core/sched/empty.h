// Pieces of a loop that were proven empty. They are in no program and can still be named, so that a trace that speaks of a
// tail replays where the tail vanishes: a step on one does nothing, with a note. Private to sched/.
#pragma once
#include "sched/sched.h"

// What the piece "i.tail" (suffix "tail") of loop i would have been: `whole`, everything below it, the blocks. Returns
// the id of its loop.
int nw_empty_piece(nw_step *st, const nw_stmt *loop, const nw_stmt *whole, const char *suffix);
// What the version "else" of a statement would have been: else/i, else/C. The id of the first loop.
int nw_empty_version(nw_step *st, const nw_stmt *whole, const char *path);
// A loop that went with a main part that has no round: the name stays, and the handles that know it by its id, if not 0.
int nw_empty_named(nw_step *st, int id, const char *name);
int nw_empty_loop(const nw_sched *s, const char *name); // an id, 0 if there is none
const char *nw_empty_name(const nw_sched *s, int id); // NULL if it is none
bool nw_empty_stage(const nw_sched *s, const char *name);
void nw_empty_results(nw_step *st); // what an idle step gives back: more empty pieces
