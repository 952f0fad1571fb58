// Lists the instructions of a GPU that the threads of a warp execute together: products of small matrices (tensor
// cores), and loads of small matrices from shared memory.
//
// The operands are tiles whose elements the lanes of the warp hold in registers. Such a tile is a *fragment*. Which
// lane holds which element is not a part of this table: an intrinsic states it (nw_fragment), and its trial compares
// the statement with what the instruction does (interp/instruction.h).
//
// A product computes C(i, j) + sum(A(i, k)*B(k, j), k) in f32. The products of the factors are exact. The order of the
// sums is not known, and numbers may be cut off instead of rounded: each of the depth + 1 terms, and the result. So the
// result differs from the exact one by at most
// (depth + 2) * 2^-23 * (|C(i, j)| + sum(|A(i, k)*B(k, j)|, k)).
#pragma once
#include "nestwright/expr.h"

#define NW_FRAGMENT_LANES 32 // threads of a warp
#define NW_INSTRUCTION_ROUNDING "sums in its own order, and may cut sums off instead of rounding them" // a product
#define NW_FRAGMENT_MOST 8 // the most elements of a fragment that a lane holds

typedef struct nw_instruction {
  const char *name, *doc;
  nw_dtype dtype; // of the factors, or of the elements that are loaded; for tf32, this is f32
  int rows, columns, depth; // of C, and of the sum; for a load, the tile in memory, and depth is 0
  int matrices; // a load: number of matrices of 8 rows of 16 bytes
  bool transposed; // a load: the lanes get the transposed matrices
  bool tf32; // the factors are rounded to tf32 first
  int capability; // the least compute capability of a GPU that has it, times 10
  const char *ptx;
} nw_instruction;

int nw_instruction_count(void);
const nw_instruction *nw_instruction_at(int i);
const nw_instruction *nw_instruction_find(const char *name); // NULL if there is none
// For a load: sets the place in the tile of the first of the 8 elements whose address a lane gives. If it gives none, it is
// treated like a lane that does: lanes beyond 8*matrices repeat those before.
void nw_instruction_row_of(const nw_instruction *in, int lane, int *row, int *column);
