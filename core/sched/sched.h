// Declares a schedule, which is a tree of programs: each program is made from its parent by a step. Also declares the
// state of a step in progress, which primitives read and change.
#pragma once
#include "ir/program/program.h"
#include "poly/poly.h"
#include "te/te.h"

// Records a loop that a step replaced.
typedef struct nw_gone {
  int id; // id of the replaced loop
  const char *how; // what the step did to the loop, for messages; for example "split"
  int n; // number of new loops
  int *into; // ids of the new loops
} nw_gone;

typedef struct nw_node {
  int number; // position in sched->version; 0 is the naive program
  int parent; // -1 for version 0
  int last_child; // the version to which redo goes, or -1
  nw_program *program; // holds a reference
  const nw_primitive *primitive;
  // A deep copy of the arguments, in the schedule's arena. Loops are given by name, and automatic choices are filled
  // in. All other arguments are as the user wrote them.
  nw_arg *args;
  char *text; // text of the step, for example s:split("i", 32)
  char *notes;
  char *name; // branch name, or NULL
  bool unsafe; // true if the step was taken without a proof that it keeps all values
  int tested; // number of values on which the rewrite was tested, if it was not proved; otherwise 0
  bool rounds; // true if this step, or an earlier one, may change how floats are rounded
  nw_dtype stored; // as in nw_step
  int ngone; // number of loops that this step replaced
  nw_gone *gone;
  // number of loops and stages that this step proved to be empty; their names stay valid (empty.h)
  int nempty;
  int *empty; // ids of the loops; 0 for a stage
  char **empty_name;
} nw_node;

// Describes the last step if it was refused. The description is kept until the next step. If the arguments of the step
// were invalid, only the message (`slip`) and its hint are set.
struct nw_refused {
  int refs;
  nw_arena *arena;
  nw_refusal refusal;
  const char *slip, *hint;
  nw_program *before, *after; // hold references; after is NULL if the step made no program
};

struct nw_sched {
  int refs;
  nw_ctx *ctx;
  nw_pool *pool;
  nw_arena *arena;
  int noutputs;
  nw_tensor **output; // holds references
  nw_vec version; // nw_node*, in the order of their numbers
  int current;
  bool unsafe; // true if steps are currently taken without a proof that they keep all values
  nw_refused *refused; // NULL if the last step was not refused
  // the next free loop id; ids are unique over all versions, so a handle never refers to a loop of another branch
  int next_id;
};

// Describes a step in progress. A primitive reads the arguments, edits `p` and returns true. `p` is an unfrozen clone
// of `before`. If the step is not possible, the primitive calls nw_fail or nw_refuse (kind STRUCTURE), and returns
// false. A primitive does not check that the new program is correct. Instead, step.c later calls the judge
// (poly/poly.h).
typedef struct nw_step {
  nw_ctx *ctx;
  nw_sched *sched;
  const nw_primitive *primitive;
  const nw_arg *args;
  nw_arg resolved[NW_MAX_PARAMS]; // initially equal to `args`; a primitive writes automatic choices here
  const nw_program *before;
  nw_program *p;
  nw_results out;
  nw_str notes;
  nw_vec gone; // nw_gone*, in the step's scratch
  nw_vec candidate; // nw_candidate*: steps to suggest after a refusal
  nw_arena *scratch; // freed after the step
  nw_work outer; // what nw_work_on returned when the step began
  nw_vec empty, empty_name;
  bool rounds; // true if the step may change how floats are rounded
  // The float dtype with the fewest bits of precision to which this step, or an earlier one, rounds a temporary that the
  // computation does not round; NW_BOOL if there is none.
  nw_dtype stored;
  nw_rewriting *rewriting; // set by the primitive if the step replaces values by equal values; otherwise NULL
  int tested; // as in nw_node
  // If storage became common to the threads of a group (share.c), a sentence that says so; otherwise NULL.
  const char *shared;
  bool plain; // true if refusals get no picture
  const char *idle; // if the step has no effect because it is applied to an empty piece, the name of this piece
  nw_program *denied; // the program that the judge refused; holds a reference
} nw_step;

// Describes a step that is suggested after a refusal. If `then` is not NULL, the step `then` must be legal after this
// step.
typedef struct nw_candidate {
  const nw_primitive *primitive;
  nw_arg *args;
  struct nw_candidate *then;
} nw_candidate;

// The following functions read an argument of the step. Their errors name the argument. The functions that return a
// statement find it in st->p, and store its path in *path if `path` is not NULL.
nw_stmt *nw_step_loop(nw_step *st, int param, nw_path *path);
nw_stmt *nw_step_loop_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path);
nw_stmt *nw_step_block(nw_step *st, int param, nw_path *path); // a stage, by block or buffer name
nw_stmt *nw_step_unit(nw_step *st, int param, nw_path *path);
nw_stmt *nw_step_stmt(nw_step *st, int param, nw_path *path); // a loop, a stage or a unit
nw_stmt *nw_step_stmt_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path);
const nw_expr *nw_step_expr(const nw_step *st, int param);
// True if an argument uses only sizes and loops around the statement at the end of the path. Otherwise reports an
// error, in which `what` describes the argument.
bool nw_expr_known_at(nw_step *st, const nw_expr *e, const char *what, const nw_path *path);
// Like nw_expr_known_at, but e may also use the loop at the end of the path, because it is used inside this loop.
bool nw_expr_known_in(nw_step *st, const nw_expr *e, const char *what, const nw_path *path);
int64_t nw_step_int(const nw_step *st, int param, int64_t fallback);
const char *nw_step_str(const nw_step *st, int param, const char *fallback);
bool nw_step_given(const nw_step *st, int param);

// Records that the n loops `into` replaced a loop. `how` says what the step did to the loop, for example "split". With
// this record, the old id leads to the new loops.
void nw_step_replaces(nw_step *st, int loop_id, int n, nw_stmt *const *into, const char *how, ...) NW_PRINTF(5, 6);
void nw_step_returns_loop(nw_step *st, const nw_stmt *loop);
void nw_step_returns_stage(nw_step *st, const char *name);
void nw_step_note(nw_step *st, const char *fmt, ...) NW_PRINTF(2, 3);
void nw_step_rounds(nw_step *st, const char *fmt, ...) NW_PRINTF(2, 3); // notes that the rounding of floats may change
nw_dtype nw_sched_stored(const nw_sched *s); // nw_step.stored of the current version
// Suggests the step `primitive` with these arguments. Each suggestion is tried before it is shown. A suggestion is
// normally an alternative to the refused step. If a suggestion only prepares for the refused step, its `then` is the
// refused step.
nw_candidate *nw_step_suggest(nw_step *st, const char *primitive, const nw_arg *args, int nargs);
nw_candidate *nw_step_candidate(nw_step *st, const char *primitive, const nw_arg *args,
                                int nargs); // makes a candidate for `then`; it is not suggested on its own
nw_candidate *nw_step_again(nw_step *st); // the refused step, with loops identified by id instead of name
// Makes a structural refusal, and returns false. `fmt` states what is wrong, for example "it is a scan". This text is
// shown after a text such as "cannot compute S at j: ". `why` gives the reason. `loop` is marked in the picture.
bool nw_step_refuse(nw_step *st, const char *why, const nw_stmt *loop, const char *fmt, ...) NW_PRINTF(4, 5);
