// Declares the formal parameters of a kernel, and functions that check the arguments of a call and infer the symbolic
// sizes from their shapes.
#pragma once
#include "run/run.h"

typedef struct nw_formal {
  const char *name;
  nw_dtype dtype;
  int ndim;
  const nw_expr *const *shape; // the shape of the argument
  bool output;
  const nw_expr *const *pitch; // the strides of the argument, in elements; NULL if it is row-major
  const nw_buffer *laid; // the parameter, if a layout gives the argument another shape; otherwise NULL
} nw_formal;

typedef struct nw_formals {
  const char *callee; // for messages
  int n, nsizes, nfacts;
  nw_formal *at;
  const char **size; // names
  const nw_expr **lo, **fact; // `lo`: lower bounds of the sizes, or NULL; `fact`: facts about the sizes
} nw_formals;

nw_formals nw_formals_of_program(const nw_program *p);
void nw_formals_free(nw_formals *f);
// Returns false, with a diagnostic, if n is not the number of parameters.
bool nw_formals_count(nw_ctx *c, const nw_formals *f, int n);
// Checks the first n arrays, infers every size, and checks the facts. `sizes` must have an entry for each size. If n ==
// f->n, also checks that no output overlaps another array. Returns false, with a diagnostic, if a check fails.
bool nw_formals_check(nw_ctx *c, const nw_formals *f, int n, nw_array *const *args, int64_t *sizes);
// Checks one tensor that has the type and the shape of `one`, and finds the sizes in this shape. On entry, an entry of
// `sizes` is -1 if the size is unknown. Returns false, with a diagnostic, if a size remains unknown, or if the tensor
// does not fit.
bool nw_formals_check_one(nw_ctx *c, const nw_program *p, const nw_formal *one, nw_array *a, int64_t *sizes);
nw_view nw_view_of(const nw_array *a);
