// Translates an executable program into an LLVM module or into C. This header does not use the types of LLVM. Only
// codegen/llvm and run/jit use them. These two folders are a separate library, nestwright-jit, which is loaded when a
// program is first compiled.
#pragma once
#include "interp/interp.h"
#include "ir/program/choose.h"
#include "ir/program/intrinsic.h"

// The ABI of a generated kernel:
// * params[i]: pointer to the data of parameter i;
// * sizes[i]: value of symbolic size i;
// * work[i]: pointer to the workspace of buffer i, or NULL if the buffer has no workspace. If each thread has its own
//   workspace, the workspace of thread t begins stride[i] * t bytes after work[i].
typedef struct nw_frame {
  void **params;
  const int64_t *sizes;
  void **work;
  const int64_t *stride; // for each buffer: bytes from the workspace of a thread to that of the next thread
  int threads;
  void *runtime; // the call in progress, for the run-time functions, or NULL
  const char *name; // the kernel's name, for messages
  struct nw_log *log; // the log of the threads (run/log.h), or NULL; generated code does not use it
  struct nw_tick *ticks; // see nw_tick; used by code with clocks
} nw_frame;
// Counters of a program with n clocks. Thread t has nw_ticks_of(n) entries, which begin at ticks[t * nw_ticks_of(n)].
// When thread t has executed the loop of clock i, the time is added to entry 2 * i of the thread. If thread t runs a
// part of the loop, because the loop is parallel, the time of the part is added to entry 2 * i + 1.
typedef struct nw_tick {
  int64_t ticks, times; // time in ticks of the processor's constant clock, and number of executions
} nw_tick;
static inline int nw_ticks_of(int n) { return (2 * n + 3) / 4 * 4; } // rounded up to whole cache lines of 64 bytes
typedef void (*nw_entry)(nw_frame *f);
// A parallel loop becomes a call of a run-time function with an outlined body. The loop has n iterations and runs on T
// threads. If chunk is 0, thread t gets the iterations from n*t/T up to, but not including, n*(t+1)/T. If chunk is
// positive, the threads in turn get `chunk` iterations each. If chunk is negative, the next free thread gets -chunk
// iterations. The body gets the frame, the captured values, a range of iterations and the thread number. A thread may
// call the body several times.
typedef void (*nw_parallel_body)(nw_frame *f, void *captured, int64_t begin, int64_t end, int64_t thread);
typedef void (*nw_parallel_fn)(nw_frame *f, nw_parallel_body body, void *captured, int64_t n, int64_t chunk);
// A callee is the function that a call of an intrinsic calls after lowering. Its name begins with this prefix.
#define NW_CALLEE_PREFIX "nwi."
typedef struct nw_callee {
  char name[400];
  void *address;
  // True if the function was generated for the strides and constants of the call. Then its only arguments are pointers.
  bool tiles_only;
  // If true, an interrupt may jump out of the function. If false, generated code tells the runtime when a call begins
  // and ends, and only a crash jumps out of the call.
  bool jump_safe;
  int nwords;
  int64_t word[NW_MAX_WORDS];
} nw_callee;
// Returns false, with a diagnostic, on failure.
NW_API bool nw_callee_of(nw_ctx *c, const nw_stmt *call, nw_callee *out);
#define NW_CALLEE_BEGIN "nw_callee_begin" // generated code calls these before and after a callee that is not jump-safe
#define NW_CALLEE_END "nw_callee_end"

#define NW_PARALLEL_SYMBOL "nw_parallel_for"

// The C code that an exported kernel needs outside of a session (c_glue.c). `source` contains a function with the same
// prototype as the function in the C text of the program. This function makes the frame and calls the machine code.
// `source` also contains the run-time function for parallel loops, which uses OpenMP. If there are several versions,
// each version has such a function, and one more function selects a version. `header` declares the public function.
// Both texts are on the heap. On failure, nw_c_glue returns false, nw_c_text returns NULL, and there is a diagnostic.
// `symbol` is the name of the public function; NULL: a name made from that of the program.
#define NW_ENTRY_SYMBOL "nw_kernel_entry_%d" // %d is the number of the version, counted from 0
#define NW_HEADER_MARK "// Made by Nestwright: an exported kernel." // the first line of the header
typedef struct nw_glue {
  char *source, *header;
} nw_glue;
bool nw_c_glue(int n, const nw_exec *const *e, const nw_choices *t, const char *symbol,
               nw_glue *out); // t is used if n > 1
// Returns the kernels of a program in OpenCL C, and makes the texts of the host's part: a function in C that launches them, and
// its header. `file` is the name of the files without its end. All texts are on the heap; NULL, with a diagnostic, on failure.
char *nw_opencl_files(const nw_program *p, const char *symbol, const char *file, nw_glue *out);
// Returns comments that say what a program must know to launch the kernels as PTX, on the heap; NULL, with a diagnostic, on
// failure.
char *nw_ptx_notes(const nw_exec *e);
// Like nw_program_c, for n versions of a kernel.
char *nw_c_text(nw_ctx *c, int n, const nw_program *const *p, const nw_choices *t, const char *symbol);
// True if the user may give this name to the public function. Otherwise there is a diagnostic.
bool nw_c_symbol_given(nw_ctx *c, const char *symbol);
