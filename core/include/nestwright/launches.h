// Describes what a GPU runs for a program with given sizes: its kernels, with their numbers of blocks and threads.
#pragma once
#include "nestwright/program.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct nw_launch_argument {
  const char *buffer; // an argument of the program or a workspace; NULL for a number
  int64_t value; // the number, a 64-bit integer
} nw_launch_argument;
typedef struct nw_launch_row { // one launch of a kernel
  const char *kernel; // its name in the texts "cuda", "opencl" and "ptx"
  int64_t extent[6]; // numbers of blocks in x, y and z, and of threads of a block in x, y and z
  int64_t shared; // bytes of shared memory that a launch with CUDA must ask for
  int n;
  const nw_launch_argument *argument; // the kernel's arguments, in order
} nw_launch_row;
typedef struct nw_workspace_row { // a temporary in the memory of the device
  const char *name;
  nw_dtype dtype;
  int64_t elements;
} nw_workspace_row;

// Call the functions for each workspace, and for each launch in the order of execution. Stop if the function returns
// false. `sizes` has the values of the symbolic sizes, in order. Return false, with a diagnostic, on failure.
NW_API bool nw_each_launch(nw_ctx *c, const nw_program *p, const int64_t *sizes,
                           bool (*f)(void *env, const nw_launch_row *row), void *env);
NW_API bool nw_each_workspace(nw_ctx *c, const nw_program *p, const int64_t *sizes,
                              bool (*f)(void *env, const nw_workspace_row *row), void *env);

// True if every GPU computes the bits of the interpreter: the program has no function such as exp, whose last bits differ,
// and no atomic update of floats, whose order differs.
NW_API bool nw_grid_has_fixed_bits(const nw_program *p);

#ifdef __cplusplus
}
#endif
