// Declares how the arrays of single threads are made smaller. This header is private to lower/.
#pragma once
#include "ir/program/program.h"

// Makes the box of an allocation the part that one thread uses, if the buffer is local and loops over threads are inside
// the allocation. Then the least indices use the indices of the thread, which are variables named "threadIdx.x" and so on
// (nw_grid_index). Returns false and changes nothing if the part is not known. `r` has the ranges around the allocation.
bool nw_private_box(nw_program *p, nw_ranges *r, nw_stmt *alloc);
