// Runs and measures kernels, logs their threads, and runs external programs.
#pragma once
#include "nestwright/array.h"
#include "nestwright/program.h"
#include "nestwright/te.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nw_build_opts {
  int threads; // number of threads; 0 means all cores
  int opt; // LLVM's optimization level; without options it is 1, the short pipeline
  bool no_cache; // compile even if the object cache has the code
  const nw_sched *steps; // the schedule whose steps messages name; may be NULL
} nw_build_opts;
NW_API nw_kernel *nw_compile(nw_ctx *c, const nw_program *p, const nw_build_opts *o);
// Combines kernels of the same computation. A call of the result runs the first kernel whose facts hold for the sizes
// of the call. The facts of the last kernel must be among the facts of every other kernel.
NW_API nw_kernel *nw_kernel_dispatch(nw_ctx *c, int n, nw_kernel *const *one);
NW_API double nw_kernel_dispatch_seconds(nw_kernel *k, int n,
                                         nw_array *const *args); // seconds to choose the kernel; below 0 on failure
NW_API int64_t nw_kernel_code_bytes(const nw_kernel *k); // bytes of machine code
NW_API nw_kernel *nw_kernel_retain(nw_kernel *k);
NW_API void nw_kernel_release(nw_kernel *k);
// Returns the number of parameters of a kernel. First come the inputs, then the outputs, in the order of the
// computation. Sizes are not parameters, because they are inferred from the shapes of the arrays.
NW_API int nw_kernel_params(const nw_kernel *k);
NW_API const char *nw_kernel_param(const nw_kernel *k, int i, bool *is_output);
// Makes the output arrays of a call from the shapes of the inputs.
NW_API bool nw_kernel_outputs(nw_kernel *k, nw_array *const *inputs, nw_array **outputs);
NW_API bool nw_kernel_call(nw_kernel *k, int n, nw_array *const *args); // checks shapes, dtypes, facts and overlap
// How caches are emptied before each measured call. With NW_WARM, they are not emptied. With NW_FLUSHED, the lines of
// the arrays are flushed, which only x86 can do. With NW_SWEPT, a large buffer is read.
typedef enum nw_chill { NW_WARM, NW_FLUSHED, NW_SWEPT } nw_chill;
NW_API bool nw_can_flush(void);
typedef struct nw_conditions { // the conditions of a measurement
  nw_chill chill;
  int64_t offset; // the address of each array, minus this offset, is a multiple of nw_time.align
  int ncpus; // number of CPUs: 0, or the number of threads; a kernel with fewer threads uses the first CPUs
  const int *cpu; // the CPU on which each thread runs
} nw_conditions;
typedef struct nw_time {
  // `min` and `median` are seconds of wall-clock time. The samples are taken in batches. Two numbers are divided by the
  // median: the interquartile range of the samples, and the distance between the medians of the batches. `spread` is
  // the larger quotient.
  double min, median, spread;
  int reps, threads;
  int retaken; // number of samples that were taken again because other work disturbed them
  // true if other work disturbed most of the samples, even when they were taken again; then the times are not reliable
  bool disturbed;
  int64_t align; // the largest power of two that divides (address - offset) for every array
  double clock; // seconds that reading the clock takes; subtracted from each call if the caches were emptied
  double *sample; // reps values in the order of the runs; heap, the caller frees it
} nw_time;
// True if runs of the kernel have times. Otherwise there is a diagnostic, which begins with `what`.
NW_API bool nw_kernel_has_times(nw_kernel *k, const char *what);
// Measures a kernel. If `how` is NULL, caches are not emptied, and the threads run on any CPUs.
NW_API bool nw_kernel_time(nw_kernel *k, int n, nw_array *const *args, int reps, double min_seconds,
                           const nw_conditions *how, nw_time *out);
// Runs one call and returns its duration in seconds. The call is stopped after `limit` seconds. Returns -1 on failure.
// The code of the diagnostic is NW_ELIMIT if the call was stopped.
NW_API double nw_kernel_once(nw_kernel *k, int n, nw_array *const *args, double limit);
// Measures n kernels in turn: A B C A B C ... `out` has n entries.
NW_API bool nw_kernel_compare(int n, nw_kernel *const *k, const int *nargs, nw_array *const *const *args, int rounds,
                              const nw_conditions *how, nw_time *out);
// The measured time of a loop. All fields are per call of the kernel.
typedef struct nw_loop_time {
  int id; // id of the loop's statement; copies of a loop, such as its main part and its remainder, have the same id
  char loop[64]; // name of its variable
  int depth; // number of loops around it
  bool timed; // false if the executions of the loop are too short for a clock; then only the enclosing loop is timed
  bool parallel;
  double seconds; // time of all executions of the loop; for a loop inside a parallel loop, the mean over the threads
  double most; // like `seconds`, but for the slowest thread
  double work; // for a parallel loop, the mean time in which a thread runs its parts; otherwise `seconds`
  double times; // number of executions, of all threads together
  double busy; // sum of the seconds of all these executions; threads run at the same time, so it may exceed `seconds`
} nw_loop_time;
#define NW_MOST_COUNTS 7
typedef struct nw_event_count { // the number of events of one kind, such as branch misses
  const char *name;
  double value;
} nw_event_count;
// The times of all loops, in the order of the program. The measured code reads a clock before and after each loop that
// is timed. The cost of the clock readings is measured too, and subtracted.
typedef struct nw_loop_times {
  int n, threads, reps;
  nw_loop_time *at; // heap, the caller frees it
  // seconds: median time of a call without clock readings; such calls alternate with calls that have clock readings
  double seconds;
  double clocked; // seconds of a call with clock readings; the times of the loops are parts of this time
  double clocks; // estimated seconds that the clock readings take in a call
  double least; // a loop is timed if its executions take at least this number of seconds on average
  bool disturbed; // true if other work disturbed most of the samples
  bool calls; // true if intrinsics are called; the loops inside their calls have no times
  // number of kinds of events that the system counts; a count is per call without clock readings, over all threads
  int ncounts;
  nw_event_count count[NW_MOST_COUNTS];
} nw_loop_times;
NW_API bool nw_measure_loops(nw_ctx *c, const nw_program *p, const nw_build_opts *o, int n, nw_array *const *args,
                             int reps, nw_loop_times *out);
// An entry in the log of one call. It describes consecutive iterations of a parallel loop that one thread ran. `begin`
// and `end` are wall-clock times in seconds since the call began. `cpu` is the thread's CPU time in seconds.
typedef struct nw_span {
  int loop; // number of the loop in the program, counted from 0
  int64_t region; // number of the nw_region in the call, counted from 0
  int thread;
  int64_t from, to; // range of iterations of the loop
  double begin, end, cpu;
} nw_span;
// One execution of a parallel loop. `begin` is the start of its first thread, and `end` is the end of its last thread,
// including the barrier. Both are in seconds since the call began.
typedef struct nw_region {
  int loop;
  double begin, end;
} nw_region;
typedef struct nw_log nw_log;
typedef struct nw_logs { // the logs of several calls
  int n;
  nw_log **log;
  int retaken; // number of calls that were made again because other work disturbed them
  bool disturbed; // true if other work disturbed most of the calls, even when they were made again
} nw_logs;
// Logs about `reps` calls, each directly after calls that are not logged, so that the threads are awake and the data are
// in the caches. Logs one call if the kernel has no parallel loop. Returns false, with a diagnostic, on failure.
NW_API bool nw_kernel_logs(nw_kernel *k, int n, nw_array *const *args, int reps, nw_logs *out);
NW_API void nw_logs_free(nw_logs *l);
NW_API double nw_log_seconds(const nw_log *l);
NW_API int nw_log_threads(const nw_log *l);
NW_API int64_t nw_log_spans(const nw_log *l);
NW_API const nw_span *nw_log_span(const nw_log *l, int64_t i);
NW_API int64_t nw_log_regions(const nw_log *l);
NW_API const nw_region *nw_log_region(const nw_log *l, int64_t i);
NW_API int64_t nw_log_lost(const nw_log *l); // number of spans and regions that did not fit in the log
NW_API int nw_log_loops(const nw_log *l);
NW_API const char *nw_log_loop(const nw_log *l, int i); // name of the loop; NULL if it is unknown
// "lowered", "llvm", "asm" (of a CPU), "ptx" (of an NVIDIA GPU), "opencl", "c" or "versions"
NW_API char *nw_kernel_text(nw_kernel *k, const char *what);
typedef struct nw_gpu_info { // what a driver reports about a GPU of this machine; a number that is not reported is 0
  const char *name;
  double capability; // compute capability of an NVIDIA GPU, for example 8.0
  int64_t memory, shared, shared_block; // bytes
  // `driver` is the version of CUDA or OpenCL times 1000; `threads` and `blocks` are the limits of a multiprocessor;
  // `threads_block` and `extent_block` are the limits of a block; `worker` is the process that uses the driver
  int driver, multiprocessors, clock_khz, memory_khz, memory_bits, l2_bytes, threads, blocks, threads_block,
      extent_block[3], worker;
  bool is_gpu; // false for a CPU that runs OpenCL
} nw_gpu_info;
// `driver` is "cuda" or "opencl". Returns false, with a diagnostic, if there is no GPU or no driver.
NW_API bool nw_gpu_here(nw_ctx *c, const char *driver, nw_gpu_info *out);
// If the path ends in .so, writes a shared library for the target of the kernel, and a header next to it. The library
// has the kernel as a plain C function. Needs a C compiler that links for the target. If the path ends in .c, writes
// the kernel as a C file. `symbol` is the name of the function; NULL: a name made from that of the program.
NW_API bool nw_kernel_export(nw_kernel *k, const char *path, const char *symbol);
NW_API nw_target *nw_kernel_target(const nw_kernel *k); // borrowed
NW_API const char *nw_kernel_notes(const nw_kernel *k); // remarks on the code, one per line; "" if there are none
NW_API const char *nw_kernel_cpu(nw_kernel *k); // LLVM's name of the CPU that the code is made for; NULL on failure
NW_API double nw_kernel_compile_ms(const nw_kernel *k);
NW_API bool nw_kernel_was_cached(const nw_kernel *k);
NW_API int nw_kernel_unsafe(const nw_kernel *k); // number of steps of the kernel's schedule that were not judged
// If a rewrite of the kernel's schedule was tested, but not proved, returns the least number of values on which such a
// rewrite was tested. Otherwise returns 0.
NW_API int nw_kernel_tested(const nw_kernel *k);
// Returns the text of the lowered program after the pass with the name `pass`, or after the last pass if `pass` is
// NULL.
NW_API char *nw_lower_text(nw_ctx *c, const nw_program *p, const char *pass);
// Like nw_lower_text, for people: of statements that an unrolled loop has repeated, only the first and the last are
// shown. Stores an array on the heap in *id, with the id of the statement of each of the *n lines, or 0.
NW_API char *nw_lower_folded(nw_ctx *c, const nw_program *p, const char *pass, int **id, int *n);
// Returns an array on the heap. For each line of the text after the last pass, the array has the id of the line's
// statement, or 0 if the line does not belong to a statement.
NW_API int *nw_lower_line_ids(nw_ctx *c, const nw_program *p, int *n);
NW_API char *nw_program_c(nw_ctx *c, const nw_program *p); // the program as C99 with OpenMP
// Returns the program as text for GPUs, on the heap: a kernel for each launch. `dialect` is "cuda" or "opencl". `symbol` is
// the name of the kernel, or NULL: a name made from that of the program. Returns NULL, with a diagnostic, on failure.
NW_API char *nw_grid_text(nw_ctx *c, const nw_program *p, const char *dialect, const char *symbol);
// Finds the sizes of a program in the shapes of its first n arguments. Sets an entry of `sizes` to -1 if the size is
// unknown. Returns the number of sizes that were found.
NW_API int nw_sizes_from(const nw_program *p, int n, nw_array *const *args, int64_t *sizes);
// Converts a tensor from the shape of the computation to the shape that a kernel of the program takes, or back if
// `packs` is false. The n sizes `names` with their `values` are needed if they do not follow from the shape of the
// tensor. Returns a new reference, or NULL with a diagnostic.
NW_API nw_array *nw_pack(nw_ctx *c, const nw_program *p, const char *param, nw_array *a, bool packs, int n,
                         const char *const *names, const int64_t *values);
// Runs a program in the interpreter. The run stops with NW_ELIMIT after `most` steps; 0 means no limit.
NW_API bool nw_interpret(nw_ctx *c, const nw_program *p, bool lowered, int64_t most, int n, nw_array *const *args);
NW_API bool nw_evaluate(nw_ctx *c, int n, nw_tensor *const *outputs, int nargs,
                        nw_array *const *args); // evaluates the definition; `args` are those of a kernel

// An external program. It is searched for on PATH, and runs without a shell. Its standard input is a file in memory, so
// the program may also open /dev/stdin. The program and its children are killed if the session is interrupted, or if
// `stopped` returns true. `stopped` may be NULL.
typedef struct nw_child {
  const char *what; // description for progress messages: "gnuplot draws"
  const char *input;
  size_t ninput;
  bool (*stopped)(void *env);
  void *env;
  bool absent; // true if the program was not started because it was not found
  int status; // exit status; if a signal ended the program, minus the number of the signal
  char *out, *said; // heap: standard output, and the beginning of standard error
  size_t nout;
} nw_child;
// Returns false if the program was not started, or was stopped.
NW_API bool nw_child_run(nw_ctx *c, const char *const *argv, nw_child *child);

#ifdef __cplusplus
}
#endif
