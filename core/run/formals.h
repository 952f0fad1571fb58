// Declares the formal parameters of a kernel, and functions that check the arguments of a call and infer the symbolic
// sizes from their shapes.
#pragma once
#include "run/run.h"

typedef struct nw_formal {
  const char *name;
  nw_dtype dtype;
  int ndim;
  const nw_expr *const *shape;
  bool output;
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
nw_view nw_view_of(const nw_array *a);
