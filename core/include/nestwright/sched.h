// Declares schedules and their steps, versions and refusals.
#pragma once
#include "nestwright/program.h"
#include "nestwright/te.h"

#ifdef __cplusplus
extern "C" {
#endif

NW_API nw_sched *nw_sched_new(nw_ctx *c, int n, nw_tensor *const *outputs); // the target is this host
NW_API nw_sched *nw_sched_new_for(nw_ctx *c, nw_target *t, int n, nw_tensor *const *outputs);
NW_API nw_target *nw_sched_target(const nw_sched *s); // borrowed
NW_API nw_sched *nw_sched_anew(const nw_sched *s,
                               nw_target *t); // a schedule of the same computation, without steps, for target t
NW_API nw_sched *nw_sched_retain(nw_sched *s);
NW_API void nw_sched_release(nw_sched *s);
NW_API const nw_program *nw_sched_program(const nw_sched *s); // the current program; borrowed
NW_API const nw_program *nw_sched_version(const nw_sched *s, int version); // borrowed; NULL if there is no such version
NW_API int nw_sched_current(const nw_sched *s); // number of the current version; version 0 is the naive program
NW_API int nw_sched_parent(const nw_sched *s,
                           int version); // the version from which a step made `version`; 0 for the naive program

// An argument of a step. A stage is given by its name, a loop by its name or its id. Expressions may use sizes.
typedef enum nw_arg_kind {
  NW_ARG_NONE,
  NW_ARG_LOOP,
  NW_ARG_STAGE,
  NW_ARG_INT,
  NW_ARG_STR,
  NW_ARG_LIST,
  NW_ARG_EXPRS,
  NW_ARG_EXPR, // an integer expression of sizes and loop variables
  NW_ARG_COND, // a condition on sizes and loop variables
  NW_ARG_STMT, // a loop or a stage
  NW_ARG_SIZE, // only as the kind of a parameter: its argument is an INT, or an EXPR of sizes
  NW_ARG_VALUE, // a word (in `name`) or, if `name` is NULL, a whole number (in `i`)
  NW_ARG_INTRINSIC, // an intrinsic, given by name or id
  NW_ARG_NUMBER, // any number (in `f`)
} nw_arg_kind;
typedef struct nw_arg nw_arg;
struct nw_arg {
  nw_arg_kind kind;
  // STR: the text; INTRINSIC, LOOP, STMT: the name of the object; STAGE: the name of the stage's block or buffer;
  // EXPR, COND: the text of the expression
  const char *name;
  double f; // NUMBER: the number
  int64_t i; // INT: the number; LOOP, STMT: the id of the object, if `name` is NULL
  int n; // LIST, EXPRS: number of items
  const nw_arg *item; // LIST
  // EXPRS: layout expressions in the variables "_0", "_1", ...; EXPR, COND: one expression in loop variables and sizes.
  // The sizes belong to the program or were made by the user.
  const nw_expr *const *expr;
};
typedef struct nw_param { // one parameter of a primitive
  const char *name;
  nw_arg_kind kind;
  nw_arg_kind item; // LIST: kind of its items
  bool optional, option; // option: given by name in a table after the other arguments, as in {tail = "cut"}
  const char *choices; // STR: "guard|cut|mask"
  bool open; // STR: the primitive itself accepts more values than `choices`, and rejects the others
  const char *doc;
} nw_param;
#define NW_MAX_PARAMS 8
typedef struct nw_primitive {
  const char *name, *doc, *example;
  const char *returns; // "outer, inner"
  nw_param param[NW_MAX_PARAMS];
  bool (*apply)(void *step);
  void (*suggest)(void *step);
  // Message of a refusal, in which $n stands for argument n: "cannot split $0". If NULL, the message is "cannot" and
  // the name of the primitive.
  const char *refused;
} nw_primitive;
NW_API int nw_primitive_count(void);
NW_API const nw_primitive *nw_primitive_at(int i);
NW_API const nw_primitive *nw_primitive_find(const char *name);

#define NW_MAX_RESULTS 32
// The results of a step, which are ids of loops or names of stages. The names are borrowed from the new program.
typedef struct nw_results {
  int n;
  int loop[NW_MAX_RESULTS];
  const char *stage[NW_MAX_RESULTS];
} nw_results;
// Applies a step. `args` has one entry for each parameter of the primitive; NW_ARG_NONE stands for an omitted argument.
// On failure, returns false and leaves the schedule unchanged.
NW_API bool nw_sched_apply(nw_sched *s, const nw_primitive *p, const nw_arg *args, nw_results *out);
// Judges a step without adding a version; searches use this function. Returns the program that the step makes. The
// caller must release this program. If the step is refused, returns NULL, and stores the reason as a heap text in *why
// if `why` is not NULL. The reason names the buffer and the blocks in conflict. It does not name the two iterations,
// and has no picture and no suggestions. The context must not have an error.
NW_API nw_program *nw_sched_try(nw_sched *s, const nw_primitive *p, const nw_arg *args, char **why);
// A legal step that changes the current program. The step is drawn at random from all primitives, loops and sensible
// arguments.
typedef struct nw_random_step {
  const nw_primitive *primitive; // NULL if no drawn step was legal
  nw_arg args[NW_MAX_PARAMS];
  nw_program *program; // the program that the step makes; nw_random_step_free releases it
  char *text; // the step as the user types it; heap
  int draws, refused; // draws: number of steps that were drawn; refused: number of drawn steps that were refused
  struct nw_arena *arena; // owns the arguments
} nw_random_step;
// Draws a random step that keeps the shapes of the arguments of a kernel. The same seed gives the same step for the same program. Returns NULL after an interrupt.
NW_API nw_random_step *nw_sched_random_step(nw_sched *s, uint64_t seed);
NW_API void nw_random_step_free(nw_random_step *r);
NW_API bool nw_sched_undo(nw_sched *s);
NW_API bool nw_sched_redo(nw_sched *s);
// Switches unsafe mode on or off. While it is on, steps are not judged, and a step is refused only if its program
// cannot be lowered. Steps taken in this mode stay marked as unsafe. Returns the previous state.
NW_API bool nw_sched_unsafe(nw_sched *s, bool on);
NW_API bool nw_sched_branch(nw_sched *s, const char *name); // names the current version
NW_API bool nw_sched_checkout(nw_sched *s, const char *name); // goes to a named version
NW_API void nw_sched_goto(nw_sched *s, int version); // goes to a version; does nothing if the version does not exist
NW_API int nw_sched_named(const nw_sched *s, const char *name); // finds a version by name or number; -1 on failure
NW_API char *nw_sched_trace(const nw_sched *s, bool json); // the steps as Lua code, or as JSON
// Applies the steps of a trace in JSON, and judges each step. The error names the first step that fails.
NW_API bool nw_sched_replay(nw_sched *s, const char *json);
// Returns how the judge decided the last step: 'o' if by the order of executions, 'v' if by the computed values, 'm' if
// by the marks alone.
NW_API char nw_judge_question(const nw_ctx *c);
// A version in the log, with the changes that its step made and the work of its program.
typedef struct nw_log_entry {
  int version, parent; // parent: -1 for the naive program
  bool unsafe;
  int tested; // number of values on which the step was tested, if it is a rewrite that was not proved; otherwise 0
  const char *step, *branch, *notes; // borrowed; each is NULL if it does not exist
  int added, removed, changed; // numbers of statements
  // for one run; a number is below 0 if it depends on sizes without values
  double operations, input_bytes, output_bytes, temp_bytes;
  bool exact; // false if the numbers are upper bounds, because guards or uneven bounds could not be counted
  char *formula; // an expression of sizes for the number of operations, if this number is unknown; heap, or NULL
  int nbuffers;
  const char *buffer[NW_MAX_RESULTS]; // names of the temporary buffers
} nw_log_entry;
NW_API bool nw_sched_log(const nw_sched *s, int version, nw_log_entry *out);
NW_API int nw_sched_versions(const nw_sched *s); // number of versions, including 0, the naive program
// Returns the number of operations of one run of a version at these sizes; below 0 if the number depends on data.
NW_API double nw_sched_operations(const nw_sched *s, int version, int n, const char *const *names,
                                  const int64_t *values);
// For tests of code that must not parse texts for users: if the environment variable NW_SCRAMBLE is set, reverses every
// word of the text.
NW_API char *nw_as_shown(char *text);
// Explains which steps made line number `line` (1, 2, ...) of the short form or of the lowered program. Returns a heap
// text with one reason per line. Returns NULL with a diagnostic if there is no such line.
NW_API char *nw_sched_why(const nw_sched *s, int line, bool lowered);
// The result of trying a primitive on a loop.
typedef struct nw_move {
  const char *primitive;
  char *step; // the step as the user types it; heap, or NULL if there were no sensible arguments
  char *why; // reason of the refusal, or NULL if the step is legal; heap
  bool undecided; // true if the quick check could not decide the step; the step may be legal
} nw_move;
// Tries every primitive on a loop. Returns the number of moves; nw_moves_free frees them. Returns -1 if there is no
// such loop, or after an interrupt.
NW_API int nw_sched_moves(nw_sched *s, int loop, nw_move **out);
NW_API void nw_moves_free(int n, nw_move *m);
// A possible location for the computation of a stage: inside a loop, or at the root.
typedef struct nw_location {
  char *loop; // name of the loop, or NULL for the root; heap
  char *why; // reason against the location, or NULL if it is legal; heap
  bool current; // true if the stage is computed here now
  double recompute; // computed instances divided by needed instances; below 0 if unknown without the sizes
  double bytes; // bytes of the stage's storage at this location; below 0 if unknown
  char *size; // extents of the storage, "34*34"; heap, or NULL
} nw_location;
NW_API int nw_sched_locations(nw_sched *s, const char *stage, nw_location **out);
NW_API void nw_locations_free(int n, nw_location *l);
NW_API char *nw_sched_step_text(const nw_sched *s, int version);
NW_API const char *nw_sched_notes(const nw_sched *s); // notes of the last step, or ""
NW_API bool nw_sched_rounds(const nw_sched *s); // true if a step of this version may change the rounding of floats
// Functions on loops. The handle of a loop is its id.
// Returns the id of the loop inside loop `id` whose own name is `name`, such as "k" for i.head/k in i.head. Returns 0,
// with a diagnostic, if there is no such loop, or if there are several.
NW_API int nw_sched_loop_in(nw_sched *s, int id, const char *name);
NW_API int nw_sched_loop(nw_sched *s, const char *name); // returns the id; 0 with a diagnostic if there is no such loop
// Returns the name of a loop. Returns NULL with NW_ESTALE if a step replaced the loop; the diagnostic names this step.
NW_API const char *nw_sched_loop_name(nw_sched *s, int id);
// Returns the first value of a loop as heap text. Returns "0" for a loop that was removed because it has no iterations.
// Returns NULL with NW_ESTALE if a step replaced the loop.
NW_API char *nw_sched_loop_begin(nw_sched *s, int id);
// Stores the ids of the loops of the current version that correspond to a loop. If the loop still exists, only its own
// id is stored. Otherwise the ids of the loops that steps made from it are stored, in order. Returns the number of ids.
NW_API int nw_sched_forward(const nw_sched *s, int id, int max, int *ids);
NW_API char *
nw_sched_loop_header(nw_sched *s,
                     int id); // "for i_o in 0..32", as shown in the nest; NULL if the program has no such loop
NW_API char *nw_sched_loop_extent(nw_sched *s, int id);
// Stores the ids of the loops around a stage, outermost first. If `stage` is NULL, stores the ids of all loops. Returns
// the number of ids, which is at most `max`.
NW_API int nw_sched_loops(nw_sched *s, const char *stage, int max, int *ids);
// Stores the ids of the loops of a stage's own nest, outermost first. If the stage was moved into a loop of another
// stage, the loops of the other stage are left out. Returns the number of ids.
NW_API int nw_sched_own_loops(nw_sched *s, const char *stage, int max, int *ids);
// Stores the ids of the loops that the stage had when it was made: one for each axis of the kind. Steps may have
// replaced these loops. Returns the number of ids.
NW_API int nw_sched_axis_loops(nw_sched *s, const char *stage, bool reduce, int max, int *ids);
NW_API int nw_sched_stages(nw_sched *s, int max, const char **names);
// Stores the names of the stages that read a stage or, if `sources` is true, of the stages that it reads. The names are
// borrowed from the current program. Returns their number.
NW_API int nw_sched_neighbours(nw_sched *s, const char *stage, bool sources, int max, const char **names);
NW_API char *nw_sched_name_of(const nw_sched *s, const nw_tensor *t); // the tensor's name in the schedule's programs

// nw_sched_refused returns the last step if it was refused, with the programs before and after it. It returns NULL if
// the last step was not refused.
typedef struct nw_refused nw_refused; // reference counted
NW_API nw_refused *nw_sched_refused(nw_sched *s);
NW_API void nw_refused_release(nw_refused *r);
NW_API const nw_program *nw_refused_program(const nw_refused *r, bool after); // borrowed; NULL if no program was made
// borrowed; NULL if the arguments of the step were rejected
NW_API const nw_refusal *nw_refused_why(const nw_refused *r);

#ifdef __cplusplus
}
#endif
