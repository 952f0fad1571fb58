// Declares the judge, which represents programs as isl sets and maps and decides whether each step is correct.
//
// No isl type appears in this header. The judge takes all its information from the programs before and after the step,
// and none from the primitive that made the step. An *instance* of a block is the tuple of the values of its variables
// in one execution.
#pragma once
#include "ir/expr/equality.h"
#include "ir/program/program.h"

// True if `after` is a correct rewriting of `before`. The step is judged by the order of executions if both programs
// have the same blocks and execute every instance of the computation once. Otherwise it is judged by the computed
// values. The judge also checks that accesses are inside their buffers, that every output element is written, that
// marked loops carry no dependence, and that buffers fit in their scopes. If the result is false, the context holds an
// NW_EREFUSED or NW_EUNDECIDED diagnostic. The witness of a refusal is the lexicographically smallest pair of
// executions in conflict.
bool nw_judge(const nw_program *before, const nw_program *after);

// True if every sum of floats in `after` adds its terms in the order of `before`, so that rounding is the same. False
// if the order differs, or if isl cannot compare the orders. The answer can be relied on only if the step is judged by
// order, because only then do both programs have the same blocks.
bool nw_judge_sums(const nw_program *before, const nw_program *after);

// True if the result of a step in s:unsafe can be lowered and stored, its marks are nested correctly, and it keeps the
// properties that the user has set.
bool nw_judge_structure(const nw_program *before, const nw_program *after);

// A rewrite of the values of a stage: the blocks with this origin, except for a separate init.
typedef struct nw_rewriting {
  const char *origin;
  nw_equality equality;
} nw_rewriting;
bool nw_is_rewritten(const nw_rewriting *w, const nw_stmt *block); // true if w applies to the values of the block
typedef struct nw_equality_verdict {
  const nw_rewriting *rewriting;
  bool rounds; // true if a part that was not proved is a float
  bool proved; // true if all of them keep their values; otherwise they were tested
  int compared; // the least number of values on which a part was tested
  int beyond; // number of values at which a number leaves the range of f64, so that they tell nothing
  char *lost; // describes values at which only the new part is infinite or NaN; heap, or NULL
  char *nan; // describes values, one of them NaN, at which the two parts differ; heap, or NULL
} nw_equality_verdict;
// Decides whether both sides have the same values wherever the stage computes them: by proof, or else by a test on many
// values. Returns false with a diagnostic if they differ, or if too few values could be tested.
bool nw_judge_equality(const nw_program *p, const nw_rewriting *w, nw_equality_verdict *out);
// True if `after` is `before` with the equality applied to the values of the stage, and nothing else, and if `after`
// passes the checks that do not compare values. Whether the equality holds is a question for nw_judge_equality.
bool nw_judge_rewrite(const nw_program *before, const nw_program *after, const nw_rewriting *w);

// True if every access is inside its buffer. Machine code of p then cannot corrupt memory, even if the results are
// wrong.
bool nw_judge_bounds(const nw_program *p);
// True if p is not unsafe, or if every access of p is inside its buffer. Otherwise leaves an error, since compiled code
// would corrupt memory, and the cache model has no lines for addresses outside buffers. `what` describes the use of the
// program in the error, for example "compiled".
bool nw_judge_harmless(const nw_program *p, const char *what);

// Frees the data that was made to judge p if they are large. They are made again when they are needed.
void nw_judge_forget(const nw_program *p);

// Judges the first program of a computation: every access must be inside its buffer, every read must come after the
// write of its element, and all outputs must be written.
bool nw_judge_first(const nw_program *p);

// The iterations of a loop in which all conditions inside the loop hold, for all iterations of inner loops. The
// conditions are guards of blocks, conditions of selects, and clamps. Conditions that do not depend on the loop's
// variable are ignored.
typedef struct nw_interval {
  int nconds; // number of conditions that depend on the loop's variable
  // The iterations i with lo <= i < hi. The bounds are expressions of sizes and enclosing loops. They are NULL if the
  // conditions hold in no iteration, or if `apart` is true.
  const nw_expr *lo, *hi;
  bool apart; // true if the iterations are not consecutive
  bool branches; // true if some blocks run in iterations in which other blocks do not run, as in a fused loop
  // true if these iterations are in the loop's range for all sizes; if false, lo and hi must be clamped to the range
  bool stands;
} nw_interval;
// Finds this interval for a loop. Returns false if isl cannot decide where the conditions hold.
bool nw_holding_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out);

// Finds a range of iterations of the loop such that no update inside the loop contributes in any other iteration. Sets
// out->nconds to 0 if some update always contributes. Returns false if isl cannot decide where updates contribute.
bool nw_contributing_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out);

// True if e, as component t of a contribution to the reduction, never changes the reduction's value. `dtype` is the dtype
// of the element.
bool nw_is_neutral(const nw_stmt *block, int t, nw_dtype dtype, const nw_expr *e);

// The value of a padded stage, select(condition, x, constant): it may differ from the constant only where `inside` holds.
// `inside` uses the variables of the block.
typedef struct nw_padding {
  const nw_expr *constant, *inside;
} nw_padding;
// Finds the padding of a plain block. Returns false if its value does not have this form.
bool nw_padding_of(const nw_program *p, const nw_stmt *block, nw_padding *out);
// Finds a range of iterations of the loop such that the padded stages inside the loop have their constant in all other
// iterations. Sets out->nconds to 0 if a block inside the loop is not padded. Returns false if isl cannot decide where the
// conditions hold.
bool nw_inside_rounds(const nw_program *p, const nw_stmt *loop, nw_interval *out);

// A place where a barrier is needed: block `before` must finish in all threads before block `after` begins. If `loop`
// is 0, the blocks are in the same iteration of their common loops. Otherwise `after` is in a later iteration of `loop`
// than `before`. If `warp` is true, the threads of a warp share the element, so that only they must wait for each other.
// Allocated in the arena of p.
typedef struct nw_sync {
  int before, after; // ids of blocks
  int loop;
  bool warp;
} nw_sync;
// Adds an nw_sync * to `out` for each place. Returns false with a diagnostic if isl exceeded its budget.
bool nw_syncs(const nw_program *p, nw_vec *out);

// A place where a thread must wait for asynchronous copies: the copies of block `copy` must have arrived before block
// `use` reads their elements. If `loop` is 0, both are in the same iteration of their common loops, and `apart` is the
// least number of iterations, before the use, of the outermost loop that is only around the use. Otherwise the use is in
// a later iteration of `loop`, and `apart` is the least number of iterations from the copy to the use. If `use` is 0,
// some of the copies are not used. A thread waits only for its own copies; if `others` is true, a thread uses those of
// others too, so a barrier must follow the wait. Allocated in the arena of p.
typedef struct nw_arrival {
  int copy, use; // ids of blocks
  int loop;
  int64_t apart;
  bool others;
} nw_arrival;
// Adds an nw_arrival * to `out` for each place. Returns false with a diagnostic if isl exceeded its budget.
bool nw_arrivals(const nw_program *p, nw_vec *out);

// nw_judge_question, in nestwright/sched.h, returns how the last step was judged.

// Return the number of rules of the judge (poly/rules.def), and the name of rule i. The mutation tests disable rules by
// name.
int nw_judge_rules(void);
const char *nw_judge_rule_name(int i);

// Sets the limit on isl operations for one question, and returns the previous limit. The limit 0 restores the default.
// A limit below 0 asks for a quick check with at most -most operations. The answer of a quick check is not final.
long nw_judge_budget(nw_ctx *c, long most);

// Switches brief refusals on or off, and returns the previous state. A brief refusal names the buffer and the blocks in
// conflict, but no element and no iterations, so the judge need not search for the smallest witness. On the packed
// GEMM, brief refusals increase the number of refusals per second from 4,400 to 17,000.
bool nw_judge_briefly(nw_ctx *c, bool brief);
