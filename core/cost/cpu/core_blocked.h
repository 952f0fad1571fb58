// Finds loads to which the store buffer cannot forward data.
#pragma once
#include "cost/cpu/core.h"

void nw_core_block(nw_core *k); // sets nw_core_node.blocked; must be called when all loads are known
