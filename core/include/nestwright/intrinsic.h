// Intrinsics: external code for small computations.
#pragma once
#include "nestwright/te.h"

#ifdef __cplusplus
extern "C" {
#endif

// An intrinsic is a small computation that external code implements; ir/program/intrinsic.h describes how this code is
// called. When an intrinsic is registered, a worker process compares it with the compute that describes it. s:tensorize
// takes the names of registered intrinsics.
#define NW_ANY_STRIDE INT64_MIN // any stride is allowed; the call passes the actual one
typedef struct nw_intrinsic nw_intrinsic; // lives as long as the session
typedef struct nw_intrinsic_spec {
  const char *name;
  int nargs;
  nw_tensor *const *arg; // inputs and outputs of one compute, in the order of the function's parameters
  // stride[i][d] is the required stride, in elements, of dimension d of argument i, or NW_ANY_STRIDE. If stride[i] is
  // NULL, argument i may have any strides.
  const int64_t *const *stride;
  bool init; // true: a reduction starts from its init; false: it continues from the values in the output
  const char *source; // C text that the system's compiler compiles; NULL if there is a library
  const char *library; // path of a shared library; NULL if there is a source
  const char *symbol; // name of the function; NULL if it is the name of the intrinsic
  const char *special; // name of a function that generates versions for constant strides, or NULL
  int nconstants;
  const int64_t *constant; // passed after the strides
  bool jump_safe; // for libraries: the function holds no lock and owns no memory, and calls no function that does
  double timeout; // time limit of one test run in seconds; 0 means 5 seconds
} nw_intrinsic_spec;
NW_API const nw_intrinsic *nw_intrinsic_register(nw_ctx *c, const nw_intrinsic_spec *s); // borrowed; NULL on failure
// Finds a file that belongs to Nestwright: at the path in the environment variable, or else next to the core's library.
NW_API bool nw_find_library(const char *variable, const char *name, char *path, size_t n);
NW_API const char *nw_intrinsic_id(const nw_intrinsic *in); // "mm16:1c9a2f07"
NW_API bool nw_intrinsic_is_jump_safe(const nw_intrinsic *in);

#ifdef __cplusplus
}
#endif
