// Finds the chains of updates, in which each result needs the previous result.
#pragma once
#include "cost/cpu/core.h"

// Returns the cycles of the longest chain in one run of a body. If `carried` is true, only chains that continue in the
// next iteration of the loop count.
double nw_core_longest_chain(const nw_core *k, const nw_core_node *body, bool carried);
