// The instructions that a loop adds to its body.
#pragma once
#include "cost/cpu/core.h"

void nw_core_add_loop(const nw_core *k, nw_core_node *loop); // counters and a branch
// Counts a store to memory that goes to another line than the preceding store of the body.
void nw_core_add_line(const nw_core *k, nw_core_node *body, const nw_core_access *a);
void nw_core_close_lines(const nw_core *k,
                         nw_core_node *body); // from the last store of an iteration to the first of the next
void nw_core_spill(nw_core *k); // called when all bodies are known
