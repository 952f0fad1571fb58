// A schedule: a tree of programs and the steps between them. What a primitive sees of a step is here as well.
#pragma once
#include "ir/program/program.h"
#include "te/te.h"

// What became of a loop that a step has consumed: "split", and the ids of the loops that it was split into.
typedef struct nw_gone {
  int id;
  const char *how;
  int n;
  int *into;
} nw_gone;

typedef struct nw_node {
  int number; // position in sched->version; 0 is the naive program
  int parent; // -1 for version 0
  int last_child; // for redo; -1
  nw_program *program; // counted
  const nw_primitive *primitive;
  nw_arg *args; // deep copy in the schedule's arena, as written, automatic choices resolved, loops by name
  char *text; // s:split("i", 32)
  char *notes;
  char *name; // branch name, or NULL
  bool unsafe; // not judged
  bool rounds; // this step, or one before it, may change how floats are rounded
  int ngone; // loops that this step has consumed
  nw_gone *gone;
  int nempty; // pieces proven empty: loops (and stages, id 0) that can still be named; see empty.h
  int *empty;
  char **empty_name;
} nw_node;

// The last step that was refused, until the next step: what was said, and the program it would have made. Or, with `slip`,
// one that was refused for its arguments: the message and its hint alone.
struct nw_refused {
  int refs;
  nw_arena *arena;
  nw_refusal refusal;
  const char *slip, *hint;
  nw_program *before, *after; // counted; after is NULL when the step never made one
};

struct nw_sched {
  int refs;
  nw_ctx *ctx;
  nw_pool *pool;
  nw_arena *arena;
  int noutputs;
  nw_tensor **output; // counted
  nw_vec version; // nw_node*, by number
  int current;
  bool unsafe; // steps are not judged now
  nw_refused *refused; // NULL: the last step was not
  int next_id; // no two versions give one id to different loops, so a handle never means another branch's
};

// One step in the making. A primitive reads args, edits p (an unfrozen clone of before), and returns true, or fails
// with nw_fail / nw_refuse (kind STRUCTURE). It never judges; the driver does.
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
  nw_vec candidate; // suggest(): steps to try after a refusal, as nw_candidate*
  nw_arena *scratch; // for the length of the step
  nw_work outer; // what was in work when it began
  nw_vec empty, empty_name;
  bool rounds; // the step may change how floats are rounded
  bool plain; // a refusal gets no picture
  const char *idle; // the empty piece the step is about: it will do nothing
  nw_program *denied; // counted: what the judge refused
} nw_step;

// A way on after a refusal: a step, and what has to work after it, or NULL.
typedef struct nw_candidate {
  const nw_primitive *primitive;
  nw_arg *args;
  struct nw_candidate *then;
} nw_candidate;

// Argument access, with errors that name the argument. Loops: the statement in st->p, path filled if not NULL.
nw_stmt *nw_step_loop(nw_step *st, int param, nw_path *path);
nw_stmt *nw_step_loop_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path);
nw_stmt *nw_step_block(nw_step *st, int param, nw_path *path); // a stage, by block or buffer name
nw_stmt *nw_step_stmt(nw_step *st, int param, nw_path *path); // a loop or a stage
nw_stmt *nw_step_stmt_arg(nw_step *st, const nw_arg *a, const char *what, nw_path *path);
const nw_expr *nw_step_expr(const nw_step *st, int param);
// Does an argument speak of sizes and of loops around the one the path ends in only? `what` names it in the error.
bool nw_expr_known_at(nw_step *st, const nw_expr *e, const char *what, const nw_path *path);
int64_t nw_step_int(const nw_step *st, int param, int64_t fallback);
const char *nw_step_str(const nw_step *st, int param, const char *fallback);
bool nw_step_given(const nw_step *st, int param);

// Says of a consumed loop how it went, and into which loops, if into any: for handles to it.
void nw_step_replaces(nw_step *st, int loop_id, int n, nw_stmt *const *into, const char *how, ...) NW_PRINTF(5, 6);
void nw_step_returns_loop(nw_step *st, const nw_stmt *loop);
void nw_step_returns_stage(nw_step *st, const char *name);
void nw_step_note(nw_step *st, const char *fmt, ...) NW_PRINTF(2, 3);
void nw_step_rounds(nw_step *st, const char *fmt, ...)
    NW_PRINTF(2, 3); // a note that floats may be rounded in another way
// Offers `primitive` with these arguments as a way on; the driver tries it on a scratch copy before showing it. Alone it is
// the same aim reached by another step; a step that only makes way names in `then` what it makes way for.
nw_candidate *nw_step_suggest(nw_step *st, const char *primitive, const nw_arg *args, int nargs);
nw_candidate *nw_step_candidate(nw_step *st, const char *primitive, const nw_arg *args,
                                int nargs); // not offered by itself
nw_candidate *
nw_step_again(nw_step *st); // the refused step, its loops by what they are and not by what they are called
// A structural refusal: what is wrong ("it is a scan", behind "cannot compute S at j: "), why, and the loop to point at.
bool nw_step_refuse(nw_step *st, const char *why, const nw_stmt *loop, const char *fmt, ...) NW_PRINTF(4, 5);
