// The judge: it represents programs as isl sets and maps, and decides whether each step is correct.
//
// No isl type appears in this header. The judge takes all its information from the programs before and after the step,
// and none from the primitive that made the step. An *instance* of a block is the tuple of the values of its variables
// in one execution.
#pragma once
#include "ir/program/program.h"

// True if `after` is a correct rewriting of `before`. The step is judged by the order of executions if both programs
// have the same blocks and execute every instance of the computation once. Otherwise it is judged by the computed
// values. The judge also checks that accesses are inside their buffers, that every output element is written, that
// marked loops carry no dependence, and that buffers fit in their scopes. If the result is false, the context holds an
// NW_EREFUSED or NW_EUNDECIDED diagnostic. The witness of a refusal is the lexicographically smallest pair of
// executions in conflict.
bool nw_judge(const nw_program *before, const nw_program *after);

// True if every sum of floats in `after` adds its terms in the order of `before`, so that rounding is the same. False
// if the order differs, or if isl cannot decide this. Only for steps that are judged by order.
bool nw_judge_sums(const nw_program *before, const nw_program *after);

// For a step in s:unsafe: checks that the result can be lowered and stored, and that its marks are nested correctly.
bool nw_judge_structure(const nw_program *before, const nw_program *after);
// True if every access is inside its buffer. Machine code of p then cannot corrupt memory, even if its results are
// wrong.
bool nw_judge_bounds(const nw_program *p);
// Checks that an unsafe program has no access outside its buffers: code must not write to such addresses, and the cache
// model has no lines for them. `what` describes the use of the program in the error, for example "compiled".
bool nw_judge_harmless(const nw_program *p, const char *what);

// Frees large data that was made to judge p; it is made again when needed.
void nw_judge_forget(const nw_program *p);

// Judges the first program of a computation: every access must be inside its buffer, every read must come after the
// write of its element, and all outputs must be written.
bool nw_judge_first(const nw_program *p);

// The iterations of a loop in which all conditions inside it hold, for all iterations of inner loops. The conditions
// are guards of blocks, conditions of selects, and clamps. Conditions that do not depend on the loop's variable are
// ignored.
typedef struct nw_interval {
  int nconds; // number of such conditions
  // the iterations lo..hi, as expressions of sizes and enclosing loops; NULL if there are none, or if `apart` is true
  const nw_expr *lo, *hi;
  bool apart; // true if the iterations are not consecutive
  bool branches; // true if some blocks run in iterations in which other blocks do not run, as in a fused loop
  // true if lo..hi is inside the loop's range for all sizes; if false, lo and hi must be clamped to the range
  bool stands;
} nw_interval;
bool nw_holding_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out); // false if it is undecided

// Finds a range of iterations of the loop such that no update inside the loop contributes in any other iteration. Sets
// out->nconds to 0 if some update always contributes.
bool nw_contributing_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out); // false if it is undecided

// A place where a barrier is needed: block `before` must finish in all threads before block `after` begins. If `loop`
// is 0, the blocks are in the same iteration of their common loops. Otherwise `after` is in a later iteration of `loop`
// than `before`. Allocated in the arena of p.
typedef struct nw_sync {
  int before, after; // ids of blocks
  int loop;
} nw_sync;
bool nw_syncs(const nw_program *p, nw_vec *out); // out: nw_sync *; false with a diagnostic if isl exceeded its budget

// nw_judge_question, in nestwright/sched.h, returns how the last step was judged.

// The rules of the judge (poly/rules.def), which the mutation tests can disable by name.
int nw_judge_rules(void);
const char *nw_judge_rule_name(int i);

// Sets the limit on isl operations for one question; 0 restores the default. A limit below 0 asks for a quick check,
// whose answer is not final.
long nw_judge_budget(nw_ctx *c, long most); // returns the previous limit

// Switches brief refusals on or off, and returns the previous state. A brief refusal names the buffer and the blocks in
// conflict, but no element and no iterations. This avoids the search for the smallest witness. On the packed GEMM, this
// increases the number of refusals per second from 4,400 to 17,000.
bool nw_judge_briefly(nw_ctx *c, bool brief);
