// Computes the cycles of the bodies that core.h describes.
#pragma once
#include "cost/cpu/core.h"

typedef struct nw_core_cost { // cost of one execution of a loop, guard or program, with everything inside
  double busy[NW_CORE_BOUNDS]; // number of cycles for which each resource is busy
  double instructions; // number of dispatched instructions
  double waiting; // number of instructions that wait in a dependence chain
  double cycles; // cycles if only resources limit the speed
  double wait; // cycles of the longest chain, in which each result needs the previous result
} nw_core_cost;

// Computes the time of every body, stores it in its node, and returns the time of the whole program.
nw_core_cost nw_core_time(nw_core *k);
// Adds the operations of all bodies. The operations of a body are multiplied by the number of its executions.
void nw_core_add_all(const nw_core *k, nw_core_ops *to);
double nw_core_instructions(const nw_core_ops *ops);
const char *nw_core_bound_name(const nw_machine *m, int bound);
