// Sensible arguments for a primitive at a loop: those that a user would try first. Private to sched/.
#pragma once
#include "sched/sched.h"

enum { NW_VARIANTS = 4 };

// The loop to which a step is to be applied, and how to choose among sensible values.
typedef struct nw_sensible {
  nw_sched *s;
  const nw_program *p;
  nw_arena *a; // holds the arguments that are made
  nw_stmt *loop;
  // `n`: number of loops in `nest`, the loops around the first block inside `loop`; `at`: index of `loop` in `nest`
  int n, at;
  nw_stmt *nest[NW_MAX_DEPTH];
  nw_vec stage; // names of the stages inside the loop, then of the tensors that they read, then of other tensors
  int variant; // number of the sensible value to use; number 0 is the value that a user would try first
  // for a step on two loops or statements: true if the other one is before or around `loop`, false if it is after or
  // inside
  bool turned;
  uint64_t *random; // state of the generator, if arguments are chosen at random; else NULL
  const nw_param *missing; // the first parameter that has no sensible value
  bool outward; // true if the outermost of the step's loops is the last argument
  bool in_order; // true if the outermost loop is the first item of a list of loops
} nw_sensible;

// Initializes m for a loop of the current program. False, with an error, if there is no such loop. nw_sensible_end must
// be called even then.
bool nw_sensible_begin(nw_sensible *m, nw_sched *s, int loop);
void nw_sensible_end(nw_sensible *m);
// Makes one argument for each parameter, chosen by `variant` or at random. False if a parameter has no sensible value.
bool nw_sensible_fill(nw_sensible *m, const nw_primitive *row, nw_arg *args);
