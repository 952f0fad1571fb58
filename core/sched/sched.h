// A schedule, which is a tree of programs with the steps between them; and the state of a step for primitives.
#pragma once
#include "ir/program/program.h"
#include "te/te.h"

// The record of a loop that a step replaced: how ("split"), and the ids of the new loops.
typedef struct nw_gone {
  int id;
  const char *how;
  int n;
  int *into;
} nw_gone;

typedef struct nw_node {
  int number; // position in sched->version; 0 is the naive program
  int parent; // -1 for version 0
  int last_child; // the version to which redo goes, or -1
  nw_program *program; // holds a reference
  const nw_primitive *primitive;
  // deep copy of the arguments in the schedule's arena: as the user wrote them, but with automatic choices filled in,
  // and with loops given by name
  nw_arg *args;
  char *text; // s:split("i", 32)
  char *notes;
  char *name; // branch name, or NULL
  bool unsafe; // the step was not judged
  bool rounds; // true if this step, or an earlier one, may change how floats are rounded
  int ngone; // number of loops that this step replaced
  nw_gone *gone;
  int nempty; // number of loops (and stages, id 0) that are proven empty, but whose names stay valid; see empty.h
  int *empty;
  char **empty_name;
} nw_node;

// The last step if it was refused, kept until the next step: the refusal, and the program that the step would have
// made. If the arguments of the step were invalid, the record has only the message (`slip`) and its hint.
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
  nw_vec version; // nw_node*, by number
  int current;
  bool unsafe; // steps are currently not judged
  nw_refused *refused; // NULL if the last step was not refused
  int next_id; // ids are unique over all versions, so a handle never refers to a loop of another branch
};

// A step in progress. A primitive reads args, edits p (an unfrozen clone of before), and returns true, or fails
// with nw_fail / nw_refuse (kind STRUCTURE). It does not check that the new program is correct: the driver calls the
// judge (poly/poly.h).
typedef struct nw_step {
  nw_ctx *ctx;
  nw_sched *sched;
  const nw_primitive *primitive;
  const nw_arg *args;
  nw_arg resolved[NW_MAX_PARAMS]; // starts as args; a primitive writes automatic choices here
  const nw_program *before;
  nw_program *p;
  nw_results out;
  nw_str notes;
  nw_vec gone; // nw_gone*, in the step's scratch
  nw_vec candidate; // steps to suggest after a refusal, as nw_candidate*
  nw_arena *scratch; // freed after the step
  nw_work outer; // the current work of the thread before the step began
  nw_vec empty, empty_name;
  bool rounds; // the step may change how floats are rounded
  bool plain; // true if refusals get no picture
  const char *idle; // the empty piece to which the step is applied; the step then has no effect
  nw_program *denied; // the program that the judge refused; holds a reference
} nw_step;

// A suggestion after a refusal: a step, and possibly another step that must work after it (`then`).
typedef struct nw_candidate {
  const nw_primitive *primitive;
  nw_arg *args;
  struct nw_candidate *then;
} nw_candidate;

// Access to arguments, with errors that name the argument. Functions for statements return the statement in st->p, and
// store its path if path is not NULL.
nw_stmt *nw_step_loop(nw_step *st, int param, nw_path *path);
nw_stmt *nw_step_loop_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path);
nw_stmt *nw_step_block(nw_step *st, int param, nw_path *path); // a stage, by block or buffer name
nw_stmt *nw_step_stmt(nw_step *st, int param, nw_path *path); // a loop or a stage
nw_stmt *nw_step_stmt_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path);
const nw_expr *nw_step_expr(const nw_step *st, int param);
// True if an argument uses only sizes and loops around the statement at the end of the path. `what` describes the
// argument in the error.
bool nw_expr_known_at(nw_step *st, const nw_expr *e, const char *what, const nw_path *path);
int64_t nw_step_int(const nw_step *st, int param, int64_t fallback);
const char *nw_step_str(const nw_step *st, int param, const char *fallback);
bool nw_step_given(const nw_step *st, int param);

// Records how a loop was replaced, and by which loops (if any), so that handles to it can be followed.
void nw_step_replaces(nw_step *st, int loop_id, int n, nw_stmt *const *into, const char *how, ...) NW_PRINTF(5, 6);
void nw_step_returns_loop(nw_step *st, const nw_stmt *loop);
void nw_step_returns_stage(nw_step *st, const char *name);
void nw_step_note(nw_step *st, const char *fmt, ...) NW_PRINTF(2, 3);
void nw_step_rounds(nw_step *st, const char *fmt, ...) NW_PRINTF(2, 3); // a note that the rounding of floats may change
// Suggests `primitive` with these arguments; the driver tries it on a scratch copy before it is shown. A suggestion
// normally replaces the refused step. A step that only prepares for the refused step has that step in `then`.
nw_candidate *nw_step_suggest(nw_step *st, const char *primitive, const nw_arg *args, int nargs);
nw_candidate *nw_step_candidate(nw_step *st, const char *primitive, const nw_arg *args,
                                int nargs); // makes a candidate for `then`; it is not suggested on its own
nw_candidate *nw_step_again(nw_step *st); // the refused step, with loops identified by id instead of name
// Makes a structural refusal: fmt states what is wrong ("it is a scan", shown after "cannot compute S at j: "), why
// gives the reason, and loop is marked in the picture.
bool nw_step_refuse(nw_step *st, const char *why, const nw_stmt *loop, const char *fmt, ...) NW_PRINTF(4, 5);
