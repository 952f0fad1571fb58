// Makes storage cyclic: element i is stored at position i % size, where it replaces element i - size. Private to
// sched/.
#pragma once
#include "ir/program/program.h"

// True if the storage can become cyclic: the buffer has no layout, or a layout that only changes the order of dimensions.
bool nw_can_fold_buffer(const nw_buffer *b);
// Makes the storage cyclic along dimension `dim`. Other dimensions do not change.
void nw_fold_buffer(nw_program *p, nw_buffer *b, int dim, int64_t size);
