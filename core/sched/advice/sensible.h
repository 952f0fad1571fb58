// Chooses sensible arguments for a primitive at a loop. These are arguments that a user would try first. Private to
// sched/.
#pragma once
#include "sched/sched.h"

enum { NW_VARIANTS = 4 };

// Describes the loop of a step, and says how to choose among the sensible values of an argument.
typedef struct nw_sensible {
  nw_sched *s;
  const nw_program *p;
  nw_arena *a; // holds the arguments that are made
  nw_stmt *loop;
  // `n`: number of loops in `nest`, the loops around the first block inside `loop`; `at`: index of `loop` in `nest`
  int n, at;
  nw_stmt *nest[NW_MAX_DEPTH];
  // names of the first stage in the loop, of the stages that the loop reads, of the other stages in the loop, and of
  // other tensors that the loop reads
  nw_vec stage;
  int variant; // number of the sensible value to use; number 0 is the value that a user would try first
  // for a step on two loops or statements: true if the second loop or statement is before or around `loop`, false if it
  // is after or inside `loop`
  bool turned;
  uint64_t *random; // state of the random generator; NULL if arguments are not chosen at random
  const nw_param *missing; // the first parameter that has no sensible value
  bool outward; // true if the outermost of the step's loops is the last argument
  bool in_order; // true if the outermost loop is the first item of a list of loops
} nw_sensible;

// Initializes m for a loop of the current program. Returns false and reports an error if there is no such loop.
// nw_sensible_end must be called in both cases.
bool nw_sensible_begin(nw_sensible *m, nw_sched *s, int loop);
void nw_sensible_end(nw_sensible *m);
// Makes one argument for each parameter, chosen by `variant` or at random. Returns false if a parameter has no sensible
// value.
bool nw_sensible_fill(nw_sensible *m, const nw_primitive *row, nw_arg *args);
