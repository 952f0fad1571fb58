// Storage of which elements take turns. Private to sched/.
#pragma once
#include "ir/program/program.h"

// Element i of dimension `dim` goes to place i % size. Other dimensions stay as they are.
void nw_fold_buffer(nw_program *p, nw_buffer *b, int dim, int64_t size);
