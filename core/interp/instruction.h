// Executes the instructions of a warp on the elements that its lanes hold. The places of the elements are those of the
// PTX ISA, and do not come from the layouts that an intrinsic states.
#pragma once
#include "ir/program/instruction.h"

// Executes a product. Each operand has the elements of lane 0, then those of lane 1, and so on. The terms are added in
// the order of k, each sum rounded to f32.
void nwi_product(const nw_instruction *in, const void *a, const void *b, float *c);
// Executes a load. rows[l] is the address that lane l gives: 8 elements that begin there are row l % 8 of matrix l / 8.
// Only the first 8*in->matrices lanes give an address.
void nwi_load_matrices(const nw_instruction *in, const void *const *rows, void *to);
