// Declares a session, with its diagnostics, interrupts, progress reports and recovery. Every other header includes this
// header.
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
typedef struct nw_pool nw_pool; // interned expressions; reference counted
typedef struct nw_expr nw_expr; // an immutable expression; its pool has no other object for the same expression
typedef struct nw_tensor nw_tensor; // a placeholder or one output of an operation (te.h); reference counted
typedef struct nw_axis nw_axis; // a reduce axis or scan axis (te.h); reference counted
typedef struct nw_program nw_program; // an immutable loop nest; reference counted
typedef struct nw_machine nw_machine; // a machine record (hw/machine.h)
typedef struct nw_target nw_target; // the target of a program (target/target.h); reference counted
typedef struct nw_sched nw_sched; // a history of programs; reference counted
typedef struct nw_array nw_array; // data in memory; reference counted
typedef struct nw_kernel nw_kernel; // machine code; reference counted

typedef enum nw_code {
  NW_OK,
  NW_EINVAL, // a bad argument
  NW_ETYPE, // a type error
  NW_ERANGE, // an index, a size or another number is out of range
  NW_EMEMORY, // out of memory
  NW_ESTALE, // a handle to something that a step has replaced
  NW_EREFUSED, // the judge refused a step; the diagnostic has a refusal
  NW_EUNDECIDED, // the judge could not decide within its budget, so it refused the step
  NW_ELIMIT, // a limit of the target or of this library
  NW_EIO, // a file cannot be read or written
  NW_EPARSE, // the text form of a program is invalid
  NW_ECODEGEN, // LLVM failed
  NW_ECRASH, // native code crashed
  NW_EINTERRUPT, // the user asked to stop
  NW_EMISMATCH, // a check found two results that differ
  NW_ERACE, // two GPU threads access the same element in no defined order
  NW_EINTERNAL, // a bug in this library
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

// One execution of a block, given by the values of the enclosing loops, outermost first.
typedef struct nw_execution {
  const char *block; // NULL if there is no such execution
  bool init; // true for the init of a reduction, if the init is not a separate block
  bool write; // true if the execution writes the element, false if it reads the element
  int n;
  const char **loop;
  int64_t *at;
} nw_execution;
// The witness of a conflict. It consists of the sizes, one or two executions, and the element that they access.
typedef struct nw_conflict {
  int nsizes; // number of symbolic sizes, in the order of the program
  int64_t *size;
  nw_execution source, sink;
  const char *buffer; // buffer of the element; NULL if no element is involved
  int ndim;
  int64_t *index;
  const char *loop; // the marked loop that carries the conflict, or NULL
} nw_conflict;

#define NW_MAX_NOTES 8
typedef struct nw_refusal {
  nw_refusal_kind kind;
  const char *primitive; // "parallel"
  const char *step; // the step as the user types it: s:parallel "k_o"
  const char *tensor; // "C", or NULL
  const char *element; // "C[0, 0]", or NULL
  // the two executions, source and sink: a block "C" and the loop values "(i=0, j=0, k_o=0)"; NULL if there are none
  const char *source_block, *source;
  const char *sink_block, *sink;
  const char *distance; // "1" or "(0, 0, 1)", or NULL
  const char *message; // "cannot run k_o in parallel"
  // true if the message is only a reason ("it is a scan"); the text of the step is then put before it
  bool detail;
  const char *why; // one sentence about the two iterations
  const char *loops[NW_MAX_NOTES]; // names of the loops that carry the conflict
  const char *alternatives[NW_MAX_NOTES]; // steps that were tried and accepted, as text
  const char *picture; // the loop nest, in which the loops that carry the conflict are marked
  const nw_conflict *conflict; // NULL if the reason is not about single executions or elements
} nw_refusal;

typedef struct nw_diag {
  nw_code code;
  const char *message, *hint;
  const nw_refusal *refusal; // only if the code is NW_EREFUSED or NW_EUNDECIDED; otherwise NULL
} nw_diag;

NW_API nw_ctx *nw_open(void);
NW_API void nw_close(nw_ctx *c);
NW_API const nw_diag *nw_error(const nw_ctx *c); // last failure, or NULL
NW_API void nw_clear(nw_ctx *c); // removes the last failure
NW_API void nw_interrupt(nw_ctx *c); // stops the current call; safe in a signal handler and in another thread
NW_API bool nw_stopped(nw_ctx *c); // returns true and leaves a diagnostic if the session was interrupted
// Sets the function that receives the progress of long work; it may be NULL. The function is called only if the work
// takes longer than `patience` seconds. `what` describes the work; it is NULL when the work is done. `part` is the part
// of the work that is done, from 0 to 1, or below 0 if unknown. `seconds` is the time since the work began.
typedef void (*nw_progress_fn)(void *env, const char *what, double part, double seconds);
NW_API void nw_on_progress(nw_ctx *c, nw_progress_fn tell, void *env, double patience);
// Reports the progress of work that consists of many calls. The work began at the time `since`, in seconds of the
// monotonic clock. Pass NULL as `what` when the work is done.
NW_API void nw_tell_progress(nw_ctx *c, const char *what, double part, double since);
NW_API const char *nw_version(void);

// A recovery point. A thread returns to it if a call cannot be finished, because a small allocation failed or an
// internal condition does not hold. Without a recovery point, the process ends in this case. The thread calls
// nw_recovery_open, then `if (setjmp(p.jump))`, and at the end nw_recovery_close. If a call in between cannot be
// finished, setjmp returns a second time, and p has a code and a message. The caller then calls nw_recovery_recover to
// restore the session, its programs and its schedules to their state before the call. Heap memory that the call
// allocated may be lost.
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
// Declares that all objects that the call has made so far have an owner and must be kept.
NW_API void nw_recovery_keep(void);
// For callers of code that may throw exceptions: nw_recovery_now returns the current recovery point before the call,
// and nw_recovery_back makes it current again after an exception.
NW_API nw_recovery *nw_recovery_now(void);
NW_API void nw_recovery_back(nw_recovery *p);
// For tests: makes one future memory request fail. `request` is the number of this request; the next request has number
// 1. If `request` is 0, no request fails. Returns the previous setting, counted from now.
NW_API int64_t nw_refuse_memory(int64_t request);
// Returns the number of bytes that can still be allocated under the tightest limit of this process and of the machine.
NW_API int64_t nw_memory_left(void);
NW_API void nw_say_limit(char *out, size_t n); // writes a description of the tightest limit
// Returns true if there is memory for n elements of `each` bytes. Otherwise returns false with the diagnostic
// NW_EMEMORY; `what` describes the elements in the diagnostic ("the trace"). The memory is not allocated, so the caller
// may use any allocator.
NW_API bool nw_memory_for(nw_ctx *c, const char *what, uint64_t n, uint64_t each);
// Writes the path of the state directory, $XDG_STATE_HOME/nestwright or ~/.local/state/nestwright, and creates the
// directory if it is missing. Returns false on failure, for example if there is no home directory.
NW_API bool nw_state_dir(char *out, size_t n);
// True if a text of n bytes is UTF-8 without control characters. Line breaks are allowed only if `lines` is set. If the
// result is false, the diagnostic names the offending byte; `what` describes the text.
NW_API bool nw_text_ok(nw_ctx *c, const char *what, const char *s, size_t n, bool lines);
// Returns the text in a form that is safe to print, as a heap string. Invalid UTF-8 and characters that control a
// terminal become escapes such as \x1b. Line breaks are kept.
NW_API char *nw_text_shown(const char *s, size_t n);
// Returns the word that is most similar to a misspelled one, or NULL if no word is similar.
NW_API const char *nw_nearest(const char *word, int n, const char *const *words);

#ifdef __cplusplus
}
#endif
