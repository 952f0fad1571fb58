// Vector loops along which a reduction runs. The lanes of such a loop do not share an element: each lane has an
// accumulator, which lowering combines (lower/accumulate.c). The judge and lowering use the same functions.
#pragma once
#include "ir/program/program.h"

// A reduction block whose updates are distributed over the lanes of a vector loop. The accumulators of the lanes live
// during the loop at position `top` of the path, which is the vector loop or a loop around it.
typedef struct nw_accumulation {
  nw_path path; // the path from the root to the block
  const nw_stmt *block;
  int vector, top; // positions in the path
  // NULL, or the reason why the lanes cannot have accumulators, with a "%s" for the block's name and one for `about`
  const char *why;
  const char *about;
} nw_accumulation;

// Returns false if the block is not a reduction along a loop marked NW_VECTOR_REDUCE.
bool nw_accumulation_of(nw_accumulation *x, const nw_program *p, const nw_stmt *block);
// True if position i of the path is a loop that is run again for each accumulator of a lane: it runs over elements.
bool nw_accumulates_apart(const nw_accumulation *x, int i);
// True if e uses a loop of the reduction during which the accumulators live.
bool nw_accumulates_along(const nw_accumulation *x, const nw_expr *e);
// True if there is such a loop below s.
bool nw_reduces_in_lanes(const nw_stmt *s);
