// Declares a compiled program with everything that a call needs. This header is private to run/ and to back ends.
#pragma once
#include "ir/program/choose.h"
#include "run/formals.h"
#include "run/session.h"

struct nw_kernel {
  int refs;
  nw_ctx *ctx;
  nw_exec *exec; // holds a reference
  const nw_backend *backend; // NULL for a kernel of several versions, each of which has its own back end
  int opt;
  nw_str notes; // notes to the user about the code
  nw_program *source; // holds a reference, for the C view; NULL for a kernel of several versions
  nw_formals formals;
  nw_machine_code *code;
  nw_launches *launches; // for a GPU: its kernels, and their text (PTX or OpenCL C); otherwise NULL
  char *device_text;
  char **step; // for the simulated GPU: the texts of the steps that made its statements, by number
  int nsteps;
  struct nw_held *held; // the memory and the module of this kernel on the GPU; NULL before the kernel is first called
  nw_entry entry;
  int threads;
  double compile_ms;
  bool cached;
  int64_t *sizes; // the fields from here to `stride` are for the call in progress
  nw_frame frame;
  void **params, **work; // for each buffer of the lowered program
  nw_array **arg; // for each buffer; NULL for a temporary
  int64_t *stride;
  // For a kernel of several versions (dispatch.c): the sizes of the call select a version, and the fields `frame` and
  // `entry` are those of this version.
  int ncases;
  nw_kernel **one; // holds references
  nw_kernel *running;
  nw_choices choices; // the tree that selects a version
};

// Compiles e, a lowered form of p, for the target of p. Takes ownership of e. Returns NULL, with a diagnostic, on
// failure.
nw_kernel *nw_compile_lowered(nw_ctx *c, const nw_program *p, nw_exec *e, const nw_build_opts *o);
nw_kernel *nw_kernel_new(nw_ctx *c, nw_exec *e, int threads); // takes ownership of e; makes no code yet
nw_kernel *nw_kernel_case(nw_kernel *k, const int64_t *sizes); // returns the version for these sizes
// Returns the number of the version for these sizes.
int nw_choices_take(const nw_choices *t, const nw_formals *f, const int64_t *sizes);
char *nw_kernel_c(nw_kernel *k, const char *symbol); // the C text, on the heap; see nw_c_text
// Says that a kernel of several versions cannot be written in a language. Returns false.
bool nw_kernel_fail_cases(nw_kernel *k, const char *language);
char *nw_kernel_cuda(nw_kernel *k, const char *symbol); // the text in CUDA C, on the heap; see nw_grid_text
char *nw_kernel_condition(const nw_kernel *k, int i); // the condition of version i, on the heap

// Returns the JIT of the session, which is opened at the first compile. Returns NULL, with a diagnostic, if the JIT
// cannot be opened, or if there is not enough memory to compile this many instructions.
nw_jit *nw_session_jit(nw_ctx *c, int64_t instructions);
// Runs k->frame several times in one guarded call. Returns the seconds per call, or -1 on failure.
double nw_warm_calls(nw_kernel *k, int64_t times);
// Between nw_kernel_begin and nw_kernel_end, k->frame can be run. nw_kernel_begin checks the arrays and makes the
// workspaces.
bool nw_kernel_begin(nw_kernel *k, int n, nw_array *const *args);
// True if the kernel runs in this process, whose threads can be observed. Otherwise there is a diagnostic.
bool nw_kernel_in_process(nw_kernel *k, const char *what);
void nw_kernel_end(nw_kernel *k);
