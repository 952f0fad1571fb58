// Public interface of the core. Every name is prefixed nw_ or NW_.
//
// Ownership. A nw_ctx is one session; it is not shared between threads. Objects with a _retain/_release pair are
// counted; a function that returns one gives the caller a count unless it says "borrowed". Everything else that is
// returned (expressions, diagnostics, programs reached through a schedule) is borrowed and lives as long as the
// object it was asked from. `char *` results are heap strings for the caller to free(); `const char *` are borrowed.
//
// Errors. A function that can fail returns NULL or false and leaves a diagnostic in the context; the first failure
// wins until nw_clear. A NULL operand is passed through, so a chain of calls needs one check at its end.
#pragma once
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NW_API __attribute__((visibility("default")))
#define NW_VERSION "0.1.0"

typedef struct nw_ctx nw_ctx; // a session
typedef struct nw_pool nw_pool; // interned expressions; counted
typedef struct nw_expr nw_expr; // immutable, unique in its pool
typedef struct nw_tensor nw_tensor; // te: a placeholder or one output of an operation; counted
typedef struct nw_axis nw_axis; // te: a reduce axis or scan axis; counted
typedef struct nw_program nw_program; // a frozen loop nest; counted
typedef struct nw_sched nw_sched; // a history of programs; counted
typedef struct nw_array nw_array; // data in memory; counted
typedef struct nw_kernel nw_kernel; // machine code; counted

// ---------------------------------------------------------------- session and diagnostics

typedef enum nw_code {
  NW_OK,
  NW_EINVAL, // a bad argument
  NW_ETYPE, // ill-typed
  NW_ERANGE, // out of range: index, size
  NW_EMEMORY, // more memory than there is
  NW_ESTALE, // a handle to something a step has consumed
  NW_EREFUSED, // the judge refused a step; see refusal
  NW_EUNDECIDED, // the judge could not decide within its budget, and refused
  NW_ELIMIT, // a limit of the target or of this library
  NW_EIO, // files
  NW_EPARSE, // the text form of a program
  NW_ECODEGEN, // LLVM
  NW_ECRASH, // native code crashed
  NW_EINTERRUPT, // the user asked to stop
  NW_EMISMATCH, // a check found two results that differ
  NW_ERACE, // two threads of a grid touch one element in no order
  NW_EINTERNAL, // a fault of this library
} nw_code;

typedef enum nw_refusal_kind {
  NW_REFUSE_RAW,
  NW_REFUSE_WAR,
  NW_REFUSE_WAW,
  NW_REFUSE_REDUCTION,
  NW_REFUSE_VALUE,
  NW_REFUSE_BOUNDS,
  NW_REFUSE_COVER,
  NW_REFUSE_CAPACITY,
  NW_REFUSE_STRUCTURE,
  NW_REFUSE_UNDECIDED,
} nw_refusal_kind;

// One execution of a block: where each loop around it stood, outermost first.
typedef struct nw_execution {
  const char *block; // NULL: none
  bool init; // the init that a reduction block still owns
  bool write; // it writes that element; else it reads it
  int n;
  const char **loop;
  int64_t *at;
} nw_execution;
// What goes wrong, in numbers: the sizes, one or two executions, and the element they meet at: the witness.
typedef struct nw_conflict {
  int nsizes; // as the program has them
  int64_t *size;
  nw_execution source, sink;
  const char *buffer; // NULL: no element
  int ndim;
  int64_t *index;
  const char *loop; // a marked loop that would carry the conflict, or NULL
} nw_conflict;

#define NW_MAX_NOTES 8
typedef struct nw_refusal {
  nw_refusal_kind kind;
  const char *primitive; // "parallel"
  const char *step; // as the user would type it: s:parallel "k_o"
  const char *tensor; // "C", or NULL
  const char *element; // "C[0, 0]", or NULL
  const char *source_block, *source; // the two block instances: "C", "(i=0, j=0, k_o=0)"; NULL if there are none
  const char *sink_block, *sink;
  const char *distance; // "1" or "(0, 0, 1)", or NULL
  const char *message; // "cannot run k_o in parallel"
  const char *why; // one sentence about the two iterations
  const char *loops[NW_MAX_NOTES]; // names of the loops that carry the conflict
  const char *alternatives[NW_MAX_NOTES]; // steps that were tried and accepted, as text
  const char *picture; // the loop nest with the guilty loops marked
  const nw_conflict *conflict; // NULL when the reason is not about single executions or elements
} nw_refusal;

typedef struct nw_diag {
  nw_code code;
  const char *message, *hint;
  const nw_refusal *refusal; // NULL unless NW_EREFUSED or NW_EUNDECIDED
} nw_diag;

NW_API nw_ctx *nw_open(void);
NW_API void nw_close(nw_ctx *c);
NW_API const nw_diag *nw_error(const nw_ctx *c); // last failure, or NULL
NW_API void nw_clear(nw_ctx *c); // forget it
NW_API void nw_interrupt(nw_ctx *c); // stop what is running; safe in a signal handler and in another thread
NW_API bool nw_stopped(nw_ctx *c); // true, and a failure, where it was interrupted
// Hears of work that takes longer than `patience` seconds: what is done, which part of it (0..1; below 0: not known), since
// how many seconds; `what` is NULL when it is over. NULL: nobody listens.
typedef void (*nw_progress_fn)(void *env, const char *what, double part, double seconds);
NW_API void nw_on_progress(nw_ctx *c, nw_progress_fn tell, void *env, double patience);
// For work that is made of many calls, begun at `since` (seconds, monotonic clock): as above; `what` is NULL when it is over.
NW_API void nw_tell_progress(nw_ctx *c, const char *what, double part, double since);
NW_API const char *nw_version(void);

// Where a thread goes on when a call cannot be finished: memory for something small could not be had, or something that must
// hold does not. Between nw_recovery_open, after which the caller does `if (setjmp(p.jump))`, and nw_recovery_close such a call does
// not end the process but returns there a second time, with a code and a message. nw_recovery_recover then puts the session in
// order. The session, its programs and schedules are as they were before the call; what it held on the heap is lost.
typedef struct nw_recovery {
  jmp_buf jump;
  struct nw_recovery *outer;
  uint64_t mark;
  nw_code code;
  char message[400], hint[160];
} nw_recovery;
NW_API void nw_recovery_open(nw_recovery *p);
NW_API void nw_recovery_close(nw_recovery *p);
NW_API void nw_recovery_recover(nw_ctx *c, nw_recovery *p);
NW_API void nw_recovery_keep(void); // what the call has made so far belongs to someone, and outlives it
// For whoever calls something that may leave past points (a language with exceptions): the one to go back to afterwards.
NW_API nw_recovery *nw_recovery_now(void);
NW_API void nw_recovery_back(nw_recovery *p);
// For tests: the request of that number from now on, from 1, fails, and no other one; 0: none. Returns which one would have.
NW_API int64_t nw_refuse_memory(int64_t request);
// Bytes that can still be had, by the tightest of the limits of this process and the machine.
NW_API int64_t nw_memory_left(void);
NW_API void nw_say_limit(char *out, size_t n); // which limit that is, in words
// True if n elements of `each` bytes for `what` ("the trace") may be asked for, of whatever allocator. Else a failure, NW_EMEMORY.
NW_API bool nw_memory_for(nw_ctx *c, const char *what, uint64_t n, uint64_t each);
// $XDG_STATE_HOME/nestwright or ~/.local/state/nestwright, made where it is missing. False: there is no home.
NW_API bool nw_state_dir(char *out, size_t n);
// True if a text of n bytes is UTF-8 without control characters, on one line or on several. Else a diagnostic says which byte of
// `what` is at fault.
NW_API bool nw_text_ok(nw_ctx *c, const char *what, const char *s, size_t n, bool lines);
// The text as it may be shown anywhere, a heap string: what is not UTF-8, and what a terminal would act on, as \x1b. Ends of
// lines stay.
NW_API char *nw_text_shown(const char *s, size_t n);
// The one of some words that is nearest to a misspelt one, or NULL if none is near.
NW_API const char *nw_nearest(const char *word, int n, const char *const *words);

// ---------------------------------------------------------------- types

typedef enum nw_dtype {
#define NW_DTYPE(id, name, bytes, kind) NW_##id,
#include "ir/types.def"
#undef NW_DTYPE
  NW_DTYPE_COUNT
} nw_dtype;
#define NW_INDEX NW_I64 // sizes, loop variables, indices

typedef struct nw_type {
  uint8_t dtype; // nw_dtype
  uint16_t lanes; // 1 for a scalar
} nw_type;

NW_API const char *nw_dtype_name(nw_dtype t);
NW_API bool nw_dtype_parse(const char *name, nw_dtype *out);
NW_API int nw_dtype_bytes(nw_dtype t);
NW_API bool nw_dtype_is_float(nw_dtype t);
NW_API bool nw_dtype_is_int(nw_dtype t); // not bool
NW_API bool nw_dtype_is_signed(nw_dtype t); // floats and signed integers
// The dtype in which a binary operation on a and b is computed; see docs/language.md for the table.
NW_API nw_dtype nw_dtype_promote(nw_dtype a, nw_dtype b);

// ---------------------------------------------------------------- expressions
//
// Constructors fold and put integers in canonical order. Operands may come from another pool: they are imported.

NW_API nw_pool *nw_pool_new(nw_ctx *c);
NW_API nw_pool *nw_pool_retain(nw_pool *p);
NW_API void nw_pool_release(nw_pool *p);
NW_API nw_ctx *nw_pool_ctx(const nw_pool *p);
NW_API nw_pool *nw_expr_pool(const nw_expr *e); // borrowed: whoever keeps an expression retains its pool
// The pool for what the user writes now: a compute in the making has its own. Everything below that returns an expression
// makes it here. Borrowed, and current only until the next nw_compute_begin, _end or _drop.
NW_API nw_pool *nw_lang_pool(nw_ctx *c);

typedef enum nw_op {
#define NW_OP(id, ...) NW_OP_##id,
#define NW_DEFINED(id, ...) NW_OP_##id,
#include "ir/ops.def"
  NW_OP_COUNT
} nw_op;

NW_API const nw_expr *nw_int(nw_pool *p, nw_dtype t, int64_t value);
NW_API const nw_expr *nw_float(nw_pool *p, nw_dtype t, double value);
NW_API const nw_expr *nw_var(nw_pool *p, const char *name); // an index variable or a symbolic size
// May a user give something this name? What it names is said as "a tensor". False, and why, if the text form could not read it.
NW_API bool nw_name_given(nw_ctx *c, const char *what, const char *name);
// Any unary or binary op with promotion of its operands (literals made by nw_literal adapt to the other operand).
NW_API const nw_expr *nw_apply(nw_pool *p, nw_op op, int n, const nw_expr *const *args);
NW_API const nw_expr *nw_cast(nw_pool *p, nw_dtype t, const nw_expr *e);
NW_API const nw_expr *nw_select(nw_pool *p, const nw_expr *cond, const nw_expr *a, const nw_expr *b);
NW_API nw_type nw_expr_type(const nw_expr *e);
NW_API char *nw_expr_show(const nw_expr *e);
NW_API bool nw_op_parse(const char *name, nw_op *out); // "add", "exp", "lt", ...
NW_API const char *nw_op_name(nw_op op);

// ---------------------------------------------------------------- tensor expressions (te/)

// A symbolic size: an expression to use in shapes. `lo` is its least value (0 or more); facts are bool expressions in
// sizes, e.g. M % 16 == 0, known to hold and checked when a kernel is called.
NW_API const nw_expr *nw_size_var(nw_ctx *c, const char *name, int64_t lo);
NW_API bool nw_size_fact(const nw_expr *size, const nw_expr *fact);

NW_API nw_tensor *nw_placeholder(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape);
// A placeholder that says it stands for the state of a scan: what reads it is checked by nw_scan, which knows the times. A
// plain placeholder may do that too; what reads only its past and fails at the first times is then left to nw_scan.
NW_API nw_tensor *nw_scan_state(nw_ctx *c, const char *name, nw_dtype t, int ndim, const nw_expr *const *shape);
NW_API nw_axis *nw_reduce_axis(nw_ctx *c, const char *name, const nw_expr *lo, const nw_expr *extent);
NW_API const nw_expr *nw_axis_var(const nw_axis *a); // borrowed; an index expression
NW_API const nw_expr *nw_tensor_read(nw_tensor *t, int n, const nw_expr *const *index); // A(i, k)
// Reductions, allowed only as the whole body of a compute. `kind` is "sum", "prod", "min", "max", "argmin", "argmax".
NW_API const nw_expr *nw_reduction(nw_ctx *c, const char *kind, const nw_expr *term, int naxes, nw_axis *const *axes);

// A compute is built in two moves, so that the caller can run user code between them: begin makes the axes, end takes
// one body per output (an arg-reduction is one body and makes two outputs: value, index (i64)). nw_build_axes: borrowed.
typedef struct nw_build nw_build;
NW_API nw_build *nw_compute_begin(nw_ctx *c, const char *name, int naxes, const char *const *names,
                                  const nw_expr *const *extents);
NW_API const nw_expr *nw_build_axis(const nw_build *b, int i);
NW_API int nw_compute_end(nw_build *b, int nbodies, const nw_expr *const *bodies,
                          nw_tensor **outputs); // count; 0 = failed
NW_API void nw_build_drop(nw_build *b); // instead of end
// A recurrence over dimension 0: state[t] for t < rows of init comes from init, the rest from update, whose body reads
// `state` (nw_scan_state, or a placeholder, of the full shape) at earlier times, or at the same time at elements already written. n states.
NW_API bool nw_scan(nw_ctx *c, const char *name, int n, nw_tensor *const *init, nw_tensor *const *update,
                    nw_tensor *const *state, nw_tensor **outputs);

NW_API nw_tensor *nw_tensor_retain(nw_tensor *t);
NW_API void nw_tensor_release(nw_tensor *t);
NW_API const char *nw_tensor_name(const nw_tensor *t);
NW_API nw_dtype nw_tensor_dtype(const nw_tensor *t);
NW_API int nw_tensor_ndim(const nw_tensor *t);
NW_API const nw_expr *nw_tensor_dim(const nw_tensor *t, int d);
NW_API bool nw_tensor_is_placeholder(const nw_tensor *t);
NW_API char *nw_tensor_show(const nw_tensor *t); // C[i, j] = sum(A[i, k]*B[k, j], k)
NW_API nw_axis *nw_axis_retain(nw_axis *a);
NW_API void nw_axis_release(nw_axis *a);
NW_API const char *nw_axis_name(const nw_axis *a);

// ---------------------------------------------------------------- programs: text

typedef enum nw_style { NW_TEXT_PLAIN, NW_TEXT_ANSI, NW_TEXT_HTML } nw_style;
typedef struct nw_show_opts {
  nw_style style;
  bool full; // the exact text form that parses back; otherwise the short form for people
  int changed_since; // mark statements whose step is at least this (0: none)
  int nmarks; // statements to point at, with a remark each
  const int *mark; // ids
  const char *const *remark;
  bool only_marked; // fold subtrees without a mark
} nw_show_opts;
NW_API char *nw_program_show(const nw_program *p, const nw_show_opts *o); // o NULL: plain, short
NW_API char *nw_program_print(const nw_program *p); // the full text form; parse(print(p)) is the same program
NW_API nw_program *nw_program_parse(nw_ctx *c, nw_pool *pool, const char *text);
NW_API char *nw_program_diff(const nw_program *a, const nw_program *b, nw_style style);
NW_API bool nw_same_program(const nw_program *a, const nw_program *b);
NW_API nw_program *nw_program_retain(const nw_program *p);
NW_API void nw_program_release(nw_program *p);

// ---------------------------------------------------------------- schedules (sched/)

NW_API nw_sched *nw_sched_new(nw_ctx *c, int n, nw_tensor *const *outputs);
NW_API nw_sched *nw_sched_retain(nw_sched *s);
NW_API void nw_sched_release(nw_sched *s);
NW_API const nw_program *nw_sched_program(const nw_sched *s); // current, borrowed
NW_API const nw_program *nw_sched_version(const nw_sched *s, int version); // borrowed; NULL if there is none
NW_API int nw_sched_current(const nw_sched *s); // version number; 0 is the naive program
NW_API int nw_sched_parent(const nw_sched *s,
                           int version); // the version a step was taken from; 0 for the naive program

// An argument of a step. Loops and stages are given by name or, for loops, by id (a handle). Expressions speak of sizes.
typedef enum nw_arg_kind {
  NW_ARG_NONE,
  NW_ARG_LOOP,
  NW_ARG_STAGE,
  NW_ARG_INT,
  NW_ARG_STR,
  NW_ARG_LIST,
  NW_ARG_EXPRS,
  NW_ARG_EXPR, // an index expression in sizes and loop variables
  NW_ARG_COND, // a condition on them
  NW_ARG_STMT, // a loop or a stage
  NW_ARG_VALUE, // a word or a whole number: name, or i when that is NULL
  NW_ARG_INTRINSIC, // by name or id
} nw_arg_kind;
typedef struct nw_arg nw_arg;
struct nw_arg {
  nw_arg_kind kind;
  const char *name; // STR, INTRINSIC, STAGE (block or buffer name), LOOP by name, STMT as either; EXPR, COND as text
  int64_t i; // INT; LOOP and STMT by id when name is NULL
  int n; // LIST, EXPRS
  const nw_arg *item; // LIST
  // EXPRS: layout expressions in variables "_0", "_1", ...; EXPR, COND: one, in the user's sizes or the program's
  const nw_expr *const *expr;
};
typedef struct nw_param { // one parameter of a primitive
  const char *name;
  nw_arg_kind kind;
  nw_arg_kind item; // LIST: of what
  bool optional, option; // option: given by name in a trailing table, {tail = "cut"}
  const char *choices; // STR: "guard|cut|mask"
  const char *doc;
} nw_param;
#define NW_MAX_PARAMS 8
typedef struct nw_primitive {
  const char *name, *doc, *example;
  const char *returns; // "outer, inner"
  nw_param param[NW_MAX_PARAMS];
  bool (*apply)(void *step);
  void (*suggest)(void *step);
  const char *refused; // "cannot split $0", $n being argument n; NULL: "cannot" and the name
} nw_primitive;
NW_API int nw_primitive_count(void);
NW_API const nw_primitive *nw_primitive_at(int i);
NW_API const nw_primitive *nw_primitive_find(const char *name);

#define NW_MAX_RESULTS 32
typedef struct nw_results { // what a step gives back: loops (ids) or stages (names; borrowed from the new program)
  int n;
  int loop[NW_MAX_RESULTS];
  const char *stage[NW_MAX_RESULTS];
} nw_results;
// args: one per parameter of the row, NW_ARG_NONE where left out. On failure the schedule is as it was.
NW_API bool nw_sched_apply(nw_sched *s, const nw_primitive *p, const nw_arg *args, nw_results *out);
NW_API bool nw_sched_undo(nw_sched *s);
NW_API bool nw_sched_redo(nw_sched *s);
// While on, steps are not judged: only what cannot be lowered at all is refused. They stay marked. Returns what it was.
NW_API bool nw_sched_unsafe(nw_sched *s, bool on);
NW_API bool nw_sched_branch(nw_sched *s, const char *name); // names the current version
NW_API bool nw_sched_checkout(nw_sched *s, const char *name); // goes to a named version
NW_API void nw_sched_goto(nw_sched *s, int version); // ... or to one by its number; stays where there is none
NW_API int nw_sched_named(const nw_sched *s, const char *name); // the version so named, or numbered; -1 and an error
NW_API char *nw_sched_trace(const nw_sched *s, bool json); // pasteable Lua, or JSON
NW_API bool nw_sched_replay(nw_sched *s, const char *json); // judged anew; the first step that fails is named
// The question the judge answered last: 'o' by order, 'v' by value, 'm' marks only.
NW_API char nw_judge_question(const nw_ctx *c);
// One version for the log: what its step did to the program, and what the program costs now.
typedef struct nw_log_entry {
  int version, parent; // parent -1: the naive program
  bool unsafe;
  const char *step, *branch, *notes; // borrowed; NULL where there is none
  int added, removed, changed; // statements
  double operations, input_bytes, output_bytes, temp_bytes; // of one run; below 0: not known without the sizes
  bool exact; // else they are upper bounds: guards and uneven bounds could not be counted
  char *formula; // operations in sizes, where the number is not known; heap, or NULL
  int nbuffers;
  const char *buffer[NW_MAX_RESULTS]; // temporaries
} nw_log_entry;
NW_API bool nw_sched_log(const nw_sched *s, int version, nw_log_entry *out);
NW_API int nw_sched_versions(const nw_sched *s); // how many there are, the naive program being 0
// Which steps made what stands on a line: 1, 2, ... of the short form, or of the lowered program. Heap text, one reason a
// line; NULL and an error when there is no such line.
NW_API char *nw_sched_why(const nw_sched *s, int line, bool lowered);
// Every primitive tried on a loop: what is legal there, and why the rest is not.
typedef struct nw_move {
  const char *primitive;
  char *step; // as typed; heap, or NULL when nothing sensible could be tried
  char *why; // NULL: legal; heap
  bool undecided; // it may be legal: a glance did not tell
} nw_move;
NW_API int nw_sched_moves(nw_sched *s, int loop, nw_move **out); // how many; heap, nw_moves_free. -1: no such loop
NW_API void nw_moves_free(int n, nw_move *m);
// Every loop as a place to compute a stage at.
typedef struct nw_location {
  char *loop; // name; NULL: the root. heap
  char *why; // NULL: legal; heap
  bool current; // it is there now
  double recompute; // instances computed over instances needed once; below 0: not known without the sizes
  double bytes; // of the stage's storage there; below 0: not known
  char *size; // its extents, "34*34"; heap, or NULL
} nw_location;
NW_API int nw_sched_locations(nw_sched *s, const char *stage, nw_location **out);
NW_API void nw_locations_free(int n, nw_location *l);
NW_API char *nw_sched_step_text(const nw_sched *s, int version);
NW_API const char *nw_sched_notes(const nw_sched *s); // remarks of the last step, or ""
NW_API bool nw_sched_rounds(const nw_sched *s); // true if a step to here may change how floats are rounded
// Loops: handles are ids.
NW_API int nw_sched_loop(nw_sched *s, const char *name); // 0 and an error if there is none
NW_API const char *nw_sched_loop_name(nw_sched *s, int id); // NULL and NW_ESTALE, naming the step that consumed it
NW_API char *nw_sched_loop_begin(nw_sched *s, int id); // as text, heap; NULL as above, "0" for a piece that is empty
NW_API char *nw_sched_loop_extent(nw_sched *s, int id);
NW_API int nw_sched_loops(nw_sched *s, const char *stage, int max, int *ids); // outermost first; stage NULL: all
NW_API int nw_sched_stages(nw_sched *s, int max, const char **names);
NW_API char *nw_sched_name_of(const nw_sched *s, const nw_tensor *t); // what programs call it

// ---------------------------------------------------------------- data (run/)

NW_API nw_array *nw_array_new(nw_ctx *c, nw_dtype t, int ndim, const int64_t *shape); // zeros, 64-byte aligned
// For tests. From now on tensors and temporaries end where a page begins that may not be touched, or begin where one ends:
// what runs past them is a crash, which is an error. align: of tensors that end there, a power of two; 0: what their size
// allows, which is less than code with streaming stores takes.
typedef enum nw_fence { NW_FENCE_OFF, NW_FENCE_AFTER, NW_FENCE_BEFORE } nw_fence;
NW_API void nw_fences(nw_ctx *c, nw_fence fence, size_t align);
NW_API nw_array *nw_array_retain(nw_array *a);
NW_API void nw_array_release(nw_array *a);
NW_API nw_dtype nw_array_dtype(const nw_array *a);
NW_API int nw_array_ndim(const nw_array *a);
NW_API const int64_t *nw_array_shape(const nw_array *a);
NW_API int64_t nw_array_count(const nw_array *a);
NW_API void *nw_array_data(nw_array *a);
NW_API double nw_array_get(const nw_array *a, int64_t flat);
NW_API int64_t nw_array_get_int(const nw_array *a, int64_t flat);
NW_API void nw_array_set(nw_array *a, int64_t flat, double v);
NW_API void nw_array_set_int(nw_array *a, int64_t flat, int64_t v);
// Integers: whole numbers lo..hi. False when interrupted: the elements so far are filled.
NW_API bool nw_array_fill_random(nw_array *a, uint64_t seed, double lo, double hi);
// For loops over elements: true, and a failure, when the session was interrupted; looked at every 65,536th element.
static inline bool nw_elements_stopped(nw_ctx *c, int64_t i) { return !(i & 65535) && nw_stopped(c); }
NW_API nw_array *nw_array_load(nw_ctx *c, const char *path); // .npy 1.0, 2.0; C and Fortran order, both endians
NW_API bool nw_array_save(nw_ctx *c, const nw_array *a, const char *path);

// ---------------------------------------------------------------- running (lower, interp, codegen, run)

typedef struct nw_build_opts {
  int threads; // 0: all cores
  int opt; // LLVM level, default 1: the short pipeline
  bool no_cache; // compile anew even when the object cache has it
} nw_build_opts;
NW_API nw_kernel *nw_compile(nw_ctx *c, const nw_program *p, const nw_build_opts *o);
// Several of one computation: a call runs the first whose facts hold. The last assumes nothing that the others do not.
NW_API nw_kernel *nw_kernel_dispatch(nw_ctx *c, int n, nw_kernel *const *one);
NW_API double nw_kernel_dispatch_seconds(nw_kernel *k, int n,
                                         nw_array *const *args); // that finding it takes; < 0: failed
NW_API int64_t nw_kernel_code_bytes(const nw_kernel *k); // of machine code
NW_API nw_kernel *nw_kernel_retain(nw_kernel *k);
NW_API void nw_kernel_release(nw_kernel *k);
// Parameters in the order of the computation: inputs, then outputs. Sizes are inferred from the shapes of the arrays.
NW_API int nw_kernel_params(const nw_kernel *k);
NW_API const char *nw_kernel_param(const nw_kernel *k, int i, bool *is_output);
// Makes the output arrays a call needs, from the inputs' shapes.
NW_API bool nw_kernel_outputs(nw_kernel *k, nw_array *const *inputs, nw_array **outputs);
NW_API bool nw_kernel_call(nw_kernel *k, int n, nw_array *const *args); // checked: shapes, dtypes, facts, overlap
typedef struct nw_time {
  double min, median, spread; // seconds; spread is the interquartile range over the median
  int reps, threads;
  double *sample; // heap, reps of them, in order; caller frees
} nw_time;
NW_API bool nw_kernel_time(nw_kernel *k, int n, nw_array *const *args, int reps, double min_seconds, nw_time *out);
// Seconds of one call, which is stopped after `limit` seconds; -1: failed, with NW_ELIMIT when it was stopped.
NW_API double nw_kernel_once(nw_kernel *k, int n, nw_array *const *args, double limit);
// Interleaved: A B C A B C ...; out has n entries.
NW_API bool nw_kernel_compare(int n, nw_kernel *const *k, const int *nargs, nw_array *const *const *args, int rounds,
                              nw_time *out);
// What the threads of one call did: each part of a parallel loop that a thread ran in one go, with the wall clock and with
// that of the thread, which stands still while other processes have its core. Seconds since the call began.
typedef struct nw_span {
  int loop; // by the program, from 0
  int64_t region; // the how-manieth parallel loop of the call, from 0
  int thread;
  int64_t from, to; // rounds of the loop
  double begin, end, cpu;
} nw_span;
typedef struct nw_region { // from the first thread's start to the last one's end, the barrier included
  int loop;
  double begin, end;
} nw_region;
typedef struct nw_log nw_log;
NW_API nw_log *nw_kernel_log(nw_kernel *k, int n, nw_array *const *args); // of one call; NULL: it failed
NW_API void nw_log_free(nw_log *l);
NW_API double nw_log_seconds(const nw_log *l);
NW_API int nw_log_threads(const nw_log *l);
NW_API int64_t nw_log_spans(const nw_log *l);
NW_API const nw_span *nw_log_span(const nw_log *l, int64_t i);
NW_API int64_t nw_log_regions(const nw_log *l);
NW_API const nw_region *nw_log_region(const nw_log *l, int64_t i);
NW_API int64_t nw_log_lost(const nw_log *l); // spans and regions there was no room for
NW_API int nw_log_loops(const nw_log *l);
NW_API const char *nw_log_loop(const nw_log *l, int i); // its name; NULL: not known
NW_API char *nw_kernel_text(nw_kernel *k, const char *what); // "lowered", "llvm", "asm", "c", "versions"
// Writes a shared library (path ends in .so) with the kernel as a plain C function, and its header beside it. Needs a C
// compiler; the code is for this machine's processor.
NW_API bool nw_kernel_export(nw_kernel *k, const char *path);
NW_API double nw_kernel_compile_ms(const nw_kernel *k);
NW_API bool nw_kernel_was_cached(const nw_kernel *k);
NW_API int nw_kernel_unsafe(const nw_kernel *k); // steps of its schedule that were not judged
NW_API char *nw_lower_text(nw_ctx *c, const nw_program *p, const char *pass); // after that pass; NULL: the last
NW_API char *nw_program_c(nw_ctx *c, const nw_program *p); // as C99 with OpenMP
// most: steps after which it gives up with NW_ELIMIT; 0: none.
NW_API bool nw_interpret(nw_ctx *c, const nw_program *p, bool lowered, int64_t most, int n, nw_array *const *args);
NW_API bool nw_evaluate(nw_ctx *c, int n, nw_tensor *const *outputs, int nargs,
                        nw_array *const *args); // naive TE, args as a kernel's
// Lets steps speak of what threads cost on this machine: measured at the first step that asks, once
// a process where the machine is not too busy for it.
NW_API void nw_measure_threads(nw_ctx *c);
// Measured peak of fused multiply-adds of NW_F32 or NW_F64, flop/s.
NW_API double nw_peak_flops(nw_ctx *c, nw_dtype type, int threads);
// Bytes a second of a loop over `bytes` of memory: what it reads and writes by name, as STREAM counts. Fills at most `most`
// samples and answers how many; 0: failed.
typedef enum nw_stream { NW_STREAM_READ, NW_STREAM_COPY, NW_STREAM_TRIAD, NW_STREAM_WRITE } nw_stream;
NW_API int nw_bandwidth(nw_ctx *c, nw_stream loop, int64_t bytes, int threads, int most, double *rate);
// Measures this machine in about two seconds and tells of each figure under the path of a machine record's field (machine.h).
typedef void (*nw_calibrated_fn)(void *env, const char *path, double value);
NW_API bool nw_calibrate(nw_ctx *c, nw_calibrated_fn found, void *env);
// A counter of energy: of a package ("package-0") or of its memory ("dram").
typedef struct nw_energy_zone {
  char zone[64], name[32];
  double joules, limit; // what it says; where it begins anew
} nw_energy_zone;
// How many there are, in the order of their zones; 0, and a failure: none. root: /sys/class/powercap where NULL.
NW_API int nw_energy_zones(nw_ctx *c, const char *root, nw_energy_zone *zone, int most);
NW_API double nw_energy_used(const nw_energy_zone *before, const nw_energy_zone *after); // joules
NW_API double nw_core_hz(void); // clock of this core, from a chain of dependent adds; 0 unknown
NW_API double nw_peak_vs_ports(nw_ctx *c); // that peak of one thread against two full-width units at that clock
NW_API char *nw_machine_text(nw_ctx *c); // cpu, features, caches, cores: text
// The n-th cache of this machine, from 0, the one nearest to a core first. False: there is none.
NW_API bool nw_machine_cache(int n, int64_t *bytes, int *ways, int *line);
NW_API int nw_machine_cache_cpus(int n); // logical cpus that share it

// Somebody else's program, found on PATH and run to its end without a shell. Its input is a file in memory, which it may also
// open as /dev/stdin. An interrupt, or `stopped` (may be NULL), kills it and what it started.
typedef struct nw_child {
  const char *what; // for progress: "gnuplot draws"
  const char *input;
  size_t ninput;
  bool (*stopped)(void *env);
  void *env;
  bool absent; // it was not started, because there is no such program
  int status; // its exit status; a signal that ended it, negative
  char *out, *said; // heap: standard output, and standard error as far as it is short
  size_t nout;
} nw_child;
NW_API bool nw_child_run(nw_ctx *c, const char *const *argv, nw_child *child); // false: not started, or stopped

// Intrinsics: small computations that somebody else's code does; see ir/intrinsic.h for how it is called. Registering one
// runs it against its description in a worker process; what is registered may be named in s:tensorize.
#define NW_ANY_STRIDE INT64_MIN // passed at the call
typedef struct nw_intrinsic nw_intrinsic; // lives as long as the session
typedef struct nw_intrinsic_spec {
  const char *name;
  int nargs;
  nw_tensor *const *arg; // inputs and outputs of one compute, in the order the function takes them
  const int64_t *const *stride; // by argument (NULL: any), by dimension: a fixed stride in elements, or NW_ANY_STRIDE
  bool init; // a reduction starts from its init; else it goes on from what the output holds
  const char *source; // C, compiled by the system's compiler; or
  const char *library; // a shared library
  const char *symbol; // NULL: the name
  const char *special; // NULL, or what makes functions for constant strides
  int nconstants;
  const int64_t *constant; // passed after the strides
  bool jump_safe; // of a library: holds no lock, owns no memory, calls nothing that does
  double timeout; // seconds for one run on trial; 0 is 5
} nw_intrinsic_spec;
NW_API const nw_intrinsic *nw_intrinsic_register(nw_ctx *c, const nw_intrinsic_spec *s); // borrowed; NULL: it failed
// A file that belongs to this library: what the variable names, or one beside it.
NW_API bool nw_find_library(const char *variable, const char *name, char *path, size_t n);
NW_API const char *nw_intrinsic_id(const nw_intrinsic *in); // "mm16:1c9a2f07"
NW_API bool nw_intrinsic_is_jump_safe(const nw_intrinsic *in);

// Differential check of a schedule on small shapes and, for constant shapes, on its own (see check/check.h).
NW_API bool nw_check(nw_ctx *c, nw_sched *s, char **report);
// The last step, when it was refused, replayed on small whole numbers. False when nothing was refused.
typedef struct nw_lesson {
  const char *how; // the conflict as the interpreter showed it: "order", "place", "iterations", "race", "twice",
      // "outside", "domain", "unwritten", "incomplete", "value"; NULL: not seen
  bool visible; // there was something to see: a refusal for structure or capacity has nothing to run
  char *text; // for people; heap
} nw_lesson;
NW_API bool nw_explain(nw_ctx *c, nw_sched *s, nw_lesson *out);

// ---- the accesses of a program, and what caches make of them: cost/walker.h, cost/place.h, cost/sim.h
NW_API int nw_program_sizes(const nw_program *p); // symbolic sizes
NW_API const char *nw_program_size(const nw_program *p, int i); // name
NW_API int nw_program_buffers(const nw_program *p);
NW_API const char *nw_program_buffer(const nw_program *p, int i); // name
NW_API nw_dtype nw_program_buffer_dtype(const nw_program *p, int i);
#define NW_MAX_LEVELS 4

typedef struct nw_sim_level {
  int64_t bytes; // a multiple of line * ways
  int ways; // 0: fully associative
} nw_sim_level;

// A run of a program that is looked at without being run.
typedef struct nw_walk_opts {
  const int64_t *sizes; // values of the symbolic sizes, in order
  int thread, threads; // what this thread of so many does of it; 0 threads: everything, one after the other
} nw_walk_opts;

typedef enum nw_outcome { NW_HIT, NW_COLD, NW_CAPACITY, NW_CONFLICT, NW_OUTCOMES } nw_outcome;

typedef struct nw_sim_opts {
  int nlevels;
  nw_sim_level level[NW_MAX_LEVELS]; // the one nearest to the core first
  int line; // bytes, a power of two, of all levels
  bool misses; // how levels are fed: false FULL, true MISSES
  bool conflicts; // tell conflicts from capacity; costs a second, fully associative simulation of each level
  int part; // only one line in so many comes: as much smaller are the levels whose sets do not matter; 0: all come
} nw_sim_opts;

typedef struct nw_sim_counts {
  int64_t asked; // lines asked for
  int64_t outcome[NW_OUTCOMES];
  int64_t read_misses, write_misses;
  int64_t written_back; // lines it wrote last; those still dirty at the end are not counted
} nw_sim_counts;
typedef struct nw_touched {
  const char *tensor;
  int64_t index; // linear, of the first element
  int lanes; // elements side by side
  bool write;
  uint64_t address;
  uint8_t outcome[NW_MAX_LEVELS]; // by level, the worst of its lines: nw_outcome
} nw_touched;
typedef struct nw_iteration { // an iteration of a loop
  const char *loop;
  int depth; // loops around
  int64_t index; // from 0
  int64_t from, to; // accesses
} nw_iteration;
typedef struct nw_trace nw_trace;
// What the lowered program touches, in order, found without running it.
// NULL where it depends on data, and where there are more than `most` (NW_ELIMIT).
// o: caches to simulate; NULL: none.
NW_API nw_trace *nw_trace_walk(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int64_t most,
                               const nw_sim_opts *o);
// The same from the interpreter, on arguments as for nw_interpret.
NW_API nw_trace *nw_trace_run(nw_ctx *c, const nw_program *p, int n, nw_array *const *args, int64_t most);
NW_API void nw_trace_free(nw_trace *t);
NW_API int64_t nw_trace_count(const nw_trace *t);
NW_API const nw_touched *nw_trace_at(const nw_trace *t, int64_t i);
NW_API int64_t nw_trace_iterations(const nw_trace *t); // of a walk; in the order in which they end
NW_API const nw_iteration *nw_trace_iteration(const nw_trace *t, int64_t i);
NW_API int64_t nw_trace_differs(const nw_trace *a, const nw_trace *b); // the first access that does; -1: none
// All accesses of a program as pixels, however many there are: of several on one pixel the worst shows, so that no miss is
// ever lost. 0: none; 1 read, 2 written, and it was there; 3 cold, 4 capacity, 5 conflict miss. Of level -1: 1 found in the first
// level, 2 in the second, ..., one more than there are levels: in memory.
typedef enum nw_raster_y { NW_Y_INDEX, NW_Y_ADDRESS, NW_Y_LINE, NW_Y_SET } nw_raster_y;
typedef struct nw_lane {
  const char *tensor;
  int64_t from, to; // what the lowest and the highest row begin and end with, in units of y
  int64_t accesses;
  int64_t outcome[NW_OUTCOMES]; // of accesses
  uint8_t *pixel; // rows of `width`, the lowest first
} nw_lane;
typedef struct nw_raster nw_raster;
// Pixels of a lane on fewer of them: of those that fall on one the worst shows. out has to_width * to_height bytes.
NW_API void nw_raster_shrink(const uint8_t *pixel, int width, int height, int to_width, int to_height, uint8_t *out);
NW_API nw_raster *nw_raster_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o,
                               int level, nw_raster_y y, int width, int height);
NW_API void nw_raster_free(nw_raster *r);
NW_API int64_t nw_raster_time(const nw_raster *r); // accesses in all
NW_API int nw_raster_lanes(const nw_raster *r); // tensors that are touched, in the order of their addresses
NW_API const nw_lane *nw_raster_lane(const nw_raster *r, int i);
NW_API int64_t nw_raster_touched(const nw_raster *r,
                                 int column); // bytes of distinct lines up to the end of that column
NW_API int64_t nw_raster_iterations(const nw_raster *r); // of loops with 300 or fewer in all
NW_API const nw_iteration *nw_raster_iteration(const nw_raster *r, int64_t i);
typedef struct nw_missed { // of one level, one load or store of the program
  int level; // from 0
  const char *tensor, *loop; // loop: the innermost around; NULL: none
  bool write;
  nw_sim_counts count;
} nw_missed;
typedef struct nw_misses nw_misses;
NW_API nw_misses *nw_misses_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o);
NW_API void nw_misses_free(nw_misses *m);
NW_API int nw_misses_count(const nw_misses *m);
NW_API const nw_missed *nw_misses_at(const nw_misses *m, int i);

// ---- what a program costs: cost/cost.c
typedef struct nw_machine nw_machine; // what is known of a machine: hw/machine.h
typedef struct nw_cost_opts {
  const nw_machine *machine;
  const int64_t *sizes;
  int threads; // 0 or 1: one, which does everything
  bool conflicts; // tell conflict misses from those of capacity: takes longer
  bool full; // every level is asked everything, not what the one before has not: often quicker
} nw_cost_opts;
typedef struct nw_cost_total {
  double cycles, seconds; // of all
  const char *bound; // what the first thread is limited by most
  double flops, instructions, spills, joules; // of all threads
  int threads; // that have something to do: one where no loop is parallel
  double outside_cycles; // of parallel loops
  double team_seconds; // to begin and end parallel loops
} nw_cost_total;
typedef struct
    nw_cost_loop { // a loop or a guard of the lowered program, outermost first; number 0 is the whole; of the first thread
  const char *name; // of a loop; NULL: the whole, or a guard
  int depth; // loops around, itself included
  int64_t entered, times; // how often it begins; iterations in all
  double cycles; // with all that is inside
  const char *bound;
} nw_cost_loop;
typedef struct nw_cost_term { // cycles that one thing would take the first thread if all else were free
  const char *name;
  double cycles;
} nw_cost_term;
typedef struct nw_energy_row {
  char name[24];
  const char *unit; // of count
  double count, pj, joules;
} nw_energy_row;
typedef struct nw_cost_buffer {
  const char *name, *where; // where: parameter, workspace, workspace of each thread, stack, registers
  int64_t bytes;
} nw_cost_buffer;
typedef nw_missed nw_cost_missed;
typedef struct nw_cost nw_cost;
// The caches that the cost model gives to one thread of so many: what others leave of each, shared out.
NW_API nw_sim_opts nw_cost_caches(const nw_machine *m, int threads);
NW_API nw_cost *nw_cost_of(nw_ctx *c, const nw_program *p, const nw_cost_opts *o);
NW_API void nw_cost_free(nw_cost *k);
NW_API nw_cost_total nw_cost_total_of(const nw_cost *k);
NW_API double nw_cost_share(const nw_cost *k, int thread); // cycles inside of parallel loops
NW_API int nw_cost_terms(const nw_cost *k);
NW_API nw_cost_term nw_cost_term_at(const nw_cost *k, int i);
NW_API int nw_cost_loops(const nw_cost *k);
NW_API nw_cost_loop nw_cost_loop_at(const nw_cost *k, int i);
NW_API int nw_cost_misses(const nw_cost *k); // of the first thread, by level, then load or store
NW_API nw_cost_missed nw_cost_missed_at(const nw_cost *k, int i);
// Are a level's counts those of the reference simulator? If not, *error is a part of the misses.
NW_API bool nw_cost_exact(const nw_cost *k, int level, double *error);
NW_API int nw_cost_levels(const nw_cost *k); // of caches, and memory
NW_API void nw_cost_moved(const nw_cost *k, int level, double *read,
                          double *written); // bytes out of and into it, of all threads
NW_API int nw_cost_energies(const nw_cost *k);
NW_API const nw_energy_row *nw_cost_energy(const nw_cost *k, int i);
NW_API int nw_cost_buffers(const nw_cost *k);
NW_API nw_cost_buffer nw_cost_buffer_at(const nw_cost *k, int i);

// ---- models that rank, learned from measurements: cost/learn.c
typedef struct nw_learn_rows {
  int rows, features;
  const float *feature; // row after row
  const float *margin; // what a row's score begins with; NULL: 0
  const float *label; // more is better; of no matter where scores are asked for
  int ngroups;
  const int *group; // rows of each group: only those of one group are compared with each other
  const float *weight; // of each row where labels are to be met, of each group where their order is; NULL: 1
} nw_learn_rows;
typedef struct nw_learn_opts {
  int rounds, depth, seed;
  double rate; // of what each round adds
  double columns, sample; // shares of features and rows that each tree sees
  int forest; // trees of a round, averaged; 0: 1
  double least; // rows of a leaf, or their weight; 0: 1
  bool squares; // the labels are to be met; otherwise their order within each group
} nw_learn_opts;
typedef struct nw_learner nw_learner;
NW_API nw_learner *nw_learn(nw_ctx *c, const nw_learn_rows *r, const nw_learn_opts *o);
NW_API void nw_learner_free(nw_learner *m);
NW_API int nw_learner_features(const nw_learner *m);
NW_API bool nw_learner_predict(const nw_learner *m, const nw_learn_rows *r, float *out); // a score a row
NW_API char *nw_learner_text(const nw_learner *m); // on the heap
NW_API nw_learner *nw_learner_read(nw_ctx *c, const char *text);

// ---- compiled code, followed without being run: cost/code_simulate.c
typedef struct nw_code_time { // all 0: code of a processor that is not known here
  double instructions, cycles; // cycles: with all data in the first cache
  double mispredicted; // branches
  double waits; // of loads until what they read was in the cache
} nw_code_time;
// Of the assembly that nw_kernel_text gives; expected: about how many instructions run. False when interrupted.
NW_API bool nw_code_simulate(nw_ctx *c, const char *assembly, const nw_machine *m, double expected, nw_code_time *out);

// ---- loop nests by themselves, from a text or from a program: cost/nest.c

typedef struct nw_loopnest nw_loopnest;
// Parameters that are not to be as written: those of a set of sizes (NULL: none), and n by name. docs/cost.md has the grammar.
NW_API nw_loopnest *nw_loopnest_parse(nw_ctx *c, const char *text, const char *set, int n, const char *const *name,
                                      const int64_t *value);
// What a program touches, as a nest. NW_ELIMIT: it is not affine.
NW_API nw_loopnest *nw_loopnest_of(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_loopnest_free(nw_loopnest *n);
NW_API char *nw_loopnest_print(const nw_loopnest *n); // heap; reads back
NW_API int nw_loopnest_params(const nw_loopnest *n);
NW_API const char *nw_loopnest_param(const nw_loopnest *n, int i, int64_t *value);
NW_API int nw_loopnest_arrays(const nw_loopnest *n); // in the order of their addresses
NW_API const char *nw_loopnest_array(const nw_loopnest *n, int i, uint64_t *address, int64_t *bytes, int *element);

typedef struct nw_count_opts {
  nw_sim_opts caches;
  int thread, threads; // what this thread of so many does, in caches of its own; 0 threads: everything
  bool simulate; // every access through the simulator, instead of the model
  bool exact; // fail (NW_ELIMIT) rather than estimate
  int64_t budget; // lines that the model may ask for; 0: as many as take a few seconds
} nw_count_opts;

typedef struct nw_counted {
  int64_t accesses, touched; // made by the nest; lines that were asked for to count them, of all levels together
  bool exact[NW_MAX_LEVELS]; // by level; otherwise estimated, with this error, a part of the misses
  double error[NW_MAX_LEVELS];
} nw_counted;

// Misses by level, array and reference; the loop is the innermost around it.
NW_API nw_misses *nw_loopnest_misses(nw_ctx *c, const nw_loopnest *n, const nw_count_opts *o, nw_counted *how);

// What its statements do, as they are written. Of a nest that comes from a program no operations are known.
enum { NW_NEST_OPERATIONS = 64 };
typedef struct nw_nest_operation {
  const char *name; // of a class of operations: hw/machine.h
  int bits; // of the numbers; 0: not known
  double count;
} nw_nest_operation;
typedef struct nw_nest_work {
  int n;
  nw_nest_operation row[NW_NEST_OPERATIONS];
  double calls; // of functions that are in no class
  double statements; // that run
  double read, written; // bytes, by the core
  bool exact; // are these counts; of large triangles they are estimated
} nw_nest_work;
NW_API bool nw_loopnest_work(nw_ctx *c, const nw_loopnest *n, nw_nest_work *out);
NW_API nw_trace *nw_loopnest_trace(nw_ctx *c, const nw_loopnest *n, int thread, int threads, int64_t most,
                                   const nw_sim_opts *o);

// ---- the executions of a program's blocks, in order: cost/visits.c

typedef struct nw_visit_loop { // a loop around a block
  const char *name, *mark; // mark: "", "parallel", "vectorize", ...
} nw_visit_loop;
typedef struct nw_visit_axis { // an axis of its stage
  const char *name;
  char kind; // 's'patial, 'r'educe, 'o'rdered
  int64_t lo, extent; // from lo
  const int64_t *step; // by loop: what a round of it adds to the axis; INT64_MIN: not always the same
} nw_visit_axis;
typedef struct nw_visit_block {
  const char *name, *stage; // stage: what its executions are instances of
  bool init; // the split-off init of a reduction
  int naxes, nloops, nindex;
  const nw_visit_axis *axis;
  const nw_visit_loop *loop; // outermost first
  const char *buffer; // what it writes first, at nindex indices; NULL where they are data
} nw_visit_block;
typedef struct nw_visited { // an execution
  int block;
  const int64_t *axis, *loop; // values
  const int64_t *index; // of the element that it writes
} nw_visited;
typedef struct nw_visits nw_visits;
// NULL where what runs depends on data.
NW_API nw_visits *nw_visits_new(nw_ctx *c, const nw_program *p, const int64_t *sizes);
NW_API void nw_visits_free(nw_visits *v);
NW_API int nw_visits_blocks(const nw_visits *v);
NW_API const nw_visit_block *nw_visits_block(const nw_visits *v, int block);
// Asks for the executions of a block; of an axis only these values, ascending. Nothing is walked that was not asked for.
NW_API void nw_visits_ask(nw_visits *v, int block);
NW_API void nw_visits_only(nw_visits *v, int block, int axis, int n, const int64_t *values);
// Finds them, in the order in which they run: iterations of a vectorized loop side by side, other loops in sequence, also those
// that threads share. False when there are more than `most` (NW_ELIMIT), and when interrupted.
NW_API bool nw_visits_walk(nw_visits *v, int64_t most);
NW_API int64_t nw_visits_count(const nw_visits *v);
NW_API const nw_visited *nw_visits_at(const nw_visits *v, int64_t i);
// The execution of a block where its loops have these values, whether it is ever reached or not.
NW_API const nw_visited *nw_visits_there(nw_visits *v, int block, const int64_t *loop);

// The step that was refused last, with the program before it and the one it would have made. NULL: the last step was not.
typedef struct nw_refused nw_refused; // counted
NW_API nw_refused *nw_sched_refused(nw_sched *s);
NW_API void nw_refused_release(nw_refused *r);
NW_API const nw_program *nw_refused_program(const nw_refused *r, bool after); // borrowed; NULL: it never made one
NW_API const nw_refusal *nw_refused_why(const nw_refused *r); // borrowed; NULL: it was refused for its arguments

// How far apart in time a line is asked for and asked for again, in other lines asked for in between: fully associative
// caches of more lines than that hit. Counted by tensor, exactly below 64, then in 64 bins an octave.
typedef struct nw_reuse nw_reuse;
NW_API nw_reuse *nw_reuse_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, int line);
NW_API void nw_reuse_free(nw_reuse *r);
NW_API int nw_reuse_tensors(const nw_reuse *r); // in the order of their addresses
NW_API const char *nw_reuse_tensor(const nw_reuse *r, int i);
NW_API int64_t nw_reuse_first(const nw_reuse *r, int i); // lines asked for that never were before
NW_API int nw_reuse_bins(const nw_reuse *r);
NW_API int64_t nw_reuse_from(const nw_reuse *r, int bin); // its least distance; the next bin's ends it
NW_API int64_t nw_reuse_count(const nw_reuse *r, int i, int bin);

// How full the sets of a level are, and how many different lines they are asked for, in equal parts of the time.
typedef struct nw_filling nw_filling;
NW_API nw_filling *nw_filling_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk, const nw_sim_opts *o,
                                 int level, int columns);
NW_API void nw_filling_free(nw_filling *f);
NW_API int64_t nw_filling_time(const nw_filling *f); // accesses in all
NW_API int nw_filling_columns(const nw_filling *f); // no more than there are accesses
NW_API int nw_filling_sets(const nw_filling *f);
NW_API int nw_filling_held(const nw_filling *f, int column, int set); // lines, at the end of the column
NW_API int nw_filling_asked(const nw_filling *f, int column, int set); // different lines during it

// A load or store, and how its address moves with the loops around it.
typedef struct nw_moved {
  const char *loop;
  int64_t extent; // -1: it varies
  int64_t bytes; // what an iteration adds to the address
  bool parallel;
} nw_moved;
typedef struct nw_sweeps nw_sweeps;
NW_API nw_sweeps *nw_sweeps_of(nw_ctx *c, const nw_program *p, const nw_walk_opts *walk);
NW_API void nw_sweeps_free(nw_sweeps *s);
NW_API int nw_sweeps_count(const nw_sweeps *s); // of those whose addresses are affine
NW_API const char *nw_sweep_tensor(const nw_sweeps *s, int i);
NW_API bool nw_sweep_writes(const nw_sweeps *s, int i);
NW_API int nw_sweep_loops(const nw_sweeps *s, int i); // around it, the outermost first
NW_API nw_moved nw_sweep_loop(const nw_sweeps *s, int i, int k);

#ifdef __cplusplus
}
#endif
