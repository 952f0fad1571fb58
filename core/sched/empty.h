// Keeps the names of pieces of loops that were proven empty. An empty piece is in no program, but its name stays valid.
// A step on an empty piece has no effect, and a note reports this. Therefore a trace with steps on a tail can be
// replayed even if the tail is empty. Private to sched/.
#pragma once
#include "sched/sched.h"

// Adds the names of an empty piece of a loop. For loop i and the suffix "tail", these are i.tail, i.tail/j for each
// other loop j in `whole`, and C.tail for each block C in `whole`. Returns the id of the loop i.tail.
int nw_empty_piece(nw_step *st, const nw_stmt *loop, const nw_stmt *whole, const char *suffix);
// Adds the names of an empty version of a statement. For the path "else", these are else/i for each loop i in `whole`,
// and else/C for each block C in `whole`. Returns the id of the first loop.
int nw_empty_version(nw_step *st, const nw_stmt *whole, const char *path);
// Adds the name of a loop that a split removed because the main part is empty. If `id` is not 0, handles with that id
// also stay valid. Returns the id of the loop.
int nw_empty_named(nw_step *st, int id, const char *name);
int nw_empty_loop(const nw_sched *s, const char *name); // the id of the empty loop of that name; 0 if there is none
const char *nw_empty_name(const nw_sched *s, int id); // the name of the empty piece; NULL if no empty piece has this id
bool nw_empty_stage(const nw_sched *s, const char *name);
void nw_empty_results(nw_step *st); // makes the results of a step on an empty piece; the results are also empty pieces
