// What a loop adds to its body.
#pragma once
#include "cost/cpu/core.h"

void nw_core_add_loop(const nw_core *k, nw_core_node *loop); // counters and a branch
// A store to memory: does it go to another line than the one before it in the body?
void nw_core_add_line(const nw_core *k, nw_core_node *body, const nw_core_access *a);
void nw_core_close_lines(const nw_core *k,
                         nw_core_node *body); // from the last store of an iteration to the first of the next
void nw_core_spill(nw_core *k); // when all bodies are known
