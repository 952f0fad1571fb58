// Declares the tree of versions. Private to sched/.
#pragma once
#include "sched/args.h"

nw_node *nw_sched_node(const nw_sched *s, int version); // NULL if there is none
nw_node *nw_sched_head(const nw_sched *s);
// Adds a new version, makes it the current version, and takes over the caller's reference to p.
void nw_sched_append(nw_sched *s, const nw_step *st, nw_program *p);
// Sets *out to a heap array of the versions after the naive program, up to the current version, in order. Returns the
// number of these versions.
int nw_sched_line(const nw_sched *s, nw_node ***out);
