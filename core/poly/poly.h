// The judge: a program as isl sets and maps, and the one verdict that every step passes through.
//
// No isl type appears here. Every question is about two programs only: the judge reads original instances, bindings,
// accesses, storage and marks from them, never what the primitive says it did.
#pragma once
#include "ir/program/program.h"

// Is `after` a correct rewriting of `before`? Chooses the question itself: by order when both have the same blocks and
// every original instance is executed once in each, else by value. Also: accesses inside their buffers, every output
// element written, marked loops carry no dependence, scope capacity. On false the context holds an NW_EREFUSED or
// NW_EUNDECIDED diagnostic with a refusal whose witness is the lexicographically smallest pair.
bool nw_judge(const nw_program *before, const nw_program *after);

// True if every sum of floats in `after` takes its terms in the order of `before`, so that it is rounded alike; false also
// where that is undecided. Of steps that are judged by order.
bool nw_judge_sums(const nw_program *before, const nw_program *after);

// Of a step that the user does not want judged: that the result can be lowered and stored, and its marks nested.
bool nw_judge_structure(const nw_program *before, const nw_program *after);
// Every access inside its buffer: then machine code of p, right or wrong, does no harm.
bool nw_judge_bounds(const nw_program *p);
// Code that nobody judged may be wrong, but it must not write where it likes, and a model has no cache line for it there.
// `what` is done to such a program, in the error: "compiled".
bool nw_judge_harmless(const nw_program *p, const char *what);

// Lets go of what was made to judge p, where that is much; it is made again when p is asked about.
void nw_judge_forget(const nw_program *p);

// The first program of a computation: every access inside its buffer, every read after its write, outputs covered.
bool nw_judge_first(const nw_program *p);

// The rounds of a loop in which every condition below it that speaks of the loop holds, whatever the loops inside do: the
// guards of blocks, conditions of selects, clamps.
typedef struct nw_interval {
  int nconds; // how many there are
  const nw_expr *lo, *hi; // the rounds lo..hi, in sizes and loops around; NULL when there is no such round or they are
  bool apart; // ... not next to one another
  bool branches; // some blocks run in rounds in which others do not, as those of a fused loop
  bool stands; // lo..hi are rounds of the loop whatever the sizes are; else they have to be brought inside its range
} nw_interval;
bool nw_holding_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out); // p frozen; false: undecided

// The rounds of a loop outside of which every update below it adds nothing, from the first to the last of them. nconds 0: an
// update below it always contributes.
bool nw_contributing_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out); // p frozen; false: undecided

// Where barriers are needed: what block `before` does must be done, for all threads, before what block `after` does; in
// the same round of the loops around both, or (loop not 0) in a later round of that loop. In the arena of p.
typedef struct nw_sync {
  int before, after; // ids of blocks
  int loop;
} nw_sync;
bool nw_syncs(const nw_program *p, nw_vec *out); // nw_sync *; false and a diagnostic when isl gave up

// Which question it answered last: nw_judge_question, in nestwright.h.

// Rules of the judge that the mutant tests can switch off, one bit each (poly/rules.def).
int nw_judge_rules(void);
const char *nw_judge_rule_name(int i);

// Operations of isl the judge may spend on one question; 0 restores the default.
// Below 0: a glance, whose answer is no verdict.
long nw_judge_budget(nw_ctx *c, long most); // returns what it was
