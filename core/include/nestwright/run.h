// Running: kernels, their times, the log of their threads; other programs.
#pragma once
#include "nestwright/array.h"
#include "nestwright/program.h"
#include "nestwright/te.h"

#ifdef __cplusplus
extern "C" {
#endif

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
// Writes a shared library (path ends in .so) with the kernel as a plain C function, and its header beside it, for the target of
// the kernel. Needs a C compiler that links for that.
NW_API bool nw_kernel_export(nw_kernel *k, const char *path);
NW_API nw_target *nw_kernel_target(const nw_kernel *k); // borrowed
NW_API const char *nw_kernel_notes(const nw_kernel *k); // a line for each thing worth knowing of the code; ""
NW_API double nw_kernel_compile_ms(const nw_kernel *k);
NW_API bool nw_kernel_was_cached(const nw_kernel *k);
NW_API int nw_kernel_unsafe(const nw_kernel *k); // steps of its schedule that were not judged
NW_API char *nw_lower_text(nw_ctx *c, const nw_program *p, const char *pass); // after that pass; NULL: the last
NW_API int *nw_lower_line_ids(nw_ctx *c, const nw_program *p, int *n); // statements by line of that text, or 0; heap
NW_API char *nw_program_c(nw_ctx *c, const nw_program *p); // as C99 with OpenMP
// most: steps after which it gives up with NW_ELIMIT; 0: none.
NW_API bool nw_interpret(nw_ctx *c, const nw_program *p, bool lowered, int64_t most, int n, nw_array *const *args);
NW_API bool nw_evaluate(nw_ctx *c, int n, nw_tensor *const *outputs, int nargs,
                        nw_array *const *args); // naive TE, args as a kernel's

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

#ifdef __cplusplus
}
#endif
