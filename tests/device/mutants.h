// Declares the mutants of a program for a GPU: copies of the lowered program with one mistake.
#pragma once
#include "lower/lower.h"

enum { MUTANT_NAME = 100 };

// Returns mutant n of a program that nw_lower_loops made, and writes what is wrong with it to `name`. Returns NULL if there
// are no more mutants. The numbers of mutants begin at 0. The caller releases the result.
nw_exec *mutant_of(const nw_exec *e, int n, char name[MUTANT_NAME]);
