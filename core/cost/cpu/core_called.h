// Models the calls of intrinsics.
#pragma once
#include "cost/cpu/core.h"

// Replaces the instructions of the bodies inside calls by those of vector code.
void nw_core_call(nw_core *k);
bool nw_core_calls(const nw_core *k); // true if the program calls an intrinsic
