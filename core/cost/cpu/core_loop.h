// Finds the costs that a loop adds to its body.
#pragma once
#include "cost/cpu/core.h"

void nw_core_add_loop(const nw_core *k, nw_core_node *loop); // adds counters and a branch
// Counts a store to memory if it goes to a different line than the preceding store of the body.
void nw_core_add_line(const nw_core *k, nw_core_node *body, const nw_core_access *a);
// Counts the first store of an iteration if it goes to a different line than the last store of the previous iteration.
// Must be called after the last store of the body.
void nw_core_close_lines(const nw_core *k, nw_core_node *body);
void nw_core_spill(nw_core *k); // adds register spills; must be called when all bodies are known
