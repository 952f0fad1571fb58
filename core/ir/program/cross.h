// Cross-thread reductions: the threads of a GPU block share a reduction, because a loop along which a block reduces is
// bound to threadIdx. Such a program means the following. Each thread adds up a partial result of its own. After the
// outermost loop of the reduction, the threads combine the partial results in pairs (halving.h), and thread 0 combines the
// last one with the old value of the element, or with its init. Only thread 0 writes the result. Other threads can read it
// after a barrier, if its storage is visible to them. If the number of threads is not constant, the partial results are in
// shared storage, and thread 0 combines them all, in the order of the thread indices: z is the slowest index, and x the
// fastest.
//
// nw_cross_threads writes this down: it turns each cross-thread reduction into a block of partial results and blocks
// that combine them. The judge examines the program that results, and lowering and the interpreter run it.
#pragma once
#include "ir/program/program.h"

// True if the loop is bound to threadIdx, and the block reduces along it.
bool nw_crosses(const nw_stmt *block, const nw_stmt *loop);
// True if p has a cross-thread reduction.
bool nw_has_crossing(const nw_program *p);
// Rewrites all cross-thread reductions of p, which is not frozen. Returns false if a reduction cannot be rewritten. Such
// a reduction is left as it is, and *why is the reason for the first of them. `why` may be NULL.
bool nw_cross_threads(nw_program *p, const char **why);
// Returns a copy of p in which all cross-thread reductions are rewritten. Returns NULL if one cannot be rewritten.
nw_program *nw_crossed(const nw_program *p, const char **why);
