// Declares intrinsics, which are external code for small computations.
#pragma once
#include "nestwright/te.h"

#ifdef __cplusplus
extern "C" {
#endif

// An intrinsic is a small computation that external code implements. ir/program/intrinsic.h describes how this code is
// called. When an intrinsic is registered, a worker process runs the code and compares its results with those of the
// compute that describes the intrinsic. The step s:tensorize takes the names of registered intrinsics.
#define NW_ANY_STRIDE INT64_MIN // any stride is allowed; the call passes the actual stride
typedef struct nw_intrinsic nw_intrinsic; // lives as long as the session
typedef struct nw_intrinsic_spec {
  const char *name;
  int nargs;
  nw_tensor *const *arg; // inputs and outputs of one compute, in the order of the function's parameters
  // stride[i][d] is the required stride, in elements, of dimension d of argument i, or NW_ANY_STRIDE. If stride[i] is
  // NULL, argument i may have any strides.
  const int64_t *const *stride;
  bool init; // true: a reduction starts from its init; false: a reduction continues from the values in the output
  // If it is not NULL, the intrinsic is an instruction of an accelerator. It has the name of this instruction in machine
  // records. Only an instruction of kind tensor has arguments and a description.
  const char *chip; // "copy", "fill", "tensor" or "alu"
  // The implementation: one of these four is given, or `chip`.
  // The name of an instruction that the threads of a warp execute together. fragment[i] has, for each lane, as many
  // numbers as the lane holds elements of argument i: the row-major numbers of these elements in the tile. It is NULL if
  // the argument is in memory.
  const char *instruction;
  const int64_t *const *fragment;
  bool shuffles; // code generators make it: vectors are loaded, their lanes are shuffled, and vectors are stored
  const char *source; // C text that the system's compiler compiles, or NULL
  const char *library; // path of a shared library, or NULL
  const char *symbol; // name of the function; NULL if it is the name of the intrinsic
  const char *special; // name of a function that generates versions for constant strides, or NULL
  int nconstants;
  const int64_t *constant; // passed after the strides
  // for libraries: true if the function and the functions that it calls hold no locks and own no memory
  bool jump_safe;
  double timeout; // time limit of one test run in seconds; 0 means 5 seconds
} nw_intrinsic_spec;
NW_API const nw_intrinsic *nw_intrinsic_register(nw_ctx *c, const nw_intrinsic_spec *s); // borrowed; NULL on failure
// Finds a file that belongs to Nestwright. Its path is in the environment variable; if that is not set, the file is
// next to the core's library or in a neighbouring folder. Returns false if there is no such file.
NW_API bool nw_find_library(const char *variable, const char *name, char *path, size_t n);
NW_API const char *nw_intrinsic_id(const nw_intrinsic *in); // "mm16:1c9a2f07"
NW_API bool nw_intrinsic_is_jump_safe(const nw_intrinsic *in);
// Lists the instructions of a warp: sets the name and a description of number i, from 0. Returns false after the last one.
NW_API bool nw_instruction_row(int i, const char **name, const char **doc);

#ifdef __cplusplus
}
#endif
