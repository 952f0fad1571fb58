// Writes the instructions of a warp as PTX, for inline assembly in CUDA C and in LLVM IR.
#pragma once
#include "ir/program/intrinsic.h"

// Appends one statement of PTX. Operand n is written as `mark` and its number. For a product, operands 0 to 3 are the
// elements of C in the lane, which are read and written; the elements of A and those of B follow. For a load, the first
// operands are the elements of D in the lane; the last one is an address in shared memory. An element of 16 bits is a
// register of 16 bits, and an element of f32 is one of f32.
NW_API void nw_instruction_ptx(const nw_intrinsic *in, char mark, nw_str *out);
