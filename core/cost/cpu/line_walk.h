// Finds whether an access moves through adjacent lines, which prefetchers detect, or jumps from line to line.
#pragma once
#include "cost/cpu/core.h"

typedef struct nw_line_walk {
  bool loads_jump, stores_jump; // true if too few lines are adjacent for prefetching
  double unforeseen; // the fraction of the access's lines that are not prefetched
  double crowding; // 0 if the lines to which the access jumps are in many sets; 1 if all of them are in one set
} nw_line_walk;

void nw_line_spans(nw_core *k); // finds adjacent accesses, for nw_line_walk_of
nw_line_walk nw_line_walk_of(const nw_core *k, const nw_core_access *a);
