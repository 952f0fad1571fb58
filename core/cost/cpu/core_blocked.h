// Loads that the store buffer cannot answer.
#pragma once
#include "cost/cpu/core.h"

void nw_core_block(nw_core *k); // nw_core_node.blocked, when it is known which loads there are
