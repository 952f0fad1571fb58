// Translates an executable program into an LLVM module or into C. This header uses no type of LLVM: only codegen/llvm
// and run/jit do. These two are a separate library, nestwright-jit, which is loaded when a program is first compiled.
#pragma once
#include "interp/interp.h"
#include "ir/program/choose.h"
#include "ir/program/intrinsic.h"

// ABI of a generated kernel:
// * params[i]: data of parameter i;
// * sizes[i]: value of symbolic size i;
// * work[i]: workspace of buffer i, or NULL if it has none. If each thread has its own workspace, that of thread t is
//   at work[i] + t*stride[i].
typedef struct nw_frame {
  void **params;
  const int64_t *sizes;
  void **work;
  const int64_t *stride; // bytes between the workspaces of two threads
  int threads;
  void *runtime; // the call in progress, for the run-time functions, or NULL
  const char *name; // the kernel's name, for messages
  struct nw_log *log; // the log of the threads (run/log.h), or NULL; generated code does not use it
  struct nw_tick *ticks; // for code with clocks
} nw_frame;
// Clock i of a program with n clocks adds to ticks[t * nw_ticks_of(n) + 2 * i] the time of each execution of its loop, on
// the thread t that begins the execution. The part of a parallel loop that thread t runs is added to the next entry.
typedef struct nw_tick {
  int64_t ticks, times; // ticks: of the processor's constant clock; times: number of executions
} nw_tick;
static inline int nw_ticks_of(int n) { return (2 * n + 3) / 4 * 4; } // a multiple of a cache line
typedef void (*nw_entry)(nw_frame *f);
// A parallel loop becomes a call of a run-time function with an outlined body. If chunk is 0, thread t of T gets the
// iterations [n*t/T, n*(t+1)/T). Otherwise |chunk| iterations are assigned at a time: to each thread in turn if chunk
// is positive, and to the next free thread if chunk is negative. The body gets the frame, the captured values, a range
// of iterations and the thread number. A thread may call the body several times.
typedef void (*nw_parallel_body)(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread);
typedef void (*nw_parallel_fn)(nw_frame *f, nw_parallel_body body, void *captured, int64_t n, int64_t chunk);
// The function that a lowered call of an intrinsic calls.
#define NW_CALLEE_PREFIX "nwi."
typedef struct nw_callee {
  char name[400];
  void *address;
  bool tiles_only; // true if the function was generated for these strides, so that it takes only pointers
  bool jump_safe; // if false, generated code reports each call to the runtime, which jumps out of it only after a crash
  int nwords;
  int64_t word[NW_MAX_WORDS];
} nw_callee;
NW_API bool nw_callee_of(nw_ctx *c, const nw_stmt *call, nw_callee *out); // false, with a diagnostic, on failure
#define NW_CALLEE_BEGIN "nw_callee_begin" // called before and after a callee that is not jump-safe
#define NW_CALLEE_END "nw_callee_end"

#define NW_PARALLEL_SYMBOL "nw_parallel_for"

// The C code that an exported kernel needs outside of a session (c_glue.c). `source` contains a function with the same
// prototype as the C text of the program. This function makes the frame and calls the machine code. `source` also
// contains the run-time function for parallel loops, which uses OpenMP. If there are several versions, each has such a
// function, and one more function selects the version. `header` declares the public function. Both texts are on the
// heap. On failure, the result is false or NULL, and there is a diagnostic.
#define NW_ENTRY_SYMBOL "nw_kernel_entry_%d" // %d is the number of the version, counted from 0
#define NW_HEADER_MARK "// Made by Nestwright: an exported kernel." // the first line of the header
typedef struct nw_glue {
  char *source, *header;
} nw_glue;
bool nw_c_glue(int n, const nw_exec *const *e, const nw_choices *t, nw_glue *out); // t is used if n > 1
char *nw_versions_c(int n, const nw_program *const *p,
                    const nw_choices *t); // like nw_program_c, for n versions of a kernel
