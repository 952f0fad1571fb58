// Storage in which elements replace each other in turn. Private to sched/.
#pragma once
#include "ir/program/program.h"

// Stores element i of dimension `dim` at position i % size. Other dimensions do not change.
void nw_fold_buffer(nw_program *p, nw_buffer *b, int dim, int64_t size);
