// Sensible arguments for a primitive at a loop: what a user would try first there. Private to sched/.
#pragma once
#include "sched/sched.h"

enum { NW_VARIANTS = 4 };

// The loop that a step is to be about, and how to choose among sensible values.
typedef struct nw_sensible {
  nw_sched *s;
  const nw_program *p;
  nw_arena *a; // what is made here lives in it
  nw_stmt *loop;
  int n, at; // loops around the first block inside, outermost first; this one among them
  nw_stmt *nest[NW_MAX_DEPTH];
  nw_vec stage; // names: what is computed inside, what that reads, other tensors
  int variant; // which of several sensible values, 0 being the first that a user would think of
  bool turned; // loops and statements: this one and the one before it, not the one after it
  uint64_t *random; // the state of a generator that draws each value, and whether an optional one is given; or NULL
  const nw_param *missing; // the first for which nothing sensible came to mind
  bool outward, in_order; // how the step being tried takes its loops: the outer one last; a list outermost first
} nw_sensible;

// Begins at a loop of the current program. False, with an error, where there is none. Ended in either case.
bool nw_sensible_begin(nw_sensible *m, nw_sched *s, int loop);
void nw_sensible_end(nw_sensible *m);
// One argument for each parameter, by `variant` or drawn. False when nothing sensible comes to mind.
bool nw_sensible_fill(nw_sensible *m, const nw_primitive *row, nw_arg *args);
