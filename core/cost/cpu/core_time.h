// Cycles of the bodies that core.h describes.
#pragma once
#include "cost/cpu/core.h"

typedef struct nw_core_cost { // of one execution of a loop, guard or program, with everything inside
  double busy[NW_CORE_BOUNDS]; // cycles that each resource is busy
  double instructions; // as they are dispatched
  double waiting; // instructions that wait for a chain
  double cycles; // when nothing but resources limits it
  double wait; // of its longest chain of results that wait for one another
} nw_core_cost;

// With a row for every body, by nw_core_node.number; owned by k.
nw_core_cost nw_core_time(nw_core *k);
// Adds what all bodies do, as often as they run.
void nw_core_add_all(const nw_core *k, nw_core_ops *to);
double nw_core_instructions(const nw_core_ops *ops);
const char *nw_core_bound_name(const nw_machine *m, int bound);
