// The plan of a call on a GPU: the memory that the call needs there, and its launches in order, with the values of all
// arguments. The session sends it to the worker that has the GPU.
#pragma once
#include "lower/launch.h"

// A block of memory on the GPU: an argument of the program, or a workspace.
typedef struct nw_plan_buffer {
  const char *name;
  nw_dtype dtype;
  nw_role role; // NW_TEMP for a workspace
  int64_t bytes;
  bool read, written; // by some launch; a workspace is not copied in any case
} nw_plan_buffer;

typedef struct nw_plan_launch {
  int kernel; // position in the list of launches of the program
  int64_t extent[6]; // numbers of blocks in x, y and z, and of threads of a block in x, y and z
  int64_t shared; // bytes of shared memory that the launch requests
  int nbuffers; // the first arguments: positions of buffers
  int *buffer;
  int nnumbers; // the arguments after them: 64-bit integers
  int64_t *number;
} nw_plan_launch;

typedef struct nw_plan {
  const nw_exec *exec; // borrowed, as the next
  const nw_launches *launches;
  int nbuffers; // one for each buffer of the program, in its order; a buffer that is not in memory of its own has no bytes
  nw_plan_buffer *buffer;
  int n, cap;
  nw_plan_launch *launch;
} nw_plan;

// Returns the plan of a call with these sizes, which the caller frees. Returns NULL, with a diagnostic, if a number is
// beyond the limits of the target.
nw_plan *nw_plan_of(const nw_exec *e, const nw_launches *l, const int64_t *sizes);
void nw_plan_free(nw_plan *p);
