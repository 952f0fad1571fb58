// Intrinsics: somebody else's code for small computations.
#pragma once
#include "nestwright/te.h"

#ifdef __cplusplus
extern "C" {
#endif

// Intrinsics: small computations that somebody else's code does; see ir/intrinsic.h for how it is called. Registering one
// runs it against its description in a worker process; what is registered may be named in s:tensorize.
#define NW_ANY_STRIDE INT64_MIN // passed at the call
typedef struct nw_intrinsic nw_intrinsic; // lives as long as the session
typedef struct nw_intrinsic_spec {
  const char *name;
  int nargs;
  nw_tensor *const *arg; // inputs and outputs of one compute, in the order the function takes them
  const int64_t *const *stride; // by argument (NULL: any), by dimension: a fixed stride in elements, or NW_ANY_STRIDE
  bool init; // a reduction starts from its init; else it goes on from what the output holds
  const char *source; // C, compiled by the system's compiler; or
  const char *library; // a shared library
  const char *symbol; // NULL: the name
  const char *special; // NULL, or what makes functions for constant strides
  int nconstants;
  const int64_t *constant; // passed after the strides
  bool jump_safe; // of a library: holds no lock, owns no memory, calls nothing that does
  double timeout; // seconds for one run on trial; 0 is 5
} nw_intrinsic_spec;
NW_API const nw_intrinsic *nw_intrinsic_register(nw_ctx *c, const nw_intrinsic_spec *s); // borrowed; NULL: it failed
// A file that belongs to this library: what the variable names, or one beside it.
NW_API bool nw_find_library(const char *variable, const char *name, char *path, size_t n);
NW_API const char *nw_intrinsic_id(const nw_intrinsic *in); // "mm16:1c9a2f07"
NW_API bool nw_intrinsic_is_jump_safe(const nw_intrinsic *in);

#ifdef __cplusplus
}
#endif
